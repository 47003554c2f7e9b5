# The supervisor of a chain: stages one after another, each only after the one before it succeeded.
#
#   sh chain.sh start      start it detached, once, and say what came of it as one line of JSON
#   sh chain.sh resume     start it again at the first stage that is not done
#   sh chain.sh reboot     the same after a reboot; a chain that has ended stays as it is
#   sh chain.sh supervise WHY, stage K ATTEMPT RESUME, slurm K: what the others start
#
# POSIX sh for dash, busybox and bash; needs /proc. All variables begin with dw_, so that none is one of the user's.
# A marker is written by rename after success and never otherwise; what cannot be written is not claimed.

dw_umask=$(umask)
umask 077
dw_dir=$(cd "$(dirname "$0")" && pwd) && cd "$dw_dir" || exit 3
dw_boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)
dw_lines=12 dw_beat_every=15 dw_poll_every=2
dw_error='' dw_signal='' dw_heart='' dw_attempt=0 dw_name='' dw_ticks=''

now() { date +%s; }
narrate() { # to whoever looks at its tmux session, and into its log
    dw_said="$(date '+%Y-%m-%d %H:%M:%S') $*"
    printf '%s\n' "$dw_said"
    [ ! -t 1 ] || printf '%s\n' "$dw_said" >>supervisor.log
}

# Files -----------------------------------------------------------------------------------------------------------

put() { # FILE TEXT: all of it, by rename, or nothing
    { printf '%s\n' "$2" >"$1.$$.tmp"; } 2>/dev/null && [ "$(cat "$1.$$.tmp" 2>/dev/null)" = "$2" ] &&
        [ ! -d "$1" ] && mv -f "$1.$$.tmp" "$1" 2>/dev/null && return 0
    rm -f "$1.$$.tmp" 2>/dev/null
    return 1
}

put_durably() { # as put, and on the disk, where sync takes a file
    put "$1" "$2" || return 1
    [ "$dw_sync" = no ] || sync "$1" 2>/dev/null
    return 0
}

number() { sed -n "s/.*\"$2\":\\(-\\{0,1\\}[0-9][0-9]*\\).*/\\1/p" "$1" 2>/dev/null; } # FILE KEY
text() { sed -n "s/.*\"$2\":\"\\([^\"]*\\)\".*/\\1/p" "$1" 2>/dev/null; }              # FILE KEY
quoted() { printf '"%s"' "$(printf '%s' "$1" | clean | sed 's/[\\"]/\\&/g' | tr '\n' ' ' | sed 's/ $//')"; }
or_null() { if [ -n "$1" ]; then printf '"%s"' "$1"; else printf null; fi; }
shell_word() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

clean() { # what a job printed, as lines of text without escape sequences and control characters
    LC_ALL=C tr '\r\t' '\n ' | LC_ALL=C sed "s/$dw_esc\\[[0-9;?]*[a-zA-Z]//g; s/$dw_esc][^$dw_bell]*$dw_bell//g" |
        LC_ALL=C tr -d '\000-\011\013-\037\177' | utf8
}
dw_esc=$(printf '\033') dw_bell=$(printf '\007')

utf8() {
    if command -v iconv >/dev/null; then iconv -c -f UTF-8 -t UTF-8 2>/dev/null; else LC_ALL=C tr '\200-\377' '?'; fi
    return 0
}

mask() { # what looks like a secret
    sed -e 's/\(hf_\|sk-\|gh[pousr]_\|xox[abprs]-\|AKIA\|glpat-\)[A-Za-z0-9_-]\{12,\}/\1***/g' \
        -e 's/\([Bb]earer  *\)[^ "]\{8,\}/\1***/g' -e 's#\(://[^ /:@]*:\)[^ /@]*@#\1***@#g' \
        -e 's/\([Tt][Oo][Kk][Ee][Nn]\|[Ss][Ee][Cc][Rr][Ee][Tt]\|[Pp][Aa][Ss][Ss][Ww][Oo][Rr][Dd]\|[Kk][Ee][Yy]\)\(["'\'' ]*[=:]["'\'' ]*\)[^ "'\'',;]\{6,\}/\1\2***/g'
}

size_of() { if [ -e "$1" ]; then echo $(($(wc -c <"$1"))); else echo 0; fi; }

last_lines() { # LOG HOW-MANY, of this attempt only
    tail -c "+$((${dw_log_from:-0} + 1))" "$1" 2>/dev/null | tail -c 16384 | clean | grep -v '^ *$' | mask | tail -n "$2"
}

