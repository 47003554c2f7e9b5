"""What launchers, batch systems and MPI say of a process that ended: by which signal, and who only followed."""

from __future__ import annotations

import pytest

from dogwatch.diagnosis import Role
from dogwatch.diagnosis.signals import ended_by
from dogwatch.diagnosis.table import classify
from tests.diagnosis.failing_logs import TRACEBACK, why


@pytest.mark.parametrize(
    ("number", "cause"),
    [(9, "killed"), (11, "segfault"), (6, "aborted"), (4, "aborted"), (8, "aborted"), (7, "shm_exhausted")],
)
@pytest.mark.parametrize(
    "line",
    [
        "E0301 10:00:01 api.py:882] failed (exitcode: -{number}) local_rank: 3 (pid: 88) of binary: /opt/python",
        "[launch.py:325:sigkill_handler] ['python', 'train.py'] exits with return code = -{number}",
        "[launch.py:325:sigkill_handler] ['python', 'train.py'] exits with return code = {code}",
        "trainer-1 exited with code {code}",
        "fit.sh: the training ended with status {code}",
        "launcher exited with {code}",
        "worker 3 terminated with -{number}.",
        "Command '['torchrun', 'fit.py']' died with <Signals.SIGNAME: {number}>.",
        "Error: Process completed with exit code {code}.",
        "Process `train (1)` terminated with an error exit status ({code})",
        "mpirun noticed that process rank 3 with PID 881 on node n7 exited on signal {number} (it ended).",
        "signal {number} (it ended).",
        "=   EXIT CODE: {number}",
        "=   EXIT STRING: it ended (signal {number})",
        "[n7:00881] Signal: it ended ({number})",
        "Command terminated by signal {number}",
        "app-1   Exited ({code}) 2 minutes ago",
    ],
)
def test_the_end_by_a_signal_is_known_whoever_tells_it(line, number, cause):
    """A number and a signal mean the same in the words of every launcher, container and batch system."""
    found = classify(line.format(number=number, code=number + 128))
    assert found is not None
    assert found.cause == cause
    assert found.fatal


@pytest.mark.parametrize(
    "line",
    [
        "exit code: 0",
        "return code = 0",
        "step 137: loss 0.9, 139 tokens, signal 0.9 (dB)",
        "=   EXIT CODE: 1",
        "exit code 1370",
        "exited with code 13",
        "epoch 3 ended with 137 samples, the shard with 139",
        "traffic signal: red (9 s)",
    ],
)
def test_other_numbers_are_no_signal(line):
    """A code that no signal gives, and a number that is no code, say nothing of a signal."""
    found = classify(line)
    assert found is None or not found.cause


def test_a_signal_brings_the_role_it_is_given():
    """A launcher ends the others by SIGTERM: that is told of a cause as what followed."""
    assert {pattern.role for pattern in ended_by(15, 0.7)} == {None}
    found = classify("failed (exitcode: -15) local_rank: 0")
    assert found is not None
    assert found.role is Role.CASCADE


STEP = "slurmstepd: error: *** STEP 81.0 ON n4 CANCELLED AT 2026-02-03T04:05:06 ***\n"


def test_a_step_that_was_cancelled_because_a_task_failed_is_not_cancelled_by_anybody():
    """Slurm writes the same line for the other tasks of a step that one of them left with an error."""
    found = why(
        f"running\nsrun: error: n4: tasks 1,3: Exited with exit code 1\nsrun: Terminating job step 81.0\n{STEP}"
    )
    assert found.cause == "unknown"
    assert found.evidence[0].line == 2
    assert why(f"running\n{STEP}srun: error: n4: task 0: Terminated\n").cause == "cancelled"


def test_a_step_that_was_cancelled_because_a_task_aborted_is_not_cancelled_by_anybody():
    """What the task died of is the cause; the line of the step only follows."""
    found = why(f"running\nsrun: error: n4: task 1: Aborted\nsrun: Terminating job step 81.0\n0: {STEP}")
    assert (found.cause, found.evidence[0].line) == ("aborted", 2)


