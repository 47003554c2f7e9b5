# Word: the directory of a run under the supervisor. Prints the start record of each worker that has no end record.
LC_ALL=C; export LC_ALL
cd "$1" 2>/dev/null || exit 9
number=0
while [ -e "worker-$number.start.json" ]; do
    [ -e "worker-$number.end.json" ] || cat "worker-$number.start.json"
    number=$((number + 1))
done
exit 0
