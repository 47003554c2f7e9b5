"""Endings told by other languages than Python, by launchers and by shells."""

from __future__ import annotations

import pytest

from dogwatch.logs.ending.verdict import Ending
from tests.diagnosis.failing_logs import FRAMES, why

RUST = "thread 'main' panicked at src/fit.rs:40:7:\n{}\nstack backtrace:\n" + "   1: core::panicking::panic_fmt\n" * 9
CPP = "terminate called after throwing an instance of 'c10::Error'\n  what():  {}\n" + "frame #1: f() + 0x57\n" * 9
JULIA = "ERROR: LoadError: {}\nStacktrace:\n" + " [1] alloc at memory.jl:161 [inlined]\n" * 9
TYPED = "ERROR: {}\nStacktrace:\n" + " [1] alloc at memory.jl:161 [inlined]\n" * 9
R = "> fit <- lm(y ~ x)\n{}\nCalls: fit -> check\nExecution halted\n"
JAVA = 'Exception in thread "main" {}\n' + "\tat org.acme.Train.main(Train.java:12)\n" * 9
SHARP = "Unhandled exception. {}\n" + "   at Acme.Fit.Run(String path) in /srv/Fit.cs:line 10\n" * 9
UNWRAPPED = "called `Result::unwrap()` on an `Err` value: {}"


@pytest.mark.parametrize(
    ("text", "cause", "line"),
    [
        (CPP.format("CUDA error: unknown error") + "Aborted (core dumped)\n", "gpu_hardware", 2),
        (CPP.format("CUDA error: no kernel image is available for execution on the device"), "cuda_unavailable", 2),
        (CPP.format("something that no row knows") + "Aborted (core dumped)\n", "aborted", 1),
        (RUST.format(UNWRAPPED.format('DriverError(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")')), "cuda_oom", 2),
        (RUST.format("index out of bounds: the len is 3 but the index is 7"), "code_error", 1),
        (JULIA.format("CUDA error: out of memory (code #2, ERROR_OUT_OF_MEMORY)"), "cuda_oom", 1),
        (JULIA.format("UndefVarError: `n` not defined in `Main`"), "code_error", 1),
        (TYPED.format("CUDA error: an illegal memory access was encountered (code 700)"), "cuda_illegal_access", 1),
        (TYPED.format("MethodError: no method matching fit(::Int64)"), "code_error", 1),
        ('Error: Os { code: 13, kind: PermissionDenied, message: "Permission denied" }\n', "permission_denied", 1),
        ('Error: "the corpus has no line"\n', "code_error", 1),
        (
            "Error: cannot read the corpus\n\nCaused by:\n    No such file or directory (os error 2)\n",
            "file_missing",
            4,
        ),
        (
            RUST.format("=== Matmul ===\n  1. The inner dimension should be the same, but got 9 and 4."),
            "shape_mismatch",
            3,
        ),
        (R.format("Error: `y` has unknown columns"), "code_error", 2),
        (R.format("Error in check(x) : object 'y' not found"), "code_error", 2),
        (R.format("Error: object 'k' not found") + R.format("Error: `y` has unknown columns"), "code_error", 6),
        (R.format("Error in check(x) : bad y") * 2 + "> 1\n" + R.format("Error: `y` is unknown"), "code_error", 11),
        (JAVA.format("java.lang.OutOfMemoryError: Java heap space"), "host_oom", 1),
        ("Error: cannot allocate vector of size 9.1 Gb\nExecution halted\n", "host_oom", 1),
        (
            'Error in file(name, "rt") : cannot open the connection\nCalls: fit\nIn addition: Warning message:\n'
            "In file(name, \"rt\") :\n  cannot open file 'a.csv': No such file or directory\nExecution halted\n",
            "file_missing",
            5,
        ),
        ("Error in fit(x) : subscript out of bounds\nCalls: fit\nExecution halted\n", "code_error", 1),
        ("Error in user input:\nInvalid options\n    File 'a.tpr' does not exist or is closed.\n", "file_missing", 3),
        ("Fatal error:\nToo few atoms\n\nFor more information see the manual\n", "code_error", 1),
        (SHARP.format("System.NullReferenceException: Object reference not set to an instance."), "code_error", 1),
        (
            SHARP.format(
                "Acme.StepFailed: it fell.\n ---> System.IO.FileNotFoundException: Shard file not found: a.bin"
            ),
            "file_missing",
            2,
        ),
    ],
)
def test_an_exception_of_another_language_is_read_by_what_it_says(text: str, cause: str, line: int) -> None:
    """Though frames follow it, and though its program only says that it aborted."""
    found = why("loading\n" + text)
    assert found is not None
    assert (found.cause, found.evidence[0].line) == (cause, line + 1)


