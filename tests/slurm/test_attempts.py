"""A job that is put back and fails the second time: only what this attempt wrote counts, and what changed is told."""

from __future__ import annotations

import json

from tests.slurm.watch import Watch

SCRIPT = """#!/bin/bash
#SBATCH --requeue --open-mode=append --output=shared-%j.log
if [ "${SLURM_RESTART_COUNT:-0}" = 0 ]; then
  echo 'torch 2.4.1'; echo 'lr: 0.001'; echo 'epochs: 9'
  for i in 1 2 3; do echo "step $i/100 loss 2.$i"; done
  echo 'Traceback (most recent call last):'
  echo '  File "/srv/train.py", line 9, in <module>'
  echo '    main()'
  echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB'
  sleep 600
fi
echo 'torch 2.5.0'; echo 'lr: 0.001'; echo 'epochs: 9'
exit 7
"""


def test_an_attempt_is_judged_by_what_it_wrote_and_compared_with_the_one_before(watch: Watch) -> None:
    """The first attempt's error stands above in the same log and is nobody's cause now; what the second says of itself
    at its beginning is held against what the first said."""
    job = watch.lab.sbatch("alice", SCRIPT, "--time=60", "--nodelist=gpu01")
    watch.lab.wait_state(job, "RUNNING")
    watch.add(job)
    watch.until(lambda seen: (seen[str(job)]["progress"] or {}).get("step") == 3)
    watch.lab.scontrol("requeue", str(job))
    watch.until(lambda seen: seen[str(job)]["attempts"] == 2, timeout=120)
    watch.lab.update(f"JobId={job}", NodeList="gpu02")
    ended = watch.until_ended(job, timeout=180)[str(job)]
    assert (ended["outcome"], ended["exit_code"]) == ("failed", 7)
    assert ended["diagnosis"]["cause"] == "unknown"
    assert [row["attempt"] for row in ended["history"]] == [1, 2]
    found = json.loads(watch.must("why", job, "--json"))
    assert found["cause"] == "unknown"
    changed = found["changed"]
    assert (changed["since"], changed["how"], changed["reached"]) == ("attempt 1", "requeued", 3)
    told = {one["name"] or one["what"]: (one["before"], one["now"]) for one in changed["changes"]}
    assert told["torch version"] == ("2.4.1", "2.5.0")
    assert "lr" not in told
    assert "since attempt 1 (requeued, at step 3):" in watch.must("why", job)
