"""The small tree of errors a person can meet; each knows its exit code.

Not reaching a place is an everyday fact and travels as a value (`model.Unreachable`); what is raised here
is a wrong request, a store that cannot be trusted, or a job that does not exist. A message names
the file or key, what is wrong with it and what to do next, in one sentence.
"""

from __future__ import annotations

FINE = 0
ENDED_BADLY = 1
USAGE = 2
COULD_NOT_POLL = 3
NO_SUCH_JOB = 4
REPLACED = 5  # a waiter that somebody else ended
TIMED_OUT = 124
INTERRUPTED = 130
NO_READER = 141  # as the shell tells of a program that SIGPIPE ended


class DogwatchError(Exception):
    """Anything that is told to the user as one sentence instead of a traceback."""

    exit_code = USAGE


class UsageError(DogwatchError):
    """A flag, argument or configuration value that cannot be taken as it is."""


class NotYet(UsageError):
    """A promise of a later release: refused rather than silently ignored."""


class LeaseHeld(DogwatchError):
    """Another watcher already watches this store: which command, and its process."""

    def __init__(self, text: str, who: str = "another process", pid: object = None) -> None:
        super().__init__(text)
        self.who, self.pid = who, pid


class NoSuchJob(DogwatchError):
    """No job answers to that name, or more than one does."""

    exit_code = NO_SUCH_JOB


class CouldNotPoll(DogwatchError):
    """Every place that was asked stayed unreachable."""

    exit_code = COULD_NOT_POLL


class HomeRefused(DogwatchError):
    """The state directory is not one we can keep truth in (open to others, a link, a network disk)."""


class StoreError(DogwatchError):
    """The store could not be read or written."""

    exit_code = COULD_NOT_POLL


class StoreTooNew(StoreError):
    """The database was written by a newer Dogwatch; guessing at it could lose what it knows."""

    exit_code = USAGE


class StoreDamaged(StoreError):
    """Rows or pages that do not match their own checksums."""


class StoreGone(StoreError):
    """The database that was here is no longer here; an empty one is not the same thing."""


class StoreFull(StoreError):
    """No room (disk, quota or inodes) to write; what was being written will be tried again."""


class StoreReadOnly(StoreError):
    """The disk under the store does not take writes any more."""
