"""The boxes that tests are run on are what they say they are."""

from __future__ import annotations

from tests.lab.box import Boxes
from tests.support import wait_until


def test_a_box_is_a_machine_of_its_own(boxes: Boxes) -> None:
    """ssh reaches it; its home, processes, machine id and boot id are its own."""
    one, two = boxes.start("one"), boxes.start("two")
    assert boxes.ssh("one", "hostname; cat /proc/sys/kernel/random/boot_id").stdout.split() == ["one", one.boot_id()]
    assert one.boot_id() != two.boot_id()
    assert boxes.ssh("one", "echo kept > ~/file").returncode == 0
    assert (one.home / "file").read_text() == "kept\n"
    assert not (two.home / "file").exists()
    assert one.connections() == 2
    assert two.connections() == 0


def test_a_reboot_kills_all_and_keeps_the_disk(boxes: Boxes) -> None:
    """After it nothing of before runs, /tmp and /run are empty, the boot id is another and @reboot jobs run."""
    box = boxes.start()
    before = box.boot_id()
    box.sh(
        "tmux new-session -d -s work 'sleep 1000'; touch /tmp/gone ~/stays; echo '@reboot touch ~/booted' | crontab -"
    )
    assert any("sleep 1000" in line for line in box.processes())
    box.reboot()
    assert not any("sleep 1000" in line for line in box.processes())
    assert box.sh("ls /tmp").split() == []
    assert (box.home / "stays").exists()
    assert box.sh("cat /proc/sys/kernel/random/boot_id").strip() == box.boot_id() != before
    wait_until((box.home / "booted").exists, timeout=60)


def test_programs_can_be_hidden(boxes: Boxes) -> None:
    """A box without python3 and rsync still has the rest."""
    box = boxes.start()
    box.hide("python3", "rsync")
    box.reboot()
    assert boxes.ssh("box", "command -v python3 || command -v rsync").stdout == ""
    assert boxes.ssh("box", "python3 -V").returncode == 127
    assert "tmux" in boxes.ssh("box", "command -v tmux").stdout


def test_a_link_can_be_cut_and_a_box_recycled(boxes: Boxes) -> None:
    """A cut link is silence; a recycled box has another host key."""
    box = boxes.start()
    box.cut()
    assert "timed out" in boxes.ssh("box", "true", options=["-o", "ConnectTimeout=1"]).stderr
    box.restore()
    wait_until(lambda: boxes.ssh("box", "true").returncode == 0, timeout=30)
    box.recycle()
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in boxes.ssh("box", "true").stderr
    box.recycle(known=True)
    assert boxes.ssh("box", "true").returncode == 0


def test_a_small_disk_fills(boxes: Boxes) -> None:
    """A home of two megabytes takes no three."""
    boxes.start(disk="2m")
    assert "No space left" in boxes.ssh("box", "head -c 3000000 /dev/zero > ~/big").stderr
