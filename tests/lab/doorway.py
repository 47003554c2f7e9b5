"""Accept connections in one network namespace and let an sshd of another one serve them; runs as a program.

Started inside the first namespace, with the second one open as descriptor 3. So the way to the server can be cut like
any link, while the sessions on it are where Slurm's controller listens.
"""

from __future__ import annotations

import socket
import subprocess
import sys


def main(address: str, port: int, config: str) -> None:
    command = ["nsenter", "--net=/proc/self/fd/3", "/usr/sbin/sshd", "-i", "-e", "-f", config]
    serving: list[subprocess.Popen[bytes]] = []
    with socket.create_server((address, port), backlog=100) as door:
        door.settimeout(1)
        while True:
            serving = [process for process in serving if process.poll() is None]
            try:
                visitor, _ = door.accept()
            except TimeoutError:
                continue
            with visitor:
                visitor.settimeout(None)
                line = visitor.fileno()
                serving.append(subprocess.Popen(command, stdin=line, stdout=line, pass_fds=(3,)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