def test_a_workflow_that_names_the_log_of_the_step_that_failed_does_not_know_why():
    """What it prints is quoted, and no cause is made of it."""
    found = why(
        "Error in rule align:\n    log: logs/align.log (check log file(s) for error details)\n"
        "    shell:\n        align x\n"
        "        (one of the commands exited with non-zero exit code; note that snakemake uses bash strict mode!)\n\n"
        "Exiting because a job execution failed. Look above for error message\n"
    )
    assert (found.cause, found.evidence[0].line) == ("unknown", 5)


def test_a_job_that_slurm_cancelled_for_its_memory_was_not_cancelled_by_anybody():
    """The line of the cancelling is the same; what Slurm said before it tells."""
    over = "slurmstepd: error: Job 81 exceeded memory limit (8359252 > 4067328), being killed\n"
    cancelled = STEP.replace("STEP 81.0", "JOB 81")
    found = why(over + cancelled)
    assert (found.cause, found.evidence[0].line) == ("host_oom", 1)
    assert why(f"training\n{cancelled}").cause == "cancelled"


def test_a_program_that_gave_itself_up_at_a_signal_was_interrupted():
    """It prints the signal it was sent, and whoever waited for it sees only the abort; a worker that was shut down at
    the end prints the same, and nothing failed."""
    asked = "*** SIGTERM received at time=1759753629 on cpu 42 ***\nPC: @     0x7f0bf9582117  (unknown)\n"
    found = why(f"round 51\n{asked}Command '['simulate']' died with <Signals.SIGABRT: 6>.\n")
    assert (found.cause, found.evidence[0].line) == ("interrupted", 2)
    assert why(f"round 51\nround 52\n{asked}") is None


def test_a_banner_that_a_launcher_wrote_out_as_it_fell_begins_no_other_attempt():
    """What it prints first may stand last, behind the traceback: its buffer held it back until the end."""
    banner = "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default\n"
    died = (
        "Traceback (most recent call last):\n"
        '  File "/opt/torch/distributed/launch.py", line 340, in <module>\n'
        "    main()\n"
        "subprocess.CalledProcessError: Command '['python', 'train.py']' died with <Signals.SIGKILL: 9>.\n"
    )
    tidied = "Killing subprocess 881\nKilling subprocess 882\n"
    found = why(f"epoch 3 loss 0.4\n{died}***\n{banner}***\n{tidied}")
    assert (found.cause, found.evidence[0].line) == ("killed", 5)
    again = "".join(f"loading shard {i}\n" for i in range(5))
    assert why(f"epoch 3 loss 0.4\n{died}***\n{banner}***\n{again}{tidied}") is None


def test_a_broken_board_explains_what_a_program_was_left_with():
    """That the memory of a board failed is a fact, whatever the program made of it."""
    failed = "ERROR: LoadError: 1 of 9 checks failed\n"
    found = why(f"starting\n  CUDA error: uncorrectable ECC error encountered (code 214)\n{failed}")
    assert (found.cause, found.evidence[0].line) == ("gpu_hardware", 2)
    assert why(f"starting\n{failed}").cause == "code_error"


