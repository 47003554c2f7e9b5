"""A job that is put back and fails the second time: only what this attempt wrote counts, and what changed is told."""

from __future__ import annotations

import json
import time

from tests.slurm.watch import Watcher
from tests.support import wait_until

OOM = """echo 'Traceback (most recent call last):'
echo '  File "/srv/train.py", line 9, in <module>'
echo '    main()'
echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB'
"""
TIMED = "say() { echo \"$(date '+%Y-%m-%d %H:%M:%S') INFO $*\"; }"

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


def test_an_attempt_is_judged_by_what_it_wrote_and_compared_with_the_one_before(watch: Watcher) -> None:
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


def test_a_requeue_between_two_looks_is_split_where_slurm_says_so(watch: Watcher) -> None:
    """Of what came in one poll, the error stands above the line with which Slurm ended the first attempt."""
    script = f"""#!/bin/bash
#SBATCH --requeue --open-mode=append --output=between-%j.log
echo begun
[ "${{SLURM_RESTART_COUNT:-0}}" = 0 ] || exit 7
while [ ! -e $HOME/go-$SLURM_JOB_ID ]; do sleep 0.2; done
{OOM}
touch $HOME/said-$SLURM_JOB_ID
sleep 600
"""
    job = watch.lab.sbatch("alice", script, "--time=60")
    watch.lab.wait_state(job, "RUNNING")
    watch.add(job)
    watch.until(lambda seen: seen[str(job)]["state"] == "running")
    home = watch.lab.home("alice")
    watch.lab.run("alice", "touch", f"{home}/go-{job}", check=True)
    wait_until(lambda: watch.lab.run("alice", "test", "-e", f"{home}/said-{job}").returncode == 0)
    watch.lab.scontrol("requeue", str(job))
    watch.lab.wait_accounting(job, "FAILED")
    ended = watch.until_ended(job, timeout=60)[str(job)]
    assert (ended["outcome"], ended["exit_code"], ended["attempts"]) == ("failed", 7, 2)
    assert ended["diagnosis"]["cause"] == "unknown"
    assert json.loads(watch.must("why", job, "--json"))["cause"] == "unknown"


def test_what_others_wrote_before_a_job_that_is_seen_late_is_not_its_own(watch: Watcher) -> None:
    """By the times in the lines: neither their error nor their progress is."""
    first = f"#!/bin/bash\n#SBATCH --output=timed.log\n{TIMED}\nsay step 900/900; say dying\n{OOM}\nexit 1\n"
    before = watch.lab.sbatch("alice", first, "--time=60")
    watch.lab.wait_accounting(before, "FAILED")
    time.sleep(6)  # longer than clocks may differ
    second = f"""#!/bin/bash
#SBATCH --open-mode=append --output=timed.log
{TIMED}
say begun; say step 1/50; sleep 4; say step 2/50
while [ ! -e $HOME/end-timed ]; do sleep 0.2; done
say step 3/50; exit 5
"""
    job = watch.lab.sbatch("alice", second, "--time=60")
    watch.lab.wait_state(job, "RUNNING")
    time.sleep(3)
    watch.add(job)
    seen = watch.until(lambda seen: seen[str(job)]["progress"])[str(job)]
    assert seen["progress"]["total"] == 50
    watch.lab.run("alice", "touch", f"{watch.lab.home('alice')}/end-timed", check=True)
    ended = watch.until_ended(job)[str(job)]
    assert (ended["exit_code"], ended["diagnosis"]["cause"]) == (5, "unknown")


def test_where_no_time_tells_the_newest_run_counts_and_the_doubt_is_told(watch: Watcher) -> None:
    """A log that begins again as it began holds several runs."""
    opening = "echo 'torch 2.4.1 on 8 GPUs'; echo 'loading the tokenizer of the model'"
    first = f"#!/bin/bash\n#SBATCH --output=plain.log\n{opening}\n{OOM}\nexit 1\n"
    before = watch.lab.sbatch("alice", first, "--time=60")
    watch.lab.wait_accounting(before, "FAILED")
    second = f"""#!/bin/bash
#SBATCH --open-mode=append --output=plain.log
{opening}
echo "ModuleNotFoundError: No module named 'flash_attn'"
exit 1
"""
    job = watch.lab.sbatch("alice", second, "--time=60")
    watch.lab.wait_accounting(job, "FAILED")
    watch.add(job)
    found = watch.until_ended(job)[str(job)]["diagnosis"]
    assert found["cause"] == "missing_module"
    assert "check that the line belongs to this attempt" in found["advice"][-1]
