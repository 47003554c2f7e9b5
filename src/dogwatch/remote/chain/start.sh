
# After a reboot --------------------------------------------------------------------------------------------------

cron_runs() { command -v crontab >/dev/null && cat /proc/[0-9]*/comm 2>/dev/null | grep -qx 'crond\{0,1\}'; }

profile() {
    for dw_each in .bash_profile .bash_login; do [ ! -e "$HOME/$dw_each" ] || { printf '%s' "$HOME/$dw_each"; return; }; done
    printf '%s' "$HOME/.profile"
}

with_crontab_lock() { # two chains that end at once must not lose each other's line
    dw_tries=0
    until mkdir "${dw_dir%/*}/crontab.lock" 2>/dev/null || [ "$dw_tries" -ge 10 ]; do sleep 1; dw_tries=$((dw_tries + 1)); done
    "$@"
    dw_result=$?
    rmdir "${dw_dir%/*}/crontab.lock" 2>/dev/null
    return "$dw_result"
}

read_crontab() { # into crontab.tmp; fails when there is a table that cannot be read
    crontab -l >crontab.tmp 2>crontab.err || { : >crontab.tmp; grep -qi 'no crontab\|no such file' crontab.err; }
}

add_cron_line() {
    read_crontab || return 1
    grep -qF "# dogwatch $dw_run" crontab.tmp || printf '%s\n' "$dw_hook" >>crontab.tmp
    grep -qF "# dogwatch $dw_run" crontab.tmp && crontab crontab.tmp 2>/dev/null && crontab -l 2>/dev/null | grep -qF "# dogwatch $dw_run"
}

remove_cron_line() {
    read_crontab && grep -qF "# dogwatch $dw_run" crontab.tmp || return 0
    grep -vF "# dogwatch $dw_run" crontab.tmp >crontab.left
    if [ -s crontab.left ]; then crontab crontab.left; else crontab -r; fi
}

add_hook() { # one line in the user's crontab, or in their profile where no cron runs; says where
    [ "$dw_on_reboot" = resume ] || return 0
    case $dw_dir in *[!A-Za-z0-9/._+@-]*) dw_error="the path $dw_dir cannot stand in a crontab"; return 1 ;; esac
    if cron_runs; then
        dw_hook="@reboot sh $dw_dir/chain.sh reboot >/dev/null 2>&1 # dogwatch $dw_run"
        with_crontab_lock add_cron_line || { dw_error="the user's crontab takes no line for a resume after a reboot"; return 1; }
        dw_way=cron
    else
        dw_hook="[ ! -f $dw_dir/chain.sh ] || sh $dw_dir/chain.sh reboot >/dev/null 2>&1 # dogwatch $dw_run"
        dw_way=$(profile)
        grep -qF "# dogwatch $dw_run" "$dw_way" 2>/dev/null || printf '%s\n' "$dw_hook" >>"$dw_way" ||
            { dw_error="$dw_way takes no line for a resume after a reboot"; return 1; }
    fi
    rm -f crontab.tmp crontab.err crontab.left
    put hook.json "{\"where\":$(quoted "$dw_way"),\"line\":$(quoted "$dw_hook")}"
}

remove_hook() {
    [ -e hook.json ] || return 0
    dw_way=$(text hook.json where)
    if [ "$dw_way" = cron ]; then
        with_crontab_lock remove_cron_line
        rm -f crontab.tmp crontab.err crontab.left
    elif [ -f "$dw_way" ] && [ ! -L "$dw_way" ]; then
        # A full disk must not cost anybody their profile: only a whole copy takes its place.
        if cp -p "$dw_way" "$dw_way.dogwatch" && grep -vF "# dogwatch $dw_run" "$dw_way" >"$dw_way.dogwatch"; [ $? -le 1 ] &&
            [ "$(wc -l <"$dw_way.dogwatch")" -eq "$(($(wc -l <"$dw_way") - 1))" ]; then
            mv -f "$dw_way.dogwatch" "$dw_way"
            [ -s "$dw_way" ] || rm -f "$dw_way"
        else
            rm -f "$dw_way.dogwatch"
        fi
    fi
    rm -f hook.json
}

# Starting, detached ----------------------------------------------------------------------------------------------