# Processes, by identity: a pid alone may be another one's by now ------------------------------------------------

stat_of() { # PID: its state, session and start time in dw_state, dw_session, dw_ticks
    dw_stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # shellcheck disable=SC2086 # its words are wanted
    set -- ${dw_stat##*) }
    dw_state=$1 dw_session=$4
    shift 9
    shift 10
    dw_ticks=$1
}

alive() { # PID START BOOT
    [ -n "$1" ] && [ "$3" = "${dw_boot:--}" ] && stat_of "$1" && [ "$dw_ticks" = "$2" ] && [ "$dw_state" != Z ] &&
        [ "$dw_state" != X ]
}

session_alive() { # PID START BOOT of a leader: it, or any process of its session
    alive "$1" "$2" "$3" && return 0
    [ -n "$1" ] && [ "$3" = "${dw_boot:--}" ] || return 1
    # While a session has members, the kernel gives its number to nobody else.
    if stat_of "$1" && [ "$dw_ticks" != "$2" ]; then return 1; fi
    for dw_each in /proc/[0-9]*; do
        if stat_of "${dw_each#/proc/}" && [ "$dw_session" = "$1" ] && [ "$dw_state" != Z ]; then return 0; fi
    done
    return 1
}

own_start() { stat_of "$1" && printf '%s' "$dw_ticks"; }
owner_alive() { alive "$(number lock/owner.json pid)" "$(number lock/owner.json start)" "$(text lock/owner.json boot)"; }

# A lock is a list of owners that only grows: `first`, then `after-X` for whoever came after X was gone. A symbolic
# link is made whole or not at all, and by one only, so that no death in between leaves a lock nobody can take. It is
# given back by ending.
lock() { # DIRECTORY
    mkdir -p "$1" 2>/dev/null
    dw_me="$$:$(own_start $$):${dw_boot:--}" dw_at=first
    until ln -s "$dw_me" "$1/$dw_at" 2>/dev/null; do
        dw_other=$(readlink "$1/$dw_at") || { dw_error="the lock $dw_dir/$1 cannot be made"; return 1; }
        dw_pid=${dw_other%%:*} dw_rest=${dw_other#*:}
        [ "$dw_other" != "$dw_me" ] && alive "$dw_pid" "${dw_rest%%:*}" "${dw_rest#*:}" && return 1
        dw_at="after-$dw_pid-${dw_rest%%:*}-$(printf '%s' "${dw_rest#*:}" | tr -cd 'a-z0-9-')"
    done
}

own_the_chain() {
    lock lock || return 1
    put lock/owner.json "{\"pid\":$$,\"start\":$(own_start $$),\"boot\":\"${dw_boot:--}\"}" ||
        { dw_error="lock/owner.json cannot be written"; return 1; }
}

# What there is ---------------------------------------------------------------------------------------------------

is_done() { grep -q "\"run\":\"$dw_run\".*\"code\":0}" "stage-$1.done" 2>/dev/null; }

first_unfinished() { # the number of stages when all are done
    dw_k=0
    while [ "$dw_k" -lt "$dw_count" ] && is_done "$dw_k"; do dw_k=$((dw_k + 1)); done
    printf '%s' "$dw_k"
}

attempts() {
    dw_n=0
    while [ -e "attempt-$((dw_n + 1)).json" ]; do dw_n=$((dw_n + 1)); done
    printf '%s' "$dw_n"
}

why_not() { # WHY: a sentence when the chain must not be started now
    if [ "$1" = run ]; then
        [ "$(attempts)" = 0 ] || printf 'it was started already'
    elif [ "$(first_unfinished)" = "$dw_count" ]; then
        printf 'all of its stages are done'
    elif [ "$1" = reboot ] && [ -e cancelled.json ]; then
        printf 'it was cancelled'
    elif [ "$1" = reboot ] && [ -e end.json ]; then
        printf 'it has ended'
    elif [ "$1" = reboot ] && [ "$dw_on_reboot" != resume ]; then
        printf 'it is not to be resumed after a reboot'
    fi
}

# Supervising -----------------------------------------------------------------------------------------------------

supervise() { # WHY
    trap 'dw_signal=TERM' TERM
    trap 'dw_signal=OTHER' HUP INT # also from a tmux session that is closed: the chain goes on
    own_the_chain || { narrate "not started: ${dw_error:-another supervisor of this run is alive}"; return 0; }
    dw_not=$(why_not "$1")
    [ -z "$dw_not" ] || { narrate "not started: $dw_not"; return 0; }
    dw_attempt=$(($(attempts) + 1))
    put_durably "attempt-$dw_attempt.json" "{\"run\":\"$dw_run\",\"attempt\":$dw_attempt,\"pid\":$$,\"start\":$(own_start $$),\"boot\":$(or_null "$dw_boot"),\"machine\":$(or_null "$(cat /etc/machine-id 2>/dev/null)"),\"at\":$(now),\"why\":\"$1\"}" ||
        { narrate "not started: attempt-$dw_attempt.json cannot be written"; return 1; }
    rm -f end.json stage-*.waits.json failure.txt
    [ ! -e cancelled.json ] || mv -f cancelled.json "cancelled-$((dw_attempt - 1)).json"
    [ -e reserve ] || dd if=/dev/zero of=reserve bs=4096 count=16 2>/dev/null
    narrate "run $dw_run, attempt $dw_attempt ($1)"
    beat
    heartbeat &
    dw_heart=$!
    dw_k=$(first_unfinished)
    stages
    kill "$dw_heart" 2>/dev/null
    wait "$dw_heart" 2>/dev/null
    dw_newest=stage-$dw_k.log
    beat
    narrate "the supervisor ends"
}

stages() { # from dw_k on
    while [ "$dw_k" -lt "$dw_count" ]; do
        dw_stage "$dw_k"
        dw_code=''
        go_on_waiting || run_stage || dw_code=${dw_code:-1}
        [ "$dw_signal" != TERM ] || [ -e cancelled.json ] || { narrate "SIGTERM: left without an end"; return; }
        if [ -e cancelled.json ] && [ "$dw_code:$dw_k" != "0:$((dw_count - 1))" ]; then
            finish cancelled "${dw_code:-null}"
            return
        fi
        [ "$dw_code" = 0 ] || { finish "${dw_verdict:-failed}" "$dw_code"; return; }
        dw_k=$((dw_k + 1))
    done
    dw_k=$((dw_count - 1))
    dw_stage "$dw_k"
    finish done 0
}

go_on_waiting() { # for a stage whose supervisor was killed while it lived on: nobody can tell its exit code any more
    [ -e "stage-$dw_k.start.json" ] || return 1
    dw_pid=$(number "stage-$dw_k.start.json" pid) dw_start=$(number "stage-$dw_k.start.json" start)
    dw_where=$(text "stage-$dw_k.start.json" boot)
    session_alive "$dw_pid" "$dw_start" "${dw_where:--}" || return 1
    dw_log_from=$(number "stage-$dw_k.start.json" log_from)
    narrate "stage $dw_name runs already (pid $dw_pid, of an earlier attempt): waiting for it"
    while session_alive "$dw_pid" "$dw_start" "${dw_where:--}"; do
        if [ "$dw_signal" = TERM ]; then [ -e cancelled.json ] || return 0; stop_stage; fi
        sleep "$dw_poll_every"
    done
    put "stage-$dw_k.end.json" "{\"run\":\"$dw_run\",\"stage\":\"$dw_name\",\"attempt\":$dw_attempt,\"started\":$(number "stage-$dw_k.start.json" at),\"at\":$(now),\"code\":null,\"signal\":null}"
    dw_error="stage $dw_name ended, and its exit code is unknown: the supervisor that waited for it was killed"
    dw_verdict=unknown dw_code=null
    return 0
}

run_stage() {
    dw_log=stage-$dw_k.log dw_resumed=no
    [ "$dw_attempt" = 1 ] || [ -z "$dw_resume" ] || [ ! -e "stage-$dw_k.start.json" ] || dw_resumed=yes
    dw_after "$dw_k" || { rm -f "stage-$dw_k.waits.json"; dw_code=null; return 1; }
    rm -f "stage-$dw_k.waits.json"
    dw_log_from=$(size_of "$dw_log")
    narrate "stage $dw_name ($((dw_k + 1)) of $dw_count) starts; log: $dw_dir/$dw_log"
    dw_before=$(now)
    in_own_session sh "$dw_dir/chain.sh" stage "$dw_k" "$dw_attempt" "$dw_resumed" "$dw_log_from" </dev/null >>"$dw_log" 2>&1 &
    dw_pid=$!
    wait_for_stage
    # A machine that shuts down ends its processes in any order: whoever is next must not find a failure here.
    case $dw_code in 129 | 130 | 137 | 143) sleep 2 ;; esac
    [ "$dw_signal" != TERM ] || [ -e cancelled.json ] || return 1
    if [ "$(number "stage-$dw_k.start.json" attempt)" != "$dw_attempt" ]; then
        dw_error="stage $dw_name could not be started: $(last_lines "$dw_log" 1)"
        [ "$dw_code" != 0 ] || dw_code=125
    fi
    record_end
}

in_own_session() {
    if command -v setsid >/dev/null; then exec setsid "$@"; fi
    if command -v python3 >/dev/null; then exec python3 -c 'import os,sys;os.setsid();os.execvp(sys.argv[1],sys.argv[1:])' "$@"; fi
    if command -v perl >/dev/null; then exec perl -e 'use POSIX;POSIX::setsid();exec @ARGV' "$@"; fi
    exec "$@"
}

wait_for_stage() { # its exit code in dw_code; a signal to us interrupts `wait`, and is no end of the stage
    dw_code=127
    while :; do
        wait "$dw_pid"
        dw_new=$?
        [ "$dw_new" = 127 ] || dw_code=$dw_new
        [ -n "$dw_signal" ] || return
        if [ "$dw_signal" = TERM ]; then
            [ -e cancelled.json ] || return
            stop_stage
            wait "$dw_pid"
            dw_new=$?
            [ "$dw_new" = 127 ] || dw_code=$dw_new
            return
        fi
        dw_signal=''
    done
}

stop_stage() { # SIGTERM to its processes, SIGKILL to those that are there half a minute later
    dw_target=$dw_pid
    ! stat_of "$dw_pid" || [ "$dw_session" != "$dw_pid" ] || dw_target=-$dw_pid
    kill -TERM "$dw_target" 2>/dev/null
    (
        dw_waited=0
        while kill -0 "$dw_target" 2>/dev/null; do
            [ "$dw_waited" -lt 30 ] || { kill -KILL "$dw_target" 2>/dev/null; break; }
            sleep 1
            dw_waited=$((dw_waited + 1))
        done
    ) &
}

record_end() {
    dw_at=$(now) dw_began=$(number "stage-$dw_k.start.json" at) dw_sig=null
    [ "$dw_code" -le 128 ] || [ "$dw_code" -gt 192 ] || dw_sig=$((dw_code - 128))
    narrate "stage $dw_name ended with exit code $dw_code"
    put "stage-$dw_k.end.json" "{\"run\":\"$dw_run\",\"stage\":\"$dw_name\",\"attempt\":$dw_attempt,\"started\":${dw_began:-$dw_before},\"at\":$dw_at,\"code\":$dw_code,\"signal\":$dw_sig}"
    [ "$dw_code" = 0 ] || return 1
    for dw_pause in 1 2; do
        put_durably "stage-$dw_k.done" "{\"run\":\"$dw_run\",\"stage\":\"$dw_name\",\"attempt\":$dw_attempt,\"started\":${dw_began:-$dw_before},\"ended\":$dw_at,\"code\":0}" && return 0
        sleep "$dw_pause"
    done
    dw_error="stage $dw_name ended with exit code 0, but its marker stage-$dw_k.done could not be written ($(room))"
    dw_code=null
    return 1
}

room() {
    [ "$(df -P . 2>/dev/null | awk 'NR==2{print $4}')" != 0 ] || { printf 'the disk is full'; return; }
    if [ -w . ]; then printf 'no room or no inodes left'; else printf 'the directory cannot be written'; fi
}

# Waiting before a stage ------------------------------------------------------------------------------------------

wait_for() { # file|line|run WHAT
    narrate "stage $dw_name waits for $1 $2"
    put "stage-$dw_k.waits.json" "{\"stage\":\"$dw_name\",\"attempt\":$dw_attempt,\"for\":$(quoted "$1 $2"),\"at\":$(now)}"
    until "is_there_$1" "$2"; do
        [ -z "$dw_error" ] || return 1
        [ ! -e cancelled.json ] || return 1
        [ "$dw_signal" != TERM ] || return 1
        sleep "$dw_poll_every"
    done
}

is_there_file() { (cd "$dw_cwd_full" 2>/dev/null && [ -e "$1" ]); }
is_there_line() { # in the run's own logs
    for dw_each in stage-*.log; do
        if [ -e "$dw_each" ] && LC_ALL=C grep -qF -e "$1" "$dw_each"; then return 0; fi
    done
    return 1
}
is_there_run() {
    case $1 in /*) dw_run_dir=$1 ;; *) dw_run_dir=${dw_dir%/*}/$1 ;; esac
    if [ ! -e "$dw_run_dir/spec.json" ]; then
        dw_error="stage $dw_name waits for run $1, which is not on this machine"
    elif [ -e "$dw_run_dir/end.json" ]; then
        grep -q '"why":"done"' "$dw_run_dir/end.json" && return 0
        dw_error="stage $dw_name waits for run $1, which ended without success"
    fi
    return 1
}

# Signs of life ---------------------------------------------------------------------------------------------------

beat() {
    put heartbeat.json "{\"at\":$(now),\"attempt\":$dw_attempt,\"stage\":$(or_null "$dw_name"),\"pid\":$$,\"line\":$(quoted "$(tail -c 4096 "${dw_newest:-stage-0.log}" 2>/dev/null | clean | grep -v '^ *$' | tail -n 1 | cut -b 1-200 | utf8)")}"
}

heartbeat() { # in a process of its own, which ends with the supervisor
    trap 'kill $dw_nap 2>/dev/null; exit 0' TERM
    dw_supervisor_start=$(own_start $$)
    while alive $$ "$dw_supervisor_start" "${dw_boot:--}"; do
        dw_k=$(first_unfinished)
        [ "$dw_k" -lt "$dw_count" ] || dw_k=$((dw_count - 1))
        dw_stage "$dw_k"
        dw_newest=stage-$dw_k.log
        beat
        sleep "$dw_beat_every" &
        dw_nap=$!
        wait "$dw_nap"
    done
}

# The end ---------------------------------------------------------------------------------------------------------

finish() { # WHY CODE
    dw_ended="{\"run\":\"$dw_run\",\"attempt\":$dw_attempt,\"at\":$(now),\"code\":$2,\"stage\":\"$dw_name\",\"why\":\"$1\",\"error\":$([ -n "$dw_error" ] && quoted "$dw_error" || printf null)}"
    narrate "the chain is over: $1${dw_error:+ ($dw_error)}"
    put_durably end.json "$dw_ended" || { rm -f reserve; put_durably end.json "$dw_ended"; }
    rm -f reserve
    remove_hook
    push "$1" "$2"
    dw_tries=0
    until [ -e end.json ] || [ "$dw_tries" -ge 120 ]; do
        sleep 5
        put_durably end.json "$dw_ended"
        dw_tries=$((dw_tries + 1))
    done
    return 0
}

# One stage, in a process that becomes the user's command ---------------------------------------------------------

stage_process() { # K ATTEMPT RESUMED LOG_FROM
    dw_stage "$1"
    [ "$3" = no ] || dw_command=$dw_resume
    dw_with=PYTHONUNBUFFERED dw_line=''
    if stdbuf -oL -eL true 2>/dev/null; then dw_with="$dw_with, stdbuf -oL -eL" dw_line='stdbuf -oL -eL'; fi
    # A shell without job control starts what is in the background with SIGINT and SIGQUIT ignored.
    if env --default-signal=HUP,INT,QUIT true 2>/dev/null; then dw_line="env --default-signal=HUP,INT,QUIT $dw_line"; fi
    put "stage-$1.start.json" "{\"run\":\"$dw_run\",\"stage\":\"$dw_name\",\"attempt\":$2,\"pid\":$$,\"start\":$(own_start $$),\"boot\":$(or_null "$dw_boot"),\"at\":$(now),\"log_from\":$4,\"resumed\":$([ "$3" = no ] && printf false || printf true),\"unbuffered\":\"$dw_with\"}" ||
        { echo "dogwatch: stage-$1.start.json cannot be written ($(room)); the stage is not started" >&2; exit 125; }
    dw_shell=$(command -v bash || echo sh)
    # shellcheck disable=SC2016,SC2086 # for the shell that follows; its words are wanted
    exec sh -c '. "$1/environment.sh"; cd -- "$2" || { echo "dogwatch: cannot enter $2" >&2; exit 126; }
        export PYTHONUNBUFFERED=1 DOGWATCH_RUN="$3" DOGWATCH_STAGE="$4" DOGWATCH_ATTEMPT="$5" DOGWATCH_RUN_DIR="$1"
        shift 5; exec "$@"' dogwatch "$dw_dir" "$dw_cwd_full" "$dw_run" "$dw_name" "$2" $dw_line "$dw_shell" -c "$dw_command"
}