@pytest.mark.parametrize(
    ("text", "cause", "line"),
    [
        (
            "starting\nAbort(1) on node 2 (rank 2 in comm 0): Fatal error in PMPI_Init_thread: Other MPI error\n"
            "MPIDI_OFI_mpi_init_hook(88): OFI endpoint open failed\n",
            "rendezvous_failed",
            2,
        ),
        ("starting\n[2] MPI startup(): ofi fabric is not available and fallback is off\n", "rendezvous_failed", 2),
        (
            "device check\nCUDA failure in count(&n)\nno CUDA-capable device is detected\n"
            "terminate called after throwing an instance of 'net::gpu_exception'\n",
            "cuda_unavailable",
            3,
        ),
        (
            "h4:7:9 [1] misc/ibvwrap.cc:9 NCCL WARN Call to ibv_create_cq failed\nh4:7:9 [1] NCCL INFO x.cc:1 -> 2\n",
            "nccl_error",
            1,
        ),
        ("loop\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   EXIT CODE: 9\n", "killed", 3),
        ("loop\nMPI_ABORT was invoked on rank 4 in communicator MPI_COMM_WORLD\n", "aborted", 2),
        ("loop\n[n4:88] *** An error occurred in MPI_Recv\n[n4:88] *** MPI_ERR_TRUNCATE: truncated\n", "code_error", 2),
        ("srun: error: Unable to confirm allocation for job 9: Invalid job id specified\n", "launch_failed", 1),
        (
            "step 1\nMemory access fault by GPU node-1 on address 0x7f.\nAborted (core dumped)\n",
            "cuda_illegal_access",
            2,
        ),
        (
            "ready\n[2026-03-01 10:20:30,1 E 7 7] rpc.h:1: Failed to connect to GCS at address n1:6\n",
            "rendezvous_failed",
            2,
        ),
        (
            "up\n[2026-03-01 10:20:30,412 C 71 71] a.cc:1:  Check failed: server_ Failed to start the grpc server.\n",
            "port_in_use",
            2,
        ),
        (
            "up\n2026-03-01 10:20:30.5: F tensorflow/lib/statusor.cc:34] Attempting to fetch value instead of handling "
            "error: CUDA_ERROR_NO_DEVICE: no device\n",
            "cuda_unavailable",
            2,
        ),
        ("up\nF0301 10:20:30.512345 71 table.cc:88] Check failed: rows == columns (3 vs. 4)\n", "aborted", 2),
        ("epoch 1\n[1]+  Killed                  nohup python train.py\n", "killed", 2),
        ("epoch 1\n[2]  - 71234 abort      ./train --fast\n", "aborted", 2),
        ("loop\nforrtl: error (78): process killed (SIGTERM)\n", "interrupted", 2),
        ("=>> PBS: job killed: node 1 (n12) requested job terminate, 'EOF' (code 1099)\n", "node_failure", 1),
        ("=>> PBS: job killed: ncpus 41.2 exceeded limit 40 (sum)\n", "killed", 1),
        ("TERM_SWAP: job killed after reaching LSF swap usage limit.\n", "host_oom", 1),
        ("ERROR: Job failed: execution took longer than 2h0m0s seconds\n", "time_limit", 1),
        ("pack\ntar: shard-7.tar: Wrote only 4096 of 10240 bytes\ntar: Error is not recoverable\n", "disk_full", 2),
        ("Host key verification failed.\n", "network_error", 1),
        ("Port 6006 is in use by another program. Start it with another port.\n", "port_in_use", 1),
        ("ch-run[71]: error: can't mkdir: /var/tmp/x: No such file or directory\n", "container_failed", 1),
        (
            "up\nF0301 10:20:30.512345 71 a.cu:9] kernel failed: unspecified launch failure\n" + "    @ 0x7f\n" * 9,
            "cuda_illegal_access",
            2,
        ),
        (
            "up\n[INFO] [launch.py:315] Killing subprocess 7\n['python', 'a.py'] exits with return code = 1\n",
            "unknown",
            3,
        ),
        ("loading\n*** Check failure stack trace: ***\n" + "    @ 0x7f\n" * 9, "unknown", 2),
        ("job deleted\nMOAB_INFO:  job exceeded wallclock limit\n", "time_limit", 2),
        ("reading: 20% (11/55) [#   ] eta 0:12:04 \\Terminated\n", "interrupted", 1),
        ("iter 8/90\n./go.sh: line 4:  7123 CPU time limit exceeded (core dumped) ./flow\n", "time_limit", 2),
        ("iter 8/90\n./go.sh: line 4:  7123 File size limit exceeded./flow\n", "disk_quota", 2),
        ("iter 8/90\ngrid/wing.dat: No such file or directory\n", "file_missing", 2),
        (
            "iter 8/90\n==71==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60\n" + "  x\n" * 9,
            "segfault",
            2,
        ),
        ("unpack\nEnd-of-central-directory signature not found.\n" + "  either\n" * 6, "checkpoint_corrupt", 2),
        ("verify\nw.bin: FAILED\nsha256sum: WARNING: 1 computed checksum did NOT match\n", "checkpoint_corrupt", 3),
        ("step 6/40\nERROR: annotation file sets/a.csv not found\n", "file_missing", 2),
        ("step 6/40\n2026-03-01 10:20:30 CRITICAL fit: Checkpoint runs/3/last.pt does not exist\n", "file_missing", 2),
        ("step 6/40\nFATAL: 6 ranks are not divisible by 4 stages\n", "config_error", 2),
        ("step 6/40\nfatal: Unable to allocate 7.1 TiB for an array with shape (9, 9)\n", "host_oom", 2),
        ("step 6/40\nTraining failed: KeyError('labels')\n", "code_error", 2),
        ("step 6/40\nERROR: no CUDA devices found, aborting\n", "cuda_unavailable", 2),
        ("error: --warmup must be smaller than --steps\n", "config_error", 1),
        ("step 6/40\nCaught signal 15, saving state\n", "interrupted", 2),
        ("step 6/40\nLoss diverged (nan) after 81 steps, stopping.\n", "loss_nan", 2),
        ("step 6/40\n./go.sh: line 4:  7123 Alarm clock             ./flow\n", "interrupted", 2),
        ("up\n./go.sh: line 4: exec: flow_gpu: not found\n", "launch_failed", 2),
        ("up\nawk: fatal: cannot open file `ids.txt' for reading: No such file or directory\n", "file_missing", 2),
        (
            "ssh: Could not resolve hostname n81: Name or service not known\n--\nA daemon failed to report back after "
            "being spawned. This could\n" + "be due to several things\n" * 9,
            "network_error",
            1,
        ),
    ],
)
def test_programs_without_a_traceback_say_why_they_ended(text, cause, line):
    """Compiled programs and MPI give their reason in a line of their own, and end."""
    found = why(text)
    assert found is not None
    assert (found.cause, found.evidence[0].line) == (cause, line)


