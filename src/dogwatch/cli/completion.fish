# Completion of dogwatch for fish; made by `dogwatch completion fish`.
function __dogwatch_names
    dogwatch __names $argv[1] 2>/dev/null
end

function __dogwatch_at
    set -l typed (commandline -opc)
    set -e typed[1]
    contains -- -- $typed; and return 1
    test (count $typed) -ge (count $argv); or return 1
    test "$typed[1..$(count $argv)]" = "$argv"; or return 1
    if test (count $argv) -eq 1; and contains -- $argv[1] @NESTED@
        test (count $typed) -eq 1; or string match -q -- '-*' $typed[2]; or return 1
    end
    return 0
end

complete -c dogwatch -f
complete -c dogwatch -n __fish_use_subcommand -l help -d 'show the list of commands'
complete -c dogwatch -n __fish_use_subcommand -l version -d 'show the version'
@FISH@
