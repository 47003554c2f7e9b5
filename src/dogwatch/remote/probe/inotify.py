"""The ear: the kernel tells which files were written, so that those that stand still need not be looked at."""

import os
import sys
from collections.abc import Iterable
from typing import Any

from dogwatch.remote.probe.wire import slurp

EVENT = 16  # bytes: the watch, what happened, a cookie, and the length of a name that comes behind them; four each
EVENTS_MOST = 65536  # bytes
WRITTEN_ONCE = 0x2 | 0x4 | 0x2000000 | 0x80000000  # IN_MODIFY, IN_ATTRIB, IN_DONT_FOLLOW, IN_ONESHOT
# f_type of ext2 to ext4, XFS, Btrfs, F2FS and tmpfs: only this machine writes there, and what writes is heard. Not so
# of network file systems and FUSE, nor of overlays, where a file that is written may become another one.
HEARD_IN = frozenset((0xEF53, 0x58465342, 0x9123683E, 0xF2F52010, 0x01021994))
SHARE = 8  # of the watches that a user may have, we take at most one part in so many


class Listener:
    """Whoever wants to hear of files: `hears` while all of them are listened to and none was written."""

    __slots__ = ("hears", "watches")

    def __init__(self) -> None:
        self.hears = False
        self.watches: "list[int]" = []


class Inotify:
    """One inotify instance. Each file tells once and is then silent, so that a busy writer pays for one event only."""

    def __init__(self) -> None:
        self.owners: "dict[int, Listener]" = {}
        self.fd, self.most, self.deaf = -1, 0, False
        self.libc: "Any" = None
        self.room: "Any" = None

    def listen(self, listener: Listener, files: "Iterable[bytes]", folders: "Iterable[bytes]") -> None:
        """Let the listener hear of these files, which lie in these folders, from now on; of all of them or of none."""
        self.leave(listener)
        if not self._is_open() or not all(self._is_heard_in(folder) for folder in folders):
            return
        for path in files:
            watch = self.libc.inotify_add_watch(self.fd, path, WRITTEN_ONCE) if len(self.owners) < self.most else -1
            if watch < 0:
                self.leave(listener)
                return
            self.owners.get(watch, listener).hears = False  # one file has one watch, and that has one owner
            self.owners[watch] = listener
            listener.watches.append(watch)
        listener.hears = True

    def leave(self, listener: Listener) -> None:
        for watch in listener.watches:
            if self.owners.get(watch) is listener:
                del self.owners[watch]
                self.libc.inotify_rm_watch(self.fd, watch)
        listener.watches, listener.hears = [], False

    def hear(self) -> None:
        """Take in what was told since the last time."""
        while self.fd >= 0:
            try:
                text = os.read(self.fd, EVENTS_MOST)
            except BlockingIOError:
                return
            at = 0
            while at < len(text):
                watch = int.from_bytes(text[at : at + 4], sys.byteorder, signed=True)
                at += EVENT + int.from_bytes(text[at + 12 : at + EVENT], sys.byteorder)
                if watch < 0:  # more was told than the kernel keeps
                    for each in self.owners.values():
                        each.hears = False
                elif watch in self.owners:
                    self.owners.pop(watch).hears = False

    def _is_open(self) -> bool:
        if self.fd < 0 and not self.deaf:
            try:
                import ctypes

                self.libc, self.room = ctypes.CDLL(None), (ctypes.c_long * 64)()
                self.libc.inotify_add_watch.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]
                self.most = int(slurp("/proc/sys/fs/inotify/max_user_watches")) // SHARE
                self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            except (ImportError, AttributeError, OSError, ValueError):  # a Python or a machine without any of this
                pass
            self.deaf = self.fd < 0
        return not self.deaf

    def _is_heard_in(self, folder: bytes) -> bool:
        return self.libc.statfs(folder, self.room) == 0 and self.room[0] in HEARD_IN  # `f_type` comes first


INOTIFY = Inotify()
