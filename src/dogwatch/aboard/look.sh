# A look at Slurm for hosts without python3, in POSIX sh; comes over stdin after the lines that set
#   nonce mark wanted history active id_at mark_at state_at squeue sacct about
# and the functions ask_squeue and ask_sacct. Answers with parts, each after a line `NONCE NAME`, and the probe's end line.
LC_ALL=C SLURM_TIME_FORMAT=%s SLURM_BITSTR_LEN=0
export LC_ALL SLURM_TIME_FORMAT SLURM_BITSTR_LEN
unset SLURM_CLUSTERS SLURM_JSON SLURM_YAML SLURM_DEBUG_FLAGS SLURM_FEDERATION
for name in $(env | sed -n -e 's/^\(SQUEUE_[A-Za-z0-9_]*\)=.*/\1/p' -e 's/^\(SACCT_[A-Za-z0-9_]*\)=.*/\1/p' \
    -e 's/^\(SCONTROL_[A-Za-z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done
PATH=$PATH:/usr/bin:/usr/local/bin:/bin:/opt/slurm/bin:/opt/slurm/current/bin:/opt/slurm/default/bin
PATH=$PATH:/usr/local/slurm/bin:/usr/slurm/bin:/cm/shared/apps/slurm/current/bin
export PATH
cd /
me=${USER:-${LOGNAME:-$(id -un)}}
# A command that is killed for being late ends with 137, whichever `timeout` it was; without one, the outer limit counts.
limit=
timeout -s KILL 5 true >/dev/null 2>&1 && limit=yes

within() {
    seconds=$1
    shift
    if [ -n "$limit" ]; then timeout -s KILL "$seconds" "$@"; else "$@"; fi
}

# What a command says on stdout, then what it said on stderr and how it ended.
both() {
    { said=$({ "$@" 2>&1 1>&3 3>&- </dev/null; printf '\n%s' "$?"; }); } 3>&1
    printf '\n%s said\n%s' "$nonce" "$said"
}

# The ids that the queue leaves open: those wanted that it does not list as active, and those whose history is wanted.
open_ids() {
    {
        for id in $wanted; do printf 'w %s\n' "$id"; done
        for id in $history; do printf 'h %s\n' "$id"; done
        printf 'q\n%s\n' "$1"
    } | MARK=$mark ACTIVE=$active awk -v id_at="$id_at" -v mark_at="$mark_at" -v state_at="$state_at" '
        BEGIN { FS = "\037"; n = split(ENVIRON["ACTIVE"], words, " "); for (i = 1; i <= n; i++) live[words[i]] = 1 }
        !listed && $0 == "q" { listed = 1; next }
        !listed { id = substr($0, 3); if (!(id in kind)) order[++count] = id; kind[id] = kind[id] substr($0, 1, 1); next }
        $mark_at == ENVIRON["MARK"] {
            id = $id_at; sub(/[^0-9].*$/, "", id)
            word = $state_at; sub(/^ */, "", word); sub(/[ +].*$/, "", word)
            if (word in live) here[id] = 1
        }
        END { for (i = 1; i <= count; i++) { id = order[i]; if (kind[id] ~ /h/ || !(id in here)) print id } }
    ' || printf '%s\n' $wanted $history
}

look() {
    printf '%s about\n%s\n%s\n%s\n%s' "$nonce" "$(date +%s)" "$me" "$(uname -n)" \
        "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
    queue= open=
    if [ -n "$squeue" ]; then
        queue=$(both ask_squeue)
        printf '\n%s queue\n%s' "$nonce" "$queue"
        case $queue in
        *"
0") listed=$queue ;;
        *) listed= ;;
        esac
        open=$(open_ids "$listed")
    else
        open=$(printf '%s\n' $wanted $history)
    fi
    if [ -n "$sacct" ] && [ -n "$open" ]; then
        ids=$(printf '%s,' $open)
        ids=${ids%,}
        printf '\n%s ids\n%s' "$nonce" "$ids"
        printf '\n%s accounting\n%s' "$nonce" "$(both ask_sacct)"
    fi
    [ -z "$about" ] || printf '\n%s cluster\n%s' "$nonce" "$(both within 10 scontrol show config)"
}

answer=$(look)
size=$(printf '%s' "$answer" | wc -c)
printf '%s\nDOGWATCH-END %s %d\n' "$answer" "$nonce" $((size))
exit 0