def test_an_error_that_points_to_the_traceback_above_is_the_exception() -> None:
    """As TensorFlow 1 wrote them."""
    frames = 'Traceback (most recent call last):\n  File "fit.py", line 9, in <module>\n    saver.save(sess, path)\n'
    last = "InternalError (see above for traceback): Error writing (tmp) checkpoint file: /home/k/m.ckpt-3.temp7: "
    found = why(frames + last + "Resource exhausted: /home/k/m.ckpt-3.temp7\n")
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("disk_full", 4)


def test_a_traceback_in_one_line_may_stand_between_single_quotes() -> None:
    """The double quotes within are those of its frames."""
    inner = 'Traceback (most recent call last):\\n  File "/lib/aiohttp/streams.py", line 5, in read\\n    await w\\n'
    found = why(f"answer.error='{inner}aiohttp.client_exceptions.ClientPayloadError: not completed\\n'\nbye\n")
    assert found is not None
    assert found.cause == "network_error"


TRACED = "    /lib/engine.py:80 step\n        return run(self, one, two)\n"


@pytest.mark.parametrize(
    ("text", "cause", "line"),
    [
        ("RuntimeError: could not begin:\nCUDA out of memory. Tried to allocate 3.00 GiB\n", "cuda_oom", 5),
        (
            "hydra.errors.InstantiationException: Error in call to target 'acme.Net':\nFileNotFoundError(2, 'x')\n",
            "file_missing",
            5,
        ),
        ("acme.Trouble: Read failed with:\n\tstatus = StatusCode.UNAVAILABLE\n>\n", "network_error", 5),
        (
            "grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC with:\n\tstatus = StatusCode.ABORTED\n",
            "network_error",
            4,
        ),
        (
            'ValueError: in user code:\n\n    File "/lib/a.py", line 7, in check\n\n'
            '    Input 0 of layer "d" is incompatible with the layer: expected ndim=3, found ndim=2\n',
            "shape_mismatch",
            8,
        ),
        (
            "ValueError: in user code:\n\n" + TRACED * 40 + "\n"
            "    ValueError: Input 0 of layer pool_3 is incompatible with the layer: expected ndim=4, found ndim=5\n\n",
            "shape_mismatch",
            87,
        ),
    ],
)
def test_an_exception_whose_line_says_little_is_read_by_the_lines_that_go_on_with_it(
    text: str, cause: str, line: int
) -> None:
    """A heading, or a text that is indented below."""
    found = why(FRAMES + text)
    assert found is not None
    assert (found.cause, found.evidence[0].line) == (cause, line)


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: it is over\nNo module named 'acme'\n",
        "TypeError: bad operand:\n  No module named 'acme'\n",
        "RuntimeError: it is over:\n" + "and on\n" * 90 + "No module named 'acme'\n",
    ],
)
def test_lines_below_an_exception_that_do_not_belong_to_it_or_that_it_does_not_need_are_not_asked(text: str) -> None:
    """One that is complete in its line is followed by anything."""
    found = why(FRAMES + text)
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("code_error", 4)


