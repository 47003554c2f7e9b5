# Watches runs where there is no python3: comes before poll.sh, and after the lines that define `box_rows` and
# `box_files` out of the functions here. Everything that a file or a program says is told in hexadecimal digits, one line
# for each thing, so that no name and no text can be taken for another.
most_text=65536

hex() {
    od -An -v -tx1 | tr -d ' \n'
}

as_hex() {
    printf %s "$1" | hex
}

# The machine: its id, the start of its first process, CPUs, quota and load.
machine() {
    printf 'm id %s\n' "$(head -c 64 /etc/machine-id 2>/dev/null | hex)"
    printf 'm init %s\n' "$(head -c 2048 /proc/1/stat 2>/dev/null | hex)"
    printf 'm cpus %s\n' "$(as_hex "$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null)")"
    printf 'm quota %s\n' "$(cat /sys/fs/cgroup/cpu.max 2>/dev/null | head -c 64 | hex)"
    printf 'm load %s\n' "$(head -c 64 /proc/loadavg 2>/dev/null | hex)"
}

row() {
    printf 'r %s\n' "$1"
}

# One process: how many children it has, its stat file, and what its memory cgroup holds, may hold, and was killed in.
process() {
    case $1 in *[!0-9]* | '') return ;; esac
    children=$(cat "/proc/$1/task/$1/children" 2>/dev/null | wc -w)
    group=$(sed -n 's/^0:://p' "/proc/$1/cgroup" 2>/dev/null)
    [ -r "/sys/fs/cgroup$group/memory.current" ] || group=
    held=$(cat "/sys/fs/cgroup$group/memory.current" "/sys/fs/cgroup$group/memory.max" 2>/dev/null | tr '\n' ' ')
    files=$(sed -n 's/^inactive_file //p;s/^active_file //p' "/sys/fs/cgroup$group/memory.stat" 2>/dev/null | tr '\n' ' ')
    kills=$(sed -n 's/^oom_kill //p' "/sys/fs/cgroup$group/memory.events" 2>/dev/null)
    memory=$(as_hex "$held/$files/$kills/$group")
    printf 'p %s %s %s %s\n' "$1" $((children)) "$(head -c 2048 "/proc/$1/stat" 2>/dev/null | hex)." "$memory"
}

# The records of a chain. Its processes come first: one that is gone by then has written what it ever will.
chain() {
    folder=$1
    case $folder in "~/"*) folder=$HOME/${folder#"~/"} ;; esac
    [ -d "$folder" ] || { echo 'c absent'; return; }
    echo 'c there'
    for file in "$folder"/lock/owner.json "$folder"/attempt-*.json "$folder"/stage-*.start.json; do
        [ -f "$file" ] || continue
        process "$(sed -n 's/.*"pid": *\([0-9][0-9]*\).*/\1/p' "$file" | head -n 1)"
    done
    for file in "$folder"/lock/owner.json "$folder"/*.json "$folder"/stage-*.done; do
        [ -f "$file" ] && [ ! -L "$file" ] || continue
        [ "$(($(wc -c <"$file")))" -le 60000 ] || continue
        printf 'f %s %s\n' "$(as_hex "${file#"$folder"/}")" "$(hex <"$file")"
    done
}

# Every pane of tmux, and how tmux ended.
panes() {
    said=$(tmux list-panes -a -F "$1" 2>&1)
    code=$?
    printf 't %s %s\n' "$code" "$(as_hex "$said")"
    [ "$code" = 0 ] || return 0
    for pid in $(tmux list-panes -a -F '#{pane_pid}' 2>/dev/null); do process "$pid"; done
}

# Result files: how many and how large they are, the newest of them with its end, and some by name. What is no regular
# file does not count.
count() {
    [ -e "$1" ] || shift
    [ $# -gt 0 ] || { echo 'k 0 0 0 0'; return; }
    facts=$(stat -c '%Y %s %F' -- "$@" 2>/dev/null | awk '
        $3 == "regular" { count++; size += $2; if ($1 >= last) { last = $1; at = NR } }
        END { printf "%d %.0f %d %d", count, size, last, at }')
    echo "k $facts"
    at=${facts##* }
    [ "$at" -gt 0 ] || return 0
    eval "file=\${$at}"
    printf 'n %s %s\n' "$(as_hex "$file")" "$(tail -c 2048 -- "$file" | hex)."
    names=0
    for file in "$@"; do
        [ -f "$file" ] && [ ! -L "$file" ] || continue
        names=$((names + 1))
        [ "$names" -le 64 ] || break
        printf 'o %s %s\n' "$(stat -c '%s %Y' -- "$file")" "$(as_hex "$file")"
    done
}

# Markers, each by name.
markers() {
    for file in "$@"; do
        [ -f "$file" ] && [ ! -L "$file" ] || continue
        printf 'x %s %s\n' "$(stat -c '%s %Y' -- "$file")" "$(as_hex "$file")"
    done
}

# A log from an offset on, if it is the file with that inode; of one that is new or far ahead its end.
log() {
    path=$1 inode=$2 offset=$3
    name=$(as_hex "$path")
    [ -f "$path" ] && [ ! -L "$path" ] || { printf 'l %s missing\n' "$name"; return; }
    facts=$(stat -c '%d %i %s %Y' -- "$path" 2>/dev/null) || { printf 'l %s unreadable\n' "$name"; return; }
    set -- $facts
    from=0
    if [ "$2" = "$inode" ] && [ "$3" -ge "$offset" ]; then from=$offset; fi
    if [ $(($3 - from)) -gt "$most_text" ]; then from=$(($3 - most_text)); fi
    head=$(head -c 1024 -- "$path" | hex)
    text=$(tail -c +$((from + 1)) -- "$path" | head -c "$most_text" | hex)
    printf 'l %s %s %s %s. %s.\n' "$name" "$facts" "$from" "$head" "$text"
}

# The room on the file system of a path, or of the nearest directory above it.
disk() {
    folder=$1
    while [ ! -e "$folder" ] && [ "$folder" != / ]; do folder=$(dirname -- "$folder"); done
    may=no
    [ -w "$folder" ] && may=yes
    printf 'd %s %s %s %s\n' "$(as_hex "$1")" "$may" \
        "$(df -P -k -- "$folder" 2>/dev/null | tail -n 1 | hex)." "$(df -P -i -- "$folder" 2>/dev/null | tail -n 1 | hex)."
}

box() {
    printf '\n%s box\n' "$nonce"
    machine
    box_rows
    box_files
}
