"""Upgrade: a package that was replaced or removed under a running program is noticed once its files are all there."""

from dogwatch.actions.upgrade import SETTLED, Installed


def test_a_package_that_stays_is_not_taken_for_another(tmp_path):
    """Looking often and for long changes nothing."""
    about = tmp_path / "__init__.py"
    about.write_text('__version__ = "1.0"\n')
    installed = Installed(str(about))
    assert not any(installed.changed(float(mono)) for mono in range(0, 100, 3))


def test_a_replaced_package_is_believed_when_it_has_settled(tmp_path):
    """An installer at work (gone, then there, then written again) is waited for."""
    about = tmp_path / "__init__.py"
    about.write_text('__version__ = "1.0"\n')
    installed = Installed(str(about))
    about.unlink()
    assert not installed.changed(0.0)
    about.write_text('__version__ = "2.0"\n# longer\n')
    assert not installed.changed(SETTLED)
    assert not installed.changed(2 * SETTLED - 0.1)
    assert installed.changed(2 * SETTLED)
    assert installed.version() == "2.0"


def test_a_removed_package_has_no_version(tmp_path):
    """Gone for good is a change too."""
    about = tmp_path / "__init__.py"
    about.write_text('__version__ = "1.0"\n')
    installed = Installed(str(about))
    about.unlink()
    assert not installed.changed(0.0)
    assert installed.changed(SETTLED)
    assert installed.version() is None
