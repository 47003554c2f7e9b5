"""Exceptions that say little, read with the frame that raised them and the call that led there."""

from __future__ import annotations

import pytest

from tests.diagnosis.failing_logs import FRAMES, why


@pytest.mark.parametrize(
    ("frame", "exception", "cause"),
    [
        ("/torch/_weights_only_unpickler.py", "EOFError", "checkpoint_corrupt"),
        ("/lib/python3.11/multiprocessing/connection.py", "EOFError", "unknown"),
        ("/lib/python3.11/multiprocessing/connection.py", "ConnectionResetError: [Errno 104] reset", "unknown"),
        ("/lib/python3.11/socket.py", "ConnectionResetError: [Errno 104] Connection reset by peer", "network_error"),
        ("/torch/_weights_only_unpickler.py", "UnicodeDecodeError: 'utf-8' codec can't", "checkpoint_corrupt"),
        ("/srv/words.py", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xf5", "code_error"),
        ("/multiprocessing/synchronize.py", "OSError: [Errno 28] No space left on device", "shm_exhausted"),
        ("/torch/serialization.py", "OSError: [Errno 28] No space left on device", "disk_full"),
        ("/torch/serialization.py", "OSError: [Errno 22] Invalid argument", "code_error"),
        ("/multiprocessing/connection.py", "ConnectionRefusedError: [Errno 111] Connection refused", "unknown"),
        ("/lib/python3.11/socket.py", "ConnectionRefusedError: [Errno 111] Connection refused", "network_error"),
    ],
)
def test_an_exception_that_says_little_is_read_with_the_frame_that_raised_it(frame: str, exception: str, cause: str):
    """A full disk is not full shared memory, and a process that misses another is not a network."""
    found = why(f'{FRAMES}  File "/env{frame}", line 40, in load\n    return read(f)\n{exception}\n')
    assert found is not None
    assert found.cause == cause


def test_a_worker_whose_tensor_did_not_arrive_has_died() -> None:
    """The connection that was cut goes to no network."""
    frames = (
        '  File "/env/torch/multiprocessing/reductions.py", line 538, in rebuild_storage_fd\n    fd = df.detach()\n'
        '  File "/lib/python3.11/multiprocessing/connection.py", line 395, in _recv\n    chunk = read(handle, left)\n'
    )
    found = why(f"{FRAMES}{frames}ConnectionResetError: [Errno 104] Connection reset by peer\n")
    assert found is not None
    assert found.cause == "dataloader_worker_died"


def test_a_variable_that_is_not_set_is_a_setting_and_another_key_is_not() -> None:
    """Both are KeyErrors; the environment is asked by its own frame."""
    environ = '  File "<frozen os>", line 679, in __getitem__\n'
    found, other = why(FRAMES + environ + "KeyError: 'STORE_URL'\n"), why(FRAMES + "KeyError: 'STORE_URL'\n")
    assert found is not None
    assert found.cause == "config_error"
    assert other is not None
    assert other.cause == "code_error"


@pytest.mark.parametrize(
    ("call", "cause"),
    [
        ("in main\n    rows = json.load(handle)", "checkpoint_corrupt"),
        ("in rows\n    yield json.loads(line)", "checkpoint_corrupt"),
        ("in main\n    state = json.loads(path.read_text())", "checkpoint_corrupt"),
        ("in from_json_file\n    return Run(**json.loads(text))", "checkpoint_corrupt"),
        ("in load_config\n    return json.load(handle)", "config_error"),
        ("in main\n    cfg = json.load(handle)", "config_error"),
        ("in ask\n    return json.loads(answer)", "code_error"),
    ],
)
def test_json_that_cannot_be_read_is_judged_by_the_call_that_read_it(call: str, cause: str) -> None:
    """A file that is cut off, settings that are misspelt, and an answer that is no JSON end in the same exception."""
    library = (
        '  File "/usr/lib/python3.12/json/__init__.py", line 346, in loads\n    return _default_decoder.decode(s)\n'
        '  File "/usr/lib/python3.12/json/decoder.py", line 337, in decode\n    obj, end = self.raw_decode(s, 0)\n'
        "               ^^^^^^^^^^^^^^^^^^^^^\n"
    )
    ended = "json.decoder.JSONDecodeError: Expecting value: line 7 column 2 (char 91)\n"
    found = why(f'{FRAMES}  File "/home/k/configs/fit.py", line 40, {call}\n{library}{ended}')
    assert found is not None
    assert found.cause == cause


def test_a_model_that_a_library_cannot_read_is_damaged_and_one_that_is_not_there_is_missing() -> None:
    """The library's own check fails in a place that only the call explains."""
    frames = (
        f'{FRAMES}  File "fit.py", line 40, in main\n    model.load_model(path)\n'
        '  File "/env/xgboost/core.py", line 324, in _check_call\n    raise XGBoostError(text)\n'
        "xgboost.core.XGBoostError: "
    )
    found = why(f"{frames}[10:20:30] src/view.h:46: Check failed: at <= size (81 vs. 64) :\n")
    gone = why(f"{frames}[10:20:30] src/io.cc:30: Opening runs/m.ubj failed: No such file or directory\n")
    assert found is not None
    assert found.cause == "checkpoint_corrupt"
    assert gone is not None
    assert gone.cause == "file_missing"


def test_what_a_loader_found_where_a_checkpoint_ought_to_begin_says_more_than_its_exception() -> None:
    """A page or a pointer that was saved under its name is no matter of trust."""
    found = why(
        f"{FRAMES}_pickle.UnpicklingError: Weights only load failed. error: \n\nUnsupported operand 71\n\nSee a.b.\n"
    )
    assert found is not None
    assert found.cause == "checkpoint_corrupt"


def test_json_of_several_documents_is_no_damaged_file() -> None:
    """The program ought to read it line by line."""
    frames = (
        f'{FRAMES}  File "fit.py", line 40, in rows\n    return json.load(handle)\n  File "/json/a.py", line 3, in f\n'
    )
    found = why(f"{frames}json.decoder.JSONDecodeError: Extra data: line 2 column 1 (char 91)\n")
    assert found is not None
    assert found.cause == "code_error"


def test_an_exception_of_a_class_within_a_function_ends_a_traceback_too() -> None:
    """Python names the function, and that the class is a local one."""
    found = why(f"step 1\n{FRAMES}main.<locals>.Preempted: told to go\n")
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("code_error", 5)


def test_a_crash_behind_a_full_disk_is_the_full_disk() -> None:
    """Though only a destructor said so."""
    ignored = "Exception ignored in: <function f>\n" + FRAMES
    found = why(ignored + "RuntimeError: write failed: errno = 28, 'No space left on device'\nSegmentation fault\n")
    assert found is not None
    assert found.cause == "disk_full"


def test_an_assertion_where_jax_looks_for_devices_is_no_error_of_the_program() -> None:
    """It was asked for a platform that it cannot use, and says no more."""
    own, jax = (
        f"{FRAMES}AssertionError\n",
        f'{FRAMES}  File "/x/jax/_src/xla_bridge.py", line 857, in backends\n    a\n',
    )
    found = [getattr(why(text), "cause", None) for text in (f"{jax}AssertionError\n", own)]
    assert found == ["cuda_unavailable", "code_error"]


def test_a_model_that_xgboost_cannot_parse_is_a_damaged_file() -> None:
    """However it was told to load it."""
    found = why(f'{FRAMES}xgboost.core.XGBoostError: [21:55:35] /src/common/json.cc:409: Expecting: ",", got: "\\0"\n')
    assert found is not None
    assert found.cause == "checkpoint_corrupt"


def test_a_box_below_a_line_of_a_logger_is_read_with_its_margin():
    """Rich indents the whole traceback as far as its logger's words are."""
    margin = " " * 20
    box = ("╭── Traceback (most recent call last) ──╮", "│ /srv/fit.py:8 in <module>              │", "╰────────╯")
    said = "".join(
        f"{margin}{line}   \n" for line in (*box, "FileNotFoundError: [Errno 2] No such file", "or folder: 'a'")
    )
    found = why(f"epoch 1/9\n[01/02/26 10:11:12] ERROR    it fell     fit.py:8\n{said}")
    assert found is not None
    assert (found.cause, found.evidence[0].line) == ("file_missing", 6)