@pytest.mark.parametrize(
    "text",
    [
        "W driver.cc:314] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\nstep 1\n",
        "qsub: waiting for job 81 to start\nqsub: job 81 ready\nstep 1\n",
        "MPI startup(): Run 'pmi_process_mapping'\nstep 1\n",
        "check failed: 0, check passed: 12\nstep 1\n",
        "srun: error: Unable to create step, retrying\n" + "step 1\n" * 9,
        "h4:7:9 [1] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer h5<57>\nstep 1\n",
        "[1]+  Terminated              nvidia-smi dmon -s u\nstep 1\n",
        "[1] 4411\nkilled 0 of 12 jobs\nstep 1\n",
        "progress 40% done, 3 workers terminated normally\nstep 1\n",
        "tar: This does not look like a tar archive\n" + "loss 0.1 at step 1/9\n" * 4,
        "critical batch size: 512\nstep 1\n",
        "FATAL: 6 ranks are not divisible by 4 stages\n" + "loss 0.1 at step 1/9\n" * 4,
    ],
)
def test_what_only_looks_like_an_end_is_none(text):
    """The same words in a log that goes on are no failure."""
    assert why(text) is None


def test_an_exception_that_a_hook_met_while_it_told_of_another_is_not_why():
    """Where telling of an exception fails itself, Python prints that first, and then the one it is about."""
    frame = 'Traceback (most recent call last):\n  File "/srv/train.py", line 8, in <module>\n    main()\n'
    hook = "Error in sys.excepthook:\n" + frame + "ModuleNotFoundError: No module named 'apt_pkg'\n"
    found = why(f"step 1\n{hook}\nOriginal exception was:\n{frame}torch.OutOfMemoryError: CUDA out of memory.\n")
    assert (found.cause, found.evidence[0].line) == ("cuda_oom", 12)


