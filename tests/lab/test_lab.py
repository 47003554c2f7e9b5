"""The laboratory is what it says: a real cluster, real hosts, real faults, and nothing left of it afterwards."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.accounts import PEOPLE
from tests.lab.ground import NODES, why_not
from tests.lab.lab import ROOT, Lab
from tests.lab.lease import POINTER
from tests.lab.processes import start_time
from tests.support import wait_until

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

EAT_MEMORY = "python3 -c 'kept = [bytearray(10**7) for _ in range(100)]'"
USE_IT = """
import pathlib, sys, time
from tests.lab.lab import Lab
Lab.start(pathlib.Path(sys.argv[1])).hosts(2)
print(1, flush=True)
time.sleep(600)
"""
QUICK = ("-oConnectTimeout=2", "-oServerAliveInterval=1", "-oServerAliveCountMax=2")


@pytest.fixture(scope="module")
def slow(lab):
    """Three ends that Slurm takes its time for, all begun at once: by limit, by a dead node, by a dead slurmd."""
    lab.heal()
    jobs = {
        "limit": lab.sbatch("alice", "sleep 600", "-w", "gpu02"),
        "power": lab.sbatch("alice", "sleep 600", "-w", "gpu03", "--no-requeue"),
        "slurmd": lab.sbatch("alice", "while :; do date; sleep 1; done", "-w", "gpu04", "-o", "dates"),
    }
    for job in jobs.values():
        lab.wait_state(job, "RUNNING")
    lab.expire(jobs["limit"])
    lab.kill_node("gpu03")
    lab.kill_slurmd("gpu04")
    return jobs


def ends_as(lab, job, expected):
    """Wait until the accounting says this of the job ("") and of its steps, which may come later than the job."""
    seen: dict[str, str] = {}

    def told():
        seen.clear()
        for row in lab.sacct(job, "JobID", "State", "ExitCode", steps=True):
            seen[row["JobID"].partition(".")[2]] = f"{row['State'].split()[0]} {row['ExitCode']}"
        return expected.items() <= seen.items()

    try:
        wait_until(told, timeout=120, pause=0.2)
    except AssertionError:
        assert seen == expected


def test_the_cluster_is_up_with_six_idle_nodes_of_eight_gpus(lab):
    """All nodes are idle and claim what slurm.conf gives them."""
    lab.heal()
    told = lab.run("alice", "sinfo", "-h", "-N", "-p", "main,high", "-o", "%N %T %c %m %G", check=True)
    lines = [line.strip() for line in told.stdout.splitlines()]
    assert sorted(lines) == [f"{node} idle 64 262144 gpu:8" for node in NODES]


def test_a_job_completes_with_its_gpus_and_is_accounted(lab, slow):
    """A user's job runs as that user with the GPUs it asked for, and its record is in the accounting."""
    job = lab.sbatch("bob", "id -un; echo $CUDA_VISIBLE_DEVICES; srun -n1 true", "--gpus=2", "-o", "seen-%j")
    ends_as(lab, job, dict.fromkeys(("", "batch", "extern", "0"), "COMPLETED 0:0"))
    assert lab.wait_accounting(job, "COMPLETED")[0]["User"] == "bob"
    assert (lab.home("bob") / f"seen-{job}").read_text().split() == ["bob", "0,1"]


def test_too_much_memory_is_out_of_memory(lab, slow):
    """The kernel kills for memory: in the batch script the job says so, inside srun only the step does."""
    if not lab.has_memory_limits:
        pytest.skip(lab.notes[0])
    outer = lab.sbatch("alice", EAT_MEMORY, "--mem=50M")
    inner = lab.sbatch("alice", f"srun {EAT_MEMORY}", "--mem=50M")
    ends_as(lab, outer, {"": "OUT_OF_MEMORY 0:125"})
    ends_as(lab, inner, {"": "FAILED 1:0", "0": "OUT_OF_MEMORY 0:125"})


