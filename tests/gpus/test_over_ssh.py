"""The GPUs of another machine, over a real ssh: the extra probe travels with the poll, and finds what is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dogwatch.transport.ssh import Ssh
from tests.gpus.rig import GB, H100, Rig, look
from tests.gpus.test_reading import SMI_ROW
from tests.transport.conftest import sshd, transport
from tests.transport.sshd import Sshd

__all__ = ["sshd", "transport"]


@pytest.fixture
def far(tmp_path: Path, libraries: dict[str, Path], sshd: Sshd) -> Rig:
    """The rig of a host that only its sshd knows of: nothing of it is in our own environment."""
    directory = tmp_path / "far"
    directory.mkdir()
    made = Rig(directory, libraries)
    assert str(directory) not in os.environ["PATH"]
    sshd.start(env=" ".join(f'"{name}={value}"' for name, value in made.environment().items()))
    return made


def test_nvidia_smi_of_the_host_is_read(far: Rig, transport: Ssh) -> None:
    """Where the host has no library: its columns, and the processes that only it can know."""
    far.program("nvidia-smi", {"gpus": [SMI_ROW, {**SMI_ROW, "index": 1, "uuid": "GPU-00000001"}], "apps": ""})
    told = look(transport)
    assert (told["by"], told["driver"], told["failed"]) == ("nvidia-smi", "535.104.05", {})
    assert [(gpu["index"], gpu["uuid"], gpu["used"], gpu["memory_used"]) for gpu in told["gpus"]] == [
        (0, "GPU-00000000", 0.45, GB),
        (1, "GPU-00000001", 0.45, GB),
    ]


def test_the_library_of_the_host_is_read(far: Rig, transport: Ssh) -> None:
    """Found where the host's own environment says."""
    far.library([H100], f"process 0 {os.getpid()} {2 * GB} 0 0")
    told = look(transport)
    assert (told["by"], told["failed"]) == ("nvml", {})
    (gpu,) = told["gpus"]
    assert (gpu["name"], gpu["used"], gpu["watts"]) == ("NVIDIA H100 80GB HBM3", 0.97, 612.0)


def test_a_driver_of_the_host_that_hangs_is_told_and_left(far: Rig, transport: Ssh) -> None:
    """The answer comes over the link all the same, and nothing stays behind on the host."""
    far.program("nvidia-smi", {"hang": True})
    told = look(transport, seconds=1.0)
    assert (told["gpus"], told["failed"]) == ([], {"nvidia-smi": "nvidia-smi did not answer in 1 s"})


def test_a_host_without_gpus_has_none(far: Rig, transport: Ssh) -> None:
    """What is on this machine is not on that one."""
    told = look(transport)
    assert (told["by"], told["gpus"], told["failed"]) == (None, [], {})
