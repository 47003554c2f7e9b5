"""Which line of a fall says the cause: roots before consequences, the uncaught before the caught."""

from __future__ import annotations

import pytest

from dogwatch.diagnosis import Evidence, Log, Role, diagnose
from tests.diagnosis.failing_logs import STEPS, TRACEBACK, why


def test_an_uncaught_exception_at_the_end_is_the_cause():
    """The exception that the program was left with decides, and is quoted with its line number."""
    found = why(STEPS + TRACEBACK + "KeyError: 'labels'\n")
    assert (found.cause, found.role) == ("code_error", Role.ROOT)
    assert [(q.file, q.line, q.text) for q in found.evidence] == [("rank0.log", 1206, "KeyError: 'labels'")]


def test_a_broken_board_explains_an_error_that_cuda_does_not_know():
    """Whatever the day of the week that the kernel's line begins with."""
    xid = "[Wed Feb  4 09:12:11 2026] NVRM: Xid (PCI:0000:1a:00): 79, pid=31, GPU has fallen off the bus.\n"
    found = why(STEPS + xid + TRACEBACK + "RuntimeError: CUDA error: unknown error\n")
    assert (found.cause, found.evidence[0].line) == ("gpu_hardware", 1201)


def test_of_a_chain_of_one_cause_the_plainest_word_is_quoted():
    """A full disk is quoted where it is named, not where the writer stumbled over it."""
    link = "\nDuring handling of the above exception, another exception occurred:\n\n"
    last = "RuntimeError: [enforce fail at inline_container.cc:664] . unexpected pos 320 vs 256\n"
    found = why(TRACEBACK + "OSError: [Errno 28] No space left on device\n" + link + TRACEBACK + last)
    assert (found.cause, found.evidence[0].line) == ("disk_full", 6)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            TRACEBACK + "KeyError: 'labels'\nsrun: error: n4: task 0: Exited with exit code 1\n"
            "State: FAILED (exit code 1)\nJob finished at Mon\n",
            "code_error",
        ),
        (
            "ERROR 07-01 10:00:00 [core.py:51] Traceback (most recent call last):\n"
            'ERROR 07-01 10:00:00 [core.py:51]   File "/srv/core.py", line 5, in loop\n'
            "ERROR 07-01 10:00:00 [core.py:51] RuntimeError: CUDA error: an illegal memory access was encountered\n"
            'INFO:     10.0.0.2:5501 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error\n'
            "INFO:     Shutting down\nINFO:     Finished server process [77]\n",
            "cuda_illegal_access",
        ),
        (
            STEPS + "[rank2]: RuntimeError: CUDA error: unspecified launch failure\n"
            "NVRM: Xid (PCI:0000:41:00): 79, pid=77, GPU has fallen off the bus.\n",
            "gpu_hardware",
        ),
        (STEPS + "[guard] no training progress for 1800 s, terminating the job\nTerminated\n", "stalled"),
    ],
    ids=["epilogue", "server", "board", "guard"],
)
def test_what_is_tidied_up_after_a_fall_does_not_hide_it(text, cause):
    """A job that `finished`, a server that shut down and a shell's word for the signal say only that it is over."""
    assert why(text).cause == cause


def test_a_traceback_in_one_line_of_a_structured_log_is_read():
    """Where a logger writes JSON, the line ends of a traceback are two characters each."""
    line = (
        '{"level": "error", "exc": "Traceback (most recent call last):\\n  File \\"a.py\\", line 3, in f\\n'
        "    x['y']\\nKeyError: 'y'\"}\n"
    )
    found = why(STEPS + line)
    assert (found.cause, [quote.line for quote in found.evidence]) == ("code_error", [1201])


def test_a_job_that_succeeded_gets_no_cause():
    """With a piece of evidence of success, not even a traceback at the end of the log is a cause."""
    assert why(TRACEBACK + "KeyError: 1\n", succeeded=True) is None
    assert why(TRACEBACK + "KeyError: 1\n", state="COMPLETED", exit_code=0) is None


