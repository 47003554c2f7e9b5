# Runs the commands section on hosts without python3, in POSIX sh; comes over stdin after the lines that set the
# environment and `nonce`, and that define ask_0, ask_1, … (a command each) and `commands` (which runs them in order).
# Answers with parts, each after a line `NONCE NAME`, and the probe's end line.
LC_ALL=C
export LC_ALL PATH
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

# Runs command number $1, and keeps what it said in `ran`.
run() {
    ran=$(both "ask_$1")
    printf '\n%s run%s\n%s' "$nonce" "$1" "$ran"
}

# Runs command number $1 for the ids that the command which said $2 leaves open, if there are any.
follow_up() {
    case $2 in
    *"
0") open=$(open_ids "$2") ;;
    *) open=$(open_ids "") ;;
    esac
    [ -n "$open" ] || return 0
    ids=$(printf '%s,' $open)
    ids=${ids%,}
    printf '\n%s ids%s\n%s' "$nonce" "$1" "$ids"
    run "$1"
}

# The ids that a list leaves open: those in `wanted` that it does not have in one of `states`, and those in `always`.
open_ids() {
    {
        for id in $wanted; do printf 'w %s\n' "$id"; done
        for id in $always; do printf 'a %s\n' "$id"; done
        printf 'q\n%s\n' "$1"
    } | MARK=$mark STATES=$states SEPARATOR=$separator awk -v id_at="$id_at" -v mark_at="$mark_at" -v state_at="$state_at" '
        BEGIN {
            FS = ENVIRON["SEPARATOR"]
            n = split(ENVIRON["STATES"], words, " ")
            for (i = 1; i <= n; i++) live[words[i]] = 1
        }
        !listed && $0 == "q" { listed = 1; next }
        !listed { id = substr($0, 3); if (!(id in kind)) order[++count] = id; kind[id] = kind[id] substr($0, 1, 1); next }
        ENVIRON["MARK"] == "" || $mark_at == ENVIRON["MARK"] {
            id = $id_at; sub(/^ */, "", id); sub(/[^0-9A-Za-z].*$/, "", id)
            word = $state_at; sub(/^ */, "", word); sub(/[ +].*$/, "", word)
            if (word in live) here[id] = 1
        }
        END { for (i = 1; i <= count; i++) { id = order[i]; if (kind[id] ~ /a/ || !(id in here)) print id } }
    ' || printf '%s\n' $wanted $always
}

look() {
    printf '%s about\n%s\n%s\n%s\n%s' "$nonce" "$(date +%s)" "$me" "$(uname -n)" \
        "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
    commands
    [ -z "$watches" ] || box
}

answer=$(look)
size=$(printf '%s' "$answer" | wc -c)
printf '%s\nDOGWATCH-END %s %d\n' "$answer" "$nonce" $((size))
exit 0