def test_a_preempted_job_is_requeued_or_not_as_its_partition_says(lab, slow):
    """`high` takes the node: a job of `low` waits and runs again under its id, one of `scrap` is over."""
    low, scrap = (lab.sbatch("bob", "sleep 600", "-p", part, "-n", "30") for part in ("low", "scrap"))
    lab.wait_state(low, "RUNNING")
    lab.wait_state(scrap, "RUNNING")
    high = lab.sbatch("alice", "sleep 1", "-p", "high", "--exclusive")
    lab.wait_state(scrap, "PREEMPTED")
    lab.wait_state(high, "COMPLETED")
    lab.wait_state(low, "RUNNING")
    assert lab.show(low)["Restarts"] == "1"
    wait_until(lambda: [row["State"] for row in lab.sacct(low, "State", every=True)] == ["PREEMPTED", "RUNNING"])
    lab.scancel(low)
    assert lab.wait_accounting(low, "CANCELLED")[0]["State"] == "CANCELLED by 0"


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("-p", "down"), "PartitionDown"),
        (("-p", "short", "-t", "10"), "PartitionTimeLimit"),
        (("--qos=limited",), "QOSMaxJobsPerUserLimit"),
        (("--qos=fewgpus", "--gpus=5"), "QOSMaxGRESPerUser"),
        (("--hold",), "JobHeldUser"),
    ],
)
def test_a_job_can_be_made_to_wait_for_every_reason(lab, slow, flags, reason):
    """The partitions and qualities of service exist for these words."""
    first = lab.sbatch("bob", "sleep 600", "--qos=limited") if "--qos=limited" in flags else None
    job = lab.sbatch("bob", "sleep 600", *flags)
    wait_until(lambda: lab.show(job)["Reason"] == reason, timeout=30, pause=0.2)
    lab.scancel(job, *([first] if first else []))


def test_a_record_of_another_job_with_the_same_id_can_be_had(lab, slow):
    """An old record stands beside the true one, and is what sacct shows only if every one is asked for."""
    job = lab.sbatch("alice", "true")
    lab.wait_accounting(job, "COMPLETED")
    lab.add_stale_record(job, user="bob", state="FAILED", exit_code=3)
    rows = lab.sacct(job, "User", "State", "ExitCode", every=True)
    assert [tuple(row.values()) for row in rows] == [("bob", "FAILED", "3:0"), ("alice", "COMPLETED", "0:0")]
    assert [row["User"] for row in lab.sacct(job)] == ["alice"]


def test_every_daemon_can_be_taken_away_and_comes_back(lab, slow):
    """Accounting, authentication and the controller fail one at a time, each with Slurm's own words."""
    lab.kill_slurmdbd()
    assert "Connection refused" in lab.run("alice", "sacct").stderr
    lab.start_slurmdbd()
    assert lab.run("alice", "sacct").returncode == 0
    lab.stop_munge()
    assert "authentication error" in lab.run("alice", "squeue").stderr
    lab.start_munge()
    assert lab.run("alice", "squeue").returncode == 0
    lab.stop_slurmctld()
    with pytest.raises(subprocess.TimeoutExpired):
        lab.run("alice", "squeue", timeout=2)
    lab.cont_slurmctld()
    assert lab.run("alice", "squeue").returncode == 0


@pytest.mark.parametrize("host", ["lab", "lab-bob", "lab-noisy", "lab-csh", "lab-bare", "lab-jump"])
def test_slurm_answers_over_ssh_whatever_the_login_shell(lab, host):
    """`ssh -F config HOST sinfo` works in a non-interactive session without any set-up of the user's."""
    done = lab.ssh(host, "sinfo -h -o %R")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-6:] == ["main", "short", "down", "high", "low", "scrap"]
    assert len(done.stdout.splitlines()) == (107 if host == "lab-noisy" else 6)


