"""Pages that tell of jobs, and logs that only look like one."""

from __future__ import annotations

from tests.logs.endings import ends


def test_a_page_says_nothing_of_how_a_job_ended() -> None:
    """What is written under headings, the first line being one, is about others; a log may have a heading as well."""
    page = "# Tool\n\nWatches a training.\n\n## Use\n\nTraining complete.\n\n## Changes\n\nKilled\n"
    assert ends(page) == "unknown"
    assert ends("# conda environments:\nTraining complete.\n") == "finished"
    assert ends("Answer:\n" + page) == "failed"


def test_remarks_that_head_a_log_are_no_page() -> None:
    """Wrappers of batch jobs write what they ran, and when, as remarks; one right below the other is no heading."""
    head = "# python fit.py --gpus 2\n# Invoked at Tue Oct 22 09:31:32 2024 from n9\n#\n# Started at Tue Oct 22 2024\n"
    fell = 'Traceback (most recent call last):\n  File "fit.py", line 3, in <module>\nRuntimeError: no\n'
    assert ends(head + fell + "# Ended (code 256) at Tue Oct 22 09:32:12 2024, elapsed time 40 seconds\n") == "failed"
    assert ends(head + "fitted\n# Ended (code 0) at Tue Oct 22 09:32:12 2024, elapsed time 40 seconds\n") == "finished"


def test_what_a_script_prints_above_each_of_its_parts_makes_no_page() -> None:
    """A heading of a page stands below an empty line."""
    fell = 'Traceback (most recent call last):\n  File "fit.py", line 3, in <module>\nRuntimeError: no\n'
    assert ends("".join(f"### seed {seed}\nloading\n{fell}" for seed in range(4))) == "failed"
    assert ends("".join(f"### Part {part}\n\nAs above:\n\n{fell}\n" for part in range(4))) == "unknown"
