# Words: a folder, then nothing, or an offset and a path. Sends the files whose paths below the folder it reads, each
# ended by a NUL, as tar; or the rest of that one file from that byte on.
LC_ALL=C; export LC_ALL
cd "$1" || exit 9
if [ $# -ge 3 ]; then
    exec tail -c "+$(($2 + 1))" "$3"
fi
xargs -0 tar -cf - -- 2>/dev/null
exit 0
