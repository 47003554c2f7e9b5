# Writes the files of a run and starts its chain. A second delivery of the same run finds what the first one left, and
# starts nothing that was started. `write_files` is generated; all of it is in braces, so that half of it does nothing.

say() { printf '{"run":"%s","directory":"","started":false,"attempts":0,"error":"%s","unclear":false,"detach":"","hook":null,"end":null,"python3":false,"jobs":[]}\n' "$dw_run" "$1"; }

deliver() {
    dw_umask=$(umask)
    umask 077
    [ -n "$dw_runs" ] || { [ -n "$HOME" ] && dw_runs=$HOME/.dogwatch/runs || { say 'HOME is not set there'; return; }; }
    mkdir -p "$dw_runs" 2>/dev/null
    dw_dir=$dw_runs/$dw_run
    if [ ! -s "$dw_dir/chain.sh" ]; then
        mkdir "$dw_dir" 2>/dev/null || [ -d "$dw_dir" ] ||
            { say "its directory cannot be made in $(printf '%s' "$dw_runs" | tr -cd '[:print:]' | tr -d '"\\')"; return; }
        cd "$dw_dir" && write_files 2>/dev/null && [ "$(($(wc -c <"chain.$$")))" = "$dw_size" ] && mv -f "chain.$$" chain.sh ||
            { rm -f "push.$$" "chain.$$"; rmdir "$dw_dir"; say 'its files cannot be written: the disk is full or cannot be written'; return; } 2>/dev/null
    fi
    cd / || return
    umask "$dw_umask"
    sh "$dw_dir/chain.sh" start </dev/null
}

dw_answer=$(deliver)
printf '%s\nDOGWATCH-END %s %d\n' "$dw_answer" "$dw_nonce" "$(printf '%s' "$dw_answer" | wc -c)"
exit 0
