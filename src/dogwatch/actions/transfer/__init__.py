"""Transfer: files from a place to this machine (`fetch`) and from here to a place (`sync`), complete or not at all.

What is moved is listed first, copied into a hidden directory beside its target, and gets its name only when count, size
and SHA-256 agree with those of the other side. Whatever is interrupted goes on from there.
"""

from dogwatch.actions.transfer.fetch import Fetch, Plan, plan
from dogwatch.actions.transfer.listing import Sources, TransferFailed
from dogwatch.actions.transfer.sync import Synced, sync

__all__ = ["Fetch", "Plan", "Sources", "Synced", "TransferFailed", "plan", "sync"]
