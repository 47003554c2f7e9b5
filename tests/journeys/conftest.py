"""What journeys share: a real webhook receiver, a real SMTP server, the cluster of the laboratory."""

from tests.alerts.conftest import box, receiver
from tests.lab.plugin import calm_lab, lab

__all__ = ["box", "calm_lab", "lab", "receiver"]
