# Word: the id of a Slurm job. Cancels it where it is in the queue and of this user; prints what end_processes.sh prints.
LC_ALL=C; export LC_ALL
command -v scancel >/dev/null 2>&1 || { echo "refused 0 scancel is not installed there"; echo done; exit 0; }
owner=$(squeue -h -j "$1" -o %u 2>/dev/null | sort -u)
[ -n "$owner" ] || { echo "refused 0 it is not in the queue any more"; echo done; exit 0; }
[ "$owner" = "$(id -un)" ] || { echo "refused 0 the job with this id is of another user"; echo done; exit 0; }
if said=$(scancel -- "$1" 2>&1); then echo "signalled 0"; else echo "refused 0 $said"; fi
echo done
exit 0
