# Completion of dogwatch for bash; made by `dogwatch completion bash`.
_dogwatch_words() {
    local name
    case "$1" in
        jobs | hosts | channels)
            while IFS= read -r name; do
                [[ "$name" == "$2"* ]] && COMPREPLY+=("$(printf '%q' "$name")")
            done < <(dogwatch __names "$1" 2>/dev/null)
            ;;
        files) mapfile -t COMPREPLY < <(compgen -f -- "$2") && compopt -o filenames 2>/dev/null ;;
        dirs) mapfile -t COMPREPLY < <(compgen -d -- "$2") && compopt -o filenames 2>/dev/null ;;
        any | "") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2") ;;
    esac
}

_dogwatch() {
    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}" at offered="" kind="" value=""
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _dogwatch_words "@VERBS@ --help --version" "$current"
        return
    fi
    for ((at = 1; at < COMP_CWORD; at++)); do
        if [[ "${COMP_WORDS[at]}" == -- ]]; then
            _dogwatch_words files "$current"
            return
        fi
    done
    local path="${COMP_WORDS[1]}"
    if ((COMP_CWORD > 2)) && [[ " @NESTED@ " == *" $path "* && "${COMP_WORDS[2]}" != -* ]]; then
        path="$path ${COMP_WORDS[2]}"
    fi
    case "$path" in
@COMMANDS@
    esac
    case "$path $before" in
@VALUES@
    esac
    if [[ -n "$value" || ("$current" != -* && -n "$kind") ]]; then
        _dogwatch_words "$kind" "$current"
    else
        _dogwatch_words "$offered" "$current"
    fi
}

complete -F _dogwatch dogwatch
