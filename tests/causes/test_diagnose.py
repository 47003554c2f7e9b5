"""Which line of a fall says the cause: roots before consequences, the uncaught before the caught, life before words."""

from __future__ import annotations

import pytest

from dogwatch.causes import Evidence, Log, Role, Witness, diagnose

TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/srv/train.py", line 88, in <module>\n'
    "    main()\n"
    '  File "/srv/train.py", line 71, in main\n'
    "    loss.backward()\n"
)
CAUGHT = (
    "Traceback (most recent call last):\n"
    '  File "/srv/shards.py", line 30, in __getitem__\n'
    "    return self.load(index)\n"
)
TIME_LIMIT = "slurmstepd: error: *** JOB 61 ON gpu3 CANCELLED AT 2026-02-01T04:00:11 DUE TO TIME LIMIT ***\n"
REQUEST = (
    "Traceback (most recent call last):\n"
    '  File "/opt/env/uvicorn/protocols/http/h11_impl.py", line 403, in run_asgi\n'
    "    result = await app(\n"
    '  File "/srv/chat.py", line 12, in answer\n'
    "    body['messages']\n"
)
STEPS = "".join(f"step {i}/9000 | loss {3 - i / 4000:.4f} | 4.1 it/s | lr 3.0e-4\n" for i in range(1200))


def why(*logs: str, **known):
    texts = tuple(Log(f"rank{i}.log", [text.encode()]) for i, text in enumerate(logs))
    return diagnose(Evidence(logs=texts, **known))


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
    "text",
    [
        STEPS,
        STEPS[:3000] + TRACEBACK + "KeyError: 'image'\nskipping sample 12\n" + STEPS,
        STEPS + "2026-01-01 ERROR loader: bad sample\n" + TRACEBACK + "KeyError: 'image'\n" + STEPS[:500],
        STEPS + "Exception in thread Thread-4:\n" + TRACEBACK + "OSError: x\n" + STEPS[:300],
        "train.py: error: unrecognized arguments: --foo\n" + "loading\n" * 40,
        STEPS + "[WARNING] Traceback (most recent call last):\n  File x\nValueError: bad\n" + STEPS[:300],
        STEPS + CAUGHT + "EOFError: the archive ended early\n" + STEPS[:500],
        STEPS + TIME_LIMIT + "Restored all states\n" + STEPS[:500] + "`Trainer.fit` stopped: `max_epochs=9` reached.\n",
        STEPS + "prediction: Traceback (most recent call last): ... ValueError: no\n",
        "said 3: Traceback (most recent call last): ... ValueError: no\n" + STEPS,
        "config: oom=0 timeout=1800 CUDA=12.4\n" + STEPS,
        "val/TypeErrorRate: 0.25\neval_Error: 0.1\n" + STEPS,
        "CUDA available: True\nWARNING: destroy_process_group() was not called before program exit\n",
        "",
        STEPS
        + "Exception ignored in: <function _Loader.__del__ at 0x7f>\n"
        + TRACEBACK
        + "AttributeError: 'x'\n"
        + "Training completed successfully\n",
        "".join(f"[run {i}] observation: Segmentation fault (core dumped)\n[run {i}] reward 0.0\n" for i in range(40)),
        "```\nTraceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nNameError: name 'f' is not "
        "defined\n```\n" + "".join(f"sample {i}: pass@1 0.31\n" for i in range(50)),
        "".join(f"task {i}\n{TRACEBACK}AssertionError\nresult: failed\n" for i in range(20)) + "score 0.4\n",
        STEPS + REQUEST + "KeyError: 'messages'\nINFO:     Finished server process [77]\n",
        "ERROR 07-01 10:00:00 [serving_chat.py:91] Error in preprocessing prompt inputs\n"
        "ERROR 07-01 10:00:00 [serving_chat.py:91] Traceback (most recent call last):\n"
        'ERROR 07-01 10:00:00 [serving_chat.py:91]   File "/srv/x.py", line 1, in f\n'
        "ERROR 07-01 10:00:00 [serving_chat.py:91] ValueError: the prompt is too long\n"
        'INFO:     10.0.0.2:5501 - "POST /v1/chat/completions HTTP/1.1" 400 Bad Request\n',
    ],
    ids=[
        "steps",
        "caught",
        "logged",
        "a thread's",
        "a script that went on",
        "warned of",
        "caught, within the program",
        "time limit, then resumed",
        "predicted",
        "said",
        "settings",
        "metric names",
        "warning",
        "empty",
        "destructor after the end",
        "a transcript",
        "generated code",
        "others' code under test",
        "a server's request",
        "a request that a server refused",
    ],
)
def test_a_healthy_log_gets_no_cause(text):
    """Words that merely look bad, and errors that the program survived, are no diagnosis."""
    assert why(text) is None


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
    """With a witness of success, not even a traceback at the end of the log is a cause."""
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


