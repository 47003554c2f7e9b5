# Words: a folder, and one beside it for what arrives. Unpacks the tar that it reads, then moves each file to its name.
LC_ALL=C; export LC_ALL
umask 022
mkdir -p "$1" && rm -rf "$2" && mkdir -m 700 "$2" && cd "$2" || exit 9
tar -xf - || { cd /; rm -rf "$2"; exit 7; }
find . -type d -exec sh -c 'base=$1; shift; for path do mkdir -p "$base/$path" || exit 1; done' sh "$1" {} + || exit 9
find . '(' -type f -o -type l ')' -exec sh -c '
    base=$1; shift; for path do mv -f "$path" "$base/$path" || exit 1; done' sh "$1" {} + || exit 9
cd / && rm -rf "$2"