def test_the_users_differ_as_announced(lab):
    """carol's shell is a C shell, and bare has no Python on the PATH."""
    assert lab.ssh("lab-csh", "echo $tcsh:q").stdout.strip()
    assert lab.ssh("lab-bare", "command -v python3").returncode == 1
    assert lab.ssh("lab", "command -v python3").returncode == 0


def test_keys_that_do_not_fit_are_refused(lab):
    """An unknown host and an unknown client, each in ssh's own words and without a question."""
    assert "Host key verification failed" in lab.ssh("lab-unknown", "true").stderr
    assert "Permission denied" in lab.ssh("lab-refused", "true").stderr


def test_a_cut_link_makes_ssh_fail_and_a_restored_one_works(lab):
    """A new connection runs into its time limit, an open one is given up, and neither leaves the machine."""
    far = lab.far()
    assert lab.ssh(far, "sinfo -h -o %R").stdout.split()[0] == "main"
    lab.cut(far)
    assert "Connection timed out" in lab.ssh(far, "true", options=QUICK).stderr
    lab.restore(far)
    argv = ["ssh", "-F", str(lab.ssh_config), *QUICK, far, "echo begun; sleep 60"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as session:
        assert session.stdout is not None
        assert session.stdout.readline() == "begun\n"
        lab.cut(far)
        assert "not responding" in session.communicate(timeout=30)[1]
    assert session.returncode == 255
    lab.restore(far)
    assert lab.ssh(far, "true", options=QUICK).returncode == 0


def test_hosts_can_hang_answer_late_in_part_or_as_somebody_else(lab):
    """Each of the ways in which a host disappoints, on a host of its own; healing ends them all."""
    hung, late, part, other = lab.hosts(4)
    lab.stop_sshd(hung)
    lab.delay(late, 1)
    lab.cut_after(part, 4)
    lab.change_host_key(other)
    assert "banner exchange" in lab.ssh(hung, "true", options=QUICK).stderr
    began = time.monotonic()
    assert lab.ssh(late, "echo here").stdout == "here\n"
    assert time.monotonic() - began > 1
    assert lab.ssh(part, "echo 123456789").stdout == "1234"
    assert "Host key verification failed" in lab.ssh(other, "true").stderr
    lab.heal_hosts()
    assert [lab.ssh(host, "echo whole").stdout for host in (hung, late, part, other)] == ["whole\n"] * 4


def test_a_time_limit_ends_a_job_with_timeout(lab, slow):
    """TIMEOUT for the job, CANCELLED by SIGTERM for its script."""
    ends_as(lab, slow["limit"], {"": "TIMEOUT 0:0", "batch": "CANCELLED 0:15"})


def test_a_dead_node_fails_or_requeues_its_jobs(lab, slow):
    """Without power the job is NODE_FAIL; without slurmd it is queued again while its processes still write."""
    ends_as(lab, slow["power"], {"": "NODE_FAIL 0:0"})
    wait_until(lambda: lab.show(slow["slurmd"]).get("Restarts") == "1", timeout=60, pause=0.2)
    # `down*`, or `mixed*` while Slurm still waits for the job's end there; the star is "does not respond".
    assert [lab.node_state(node)[-1] for node in ("gpu03", "gpu04")] == ["*", "*"]
    assert lab.pids_on("gpu03") == set()
    assert lab.pids_on("gpu04")
    before = (lab.home("alice") / "dates").stat().st_size
    wait_until(lambda: (lab.home("alice") / "dates").stat().st_size > before)


def test_a_finished_job_is_forgotten_by_the_controller(lab, slow):
    """With a short MinJobAge its id soon is invalid, while the accounting keeps it."""
    lab.configure(MinJobAge=2)
    job = lab.sbatch("alice", "true")
    lab.wait_accounting(job, "COMPLETED")
    lab.wait_purged(job)
    assert "Invalid job id specified" in lab.run("alice", "squeue", "-j", job).stderr
    assert lab.state(job) == "COMPLETED"


def test_a_cluster_without_accounting_says_so(calm_lab):
    """Jobs run as before, sacct knows nothing, and afterwards everything is accounted again."""
    with calm_lab.without_accounting():
        calm_lab.wait_state(calm_lab.sbatch("alice", "true"), "COMPLETED")
        assert "accounting storage is disabled" in calm_lab.run("alice", "sacct").stderr
    calm_lab.wait_accounting(calm_lab.sbatch("alice", "true"), "COMPLETED")


def test_a_controller_that_lost_its_state_starts_again_at_one(calm_lab):
    """Its jobs are invalid ids, and the next job gets an id that was another's."""
    job = calm_lab.sbatch("alice", "sleep 600")
    calm_lab.wait_state(job, "RUNNING")
    calm_lab.lose_state()
    assert calm_lab.squeue_state(job) == ""
    assert calm_lab.sbatch("bob", "true") == 1
    wait_until(lambda: not any("slurm_script" in command for command in calm_lab.processes_of("alice").values()))


def test_healing_undoes_every_fault_at_once(lab):
    """Whatever a test left behind, the next one finds six idle nodes and prompt hosts."""
    lab.sbatch("alice", "sleep 600")
    lab.kill_slurmdbd()
    lab.stop_munge()
    lab.kill_slurmctld()
    lab.kill_node("gpu05")
    lab.kill_sshd()
    lab.authorize(False)
    lab.heal()
    assert lab.run("alice", "squeue", "-h").stdout == ""
    assert {lab.node_state(node) for node in NODES} == {"idle"}
    assert lab.ssh("lab", "sacct -n").returncode == 0


def leftovers(lab: Lab, pids: dict[int, int | None]) -> list[str]:
    """What a laboratory that is gone still has on this machine; a process without a start was gone when asked."""
    found = [f"process {pid}" for pid, start in pids.items() if start is not None and start_time(pid) == start]
    found += [f"user {user}" for user in PEOPLE if any(entry.pw_name == user for entry in pwd.getpwall())]
    found += [str(path) for path in Path("/sys/fs/cgroup").glob("*/slurm_gpu*")]
    found += [str(path) for path in Path("/sys/fs/cgroup").glob("*/dogwatch-lab")]
    found += [str(path) for path in Path("/run/netns").glob("dogwatch-*")]
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if str(lab.directory) in line]
    found += [str(path) for path in (lab.directory, POINTER) if path.exists()]
    routes = subprocess.run(["ip", "route"], capture_output=True, text=True).stdout
    return found + [line for line in routes.splitlines() if line.startswith("blackhole")]


def test_nothing_is_left_after_stop_nor_after_its_user_was_killed(lab):
    """Processes, users, cgroups, namespaces, mounts and files go, with jobs running and also by the guardian's hand."""
    if lab.leases.living() != [str(os.getpid())]:
        pytest.skip(f"the laboratory is used by others too: {lab.leases.living()}")
    lab.heal()
    lab.wait_state(lab.sbatch("alice", "sleep 600 & sleep 600"), "RUNNING")
    pids = {pid: start_time(pid) for pid in lab.processes.everyone()}
    lab.stop()
    assert leftovers(lab, pids) == []

    argv = [sys.executable, "-c", USE_IT, str(lab.directory)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"1\n"
        pids = {pid: start_time(pid) for pid in lab.processes.everyone()}
        assert len(pids) > 12
        user.send_signal(signal.SIGKILL)
    try:
        wait_until(lambda: not leftovers(lab, pids), timeout=120, pause=0.2)
    except AssertionError:
        assert leftovers(lab, pids) == []  # which says what they are
        raise
    finally:
        Lab.start(lab.directory)  # for the tests after this one, however it goes
    assert Lab.running() is not None
    assert lab.ssh("lab", "sinfo -h").returncode == 0