def test_an_error_of_the_system_that_a_program_printed_and_ended_with_says_why() -> None:
    """It had caught the exception, and had nothing to go on with."""
    found = why("reading 9 tables\n[Errno 13] Permission denied: '/tables/7.pkl'\n")
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("permission_denied", 2)
    assert why("[Errno 13] Permission denied: '/tables/7.pkl'\n" + "table 8 of 9\n" * 9) is None
    assert why("[Errno 2] handled: cache file not found, building it\n") is None


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("gguf_init_from_file: invalid magic number 67676a74\n", "checkpoint_corrupt"),
        ("gguf_init_from_file: failed to open GGUF file '/models/a.gguf'\n", "file_missing"),
        ("llama_model_load: error loading model: unable to allocate CUDA0 buffer\n", "cuda_oom"),
        ("something else\n", "unknown"),
    ],
)
def test_a_server_that_could_not_load_its_model_says_why_above(text: str, cause: str) -> None:
    """Several lines only say that it could not."""
    last = "llama_model_load_from_file_impl: failed to load model\nsrv    load_model: failed to load model\n"
    found = why("main: loading model\n" + text + last + "x\ny\nmain: exiting due to model loading error\n")
    assert found is not None
    assert found.cause == cause


def test_an_exception_that_has_no_name_of_its_own_is_known_by_its_module() -> None:
    """As lmdb, shutil and csv raise them."""
    found = why(FRAMES + "lmdb.Error: /data/train.lmdb: No such file or directory\n")
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("file_missing", 4)


def test_an_error_word_without_the_frames_of_its_language_is_no_last_word() -> None:
    """Many programs begin a line with it and go on."""
    assert why("ERROR: could not write the preview\nepoch 3 of 9\n") is None
    assert why("Error: the preview is not there\nepoch 3 of 9\n") is None


def test_a_program_was_left_with_its_last_error_not_with_one_that_it_had_caught() -> None:
    """What is looked up and not found is raised, caught, and made up for."""
    caught = FRAMES + "KeyError: 'cached'\n\nDuring handling of the above exception, another exception occurred:\n\n"
    found = why(caught * 3 + FRAMES + "NotImplementedError: reductions of this kind\n")
    assert found is not None
    assert found.evidence[0].text == "NotImplementedError: reductions of this kind"


HELPER = (
    "Traceback (most recent call last):\n  File \"where.py\", line 5, in <module>\n    distro()\nNameError: name 'd'\n"
)


def test_a_step_of_one_task_has_no_sibling_whose_error_came_first() -> None:
    """Of one process the last error counts, of several the first."""
    last = JULIA.format("DomainError with -0.5:")
    alone = why(HELPER + last + "srun: error: n1: task 0: Exited with exit code 1\nsrun: Terminating StepId=9.0\n")
    several = why(HELPER + last + "srun: error: n1: task 3: Exited with exit code 1\n")
    assert alone is not None
    assert several is not None
    assert (alone.evidence[0].line, several.evidence[0].line) == (5, 4)


def test_a_job_that_was_queued_again_is_another_attempt() -> None:
    """What was said before it in the same file is not why this one ended."""
    queued = "srun: job {} queued and waiting for resources\n"
    cancelled = "srun: Job has been cancelled\nsrun: error: Unable to allocate resources: Job/step already completing\n"
    first = queued.format(7) + cancelled.replace("completing\n", "completing or completed\n")
    found = why(first + queued.format(8) + "srun: job 8 has been allocated resources\n" + HELPER)
    assert found is not None
    assert found.cause == "code_error"
    found = why(first)
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("cancelled", 2)


def test_where_only_another_program_names_the_reason_its_line_is_quoted() -> None:
    """The exception says that a write failed, and `tee` of what."""
    frames = 'Traceback (most recent call last):\n  File "fit.py", line 9, in <module>\n    torch.save(m, path)\n'
    last = "RuntimeError: [enforce fail at inline_container.cc:9] . PytorchStreamWriter failed writing file data/8\n"
    found = why(frames + last + "tee: train.log: No space left on device\n")
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("disk_full", 5)


def test_what_a_launcher_says_first_begins_another_attempt() -> None:
    """In a file to which one run after another is appended, also where several processes of the last one speak."""
    torchrun = "W0801 run.py:757] Setting OMP_NUM_THREADS environment variable for each process to be 1 in default\n"
    last = "[rank1]: RuntimeError: CUDA error: invalid device ordinal\n" * 2
    for start in (torchrun, "nohup: ignoring input\n"):
        found = why(HELPER + start + last)
        assert found is not None
        assert (found.cause, found.evidence[0].line) == ("cuda_unavailable", 6)


