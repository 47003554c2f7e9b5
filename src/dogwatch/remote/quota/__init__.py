"""The extra probe that asks what somebody may still use: limits of users, groups and projects under a path.

It travels with the one request in many that asks for it; see `remote/__init__.py`. For Python >= 3.6 and the standard
library.
"""
