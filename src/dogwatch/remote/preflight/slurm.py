"""What Slurm would say of a batch script, without submitting it."""

import os
import re
from typing import Any

from dogwatch.remote.preflight.directories import inspect_directory
from dogwatch.remote.preflight.program import head_of
from dogwatch.remote.preflight.side_by_side import found_on_path, heard

SLURM_PLACES = ("/usr/bin", "/usr/local/bin", "/opt/slurm/bin", "/opt/slurm/current/bin")
DIRECTIVE = re.compile(r"\A#SBATCH\s{1,20}(--[A-Za-z-]{1,40}|-[A-Za-z])(?:[=\s]?\s{0,20}(\S.{0,400}))?\Z")


def inspect_slurm(script: str, env: "dict[str, str]", cwd: str, seconds: float) -> "dict[str, Any]":
    """What `sbatch --test-only` says of a script, which submits nothing, and what the script asks for itself."""
    row: "dict[str, Any]" = {"there": os.path.isfile(script), "directives": {}, "said": None}
    for line in head_of(script).splitlines():
        if line and not line.startswith("#"):
            break
        found = DIRECTIVE.match(line.rstrip())
        if found:
            row["directives"][found.group(1)] = (found.group(2) or "").split(" #")[0].strip().strip("\"'")
    output = row["directives"].get("--output") or row["directives"].get("-o") or ""
    folder = os.path.dirname(os.path.join(cwd, output))
    row["output"] = inspect_directory(folder) if output and "%" not in folder else None
    sbatch = found_on_path("sbatch", env, cwd, SLURM_PLACES)
    if sbatch is not None and row["there"]:
        kept = {name: value for name, value in env.items() if not name.startswith("SBATCH_")}
        row["said"] = heard([sbatch, "--test-only", script], kept, seconds, cwd)
    return row
