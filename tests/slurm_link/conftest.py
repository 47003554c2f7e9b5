"""The laboratory, and ssh aliases for its cluster whose key and known hosts a test may spoil one by one."""

from __future__ import annotations

from tests.lab.plugin import calm_lab, lab

__all__ = ["calm_lab", "lab"]
