"""Dogwatch keeps watch over long GPU jobs, and never reads silence as an answer."""

# A plain string: importlib.metadata would triple the start-up of `dogwatch --version`.
__version__ = "0.1.0"