@pytest.mark.parametrize(
    "error",
    ["BlockingIOError: [Errno 11] Resource temporarily unavailable", "RuntimeError: can't start new thread"],
)
def test_a_limit_that_the_system_does_not_name_is_unknown(error):
    """That no process or thread was to be had says not whose limit it was; the line is quoted all the same."""
    found = why(f'Traceback (most recent call last):\n  File "/srv/a.py", line 8, in <module>\n    main()\n{error}\n')
    assert (found.cause, found.evidence[0].line) == ("unknown", 4)


GUESSES = (
    "Some common causes include: (1) the process was killed by the OOM killer due to high memory usage, (2) ray stop "
    "--force was called, or (3) the worker crashed unexpectedly due to SIGSEGV or another unexpected error."
)


def test_what_a_launcher_lists_as_possible_reasons_is_none_of_them():
    """Only a line that says which of them it was tells it."""
    died = f"(raylet) A worker died or was killed while executing a task by an unexpected system error. {GUESSES}\n"
    assert why(died).cause == "unknown"
    assert why(died + "(Worker pid=88) *** SIGSEGV received at time=1794843942 on cpu 0 ***\n").cause == "segfault"


def test_a_pool_that_lost_a_worker_tells_by_its_exit_code_how():
    """And not by what it says may have caused that."""
    lost = (
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    fit()\n'
        "loky.process_executor.TerminatedWorkerError: A worker was unexpectedly terminated. This could be caused "
        "by a segmentation fault while calling the function or by an excessive memory usage.\n\n"
    )
    assert why(lost).cause == "unknown"
    assert why(lost + "The exit codes of the workers are {SIGKILL(-9)}\n").cause == "killed"
    assert why(lost + "The exit codes of the workers are {SIGSEGV(-11)}\n").cause == "segfault"


def test_a_rank_that_was_killed_first_explains_what_its_peers_say():
    """That the other side closed a connection is a consequence; why a rank was killed, another line may say."""
    peer = (
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    sync()\nRuntimeError: '
        "[gloo/transport/tcp/pair.cc:537] Read error [10.0.0.7]:17596: Connection reset by peer\n"
    )
    first = "E0301 10:00:01 881 api.py:882] failed (exitcode: -9) local_rank: 1 (pid: 88) of binary: /opt/python\n"
    memory = (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=9.0. Some of the step tasks have been OOM Killed.\n"
    )
    assert why(peer + first).cause == "killed"
    assert why(peer + first + memory).cause == "host_oom"
    killed = "go.sh: line 4: 551 Killed                  torchrun fit.py\n"
    store = peer.partition("RuntimeError")[0] + "torch.distributed.DistStoreError: Timed out after 901 seconds\n"
    assert why(killed + store).cause == "killed"
    assert why(store + killed).cause == "rendezvous_failed"


def test_what_a_script_missed_is_not_why_its_program_was_killed():
    """It went on without that; where srun killed the other tasks only, what one of them missed is why."""
    missed = "cp: cannot stat 'data/shards.tar': No such file or directory\n"
    killed = "./go.sh: line 3:  5967 Killed                  python fit.py\n"
    for log in (f"{missed}reading\n{killed}", f"reading\n{killed}{missed}"):
        assert why(log).cause == "killed"
    swept = "srun: Job step aborted: Waiting up to 32 seconds for it to finish.\nsrun: error: n1: task 2: Killed\n"
    assert why(missed + swept, succeeded=False).cause == "file_missing"


@pytest.mark.parametrize(
    ("below", "cause", "line"),
    [
        ('No such file "wing.stl"\n', "file_missing", 3),
        ('\n    cannot find file "/srv/case/system/meshDict"\n', "file_missing", 4),
        ('keyword nu is undefined in dictionary "/srv/case"\n', "config_error", 2),
    ],
)
def test_a_solver_that_gives_up_says_why_below(below: str, cause: str, line: int):
    """OpenFOAM's own line says no more than that."""
    found = why(f"Create time\n--> FOAM FATAL ERROR: (openfoam-2212 patch=230612)\n{below}\nFOAM exiting\n")
    assert (found.cause, found.evidence[0].line) == (cause, line)


