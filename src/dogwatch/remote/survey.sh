# What is on this machine for somebody who takes over: read-only, POSIX sh, one answer for everything.
# $1 is the directory of runs; the words after it are process ids that somebody believes to live.
# Each line is a word and its fields between tabs; a record is one line of JSON, cut at 4000 bytes.
LC_ALL=C
tab=$(printf '\t')
case $1 in "~/"*) runs=$HOME/${1#"~/"} ;; *) runs=$1 ;; esac
shift
one_line() { head -c 4000 "$1" 2>/dev/null | tr '\n\t' '  '; }
stat_of() { one_line "/proc/$1/stat"; }
printf 'about\t%s\t%s\t%s\n' "$(date +%s)" "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)" \
    "$(cat /etc/machine-id 2>/dev/null)"
for run in "$runs"/*; do
    [ -f "$run/chain.sh" ] && [ -d "$run" ] && [ ! -h "$run" ] || continue
    case $run in *"$tab"*|*"
"*) continue ;; esac
    owner=$(one_line "$run/lock/owner.json")
    pid=$(printf '%s' "$owner" | sed -n 's/^.*"pid": *\([0-9]\{1,9\}\).*$/\1/p')
    done_stages=
    for mark in "$run"/stage-*.done; do
        [ -f "$mark" ] && done_stages="$done_stages $(basename "$mark")"
    done
    printf 'run\t%s\t%s\t%s\t%s\t%s\n' "$run" "$owner" "$(one_line "$run/end.json")" "${pid:+$(stat_of "$pid")}" \
        "$done_stages"
done
for pid in "$@"; do
    printf 'process\t%s\t%s\n' "$pid" "$(stat_of "$pid")"
done
if command -v tmux >/dev/null 2>&1; then
    tmux list-sessions -F '#{session_name}' 2>/dev/null </dev/null | while IFS= read -r name; do
        printf 'session\t%s\n' "$name"
    done
fi
printf 'end\n'