def test_tasks_that_srun_killed_when_it_gave_up_a_step_do_not_tell_why() -> None:
    """One of them had failed; that the others were killed is no cause."""
    aborted = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
    killed = "srun: error: n2: tasks 0,2-3: Killed\n"
    found = why("loading\n" + aborted + killed + "srun: error: n2: task 1: Exited with exit code 1\n")
    assert found is not None
    assert (found.cause, found.alternatives[0].cause) == ("unknown", "code_error")
    found = why("loading\n" + killed)
    assert found is not None
    assert found.cause == "killed"


def test_a_run_that_a_user_interrupted_is_over_a_minute_later() -> None:
    """What goes wrong after that is the next run's; without a later word it was interrupted, also by a warning."""
    first = "2026-02-01 04:01:00,001 - fit - WARNING - Training interrupted by user\n"
    error = "2026-02-01 {} - fit - ERROR - Error: no dataset: [WinError 5] Access is denied: 'pack'\n"
    for text, cause in ((first, "interrupted"), (first + error.format("05:00:00,001"), "permission_denied")):
        found = why("starting\n" + text)
        assert found is not None
        assert found.cause == cause


def test_a_compiler_says_what_the_build_stopped_at() -> None:
    """And make only that it did."""
    collected = "ops.cu:1:2: note: candidate: f(int)\n" * 30
    found = why(
        "ops.cu:64:6: error: no match for 'operator[]'\n" + collected + "make: *** [Makefile:3: ops.o] Error 1\n"
    )
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("code_error", 1)


def test_a_program_that_came_from_its_input_fell_like_any_other() -> None:
    """Code between two words of a shell script has no file; nobody caught what it was left with."""
    text = 'split into 400 and 80\nTraceback (most recent call last):\n  File "<stdin>", line 9, in <module>\n'
    found = why(text + "TypeError: 'float' object is not iterable\n")
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("code_error", 4)


def test_a_server_lives_on_after_a_request_that_broke() -> None:
    """A client that went away ends one answer, whatever its traceback's outermost frame."""
    broke = (
        "----------------------------------------\n"
        "Exception occurred during processing of request from ('10.0.0.7', 4110)\n"
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/socketserver.py", line 683, in process_request_thread\n'
        "    self.finish_request(request, client_address)\n"
        "BrokenPipeError: [Errno 32] Broken pipe\n"
        "----------------------------------------\n"
    )
    log = broke + '10.0.0.9 - - [02/Mar/2026 08:00:01] "GET /health HTTP/1.1" 200 -\n'
    assert why(log) is None
    heard = Ending()
    heard.feed(0, log.encode())
    assert heard.judge(None) == "unknown"


@pytest.mark.parametrize("line", ["import quiver", "from quiver.plan import Plan"])
def test_what_a_program_that_fell_at_an_import_never_did_is_another_attempts(line: str) -> None:
    """It had nothing to flush: steps below its traceback in the same file are those of the next try."""
    fell = f'Traceback (most recent call last):\n  File "fit.py", line 3, in <module>\n    {line}\n'
    fell += "ModuleNotFoundError: No module named 'quiver'\n"
    steps = "".join(f"Iteration {i} completed in 31s\n" for i in range(5))
    for log, ending in ((fell + steps, "unknown"), (fell + "see the wiki\n" * 5, "failed")):
        assert (why(log) is None) == (ending == "unknown")
        heard = Ending()
        heard.feed(0, log.encode())
        assert heard.judge(None) == ending


STARTED = "[{0} 10:00:01,2][acme.boot][INFO] - Reading the settings of {0}\n"
STARTED += (
    "[{0} 10:00:02,9][acme.boot][INFO] - Building the data module\n[{0} 10:00:03,4][acme.fit][INFO] - Starting up!\n"
)
STARTED += "[{0} 10:00:04,4][acme.fit][INFO] - Building the network\n"
LOGGED = "[{0} 10:00:05,0][acme.fit][ERROR] -\n" + (
    'Traceback (most recent call last):\n  File "/srv/acme/boot.py", line 31, in wrap\n    return task(settings)\n'
    "RuntimeError: CUDA error: out of memory\n"
)


