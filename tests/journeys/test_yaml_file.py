"""The configuration file of the design document (003, §6.2), given to `dogwatch watch --config` as it stands."""

import re

import pytest

from tests.support import jobs

# As in the document but for the three directories, the mail server and the Slack URL.
FILE = r"""# monitor_config.yaml
job:
  name: "embedding_generation_v2"
  num_workers: 4
  gpu_ids: [0, 1, 2, 3]
  total_items: 100000

paths:
  output_dir: "OUTPUTS"
  log_dir: "LOGS"
  checkpoint_dir: "CHECKPOINTS"

patterns:
  output: "output_worker_*.json"
  logs: "worker_*.log"
  checkpoints: "checkpoint_epoch_*.pt"

monitoring:
  check_interval: 10
  launch_timeout: 60
  stall_timeout: 300

progress_patterns:
  items_processed: 'Processed (\d+)/(\d+) items'
  throughput: '(\d+\.?\d*) items/s'
  epoch: 'Epoch (\d+)/(\d+)'

error_patterns:
  - pattern: '(out of memory|OOM)'
    severity: 'critical'
  - pattern: '(CUDA error)'
    severity: 'critical'
  - pattern: '(connection refused|timeout)'
    severity: 'warning'

alerts:
  email:
    enabled: true
    address: "user@example.com"
    smtp_server: "SERVER"
    smtp_port: 587

  slack:
    enabled: true
    webhook: "https://hooks.slack.com/services/..."

  terminal:
    enabled: true
    refresh_rate: 1  # seconds
"""


@pytest.fixture
def file(crew, letters, box, tmp_path):
    """The file, with this test's directories and its mail server; Slack is switched off, for want of a network."""
    checkpoints = tmp_path / "checkpoints"
    for directory in (crew.outputs, crew.logs, checkpoints):
        directory.mkdir()
    text = FILE.replace("OUTPUTS", str(crew.outputs)).replace("LOGS", str(crew.logs))
    text = text.replace("CHECKPOINTS", str(checkpoints)).replace("SERVER", box[1].host).replace("587", str(box[1].port))
    text = text.replace("slack:\n    enabled: true", "slack:\n    enabled: false")
    path = tmp_path / "monitor_config.yaml"
    path.write_text(text)
    return path


def test_the_file_describes_the_whole_job(file, crew, dogwatch, letters):
    """Name, workers, items, directories, patterns and mail all come out of the file; only the pace is a flag."""
    crew.start("embedding_generation_v2.py", 4)
    watched = dogwatch("watch", "--config", file, "--check-interval", 1)
    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert "100,000 of 100,000 items" in watched.stdout
    job = jobs(dogwatch)["embedding_generation_v2"]
    assert job["outcome"] == "completed"
    assert len(job["workers"]) == 4
    assert any("completed" in letter for letter in letters())


def test_its_error_patterns_take_capital_letters_too(file, crew, dogwatch, letters):
    """'(connection refused|timeout)' finds "Connection refused": a warning by mail, with how often, and exit 0."""
    crew.start("embedding_generation_v2.py", 4, REFUSE="1")
    watched = dogwatch("watch", "--config", file, "--check-interval", 1)
    assert watched.returncode == 0, watched.stdout + watched.stderr
    warnings = [letter for letter in letters() if "WARNING" in letter]
    assert any("onnection refused" in letter for letter in warnings)
    assert re.search(r"\b1[0-3]\b", "".join(warnings) + watched.stdout)  # that worker said it 13 times
    assert not [letter for letter in letters() if "CRITICAL" in letter]


def test_a_crash_reaches_the_address_in_the_file(file, crew, dogwatch, letters):
    """The letter names the worker and its error; flags that are given win over the file."""
    crew.start("embedding_generation_v2.py", 4, CRASH="3")
    watched = dogwatch("watch", "--config", file, "--check-interval", 1, "--job-name", "embedding_generation_v2")
    assert watched.returncode == 1
    critical = [letter for letter in letters() if "CRITICAL" in letter]
    assert any("worker 3" in letter for letter in critical)
    assert any("shape mismatch" in letter for letter in critical)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("  num_workers: 4", "  num_worker: 4", ["job.num_worker", "num_workers", "line 4"]),
        ("monitoring:", "monitorng:", ["monitorng", "monitoring"]),
        ("  total_items: 100000", "  total_items: many", ["job.total_items", "number"]),
        ("  total_items: 100000", "  total_items: -5", ["job.total_items", "above zero"]),
        ("  stall_timeout: 300", "  stall_timeout: soon", ["monitoring.stall_timeout", "15m"]),
        ("(CUDA error)", "(CUDA error", ["error_patterns", "CUDA error"]),
        ('output: "output_worker_*.json"', 'output: "../../etc/*"', ["output", "below its directory"]),
        ('name: "embedding_generation_v2"', "name: !!python/object/apply:os.system [id]", ["tags", "line 3"]),
        ("job:", "job: &anchor", ["anchors"]),
        ("severity: 'critical'", "severity: 'fatal'", ["severity", "critical or warning"]),
        ("alerts:", "alerts:\n  pager:\n    enabled: true", ["pager", "email"]),
    ],
)
def test_what_is_wrong_in_the_file_is_one_sentence(file, dogwatch, old, new, words):
    """An unknown, wrong or dangerous key is refused by name and line before anything is watched."""
    file.write_text(file.read_text().replace(old, new, 1))
    refused = dogwatch("watch", "--config", file)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert len(refused.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in refused.stderr
    assert jobs(dogwatch) == {}


def test_a_slack_url_of_the_file_may_not_lead_into_a_private_network(file, dogwatch):
    """A file may come from anybody; where alerts go inside your network is yours to say, as a flag."""
    text = file.read_text().replace("slack:\n    enabled: false", "slack:\n    enabled: true")
    file.write_text(text.replace("https://hooks.slack.com/services/...", "http://127.0.0.1:9/services/x"))
    refused = dogwatch("watch", "--config", file)
    assert refused.returncode == 2
    assert "--alert-slack" in refused.stderr
    assert "127.0.0.1" not in refused.stderr