def test_what_a_worker_says_as_its_program_leaves_is_not_why():
    """The loader's workers are ended when the program is; what is met then says so."""
    leaving = "Error in atexit._run_exitfuncs:\n" + TRACEBACK
    killed = "RuntimeError: DataLoader worker (pid 31) is killed by signal: Terminated.\n"
    found = why(f"{TRACEBACK}FileNotFoundError: [Errno 2] No such file or directory: 'a.jpg'\n{leaving}{killed}")
    assert found.cause == "file_missing"


def test_a_worker_that_was_told_to_end_says_who_told_the_program_so():
    """A signal to the whole group meets the loader's workers as well, and they do not say who sent it."""
    killed = TRACEBACK + "RuntimeError: DataLoader worker (pid 31) is killed by signal: Terminated.\n"
    assert why(f"[rank: 0] Received SIGTERM: 15\n{killed}").cause == "interrupted"
    limit = "slurmstepd: error: *** JOB 71 ON n3 CANCELLED AT 2026-02-03T04:05:06 DUE TO TIME LIMIT ***\n"
    assert why(f"[rank: 0] Received SIGTERM: 15\n{killed}{limit}").cause == "time_limit"
    assert why(f"epoch 0\n{killed}").cause == "dataloader_worker_died"
    gone = killed.replace("is killed by signal: Terminated.", "exited unexpectedly")
    assert why(f"[rank: 0] Received SIGTERM: 15\n{gone}").cause == "interrupted"


def test_a_traceback_that_breaks_off_does_not_hide_what_the_log_ends_with():
    """A program that is ended while it prints leaves the shell the last word."""
    begun = 'Traceback (most recent call last):\n  File "/srv/loader.py", line 1479, in __del__\n'
    assert why(f"epoch 0\nException ignored in: <f>\n{begun}Terminated\n").cause == "interrupted"


def test_a_try_that_hydra_ends_counts_more_than_the_one_before_it_that_was_interrupted():
    """Without its primary configuration nothing begins."""
    broken = 'Traceback (most recent call last):\n  File "a.py", line 8, in <module>\n    go()\nKeyboardInterrupt\n'
    found = why(f"{broken}Cannot find primary config 'walker'. Check that it's in your config search path.\n")
    assert (found.cause, found.evidence[0].line) == ("config_error", 5)


def test_a_child_whose_parent_was_interrupted_while_it_was_started_is_not_why():
    """It finds only half of what it was to be given."""
    half = (
        'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'
        '  File "/opt/env/lib/python3.10/multiprocessing/spawn.py", line 126, in _main\n'
        "    self = reduction.pickle.load(from_parent)\n_pickle.UnpicklingError: pickle data was truncated\n"
    )
    found = why(f"epoch 0\n2026-04-02 10:11:12 - LOGS - Keyboard interruption. Leaving the loop\n{half}{half}")
    assert (found.cause, found.evidence[0].line) == ("interrupted", 2)


@pytest.mark.parametrize(
    ("rank", "code", "cause"), [(1, 3, "unknown"), (1, -6, "aborted"), (1, -15, "interrupted"), (0, 1, "nccl_error")]
)
def test_a_rank_that_left_without_a_word_explains_what_its_peers_say(rank, code, cause):
    """That another closed the connection, and that the launcher then ended the rest, does not say why the first left;
    unless the first that left is the one that says so."""
    signal = {-6: "SIGABRT", -15: "SIGTERM"}.get(code)
    told = f"Signal {-code} ({signal}) received by PID 72" if signal else "To enable traceback see: https://a.example/b"
    found = why(
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "/srv/fit.py", line 9, in <module>\n[rank0]:     loss.backward()\n'
        "[rank0]: RuntimeError: [/src/gloo/transport/tcp/pair.cc:53] Connection closed by peer [10.0.0.7]:4711\n"
        f"E0301 10:20:30.481 70 api.py:9] failed (exitcode: {code}) local_rank: {rank} (pid: 72) of binary: py\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
        "  rank      : 2 (local_rank: 2)\n  exitcode  : -15 (pid: 71)  (SIGTERM)\n"
        "  traceback : Signal 15 (SIGTERM) received by PID 71\n"
        "Root Cause (first observed failure):\n"
        f"  rank      : {rank} (local_rank: {rank})\n  exitcode  : {code} (pid: 72)\n  traceback : {told}\n"
    )
    assert found.cause == cause