def test_a_quota_that_surfaces_as_a_collective_timeout_is_a_quota():
    """The first root error wins, although the ranks that waited for it speak louder and later."""
    writer = STEPS + "saving latest\n" + TRACEBACK + "OSError: [Errno 122] Disk quota exceeded: 'ckpt/latest'\n"
    waiting = "".join(
        f"[rank{rank}]:[E] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9,"
        " OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800055 milliseconds before timing out.\n"
        for rank in range(1, 8)
    )
    torchrun = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \ntrain.py FAILED\n"
    for logs in ([writer + waiting + torchrun], [STEPS + waiting, writer, torchrun]):
        assert why(*logs).cause == "disk_quota"


def test_a_quota_hit_in_the_background_is_found_behind_later_steps():
    """Where only waiting ranks are left at the end, a resource that ran out earlier explains them."""
    hit = "Exception in thread saver:\n" + TRACEBACK + "OSError: [Errno 122] Disk quota exceeded: 'ckpt/latest'\n"
    timeout = "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL ran for 1800055 milliseconds\n"
    assert why(STEPS + hit + STEPS + timeout * 8, exit_code=1).cause == "disk_quota"
    assert (
        why(STEPS + hit.replace("[Errno 122] Disk quota exceeded", "no such thing") + STEPS + timeout).cause
        == "nccl_timeout"
    )


def test_a_full_quota_that_was_only_warned_of_explains_ranks_that_waited():
    """Whoever could not save went on and was missed half an hour later, perhaps by other files of the job."""
    warned = "2026-03-16 09:30:00 WARNING could not write latest: [Errno 122] Disk quota exceeded: 'ck/latest'\n"
    timeout = "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL ran for 1800055 milliseconds\n"
    assert why(STEPS + timeout, STEPS + warned + STEPS, exit_code=1).cause == "disk_quota"
    assert why(STEPS + warned + STEPS, exit_code=0) is None


def test_of_several_logs_the_first_root_in_time_speaks():
    """Whatever the order of the files, and although the later one is the louder."""
    first = "2026-03-01 10:00:00 saving\n" + TRACEBACK + "OSError: [Errno 28] No space left on device: 'a'\n"
    later = "2026-03-01 10:04:00 step 9\n" + TRACEBACK + "RuntimeError: CUDA out of memory. Tried to allocate 1 GiB\n"
    assert why(first, later).cause == why(later, first).cause == "disk_full"


def test_consequences_alone_are_no_cause():
    """A launcher that reports a dead child does not know why it died, and neither do we."""
    found = why(STEPS + "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n", exit_code=1)
    assert found.cause == "unknown"
    assert found.alternatives
    assert all(other.tell for other in found.alternatives)


def test_a_chain_is_read_to_its_end_but_a_mere_wrapper_gives_way():
    """The last exception of a chain decides, unless it only wraps one that says more."""
    link = "\nDuring handling of the above exception, another exception occurred:\n\n"
    handled = TRACEBACK + "KeyError: 'x'\n" + link + TRACEBACK + "FileNotFoundError: [Errno 2] No such file: 'x'\n"
    assert why(handled).cause == "file_missing"
    cause = "\nThe above exception was the direct cause of the following exception:\n\n"
    wrapped = TRACEBACK + "ImportError: libx.so: undefined symbol: f\n" + cause + TRACEBACK + "RuntimeError: failed\n"
    assert why(wrapped).cause == "missing_module"


@pytest.mark.parametrize(
    "prefix", ["[rank3]: ", "(Worker pid=881) ", "3: ", "[default3]:", "ERROR 08-21 12:00:01 core.py:70] "]
)
def test_a_traceback_behind_a_prefix_is_a_traceback(prefix):
    """Launchers and actors put something before every line; the exception is found behind it."""
    text = "".join(prefix + line + "\n" for line in (TRACEBACK + "IndexError: list index out of range").splitlines())
    found = why("start\n" + text)
    assert found.cause == "code_error"
    assert found.evidence[0].line == 7


def test_the_three_ways_of_running_out_are_never_mixed_up():
    """GPU memory, host memory and a cancellation are told apart whatever else is said."""
    gpu = STEPS + TRACEBACK + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB\n"
    host = (
        STEPS + "slurmstepd: error: Detected 1 oom_kill event in StepId=7.batch. Some of the step tasks have been "
        "OOM Killed.\n"
    )
    scancel = STEPS + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***\n"
    assert why(gpu, exit_code=1, state="FAILED").cause == "cuda_oom"
    assert why(host, state="OUT_OF_MEMORY").cause == "host_oom"
    assert why(scancel, state="CANCELLED by 1000").cause == "cancelled"
    assert why(STEPS + "DataLoader worker (pid 9) is killed by signal: Killed.\n", oom_kills=2).cause == "host_oom"


