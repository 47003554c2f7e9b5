"""The laboratory's own tests use it as everybody else does."""

from tests.lab.plugin import calm_lab, lab

__all__ = ["calm_lab", "lab"]