def test_words_of_a_program_that_then_says_more_are_not_its_last():
    """Nor do they keep alive a failure above them that was survived: what counts is what comes after that one."""
    caught = (
        "2026-03-02 10:00:00,100 - ERROR - could not open a sample\nTraceback (most recent call last):\n"
        "  File \"/data/load.py\", line 7, in read\n    return open(path)\nKeyError: 'a.wav'\n"
    )
    words = "2026-03-02 10:05:00,100 - ERROR - Failed to take the weights: 'Codec' object has no attribute 'books'\n"
    more = "".join(f"2026-03-02 10:06:0{n},000 - INFO - preparing part {n}\n" for n in range(5))
    assert why(caught + words + more) is None
    assert why(caught + words).cause == "code_error"
    assert why(caught).cause == "code_error"


def test_what_a_program_has_caught_twice_before_it_may_catch_again():
    """It goes on with the next model each time; a third fall without a word after it is the end."""
    caught = (
        "Traceback (most recent call last):\n"
        '  File "/data/tune.py", line 42, in tune\n    fit(model)\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB\n"
    )
    layers = "".join(f"  {n:2d}  conv.Conv  [{n * 8}, {n * 16}]\n" for n in range(25))
    one = layers + caught
    assert why(one * 3 + layers) is None
    assert why(one * 3).cause == "cuda_oom"
    assert why(one + layers).cause == "cuda_oom"


def test_what_a_dying_program_flushes_is_not_life():
    """Old lines of a buffer that is written at the exit come after the traceback and prove nothing; what it had
    written before ends anywhere."""
    found = why(
        STEPS + STEPS[:7] + TRACEBACK + "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n" + STEPS[:6000]
    )
    assert found.cause == "cuda_oom"


@pytest.mark.parametrize(
    ("known", "cause"),
    [
        ({"state": "TIMEOUT"}, "time_limit"),
        ({"state": "CANCELLED by 1000"}, "cancelled"),
        ({"state": "OUT_OF_MEMORY", "exit_code": 0, "signal": 125}, "host_oom"),
        ({"state": "NODE_FAIL"}, "node_failure"),
        ({"state": "PREEMPTED"}, "preempted"),
        ({"exit_code": 139}, "segfault"),
        ({"signal": 6}, "aborted"),
        ({"exit_code": 137}, "killed"),
        ({"exit_code": 137, "oom_kills": 1}, "host_oom"),
        ({"signal": 2}, "interrupted"),
        ({"exit_code": 127}, "launch_failed"),
        ({"state": "CANCELLED by 0"}, "cancelled"),
        ({"state": "CANCELLED+"}, "cancelled"),
        ({"state": "canceled"}, "cancelled"),
        ({"state": "DEADLINE"}, "time_limit"),
        ({"state": "BOOT_FAIL"}, "node_failure"),
        ({"state": "REVOKED"}, "cancelled"),
        ({"state": "SPECIAL_EXIT"}, "unknown"),
        ({"state": "FAILED"}, "unknown"),
        ({"state": "CA"}, "cancelled"),
        ({"state": "TO"}, "time_limit"),
        ({"state": "OOM"}, "host_oom"),
        ({"state": "NF"}, "node_failure"),
        ({"state": "PR"}, "preempted"),
        ({"state": "TERM_RUNLIMIT"}, "time_limit"),
        ({"state": "TERM_MEMLIMIT"}, "host_oom"),
        ({"state": "KILLED"}, "killed"),
        ({"signal": 24}, "time_limit"),
        ({"signal": 10}, "unknown"),
        ({"reason": "DependencyNeverSatisfied"}, "dependency_failed"),
        ({"stalled": True}, "stalled"),
        ({"exit_code": 1}, "unknown"),
    ],
)
def test_what_is_known_without_a_log_is_evidence(known, cause):
    """The scheduler's word, exit code, signal and memory kills speak where the log is silent."""
    assert why(STEPS, **known).cause == cause