def test_pieces_may_be_cut_anywhere():
    """Where a log is cut into pieces changes nothing in what it says."""
    text = (STEPS[:5000] + TRACEBACK + "ValueError: bad\n" + TRACEBACK + "TypeError: worse\n").encode()
    whole = diagnose(Evidence(logs=(Log("a", [text]),)))
    for size in (1, 7, 100, 4097):
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        assert diagnose(Evidence(logs=(Log("a", pieces),))) == whole


def test_a_part_of_a_shared_log_is_quoted_with_its_true_lines():
    """Only what this attempt wrote is given, and its lines are counted from where it began."""
    part = Log("master.log", [(TRACEBACK + "KeyError: 1\n").encode()], first_line=501)
    found = diagnose(Evidence(logs=(part,)))
    assert found is not None
    assert found.evidence[0].line == 506


def test_a_quoted_line_is_clean_and_keeps_no_secret():
    """Escape codes and tokens that a job printed do not reach whoever reads the diagnosis."""
    line = "OSError: \x1b[31mhttps://kim:hunter22@example.org/x?token=abcdef1234567890\x1b[0m No space left on device\n"
    text = why(TRACEBACK + line).evidence[0].text
    assert "\x1b" not in text
    assert "hunter22" not in text
    assert "abcdef1234567890" not in text


@pytest.mark.parametrize(
    ("text", "known", "first"),
    [
        ("step 1 loss 2\nsrun: error: n1: task 0: Exited with exit code 1\n", {"exit_code": 1}, "code_error"),
        ("step 1 loss 2\n", {"succeeded": False}, "host_oom"),
        (TRACEBACK + "OSError: [Errno 5] Input/output error: '/data/7.bin'\n", {}, "disk_full"),
    ],
    ids=["a bare exit code", "not a word", "an error of the disk"],
)
def test_what_the_evidence_leaves_open_is_named_with_what_would_tell(text, known, first):
    """An honest unknown names two or three causes, the likeliest first, each with a command."""
    found = why(text, **known)
    assert (found.cause, found.alternatives[0].cause) == ("unknown", first)
    assert 2 <= len(found.alternatives) <= 3
    assert all(other.tell for other in found.alternatives)
    assert sum(other.confidence for other in found.alternatives) <= 1


def test_an_exception_of_a_general_name_is_believed_less_than_one_that_says_what_it_is():
    """How sure an answer is follows from how often answers of its kind were right."""
    plain, general, unheard = (
        why(TRACEBACK + line).confidence
        for line in ("KeyError: 'a'\n", "RuntimeError: bad state\n", "acme.WeirdError: x\n")
    )
    assert plain > 0.9 > general > unheard


def test_a_root_under_megabytes_of_what_came_of_it_is_found():
    """Stack dumps of every rank may follow an error; as long as nothing shows life, it is still the last fall."""
    dump = "frame #7: unknown function (0x7f001122 in /opt/lib/libtorch_cuda.so)\n" * 30_000
    error = TRACEBACK + "OSError: [Errno 28] No space left on device: 'ckpt/9.pt'\n"
    found = why(STEPS + error + dump + "Aborted (core dumped)\n", exit_code=134)
    assert (found.cause, found.evidence[0].line) == ("disk_full", 1206)
    assert why(STEPS + error + STEPS * 3 + "Aborted (core dumped)\n", exit_code=134).cause == "aborted"


def test_of_a_program_that_fell_again_the_last_fall_counts_however_little_it_says():
    """What it fell over the time before was mended; of another program, what is known better is the root."""
    before = TRACEBACK + "KeyError: 'batches'\nvram of the card: 0 of 12288 MB\n"
    last = TRACEBACK + "RuntimeError: bad state\n"
    assert why(before + last).evidence[0].line == 13
    assert why(before + last.replace("/srv/train.py", "/srv/launch.py")).evidence[0].line == 6


