"""What takes Slurm long: all of it begun at once, watched to its end, and looked at by many tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.lab.lab import Lab
from tests.slurm.watch import Document, Watcher, findings
from tests.support import wait_until

EAT_MEMORY = "python3 -c 'kept = [bytearray(10**7) for _ in range(100)]'"
SAVE_STEPS = "for n in 1 2 3; do echo step $n/3; done"
WAITING = ("dependent", "patient", "held", "too long", "closed", "limited", "later")
AGAIN = ("requeued", "preempted")
LASTING = (*WAITING, *AGAIN, "array", "first of limited")


@dataclass
class Scenes:
    """The jobs by the names that tests call them: as they were before two of them were put back in the queue, and
    when all that ends had ended and those two ran again."""

    watch: Watcher
    jobs: dict[str, int] = field(default_factory=dict)
    first: dict[str, Document] = field(default_factory=dict)
    seen: dict[str, Document] = field(default_factory=dict)

    @property
    def lab(self) -> Lab:
        return self.watch.lab

    def play(self) -> None:
        self._begin_what_runs()
        self._begin_what_waits()
        self.watch.add(*self.jobs.values())
        # It runs by Slurm's word, for as long as Slurm has not tried to launch it.
        self.lab.wait_state(self.jobs["relaunched"], "RUNNING")
        self.first = self._named(self.watch.until(self._pending_reasons_are_there, timeout=60))
        self.lab.update("NodeName=gpu03", State="DRAIN", Reason="no job shall be sent to the dead node")
        self.lab.scontrol("requeue", self.jobs["requeued"])
        self.lab.sbatch("alice", "sleep 1", "-p", "high", "--exclusive")
        ending = self._begin_what_ends()
        self.jobs |= ending
        self.watch.add(*ending.values())
        self._cancel()
        wait_until(lambda: self.lab.show(self.jobs["relaunched"])["Restarts"] == "1", timeout=60, pause=0.3)
        self.lab.start_node("gpu04", wait=False)
        self.seen = self._named(self.watch.until(self._all_is_over, timeout=150))

    def _begin_what_runs(self) -> None:
        """Ends that Slurm takes up to half a minute for, and what will be put back."""
        lab, jobs = self.lab, self.jobs
        trap = "trap 'exit 0' TERM; sleep 600 & wait"
        jobs["limit"] = lab.sbatch("alice", "sleep 600", "-w", "gpu02", "-t", "1")
        jobs["trapped"] = lab.sbatch("alice", trap, "-w", "gpu02", "-t", "1")
        jobs["node"] = lab.sbatch("alice", "sleep 600", "-w", "gpu03", "--no-requeue")
        jobs["scrap"] = lab.sbatch("bob", "sleep 600", "-p", "scrap", "-n", "30")
        jobs["requeued"] = lab.sbatch("alice", "sleep 600", "-w", "gpu01")
        jobs["preempted"] = lab.sbatch("bob", "sleep 600", "-p", "low", "-n", "30")
        jobs["first of limited"] = lab.sbatch("bob", "sleep 600", "-w", "gpu01", "--qos=limited")
        for job in jobs.values():
            lab.wait_state(job, "RUNNING")
        lab.expire(jobs["limit"])
        lab.expire(jobs["trapped"])
        lab.kill_node("gpu03")
        lab.kill_node("gpu04")
        jobs["relaunched"] = lab.sbatch("alice", "exit 3", "-w", "gpu04")

    def _begin_what_waits(self) -> None:
        lab, jobs = self.lab, self.jobs
        jobs["failed"] = lab.sbatch("alice", "exit 1", "-w", "gpu05")
        lab.wait_state(jobs["failed"], "FAILED")
        jobs["dependent"] = lab.sbatch("alice", "true", f"--dependency=afterok:{jobs['failed']}")
        jobs["patient"] = lab.sbatch("alice", "true", f"--dependency=afterok:{jobs['requeued']}")
        jobs["held"] = lab.sbatch("alice", "true", "--hold", "-w", "gpu05")
        jobs["too long"] = lab.sbatch("alice", "true", "-p", "short", "-t", "10")
        jobs["closed"] = lab.sbatch("alice", "true", "-p", "down")
        jobs["limited"] = lab.sbatch("bob", "true", "--qos=limited")
        jobs["later"] = lab.sbatch("alice", "true", "--begin=now+1hour")
        jobs["array"] = lab.sbatch("alice", "sleep 600", "--array=1-9%2", "-w", "gpu01")
        lab.wait_state(f"{jobs['array']}_2", "RUNNING")

    def _begin_what_ends(self) -> dict[str, int]:
        lab = self.lab
        return {
            "zero": lab.sbatch("alice", f"{SAVE_STEPS}; exit 0", "-c", "2", "--mem=100M", "-t", "10"),
            "three": lab.sbatch("alice", "exit 3"),
            "137": lab.sbatch("alice", "exit 137"),
            "shot": lab.sbatch("alice", "kill -9 $$"),
            "inner": lab.sbatch("alice", "srun false; exit 0"),
            "no output": lab.sbatch("alice", "true", "-o", "/nowhere/at/all"),
            "parts": lab.sbatch("alice", "exit $((SLURM_ARRAY_TASK_ID % 2))", "--array=1-4"),
            "het": self._heterogeneous(),
            "cancelled": lab.sbatch("alice", "sleep 600", "--hold"),
            "stopped": lab.sbatch("bob", "touch ~/begun; exec sleep 600", "--exclude=gpu03,gpu04"),
            "memory": lab.sbatch("alice", EAT_MEMORY, "--mem=50M"),
            "memory in srun": lab.sbatch("alice", f"srun {EAT_MEMORY}", "--mem=50M"),
        }

    def _heterogeneous(self) -> int:
        script = self.lab.home("alice") / "het.sh"
        script.write_text("#!/bin/sh\n#SBATCH -n 1\n#SBATCH hetjob\n#SBATCH -n 2\nsrun --het-group=1 false\nexit 4\n")
        script.chmod(0o755)
        return int(self.lab.run("alice", "sbatch", "--parsable", str(script), check=True).stdout.strip())

    def _cancel(self) -> None:
        self.lab.run("alice", "scancel", self.jobs["cancelled"], check=True)
        # A job that is cancelled while Slurm launches it ends with the launcher's code, or with none.
        wait_until((self.lab.home("bob") / "begun").exists, timeout=120, pause=0.2)
        self.lab.scancel(self.jobs["stopped"])

    def _named(self, known: dict[str, Document]) -> dict[str, Document]:
        return {name: known[str(job)] for name, job in self.jobs.items()}

    def _pending_reasons_are_there(self, known: dict[str, Document]) -> bool:
        """Slurm says `None` or `Priority` until it has made up its mind."""
        first = self._named(known)
        undecided = ("Slurm has not tried to schedule it yet", "other jobs have a higher priority")
        return all(findings(first[name]) for name in ("dependent", "too long")) and not any(
            first[name]["reason"] in undecided for name in WAITING
        )

    def _all_is_over(self, known: dict[str, Document]) -> bool:
        seen = self._named(known)
        ended = all(job["state"] == "ended" for name, job in seen.items() if name not in LASTING)
        return ended and all(seen[name]["attempts"] == 2 and seen[name]["state"] == "running" for name in AGAIN)
