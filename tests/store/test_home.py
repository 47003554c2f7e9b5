"""Where the home is, and which homes are refused."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dogwatch.errors import HomeRefused
from dogwatch.store.sqlite.home import file_system, locate, on_network, prepare
from dogwatch.store.sqlite.location import open_store
from tests.conftest import needs_fuse, needs_root
from tests.store.sample import NOW, filled
from tests.support import wait_until

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:25 / /home rw - nfs4 server:/home rw
31 30 0:26 / /home/ann/my\\040disk rw - ext4 /dev/sdb rw
32 22 0:27 / /lustre rw - lustre mgs:/fs rw
33 22 0:28 / /mnt rw - ext4 /dev/sdc rw
34 22 0:29 / /mnt rw - fuse.sshfs host: rw
""".splitlines()


def test_the_home_is_where_the_environment_says() -> None:
    """DOGWATCH_HOME wins over XDG_STATE_HOME, which wins over ~/.local/state."""
    assert locate({"DOGWATCH_HOME": "/x/y", "HOME": "/h"}) == "/x/y"
    assert locate({"DOGWATCH_HOME": "~/y", "HOME": "/h"}) == "/h/y"
    assert locate({"XDG_STATE_HOME": "/s", "HOME": "/h"}) == "/s/dogwatch"
    assert locate({"XDG_STATE_HOME": "relative", "HOME": "/h"}) == "/h/.local/state/dogwatch"
    assert locate({"HOME": "/h"}) == "/h/.local/state/dogwatch"


def test_everything_in_a_home_is_private_whatever_the_umask(tmp_path: Path) -> None:
    """Directories are 0700 and files 0600 even when the umask would give everything away."""
    before = os.umask(0)
    try:
        home = tmp_path / "deep" / "er"
        store = filled(home)
        store.back_up(NOW)
        store.set_reserve()
        with store.location.wakeup(), store.location.lease("a test", NOW):
            modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in (home, *home.rglob("*"))}
    finally:
        os.umask(before)
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if not path.is_dir()} == {0o600}
    assert len(modes) > 10


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_home_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    """A single permission for group or others is enough, and the sentence says how to take it away."""
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    with pytest.raises(HomeRefused, match=f"chmod 700 {home}"):
        open_store(str(home))
    assert list(home.iterdir()) == []


def test_a_home_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Who can change the link can change the truth."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "home").symlink_to(tmp_path / "real")
    with pytest.raises(HomeRefused, match="symbolic link"):
        prepare(str(tmp_path / "home"))


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """A plain file in the home's place is named as such, as is one in a parent's place."""
    (tmp_path / "home").write_text("")
    with pytest.raises(HomeRefused, match="not a directory"):
        prepare(str(tmp_path / "home"))
    with pytest.raises(HomeRefused, match="not a directory"):
        prepare(str(tmp_path / "home" / "below"))


@needs_root
def test_a_home_of_somebody_else_is_refused(tmp_path: Path) -> None:
    """A foreign owner of the home, or of a directory above it, could read or replace it."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    os.chown(home, 12345, 12345)
    with pytest.raises(HomeRefused, match="uid 12345"):
        prepare(str(home))
    below = home / "below"
    with pytest.raises(HomeRefused, match=f"{home}, above .*, belongs to uid 12345"):
        prepare(str(below))
    assert not below.exists()


@pytest.mark.parametrize(("mode", "why"), [(0o777, "everybody"), (0o775, "group")])
def test_a_parent_that_others_may_write_is_refused_by_name(tmp_path: Path, mode: int, why: str) -> None:
    """Who may write to a parent may put another home in place of ours; the sticky bit prevents that."""
    parent = tmp_path / "shared"
    parent.mkdir()
    parent.chmod(mode)
    os.chown(parent, -1, 54321) if os.geteuid() == 0 else None
    if os.geteuid() == 0 or why == "everybody":
        with pytest.raises(HomeRefused, match=f"{parent}, above .* {why}"):
            prepare(str(parent / "home"))
    parent.chmod(mode | stat.S_ISVTX)
    prepare(str(parent / "home"))


def test_a_database_open_to_others_is_refused(tmp_path: Path) -> None:
    """Wider modes on the file inside are refused as well, with the remedy."""
    home = tmp_path / "home"
    filled(home).close()
    (home / "dogwatch.db").chmod(0o644)
    with pytest.raises(HomeRefused, match=r"chmod 600 .*dogwatch\.db"):
        open_store(str(home))


def test_a_database_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """A link in place of the file leads out of the private directory."""
    home = tmp_path / "home"
    filled(home).close()
    (home / "dogwatch.db").rename(tmp_path / "elsewhere.db")
    (home / "dogwatch.db").symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(HomeRefused, match="not a plain file"):
        open_store(str(home))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/x", "ext4"),
        ("/home/bob/x", "nfs4"),
        ("/home/ann/my disk/x", "ext4"),
        ("/homely/x", "ext4"),
        ("/lustre/x", "lustre"),
        ("/mnt/x", "fuse.sshfs"),
        ("/mnt", "fuse.sshfs"),
    ],
)
def test_the_file_system_is_that_of_the_longest_mount_point(path: str, kind: str) -> None:
    """Escaped names, look-alike prefixes and mounts on top of one another are told apart."""
    assert file_system(path, MOUNTS) == kind


def test_network_file_systems_are_known_and_local_ones_left_alone() -> None:
    """What the common cluster and network file systems call themselves, against the common local ones."""
    far = [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "lustre",
        "gpfs",
        "beegfs",
        "ceph",
        "glusterfs",
        "afs",
        "9p",
        "fuse",
        "fuse.sshfs",
        "fuse.ceph-fuse",
    ]
    near = ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "f2fs", "bcachefs"]
    assert [kind for kind in far if not on_network(kind)] == []
    assert [kind for kind in near if on_network(kind)] == []


FUSE = """
import sys, mfusepy, stat
class Empty(mfusepy.Operations):
    def getattr(self, path, fh=None):
        if path != "/":
            raise mfusepy.FuseOSError(2)
        return {"st_mode": stat.S_IFDIR | 0o700, "st_nlink": 2}
    def readdir(self, path, fh):
        return [".", ".."]
mfusepy.FUSE(Empty(), sys.argv[1], foreground=True, nothreads=True)
"""


@needs_fuse
def test_a_home_on_a_real_fuse_mount_is_refused(tmp_path: Path) -> None:
    """A directory on FUSE is refused before anything is written to it, and the sentence says what to do."""
    point = tmp_path / "far"
    point.mkdir(mode=0o700)
    process = subprocess.Popen([sys.executable, "-c", FUSE, str(point)], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: os.path.ismount(point))
        for home in (point, point / "home"):
            with pytest.raises(HomeRefused, match=r"on a fuse.* set DOGWATCH_HOME to a directory on a local disk"):
                prepare(str(home))
    finally:
        subprocess.run(["fusermount3", "-u", "-z", str(point)], check=False)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        process.kill()
        process.wait()