def test_what_a_script_misses_after_its_program_fell_is_no_root():
    """It goes on as if there were something to move, or an environment to leave."""
    fell = TRACEBACK + "ModuleNotFoundError: No module named 'torch'\n"
    assert why("CondaError: Run 'conda init' before 'conda activate'\n").cause == "launch_failed"
    assert why(fell + "CondaError: Run 'conda init' before 'conda deactivate'\n").cause == "missing_module"
    refused = "a tool for models: error: argument -m/--model: expected one argument\n"
    assert why(refused + "mv: cannot stat 'out/*': No such file or directory\n").cause == "config_error"
    named = "ModuleNotFoundError: No module named 'acme'\n"
    assert why("torch.cuda.OutOfMemoryError: CUDA out of memory\nstarting\n" + named).cause == "missing_module"


def test_what_a_later_command_of_a_script_misses_is_not_why_an_earlier_one_died():
    """A shell goes on after a command that a signal ended, and the next one finds nothing to work on."""
    died = "/spool/job7/slurm_script: line 3:  4910 Segmentation fault      (core dumped) python fit.py\n"
    missed = TRACEBACK + "ZeroDivisionError: float division by zero\n"
    found = why(f"fitting\n{died}0 rows read\n{missed}")
    assert (found.cause, found.evidence[0].line) == ("segfault", 2)
    assert why(f"fitting\n{died.replace('fit.py', 'train.py')}0 rows read\n{missed}").cause == "code_error"
    full = TRACEBACK + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    assert why(f"fitting\n{died}0 rows read\n{full}").cause == "cuda_oom"
    script = "/spool/job7/slurm_script: line 4: syntax error near unexpected token `&'\n"
    assert why(f"fitting\n{died}{script}").cause == "segfault"


def test_a_file_that_an_earlier_program_of_a_script_was_to_write_is_missing_because_that_one_failed():
    """Whether it did not take its arguments or fell; the same program that is started again is another matter."""
    missing = TRACEBACK + "FileNotFoundError: [Errno 2] No such file or directory: 'out/folds.npy'\n"
    usage = "usage: split.py [-h] [--seed SEED]\nsplit.py: error: unrecognized arguments: --folds 5\n"
    found = why(f"splitting\n{usage}training\n{missing}")
    assert (found.cause, found.evidence[0].line) == ("config_error", 3)
    fell = TRACEBACK.replace("train.py", "split.py") + "KeyError: 'label'\n"
    assert why(f"splitting\n{fell}training\n{missing}").cause == "code_error"
    assert why(f"{TRACEBACK}KeyError: 'label'\n{missing}").cause == "file_missing"


def test_an_abort_of_ggml_shows_that_a_word_of_cuda_was_the_end():
    """It prints the error, where it stood, and a list of frames without a traceback's head."""
    found = why(
        "warming up\nCUDA error: unspecified launch failure\n  current device: 1, in function wait at wait.cu:88\n"
        "/src/ggml/src/ggml-cuda/ggml-cuda.cu:90: CUDA error\n" + "/lib/libggml.so(+0x1bf3b)[0x76b742d3af3b]\n" * 12
    )
    assert (found.cause, found.evidence[0].line) == ("cuda_illegal_access", 2)


def test_the_last_words_of_a_script_that_missed_a_file_are_its_cause():
    """It says so with a cross, and leaves; where it went on, that was no failure."""
    found = why("loading the model\n✗ vectors.pt not found\n  run the first step before this one\n")
    assert (found.cause, found.evidence[0].line) == ("file_missing", 2)
    assert why("✗ vectors.pt not found\n" + STEPS) is None


def test_a_request_to_check_a_file_does_not_hide_why_it_could_not_be_had():
    """A reader asks whether its file is whole after any trouble; what it met before says which it was."""
    link = "\nDuring handling of the above exception, another exception occurred:\n\n"
    refused = "huggingface_hub.errors.HfHubHTTPError: 429 Too Many Requests for url: https://hub.example/api/acme\n"
    asks = "OSError: Unable to load vocabulary from file. Please check that it is accessible and not corrupted.\n"
    found = why(TRACEBACK + refused + link + TRACEBACK + asks)
    assert (found.cause, found.evidence[0].line) == ("hub_access", 6)
