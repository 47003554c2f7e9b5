"""The people of the laboratory: real accounts of this machine, with homes in the laboratory's directory."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from tests.lab.ground import Ground, LabError

MARK = "dogwatch laboratory"
# user → login shell
PEOPLE = {
    "alice": "/bin/bash",
    "bob": "/bin/bash",
    "noisy": "/bin/bash",
    "carol": "/bin/tcsh",
    "bare": "/bin/bash",
}

# What sites do to their users: words on both streams, and settings that change what Slurm's commands print.
_NOISE = """\
echo '*** Welcome to the laboratory! Unauthorised use is {prohibited}. ***'
for number in $(seq 1 100); do echo "JOBID PARTITION NAME USER ST | notice $number | 12345 COMPLETED 0:0"; done
echo 'module: command not found' >&2
export SQUEUE_FORMAT='%i %j' SACCT_FORMAT=JobID SLURM_TIME_FORMAT=relative
"""


class Accounts(Ground):
    """Making them and removing them; an account that the laboratory did not make is never touched."""

    def make_people(self) -> None:
        for user, shell in PEOPLE.items():
            person = _find(user)
            if person and person.pw_gecos != MARK:
                raise LabError(f"there is a user {user} on this machine who is not the laboratory's")
            if person:
                self.must("userdel", user)
            # A password of `*` fits nothing, but unlike useradd's own `!` sshd does not take it for a locked account.
            self.must("useradd", "-M", "-U", "-d", self.home(user), "-s", shell, "-p", "*", "-c", MARK, user)
            self._make_home(user)
        (self.home("noisy") / ".bashrc").write_text(_NOISE)
        (self.home("carol") / ".cshrc").write_text("set prompt='carol> '\nsetenv SITE laboratory\n")
        self._make_poor_path()

    def _make_home(self, user: str) -> None:
        home = self.home(user)
        home.mkdir(parents=True)
        person = pwd.getpwnam(user)
        os.chown(home, person.pw_uid, person.pw_gid)
        home.chmod(0o755)

    @property
    def poor_path(self) -> Path:
        return self.directory / "poor-path"

    def _make_poor_path(self) -> None:
        """All of /usr/bin except any Python: the PATH of `bare`."""
        self.poor_path.mkdir()
        for entry in os.scandir("/usr/bin"):
            if not entry.name.startswith(("python", "py3", "pypy")):
                (self.poor_path / entry.name).symlink_to(entry.path)

    def people_made(self) -> list[str]:
        """Those users of this machine that a laboratory made."""
        found = [_find(user) for user in PEOPLE]
        return [person.pw_name for person in found if person and person.pw_gecos == MARK]

    def remove_people(self) -> None:
        for user in self.people_made():
            self.must("userdel", user)


def _find(user: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(user)
    except KeyError:
        return None