@pytest.mark.parametrize("state", ["COMPLETED", "CD", "RUNNING", "R", "PENDING", "REQUEUED", "CG"])
def test_a_word_of_success_or_of_life_is_no_cause(state):
    """Nor is a word that Slurm shortens."""
    assert why(STEPS, state=state) is None


def test_whoever_cancelled_a_job_is_quoted():
    """Slurm says who: nobody has to look it up."""
    assert why(STEPS, state="CANCELLED by 1000").evidence[0].text == "the scheduler's word is CANCELLED by 1000"
    assert why(STEPS, state="TO").evidence[0].text == "the scheduler's word is TIMEOUT"


def test_a_line_that_only_says_cancelled_gives_way_to_the_word_that_says_why():
    """Slurm cancels what is over its time or memory, and its line does not always add the reason."""
    line = STEPS + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***\n"
    assert why(line, state="TIMEOUT").cause == "time_limit"
    assert why(line, state="OUT_OF_MEMORY").cause == "host_oom"
    assert why(line, state="PREEMPTED").cause == "preempted"
    assert why(line, state="FAILED").cause == "cancelled"


def test_a_job_that_had_hung_before_it_was_cancelled_hung():
    """A collective that waited half an hour was not interrupted by whoever cancelled the job after it."""
    hung = "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL ran for 1800055 milliseconds\n"
    for state in ("CANCELLED by 1000", "TIMEOUT"):
        assert why(STEPS + hung, state=state).cause == "nccl_timeout"
    assert why(STEPS + hung, state="NODE_FAIL").cause == "node_failure"


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


def test_an_inode_shortage_is_told_from_a_full_disk_by_what_was_measured():
    """The same words come from a full disk and from a disk without inodes; the count decides."""
    text = STEPS + TRACEBACK + "OSError: [Errno 28] No space left on device: 'out/9.npy'\n"
    assert why(text).cause == "disk_full"
    assert why(text, free_inodes=0, free_bytes=10**12).cause == "inodes_full"


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


FULL = Witness("disk_full", "the disk of /scratch had 0.0 MB left at its end")
XID = Witness("gpu_hardware", "the driver reported Xid 79 of GPU 3 while it ran")


@pytest.mark.parametrize(
    ("text", "witness", "cause"),
    [
        ("step 1 loss 2\n", FULL, "disk_full"),
        (STEPS + TRACEBACK + "RuntimeError: write failed\n", FULL, "disk_full"),
        (STEPS + "Aborted (core dumped)\n", FULL, "disk_full"),
        (STEPS + TRACEBACK + "KeyError: 'x'\n", FULL, "code_error"),
        (STEPS + TRACEBACK + "KeyboardInterrupt\n", FULL, "interrupted"),
        (STEPS + TRACEBACK + "RuntimeError: CUDA error: unspecified launch failure\n", XID, "gpu_hardware"),
        (STEPS + "[rank1]: NCCL error in: x.cpp:9, unhandled cuda error\n", XID, "gpu_hardware"),
        (STEPS + TRACEBACK + "KeyError: 'x'\n", XID, "code_error"),
        (STEPS + TRACEBACK + "KeyboardInterrupt\n", XID, "interrupted"),
    ],
)
def test_what_was_measured_at_the_end_explains_what_the_logs_leave_open(text, witness, cause):
    """A full disk behind a vague error, a broken board behind a kernel's; neither behind a plain error."""
    found = why(text, exit_code=1, witnesses=(witness,))
    assert found.cause == cause
    assert any(quote.text == witness.says for quote in found.evidence) is (cause == witness.cause)


def test_a_witness_of_what_the_log_says_is_quoted_beside_it():
    """And makes the answer surer."""
    log = STEPS + TRACEBACK + "OSError: [Errno 28] No space left on device\n"
    found = why(log, exit_code=1, witnesses=(FULL,))
    assert [quote.text for quote in found.evidence] == ["OSError: [Errno 28] No space left on device", FULL.says]
    assert found.confidence >= why(log, exit_code=1).confidence