@pytest.mark.parametrize("first", ["", STARTED.format("2026-03-01")])
def test_an_attempt_that_a_logger_opens_below_another_that_failed_is_judged_by_itself(first: str) -> None:
    """It says nothing of how it went, and the file does not end with the other's failure any more."""
    fell = first + STARTED.format("2026-03-02") + LOGGED.format("2026-03-02")
    for log, ending in ((fell, "failed"), (fell + STARTED.format("2026-03-02"), "unknown")):
        assert (why(log) is None) == (ending == "unknown")
        heard = Ending()
        heard.feed(0, log.encode())
        assert heard.judge(None) == ending


def test_a_program_that_says_it_ignores_an_item_and_then_more_has_gone_on() -> None:
    """Its words need not be those of progress."""
    caught = LOGGED.format("2026-03-02").replace("[ERROR] -", "[ERROR] - Ignoring section 12")
    heard = Ending()
    heard.feed(0, (caught + "[2026-03-02 10:00:06,0][acme.fit][INFO] - planning section\n" * 5).encode())
    assert heard.judge(None) == "unknown"


def test_what_a_text_in_a_list_of_texts_tells_is_not_the_programs() -> None:
    """Data may speak of anything."""
    assert why("tokens: 'no idea', 'the tool was ended by signal 6 (SIGABRT).', 'and so on'\nwrote part-2.pt\n") is None


def test_of_a_watchdog_the_line_that_came_first_is_quoted() -> None:
    """The end that it brings upon its own process repeats what it had said."""
    said = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=51, OpType=ALLREDUCE, Timeout(ms)=600000)"
    log = (
        f"[rank0]:[E1103 04:11:23.7 ProcessGroupNCCL.cpp:616] [Rank 0] {said} ran for 600031 milliseconds\n"
        "[rank0]:[E1103 04:11:25.8 ProcessGroupNCCL.cpp:636] [Rank 0] we are taking the entire process down.\n"
        "terminate called after throwing an instance of 'c10::DistBackendError'\n"
        f"  what():  [PG ID 0 Rank 0] Process group watchdog thread terminated with exception: [Rank 0] {said}\n"
    )
    found = why(log)
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("nccl_timeout", 1)


def test_what_cargo_ran_before_is_another_attempt() -> None:
    """The program that it ran last gave up by itself, however loudly an earlier one panicked."""
    began = "    Finished `dev` profile [unoptimized] target(s) in 0.2s\n     Running `target/debug/fit go`\n"
    found = why(began + RUST.format("index out of bounds") + began + 'Error: Error("expected f64", line: 3)\n')
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("code_error", 17)


def test_what_a_script_complained_of_is_no_reason_where_its_program_fell_later_and_the_log_ends_in_it() -> None:
    """The program had begun without what the script missed, and the log does not hold what it fell of."""
    conda = "CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.\n"
    found = why(conda + 'loading the shards\nTraceback (most recent call last):\n  File "fit.py", line 9, in go\n')
    assert found is not None
    assert found.cause == "unknown"


def test_that_a_disk_gave_an_error_does_not_say_which() -> None:
    """It may be full, over its quota, or broken."""
    found = why(FRAMES + "sqlite3.OperationalError: disk I/O error\n")
    assert found is not None
    assert found.cause == "unknown"
    assert {other.cause for other in found.alternatives} == {"disk_full", "disk_quota", "node_failure"}


def test_a_program_that_hydra_ends_without_a_traceback_was_set_wrongly():
    """Its last line only says how to see more."""
    log = "In 'train': Could not find 'encoder/large'\n\nAvailable options in 'encoder':\n\tsmall\n\n"
    found = why(log + "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n")
    assert (found.cause, found.evidence[0].line) == ("config_error", 1)
