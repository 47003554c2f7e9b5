"""Advice that can be followed as it stands, on a cluster and without one."""

from __future__ import annotations

import pytest

from dogwatch.causes import CAUSES, Evidence, diagnose
from dogwatch.causes.document import document
from dogwatch.causes.fitted import fitted


def found(**evidence) -> dict:
    return document(diagnose(Evidence(**evidence)))


def test_commands_of_slurm_name_the_job():
    """Nobody has to look up its id first."""
    told = fitted(found(state="OUT_OF_MEMORY"), "4711")
    assert any("sacct -j 4711 -o" in advice for advice in told["advice"])
    assert "JOB" not in " ".join(told["advice"])
    killed = fitted(found(signal=9), "4711")
    assert any("sacct -j 4711" in other["tell"] for other in killed["alternatives"])


def test_where_no_slurm_ran_it_nothing_is_said_of_slurm():
    """Its commands, its flags, and what only a scheduler does to a job are left out."""
    told = fitted(found(signal=9))
    assert told["advice"] == [advice for advice in CAUSES["killed"].advice if "sacct" not in advice]
    assert [(other["cause"], other["tell"]) for other in told["alternatives"]] == [
        ("host_oom", "dmesg -T | grep -i oom")
    ]
    assert not any("Slurm" in advice for advice in fitted(found(oom_kills=1))["advice"])


@pytest.mark.parametrize("cause", sorted(CAUSES))
def test_there_is_always_something_to_do(cause: str):
    """Whatever is left out, some advice stays, if there was any."""
    told = {**document(None), "advice": list(CAUSES[cause].advice)}
    assert fitted(told)["advice"]
    assert len(fitted(told, "7")["advice"]) == len(told["advice"])