def test_a_root_under_megabytes_of_what_came_of_it_is_found():
    """Stack dumps of every rank may follow an error; as long as nothing shows life, it is still the last fall."""
    dump = "frame #7: unknown function (0x7f001122 in /opt/lib/libtorch_cuda.so)\n" * 30_000
    error = TRACEBACK + "OSError: [Errno 28] No space left on device: 'ckpt/9.pt'\n"
    found = why(STEPS + error + dump + "Aborted (core dumped)\n", exit_code=134)
    assert (found.cause, found.evidence[0].line) == ("disk_full", 1206)
    assert why(STEPS + error + STEPS * 3 + "Aborted (core dumped)\n", exit_code=134).cause == "aborted"


def logger(first: int, last: int) -> str:
    return "".join(f"2026-02-01 04:0{n}:11,001 INFO fit: step {n}00/9000 loss 2.{n}\n" for n in range(first, last + 1))


@pytest.mark.parametrize(
    "after",
    [
        "Retrying with half the batch\n" + logger(3, 6),
        "Loaded checkpoint at step 1200\n" + STEPS[-300:],
        "".join(f" {n}%|##    | {n}/100 [00:01<01:00,  1.1it/s]\n" for n in range(30, 35)),
    ],
)
def test_lines_that_are_written_at_once_show_that_an_exception_was_survived(after: str) -> None:
    """A logger's, a bar that moves, and a run that says where it goes on from."""
    assert why(STEPS[:3000] + TRACEBACK + "RuntimeError: CUDA error: out of memory\n" + after) is None


def test_prints_after_an_uncaught_exception_may_have_waited_in_a_buffer() -> None:
    """They are flushed when the program ends, below its last words."""
    assert why(STEPS[:3000] + TRACEBACK + "KeyError: 'labels'\n" + STEPS[3000:4500]).cause == "code_error"


def test_an_exception_below_words_of_going_on_is_survived_by_a_line_of_progress() -> None:
    """Only the log that ends with it was left with it."""
    text = STEPS[:3000] + "upload failed, trying again later\n" + TRACEBACK + "ConnectionError: refused\n"
    assert why(text + STEPS[3000:3100]) is None
    assert why(text) is not None


def test_what_an_agent_observed_is_no_failure_of_its_own() -> None:
    """The traceback below an observation is another program's."""
    steps = "".join(f"OBSERVATION:\n{TRACEBACK}TypeError: f() takes 2 arguments\nTHOUGHT: pass x.\n" for _ in range(3))
    assert why(steps + "ACTION: submit\nsaved the trajectory\nand the patch\n") is None


@pytest.mark.parametrize(
    "line",
    [
        "CUDA out of memory at batch size 64, trying 32",
        "tip: 'CUDA out of memory' usually means that the batch is too large",
        "sample: my job says 'slurmstepd: error: Detected 1 oom-kill event(s)' what now?",
    ],
)
def test_a_line_that_names_a_failure_or_says_how_it_goes_on_is_none(line: str) -> None:
    """Even as the last one."""
    assert why(f"loading\n{line}\n") is None


def test_an_exception_that_was_logged_long_before_the_last_line_was_survived() -> None:
    """Who died of it logs no more a minute later."""
    caught = "2026-02-01 04:01:00,001 ERROR fit: failed\n" + CAUGHT + "ValueError: empty\n"
    assert why(logger(0, 1) + caught + "2026-02-01 04:05:00,001 INFO fit: loading the model\n") is None
    assert why(logger(0, 1) + caught + "2026-02-01 04:01:01,001 INFO fit: closing\n") is not None


def test_threads_that_write_their_tracebacks_at_once_are_still_aside() -> None:
    """After the run was done, as writers of events do when their queue is closed."""
    heads = "Exception in thread Thread-1:\nTraceback (most recent call last):\nTraceback (most recent call last):\n"
    frames = '  File "/lib/threading.py", line 9, in _bootstrap_inner\n    self.run()\n' * 2
    ends = "OSError: handle is closed\n    raise OSError()\nOSError: handle is closed\n"
    assert why(STEPS[:3000] + "End training\n" + heads + frames + ends) is None


def test_exceptions_that_a_program_logs_of_one_item_after_another_are_usual() -> None:
    """Whatever each of them says; one that nobody caught is another matter."""
    head = "2026-02-01 04:01:00,001 ERROR rollout: "
    items = "".join(f"{head}{CAUGHT}ValueError: no action in answer {n} ({'x' * n})\nnext item\n" for n in range(12))
    assert why(items + "ValueError: no action in this one\nthe model thought\nfor long\n") is None
    assert why(items + TRACEBACK + "ValueError: no action in this one\n").cause == "code_error"
