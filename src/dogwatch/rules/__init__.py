"""When something deserves attention. One rule per file, pure: what is known and now → Findings.

A rule file has a module-level `PLUGIN = Rule(...)` and imports `model` and `rules.interface` only. To add one, add a
file: it is found by its place here. Another package names its rule under the entry point group `dogwatch.rules`.
"""

from __future__ import annotations

from dogwatch.plugins import Plugins
from dogwatch.rules.interface import Rule

RULES = Plugins("dogwatch.rules", __name__, Rule)


def known() -> dict[str, Rule]:
    """Every rule by name; one of another package cannot fail for more than itself."""
    from dogwatch.rules.foreign import guarded

    foreign = {name: guarded(rule, RULES.package(name)) for name, rule in RULES.foreign().items()}
    return {**RULES.shipped(), **foreign}
