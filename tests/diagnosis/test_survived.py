"""What is no fall: what a program catches, logs, quotes or outlives. Life counts more than words."""

from __future__ import annotations

import pytest

from tests.diagnosis.failing_logs import CAUGHT, REQUEST, STEPS, TIME_LIMIT, TRACEBACK, why


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
        "trapFpe: Floating point exception trapping enabled (FOAM_SIGFPE).\n" + "Refining a box\n" * 40 + "End\n",
        "".join(f"/data/s{n}.xdf\n[Errno 2] No such file or directory: '/data/o{n}'\n" for n in range(20)),
        "2026-01-02 03:04:05,678 ERROR tracker:1 [aio.py:f():183] Uncaught exception in run_soon callback.\n"
        + CAUGHT
        + "ConnectionResetError: Connection lost\n",
        "2026-01-02 03:04:05,678 WARNING Router:1 [router.py:loop():77] message_loop has been closed\n"
        + CAUGHT
        + "acme.SockClientClosedError\n\nThe above exception was the direct cause of the following exception:\n\n"
        + CAUGHT
        + "acme.MessageRouterClosedError\n",
        "RMSE:\n  depth     : 0.31\n\nMaxError:\n  depth     : 7.25\n  normal    : 1.50\n",
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
        "a trap that is set",
        "missing, item by item",
        "of a tracker that is closed",
        "of a tracker that is closed, chained",
        "a heading of figures",
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


def test_what_a_library_caught_as_it_was_imported_is_no_fall() -> None:
    """Its own frame is the outermost, and it says a few lines more."""
    caught = TRACEBACK.replace("/srv/train.py", "/opt/env/lib/python3.12/site-packages/quant/native.py")
    caught += "AttributeError: 'NoneType' object has no attribute 'split'\n"
    assert why("could not load the native part\n" + caught + "looking elsewhere\n" * 4) is None
    assert why("could not load the native part\n" + caught, succeeded=False).cause == "code_error"


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


def test_much_text_below_a_program_that_fell_at_its_imports_is_anothers() -> None:
    """It had said nothing that could be written out late; a few lines may be the script's around it."""
    fell = TRACEBACK.replace("main()", "import acme") + "ModuleNotFoundError: No module named 'acme'\n"
    chatter = "".join(f"client {n} is served by the shard of the {n}th house\n" for n in range(120))
    assert why(fell + chatter) is None
    assert why(fell + chatter[:400]).cause == "missing_module"
    assert why(fell.replace("import acme", "main()") + chatter).cause == "missing_module"


def test_an_exception_that_is_only_printed_is_no_complaint_of_a_script() -> None:
    """A script says what it missed and goes on; whoever names an exception ended by it, also without a traceback."""
    before = (
        f"loading the tokenizer\n{TRACEBACK}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    )
    found = why(f"{before}loading the tokenizer\nModuleNotFoundError: No module named 'apex'\n", succeeded=False)
    assert found is not None
    assert found.cause == "missing_module"


def test_a_script_may_go_on_where_git_could_not_fetch() -> None:
    """What git calls fatal ends git alone."""
    git = "fatal: Authentication failed for 'https://git.example/k/fit.git/'\n"
    assert why(git + "[NbConvertApp] Converting notebook fit.ipynb to notebook\n" * 4 + "Writing 128 bytes\n") is None
    found = why("fetching\n" + git)
    assert found is not None
    assert found.cause == "permission_denied"


def test_a_program_of_c_that_lists_its_calls_has_ended() -> None:
    """Marian says why, that it gave up, and by which addresses; no shell need say it again."""
    stamp, calls = "[2019-05-15 15:47:37] ", "\n[CALL STACK]\n" + "[0x7b6e58]                         \n" * 20
    gave_up = f"{stamp}Error: Aborted from virtual void acme::gpu::Device::reserve(size_t) in /opt/device.cu:38\n"
    found = why(f"{stamp}Error: CUDA error 2 'out of memory' - /opt/device.cu:38: cudaMalloc(&x, n)\n{gave_up}{calls}")
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("cuda_oom", 1)
    found = why(f"{stamp}Error: Aborting\n{gave_up}{calls}")
    assert found is not None
    assert found.cause == "aborted"


def test_what_slurm_runs_after_a_task_is_no_reason() -> None:
    """An epilog that fails says nothing of the program, and its name only looks like an option."""
    epilog = "slurmstepd: error: --task-epilog failed status=256\n"
    assert why(f"epoch 1/9 loss 0.4\nepoch 2/9 loss 0.3\n{epilog}") is None
    cancelled = "slurmstepd: error: *** JOB 61 ON gpu3 CANCELLED AT 2026-02-01T04:00:11 ***\n"
    found = why(f"epoch 1/9 loss 0.4\n{cancelled}{epilog}")
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("cancelled", 2)


def test_what_a_requeued_job_falls_of_later_is_its_own() -> None:
    """Slurm ended the first attempt and srun tidied up after it; the second one wrote into the same log, and fell."""
    steps = "".join(f"2026-02-01 04:0{{}}:1{n},200 INFO step {n}/900 loss 2.{n}\n" for n in range(1, 7))
    put_back = (
        "slurmstepd: error: *** JOB 61 ON gpu3 CANCELLED AT 2026-02-01T04:00:17 DUE TO JOB REQUEUE ***\n"
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
    )
    fell = "0: Traceback (most recent call last):\n0:   File \"fit.py\", line 3, in <module>\n0: KeyError: 'rope'\n"
    first, second = (steps.replace("{}", minute) for minute in "05")
    found = why(first + put_back)
    assert found is not None
    assert found.cause == "preempted"
    found = why(first + put_back + second + fell)
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("code_error", 17)
