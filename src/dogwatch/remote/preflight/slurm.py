"""What Slurm would say of a batch script, without submitting it."""

import os
import re

from dogwatch.remote.preflight.directories import inspect_directory
from dogwatch.remote.preflight.program import head_of
from dogwatch.remote.preflight.side_by_side import found_on_path, run_program

SLURM_PLACES = ("/usr/bin", "/usr/local/bin", "/opt/slurm/bin", "/opt/slurm/current/bin")
DIRECTIVE = re.compile(r"\A#SBATCH\s{1,20}(--[A-Za-z-]{1,40}|-[A-Za-z])(?:[=\s]?\s{0,20}(\S.{0,400}))?\Z")


def inspect_slurm(script: str, env: "dict[str, str]", cwd: str, seconds: float) -> object:
    """What `sbatch --test-only` says of a script, which submits nothing, and what the script asks for itself."""
    directives = {}
    for line in head_of(script).splitlines():
        if line and not line.startswith("#"):
            break
        found = DIRECTIVE.match(line.rstrip())
        if found:
            directives[found.group(1)] = (found.group(2) or "").split(" #")[0].strip().strip("\"'")
    output = directives.get("--output") or directives.get("-o") or ""
    folder = os.path.dirname(os.path.join(cwd, output))
    there, sbatch, said = os.path.isfile(script), found_on_path("sbatch", env, cwd, SLURM_PLACES), None
    if sbatch is not None and there:
        kept = {name: value for name, value in env.items() if not name.startswith("SBATCH_")}
        said = run_program([sbatch, "--test-only", script], kept, seconds, cwd)
    inside = inspect_directory(folder) if output and "%" not in folder else None
    return {"there": there, "directives": directives, "said": said, "output": inside}
