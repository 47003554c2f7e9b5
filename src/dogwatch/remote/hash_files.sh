# Words: a folder. Reads paths below it, each ended by a NUL, and prints for each file its SHA-256, two blanks and the
# path, ended by a NUL. A file that is not there is left out.
LC_ALL=C; export LC_ALL
cd "$1" || exit 9
if sha256sum -z </dev/null >/dev/null 2>&1; then
    xargs -0 sha256sum -z -- 2>/dev/null
elif command -v sha256sum >/dev/null 2>&1; then
    xargs -0 sh -c 'for path do
        [ -f "$path" ] || continue
        sum=$(sha256sum <"$path") && printf "%s  %s\0" "${sum%% *}" "$path"
    done' sh
elif command -v python3 >/dev/null 2>&1; then
    python3 -I -S -c '
import hashlib, os, sys
for path in sys.stdin.buffer.read().split(b"\0"):
    if path and os.path.isfile(path):
        sum = hashlib.sha256()
        with open(path, "rb") as file:
            for piece in iter(lambda: file.read(1 << 20), b""):
                sum.update(piece)
        sys.stdout.buffer.write(sum.hexdigest().encode() + b"  " + path + b"\0")
        sys.stdout.buffer.flush()
'
elif command -v openssl >/dev/null 2>&1; then
    xargs -0 sh -c 'for path do
        [ -f "$path" ] || continue
        sum=$(openssl dgst -sha256 -r <"$path") && printf "%s  %s\0" "${sum%% *}" "$path"
    done' sh
else
    exit 8
fi
exit 0
