# Ends processes that are known by pid, start time and boot, with their session or their descendants. Words (each may be
# empty up to the signal): the id of the machine, a tmux session and the second in which it was made, a run directory
# and what to write there as cancelled.json; a signal, the seconds until SIGKILL, then pid, start time and boot of each.
# Prints lines: signalled PID, refused PID WHY, left PID, and done.
LC_ALL=C; export LC_ALL
machine=$1 session=$2 created=$3 run=$4 note=$5 signal=$6 grace=$7
shift 7
if [ -n "$machine" ] && [ "$machine" != "$(cat /etc/machine-id 2>/dev/null)" ]; then
    echo "refused 0 this is another machine than the one that it ran on"
    echo done
    exit 0
fi
boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)
me=$$
# "parent session start" of a process; nothing of one that is not there or is a zombie.
facts() {
    line=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    set -- ${line##*) }
    [ "$1" != Z ] && [ "$1" != X ] || return 1
    echo "$2 $4 ${20}"
}
start_of() { set -- $(facts "$1") && echo "$3"; }
# "pid:start" of everything that belongs to a process: its session where it leads one, else what descends from it.
members() {
    leader=$1
    set -- $(facts "$leader")
    [ $# = 3 ] || return 0
    if [ "$2" = "$leader" ]; then
        for folder in /proc/[0-9]*; do
            pid=${folder#/proc/}
            set -- $(facts "$pid")
            [ "$2" != "$leader" ] || echo "$pid:$3"
        done
        return 0
    fi
    echo "$leader:$3"
    below=" $leader "
    again=yes
    while [ $again = yes ]; do
        again=no
        for folder in /proc/[0-9]*; do
            pid=${folder#/proc/}
            case "$below" in *" $pid "*) continue ;; esac
            set -- $(facts "$pid")
            [ $# = 3 ] || continue
            case "$below" in *" $1 "*) below="$below$pid " again=yes; [ "$pid" = "$me" ] || echo "$pid:$3" ;; esac
        done
    done
}
field() { sed -n "s/.*\"$1\": *\"\{0,1\}\([0-9a-f-]*\).*/\1/p" "$2" 2>/dev/null | head -n 1; }
found=
# Words: pid, start, boot.
take() {
    if [ "$3" != "$boot" ]; then echo "refused $1 the machine was started again since, so nothing of it runs"; return; fi
    now=$(start_of "$1")
    if [ -z "$now" ]; then echo "refused $1 it has ended"; return; fi
    if [ "$now" != "$2" ]; then echo "refused $1 its number belongs to another process now"; return; fi
    echo "signalled $1"
    found="$found $(members "$1")"
}
send() {
    for one in $found; do
        pid=${one%%:*}
        [ "$(start_of "$pid")" != "${one##*:}" ] || kill -"$1" "$pid" 2>/dev/null
    done
}
alive() {
    for one in $found; do
        pid=${one%%:*}
        [ "$(start_of "$pid")" != "${one##*:}" ] || return 0
    done
    return 1
}
# A second at a time, at most so many.
wait_for_end() {
    left=$1
    while alive && [ "$left" -gt 0 ]; do sleep 1; left=$((left - 1)); done
}
if [ -n "$run" ]; then
    cd "$run" 2>/dev/null || {
        echo "refused 0 $run is not there: this is another machine, or its disk was wiped"
        echo done
        exit 0
    }
    owner=$(field pid lock/owner.json) start=$(field start lock/owner.json) of=$(field boot lock/owner.json)
    if [ -n "$owner" ] && [ "$of" = "$boot" ] && [ "$(start_of "$owner")" = "$start" ]; then
        umask 077
        printf '%s\n' "$note" >cancelled.json.tmp && mv cancelled.json.tmp cancelled.json || {
            echo "refused $owner cancelled.json cannot be written"
            echo done
            exit 0
        }
        echo "signalled $owner"
        kill -TERM "$owner"
        found="$owner:$start"
        wait_for_end $((grace + 15))
    else
        echo "refused ${owner:-0} its supervisor does not run"
    fi
    found=
    for record in stage-*.start.json; do
        [ -e "$record" ] || continue
        [ ! -e "${record%.start.json}.end.json" ] || [ "$record" -nt "${record%.start.json}.end.json" ] || continue
        pid=$(field pid "$record") start=$(field start "$record") of=$(field boot "$record")
        [ -z "$pid" ] || [ "$(start_of "$pid")" != "$start" ] || take "$pid" "$start" "$of"
    done
    set --
fi
if [ -n "$session" ]; then
    if [ "$(tmux display-message -p -t "=$session:" '#{session_created}' 2>/dev/null)" = "$created" ]; then
        for pid in $(tmux list-panes -s -t "=$session:" -F '#{pane_pid}' 2>/dev/null); do
            take "$pid" "$(start_of "$pid")" "$boot"
        done
    else
        echo "refused 0 the tmux session is gone, or is another one of that name"
    fi
fi
while [ $# -ge 3 ]; do
    take "$1" "$2" "$3"
    shift 3
done
if [ -n "$found" ]; then
    send "$signal"
    wait_for_end "$grace"
    send KILL
    wait_for_end 5
    for one in $found; do
        pid=${one%%:*}
        [ "$(start_of "$pid")" != "${one##*:}" ] || echo "left $pid"
    done
fi
echo done
exit 0
