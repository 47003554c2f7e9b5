# Prints what the processes of this machine name: pid, path, each ended by a NUL. Of each process its program, its
# working directory with every argument, and its open files.
LC_ALL=C; export LC_ALL
for folder in /proc/[0-9]*; do
    pid=${folder#/proc/}
    [ "$pid" != $$ ] || continue
    program=$(readlink "$folder/exe" 2>/dev/null) || continue
    printf '%s\0%s\0' "$pid" "$program"
    work=$(readlink "$folder/cwd" 2>/dev/null)
    # An argument that holds a newline is no name of a script.
    tr '\0' '\n' 2>/dev/null <"$folder/cmdline" | while IFS= read -r word; do
        case "$word" in
        /*) printf '%s\0%s\0' "$pid" "$word" ;;
        ?*) printf '%s\0%s/%s\0' "$pid" "$work" "$word" ;;
        esac
    done
    for file in "$folder"/fd/*; do
        path=$(readlink "$file" 2>/dev/null) || continue
        case "$path" in /*) printf '%s\0%s\0' "$pid" "$path" ;; esac
    done
done
exit 0
