"""What a machine answers that is taken over: hostile names and broken answers are no facts."""

from __future__ import annotations

from dogwatch.wire.survey import read

STAT = "77 (a) b) S 1 77 77 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0"


def test_a_supervisor_counts_by_its_start_time_and_boot() -> None:
    """A reused pid, and a record from before a reboot, are nobody."""
    owner = '{"pid":77,"start":4242,"boot":"b-1"}'
    reused, before = owner.replace("4242", "4241"), owner.replace("b-1", "b-0")
    rows = [f"run\t/r/{name}\t{text}\t\t{STAT}\t stage-0.done" for name, text in enumerate((owner, reused, before, ""))]
    survey = read("\n".join(["about\t1\tb-1\tm-1", *rows, "end", ""]).encode())
    assert survey is not None
    assert [(run.supervised, run.marks, run.end) for run in survey.runs] == [
        (True, 1, None),
        (False, 1, None),
        (False, 1, None),
        (False, 1, None),
    ]


def test_an_answer_that_broke_off_is_none_and_odd_lines_are_left_out() -> None:
    """Half a list looks like a shorter list."""
    whole = f"about\t1\tb\tm\nsession\ta\x1b[2Jb\nrun\tx\nprocess\t77\t{STAT}\nprocess\t78\t\nprocess\t-\t\nend\n"
    survey = read(whole.encode())
    assert survey is not None
    assert (survey.sessions, survey.runs, survey.processes) == (("ab",), (), {77: 4242, 78: None})
    for end in (len(whole) - 5, 20, 0):
        assert read(whole[:end].encode()) is None
    assert read(b"end\n") is None
