"""What journeys share: a webhook receiver, an SMTP server, a cluster, other people's workers, a sped-up clock."""

from tests.alerts.conftest import box, receiver
from tests.journeys.fast import fast, fast_library
from tests.journeys.workers import crew, letters
from tests.lab.box import boxes
from tests.lab.plugin import calm_lab, lab

__all__ = ["box", "boxes", "calm_lab", "crew", "fast", "fast_library", "lab", "letters", "receiver"]
