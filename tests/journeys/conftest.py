"""What journeys share: a real webhook receiver, a real SMTP server, the laboratory's cluster, a sped-up clock."""

from tests.alerts.conftest import box, receiver
from tests.journeys.fast import fast, fast_library
from tests.lab.plugin import calm_lab, lab

__all__ = ["box", "calm_lab", "fast", "fast_library", "lab", "receiver"]