def test_a_package_that_nobody_could_ask_for_is_not_missing() -> None:
    """Without a network pip finds no version of anything."""
    retry = (
        "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError(x)': /simple\n"
    )
    missing = "ERROR: No matching distribution found for acme\n"
    assert [getattr(why(text, exit_code=1), "cause", None) for text in (retry + missing, missing)] == [
        "network_error",
        "missing_module",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "go.sh: line 9: TRAINER: command not found",
        "go.sh: line 9: DATA: No such file or directory",
        "go.sh: line 9: 4411 Killed                  python fit.py",
        "notes.txt: line 9: Loss: falls slowly",
    ],
)
def test_only_a_variable_that_a_shell_asks_for_is_one(line):
    """A command, a file or a process that a shell names is none."""
    found = classify(line)
    assert found is None or found.cause != "config_error"


def test_what_a_script_complains_of_is_not_the_first_of_what_its_processes_say() -> None:
    """It is none of them, and it went on."""
    found = why(
        "/home/k/.bashrc: line 13: s: command not found\n"
        + "Launcher: Task 8 done. Exiting.\n" * 12
        + "slurmstepd: error: *** JOB 71 ON n8 CANCELLED AT 2024-10-01T15:25:39 DUE TO TIME LIMIT ***\n"
        "Killed by signal 15.\n"
    )
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("time_limit", 14)


def test_a_perl_script_died_of_what_stands_above() -> None:
    """Its own last line only says where."""
    found = why("LOAD CONFIG...\nTUNE: file /data/lm/dev.tok does not exist!\nDied at /opt/ems/run.perl line 437.\n")
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("file_missing", 2)


def test_what_pip_could_not_find_is_why_a_package_was_not_built() -> None:
    """It draws a box round it, and says some more below."""
    box = "  │ exit code: 1\n  ╰─> [2 lines of output]\n      ERROR: No matching distribution found for acme>=40\n"
    note = "  note: This error originates from a subprocess, and is likely not a problem with pip.\n"
    found = why(f"{box}      [end of output]\n\n{note}")
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("missing_module", 3)


NOISE = (
    "slurmstepd: error: _cgroup_procs_check: failed on path (null)/cgroup.procs: No such file or directory\n"
    "slurmstepd: error: Cannot write to cgroup.procs for (null)\n"
    "slurmstepd: error: Unable to move pid 925 to init root cgroup (null)\n"
)


def test_what_slurm_stumbles_over_as_it_tidies_up_is_no_reason() -> None:
    """It says so of jobs that ended well, and of one that was cancelled before it."""
    assert why("step 90/90\n" + NOISE) is None
    found = why("slurmstepd: error: *** JOB 71 ON n8 CANCELLED AT 2024-10-01T15:25:39 ***\n" + NOISE)
    assert found is not None
    assert found.cause == "cancelled"


def test_an_environment_that_a_script_could_not_enter_is_no_reason_where_its_program_ran() -> None:
    """Conda complains before and after it, also right below a line of code that some warning shows."""
    said = "\nCondaError: Run 'conda init' before 'conda {}'\n\n"
    ran = "fit.py:24: UserWarning: this is slow\n  for x in bar(loader):\n"
    assert why(said.format("activate") + ran * 3 + said.format("deactivate")) is None