prepare() { # what has to be there before anything starts; a sentence in dw_error otherwise
    case $dw_cwd in /*) dw_cwd_full=$dw_cwd ;; *) dw_cwd_full=$HOME${dw_cwd:+/$dw_cwd} ;; esac
    [ -d "$dw_cwd_full" ] && [ -x "$dw_cwd_full" ] || { dw_error="there is no directory $dw_cwd_full that can be entered"; return 1; }
    if [ ! -s environment.sh ]; then
        (
            [ -z "${SSH_CONNECTION:-}" ] || [ "${LC_ALL:-}" != C ] || unset LC_ALL # it came with ssh
            unset SSH_CONNECTION SSH_CLIENT SSH_TTY SSH_AUTH_SOCK SSH_ORIGINAL_COMMAND TMUX TMUX_PANE STY TERM SHLVL PWD OLDPWD _
            dw_environment
            export -p
            printf 'umask %s\n' "$dw_umask"
        ) >environment.new 2>/dev/null && grep -q '^umask' environment.new && mv -f environment.new environment.sh ||
            { dw_error="$dw_dir cannot be written ($(room))"; return 1; }
    fi
    dd if=/dev/zero of=reserve bs=4096 count=16 2>/dev/null || { dw_error="there is no room for the files of a run in $dw_dir"; return 1; }
    choose_detach && write_spec
}

choose_detach() {
    [ "$dw_detach" != auto ] || dw_auto=yes
    if command -v "$dw_detach" >/dev/null; then return 0; fi
    [ -n "$dw_auto" ] || { dw_error="there is no $dw_detach on this machine"; return 1; }
    for dw_detach in tmux setsid nohup; do
        if command -v "$dw_detach" >/dev/null; then return 0; fi
    done
    dw_error='there is no tmux, setsid or nohup on this machine'
    return 1
}

write_spec() {
    dw_session=null
    [ "$dw_detach" != tmux ] || dw_session="\"dogwatch-$dw_run\""
    put_durably spec.json "$dw_spec,\"cwd\":$(quoted "$dw_cwd_full"),\"detach\":\"$dw_detach\",\"session\":$dw_session}" ||
        { dw_error="$dw_dir/spec.json cannot be written ($(room))"; return 1; }
}

spawn() { # WHY
    case $dw_detach in
    tmux)
        if tmux has-session -t "=dogwatch-$dw_run" 2>/dev/null; then
            tmux new-window -d -t "=dogwatch-$dw_run:" sh "$dw_dir/chain.sh" supervise "$1"
        else
            tmux new-session -d -s "dogwatch-$dw_run" sh "$dw_dir/chain.sh" supervise "$1"
        fi </dev/null >/dev/null 2>tmux.err && { rm -f tmux.err; return 0; }
        [ -n "$dw_auto" ] || { dw_error="tmux could not start a session: $(clean <tmux.err | head -n 1)"; return 1; }
        if command -v setsid >/dev/null; then dw_detach=setsid; else dw_detach=nohup; fi
        write_spec && spawn "$1"
        ;;
    setsid) setsid sh "$dw_dir/chain.sh" supervise "$1" </dev/null >>supervisor.log 2>&1 & ;;
    *) nohup sh "$dw_dir/chain.sh" supervise "$1" </dev/null >>supervisor.log 2>&1 & ;;
    esac
}

one_at_a_time() { # several may ask for a start or a resume at the same moment
    dw_tries=0
    until lock starting; do
        [ -z "$dw_error" ] && [ "$dw_tries" -lt 300 ] || { dw_error=${dw_error:-somebody else has been starting it for half a minute}; return 1; }
        sleep 0.1 2>/dev/null || sleep 1
        dw_tries=$((dw_tries + 1))
    done
}

launch() { # WHY: start a supervisor unless one must not be; dw_not says why not
    dw_had=$(attempts) dw_not=$(why_not "$1")
    [ -z "$dw_not" ] || return 0
    dw_tries=0
    while owner_alive; do
        [ -e end.json ] || { dw_not='it is running'; return 0; }
        [ "$dw_tries" -lt 20 ] || { dw_not='it has ended, and its supervisor is sending the message of that; try again soon'; return 0; }
        sleep 1
        dw_tries=$((dw_tries + 1))
    done
    prepare && add_hook && spawn "$1" || return 1
    dw_tries=0
    until [ "$(attempts)" -gt "$dw_had" ]; do
        [ "$dw_tries" -lt 200 ] || { dw_error="its supervisor did not report in time; see $dw_dir/supervisor.log"; dw_unclear=yes; return 1; }
        sleep 0.1 2>/dev/null || sleep 1
        dw_tries=$((dw_tries + 1))
    done
}

start() { # prints one line of JSON
    dw_not='' dw_unclear=''
    one_at_a_time && if [ "$dw_detach" = sbatch ]; then prepare_slurm; else launch run; fi || dw_not=error
    if [ -n "$dw_error" ] && [ -z "$dw_unclear" ] && [ "$(attempts)" = 0 ] && [ ! -e slurm-0.id ]; then
        remove_hook
        (cd .. && rm -rf "./$dw_run")
    fi
    printf '{"run":"%s","directory":%s,"started":%s,"attempts":%s,"error":%s,"unclear":%s,"detach":"%s","hook":%s,"end":%s,"python3":%s,"jobs":[%s]}\n' \
        "$dw_run" "$(quoted "$dw_dir")" "$([ -z "$dw_not" ] && echo true || echo false)" "$(attempts)" \
        "$([ -n "$dw_error" ] && quoted "$dw_error" || echo null)" "$([ -n "$dw_unclear" ] && echo true || echo false)" \
        "$dw_detach" "$(cat hook.json 2>/dev/null || echo null)" "$(cat end.json 2>/dev/null || echo null)" \
        "$(command -v python3 >/dev/null && echo true || echo false)" "$(cat slurm-*.id 2>/dev/null | tr '\n' ',' | sed 's/,$//')"
}

resume() { # for people: one sentence
    one_at_a_time && launch "$1" || { echo "dogwatch: $dw_run was not resumed: ${dw_error:-it could not be started}" >&2; return 1; }
    if [ -n "$dw_not" ]; then
        push_what_was_not_pushed
        echo "dogwatch: $dw_run was not resumed: $dw_not"
    else
        dw_stage "$(first_unfinished)"
        echo "dogwatch: $dw_run resumes at stage $dw_name as attempt $(attempts)"
    fi
}

read_spec() { # what was found out when the run was first started
    dw_auto=''
    [ -e spec.json ] || return 0
    case $dw_detach in sbatch) ;; *) [ "$1" = start ] || dw_detach=$(text spec.json detach) dw_auto=yes ;; esac
    case $dw_cwd in /*) dw_cwd_full=$dw_cwd ;; *) dw_cwd_full=$HOME${dw_cwd:+/$dw_cwd} ;; esac
}

# Slurm: each stage is a job, after the one before it succeeded ---------------------------------------------------

prepare_slurm() {
    prepare || return 1
    dw_k=0 dw_before=''
    while [ "$dw_k" -lt "$dw_count" ]; do
        dw_stage "$dw_k"
        dw_job="$dw_run-$dw_name"
        if [ ! -s "slurm-$dw_k.id" ]; then
            # It may have been submitted by somebody who was cut off before they could write down its id.
            dw_id=$(squeue -h -o %i -n "$dw_job" 2>/dev/null | head -n 1)
            [ -n "$dw_id" ] || submit || return 1
            put_durably "slurm-$dw_k.id" "$dw_id" || { dw_error="slurm-$dw_k.id cannot be written ($(room))"; return 1; }
        fi
        dw_before=$(cat "slurm-$dw_k.id")
        dw_k=$((dw_k + 1))
    done
}

submit() { # the id in dw_id
    set -- --parsable -J "$dw_job" -D "$dw_cwd_full" -o "$dw_dir/stage-$dw_k.log" --open-mode=append
    [ -z "$dw_before" ] || set -- "$@" "--dependency=afterok:$dw_before" --kill-on-invalid-dep=yes
    dw_id=$(printf '#!/bin/sh\nexec sh %s slurm %s\n' "$(shell_word "$dw_dir/chain.sh")" "$dw_k" | dw_sbatch "$@" 2>sbatch.err) || dw_id=''
    dw_id=${dw_id%%;*}
    case $dw_id in '' | *[!0-9]*) dw_error="sbatch refused stage $dw_name: $(clean <sbatch.err | tail -n 1)"; return 1 ;; esac
}

slurm_stage() { # K, inside its job: the markers are the same as elsewhere
    dw_k=$1 dw_attempt=$((${SLURM_RESTART_COUNT:-0} + 1))
    dw_stage "$1"
    dw_log=stage-$1.log dw_resumed=no dw_log_from=$(size_of "stage-$1.log") dw_before=$(now)
    [ "$dw_attempt" = 1 ] || [ -z "$dw_resume" ] || dw_resumed=yes
    sh "$dw_dir/chain.sh" stage "$1" "$dw_attempt" "$dw_resumed" "$dw_log_from" </dev/null &
    dw_pid=$!
    trap 'kill -TERM $dw_pid 2>/dev/null; dw_signal=OTHER' TERM
    wait_for_stage
    record_end >/dev/null || dw_failed=yes
    if [ -n "${dw_failed:-}" ]; then
        finish failed "$dw_code" >/dev/null
        [ "$dw_code" != null ] || dw_code=1
    elif [ "$1" = $((dw_count - 1)) ]; then
        finish done 0 >/dev/null
    fi
    exit "$dw_code"
}

# ------------------------------------------------------------------------------------------------------------------

dw_sync=no
if sync --version 2>/dev/null | grep -q coreutils; then dw_sync=yes; fi
read_spec "$1"
case $1 in
start) start ;;
resume) resume resume ;;
reboot)
    PATH=$(. ./environment.sh >/dev/null 2>&1; printf '%s' "$PATH") # cron's own has little in it
    resume reboot
    ;;
supervise) supervise "$2" ;;
stage) stage_process "$2" "$3" "$4" "$5" ;;
slurm) slurm_stage "$2" ;;
*) echo "usage: sh $0 resume" >&2; exit 2 ;;
esac
