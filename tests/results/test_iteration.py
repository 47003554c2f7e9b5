"""What the name of a checkpoint says that it holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.results.iteration import iteration_of


@pytest.mark.parametrize(
    ("path", "iteration"),
    [
        ("/out/checkpoint-1500", 1500),
        ("/out/checkpoint_1500/", 1500),
        ("/out/global_step4200", 4200),
        ("/out/iter_0004200", 4200),
        ("/out/step_900", 900),
        ("/out/step-900.pt", 900),
        ("/out/epoch_3", 3),
        ("/out/epoch=3-step=1200.ckpt", 1200),
        ("/out/model_step_77.safetensors", 77),
        ("/out/model-00012.pt", 12),
        ("/out/ckpt_12.pth", 12),
        ("/out/20000", 20000),
        ("/out/700.pt", 700),
        ("/out/best.pt", None),
        ("/out/llama3-8b.pt", None),
        ("/out/run-2024-01-01", None),
        ("/runs/step_5/model.pt", None),
    ],
)
def test_the_finest_counter_in_the_name_is_what_it_holds(path: str, iteration: int | None) -> None:
    """Of the last part of its path only; a number that counts something else is none."""
    assert iteration_of(path) == iteration


@given(st.text(max_size=300))
def test_any_name_has_one_or_none(name: str) -> None:
    """Names are hostile text."""
    found = iteration_of(name)
    assert found is None or found >= 0
