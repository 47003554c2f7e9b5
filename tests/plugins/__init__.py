"""Plug-ins of other packages: four real small packages, one of each kind, and broken ones."""
