"""What the newest lines of a log mean together is worked out once after each change, and never out of date."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dogwatch.logs.meaning import MOST_COUNTERS, Meaning
from dogwatch.model import Finished, LogEvent, Metric, Phase, Step, Total

MARKS = st.lists(
    st.one_of(
        st.builds(Step, st.integers(0, 9).map(float), st.sampled_from([None, 10.0, 100.0]), st.just("steps")),
        st.builds(Total, st.sampled_from([10.0, 100.0]), st.just("steps")),
        st.builds(Metric, st.sampled_from(["loss", "lr"]), st.floats(0, 1)),
        st.builds(Phase, st.sampled_from(["training", "serving", "validating"])),
        st.just(Finished("done")),
    ),
    min_size=1,
    max_size=3,
)
NOTE = st.tuples(st.sampled_from(["step", "tqdm", "epoch"]), st.integers(0, 2 * MOST_COUNTERS), MARKS)
TEXT = st.sampled_from([b"energy 1 2.5\n", b"cycle 1 0.5\ncycle 2 0.4\ncycle 3 0.3\n", b"saved\n"])


def anew(meaning: Meaning) -> Meaning:
    """The same with nothing worked out."""
    return Meaning.restore(json.loads(json.dumps(meaning.state())))


@given(st.lists(st.one_of(NOTE, TEXT, st.none()), max_size=40))
def test_what_is_said_is_what_the_records_mean(said: list[tuple[str, int, list[LogEvent]] | bytes | None]) -> None:
    """However lines are noted, read by their structure and forgotten, nothing that was worked out before them stays."""
    meaning, offset = Meaning(), 0
    for one in said:
        if one is None:
            meaning.bound()
        elif isinstance(one, bytes):
            meaning.read(one, offset)
        else:
            kind, counter, marks = one
            meaning.note(kind, str(counter), offset, offset, marks)
        offset += 40
        assert meaning.reading() == anew(meaning).reading()
