#compdef dogwatch
# Completion of dogwatch for zsh; made by `dogwatch completion zsh`.
_dogwatch_words() {
    local -a names
    case "$1" in
        jobs|hosts|channels)
            names=("${(@f)$(dogwatch __names $1 2>/dev/null)}")
            compadd -a names
            ;;
        files) _files ;;
        dirs) _files -/ ;;
        any|"") _message "a value" ;;
        *) compadd -- ${=1} ;;
    esac
}

_dogwatch() {
    local -a offered
    local where="${words[2]}" current="${words[CURRENT]}" before="${words[CURRENT-1]}" kind="" value=""
    if (( CURRENT == 2 )); then
        offered=(@DESCRIBED@)
        _describe command offered
        return
    fi
    if (( ${words[(i)--]} < CURRENT )); then
        _files
        return
    fi
    if (( CURRENT > 3 )) && [[ " @NESTED@ " == *" $where "* && "${words[3]}" != -* ]]; then
        where="$where ${words[3]}"
    fi
    case "$where" in
@COMMANDS@
    esac
    case "$where $before" in
@VALUES@
    esac
    if [[ -n "$value" || ( "$current" != -* && -n "$kind" ) ]]; then
        _dogwatch_words "$kind"
    else
        _describe option offered
    fi
}

if [[ "$funcstack[1]" == _dogwatch ]]; then
    _dogwatch "$@"
else
    compdef _dogwatch dogwatch
fi
