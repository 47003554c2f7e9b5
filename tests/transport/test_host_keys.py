"""A host key is shown before it is trusted, is trusted only on a person's word, and then stands where ssh looks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dogwatch.errors import CouldNotPoll, UsageError
from dogwatch.transport import host_keys
from dogwatch.transport.interface import Answer
from dogwatch.transport.ssh import Ssh
from dogwatch.transport.target import Target, audit
from tests.transport.sshd import Sshd, make_key


def shown_by_keygen(sshd: Sshd) -> str:
    """`ED25519 SHA256:…` as ssh-keygen has it."""
    said = subprocess.run(
        ["ssh-keygen", "-lf", sshd.directory / "host.pub"], capture_output=True, text=True, check=True
    )
    _, digest, _, kind = said.stdout.split()
    return f"{kind.strip('()')} {digest}"


@pytest.fixture
def stranger(sshd: Sshd) -> Sshd:
    """A host that nobody here knows yet."""
    sshd.known_hosts.unlink()
    sshd.start()
    return sshd


def test_an_unknown_key_is_shown_and_nothing_is_kept(stranger: Sshd) -> None:
    """The fingerprint is the one that the host's owner would read out, and known_hosts is not even made."""
    assert host_keys.unknown_key("box", str(stranger.config)) == [shown_by_keygen(stranger)]
    assert not stranger.known_hosts.exists()
    assert "Accepted" not in (stranger.directory / "sshd.log").read_text()


def test_a_key_can_be_shown_by_a_host_that_refuses_us(stranger: Sshd) -> None:
    """The first contact does not log in, so our own key does not matter."""
    stranger.write_config(key="stranger")
    assert host_keys.unknown_key("box", str(stranger.config)) == [shown_by_keygen(stranger)]


@pytest.mark.parametrize("hashed", ["no", "yes"])
def test_an_accepted_key_opens_the_host(stranger: Sshd, hashed: str) -> None:
    """It goes to the file that the config names, private, behind what is there, and hidden where the config says so."""
    stranger.write_config(f"HashKnownHosts {hashed}")
    stranger.known_hosts.write_text("other.example ssh-ed25519 AAAA")
    stranger.known_hosts.chmod(0o600)
    shown, file = host_keys.accept("box", str(stranger.config))
    assert (shown, file) == ([shown_by_keygen(stranger)], str(stranger.known_hosts))
    first, second = stranger.known_hosts.read_text().splitlines()
    assert first == "other.example ssh-ed25519 AAAA"
    assert second.startswith("|1|" if hashed == "yes" else f"[127.0.0.1]:{stranger.port} ")
    assert isinstance(Ssh("box", "box", str(stranger.config)).ask({}, 60), Answer)


def test_a_file_that_is_made_is_private(stranger: Sshd, tmp_path: Path) -> None:
    """0600, and its directory 0700."""
    file = tmp_path / "new" / "known hosts"
    stranger.known_hosts = Path(f'"{file}"')
    stranger.write_config()
    host_keys.accept("box", str(stranger.config))
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_changed_key_is_never_accepted(stranger: Sshd) -> None:
    """Accepting is for a first contact only; the message says how a person forgets the old key."""
    host_keys.accept("box", str(stranger.config))
    kept = stranger.known_hosts.read_text()
    stranger.end()
    make_key(stranger.directory / "host")
    stranger.start()
    with pytest.raises(UsageError, match="ssh-keygen -R"):
        host_keys.accept("box", str(stranger.config))
    assert stranger.known_hosts.read_text() == kept


def test_a_key_behind_a_jump_host_is_shown_and_accepted(stranger: Sshd) -> None:
    """The way to it is the config's own."""
    stranger.trust()
    stranger.write_config()
    far = stranger.directory / "known_far"
    stranger.config.write_text(
        f"Host far\n  ProxyJump box\n  HostKeyAlias far\n  UserKnownHostsFile {far}\n"
        + stranger.config.read_text().replace("Host box", "Host box far")
    )
    assert host_keys.unknown_key("far", str(stranger.config)) == [shown_by_keygen(stranger)]
    host_keys.accept("far", str(stranger.config))
    assert far.read_text().startswith("far ssh-ed25519 ")
    assert isinstance(Ssh("far", "far", str(stranger.config)).ask({}, 60), Answer)


def test_a_host_that_is_down_shows_no_key(sshd: Sshd) -> None:
    """Said as what it is."""
    with pytest.raises(CouldNotPoll, match="no sshd listens there"):
        host_keys.unknown_key("box", str(sshd.config))


def test_known_is_what_ssh_would_find(sshd: Sshd) -> None:
    """Under the name and port that ssh uses."""
    target = Target("box", str(sshd.config))
    assert host_keys.is_known(target)
    sshd.known_hosts.write_text(sshd.known_hosts.read_text().replace(str(sshd.port), "1"))
    assert not host_keys.is_known(target)


def test_a_config_that_keeps_no_keys_cannot_take_one(stranger: Sshd) -> None:
    """UserKnownHostsFile /dev/null would trust anybody."""
    stranger.known_hosts = Path("/dev/null")
    stranger.write_config()
    with pytest.raises(UsageError, match="UserKnownHostsFile"):
        host_keys.accept("box", str(stranger.config))


@pytest.mark.parametrize("name", ["a;touch {note}", "$(touch {note})", "`touch {note}`", "a|b", "'a'", "-oX"])
def test_a_host_name_with_a_shells_words_is_refused(sshd: Sshd, tmp_path: Path, name: str) -> None:
    """A proxy command would hand it to a shell; ssh itself does not mind."""
    note = tmp_path / "note"
    name = name.format(note=note).replace(" ", "${IFS}")
    sshd.config.write_text(f'Host evil\n  HostName "{name}"\n')
    with pytest.raises(UsageError, match="HostName"):
        audit(Target("evil", str(sshd.config)))
    assert not note.exists()


def test_an_audit_warns_of_what_connecting_runs_here(sshd: Sshd, tmp_path: Path) -> None:
    """ProxyCommand, LocalCommand, KnownHostsCommand, and Match exec in an included file, which `ssh -G` hides."""
    more = tmp_path / "more"
    more.write_text('Match host nowhere exec "true"\n  User x\n')
    extra = ("ProxyCommand nc %h %p", "LocalCommand touch x", "KnownHostsCommand /bin/true")
    sshd.write_config(*extra)
    sshd.config.write_text(f"Include {more}\n" + sshd.config.read_text())
    warned = "\n".join(audit(Target("box", str(sshd.config))))
    for sign in ("proxycommand): nc %h %p", "LocalCommand", "knownhostscommand", f"{more}:1: Match exec"):
        assert sign in warned


def test_an_ordinary_config_gives_no_warning(sshd: Sshd) -> None:
    """Nothing to say."""
    assert audit(Target("box", str(sshd.config))) == []


def test_a_config_that_ssh_does_not_take_is_told(sshd: Sshd) -> None:
    """With ssh's own words."""
    sshd.config.write_text("Host box\n  NoSuchKeyword yes\n")
    with pytest.raises(UsageError, match="rejects its configuration"):
        audit(Target("box", str(sshd.config)))


def test_a_config_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """By name."""
    with pytest.raises(UsageError, match="no ssh configuration file"):
        Target("box", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="absolute path"):
        Target("box", "config")
