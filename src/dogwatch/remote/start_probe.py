"""Runs the probe of this machine from its text, compiled in a child: what compiling leaves in memory would stay for as
long as the probe lives. Started as `python -I -S FILE TEXT ARGUMENT…`; the arguments are the probe's.
"""

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType


def compiled(path: str) -> "CodeType":
    """The program in a file, compiled by a child; by ourselves where there is no child to be had."""
    try:
        code = marshal.loads(_from_child(path))  # noqa: S302 - made by ourselves
    except (OSError, EOFError, ValueError, TypeError):
        return _compile(path)
    return code  # type: ignore[no-any-return]


def _from_child(path: str) -> bytes:
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(theirs, "wb") as pipe:
                marshal.dump(_compile(path), pipe)
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        code = pipe.read()
    os.waitpid(child, 0)
    return code


def _compile(path: str) -> "CodeType":
    with open(path, "rb") as text:
        return compile(text.read(), path, "exec")


if __name__ == "__main__":
    exec(compiled(sys.argv.pop(1)))  # noqa: S102 - it is our own text
