"""The classic job file: what it sets, and the one sentence for what it gets wrong."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dogwatch.config import JobFile, PreflightSection, duration, growth, load_job_file
from dogwatch.errors import UsageError

WHOLE = r"""
job:
  name: "embed wiki"
  description: second try
  num_workers: 2
  gpu_ids: [0, "2,3"]
  total_items: 5000
paths:
  output_dir: /scratch/out
  log_dir: logs
  checkpoint_dir: ckpt
patterns:
  output: "part_*.json"
  logs: "w*.log"
  checkpoints: "step_*.pt"
monitoring:
  check_interval: 10
  launch_timeout: 90s
  stall_timeout: 15m
  min_growth: 36 MB/h
progress_patterns:
  items_processed: 'did (\d+) of (\d+)'
  throughput: '([\d.]+) docs/s'
error_patterns:
  - pattern: 'out of memory'
    severity: critical
  - pattern: 'refused'
alerts:
  email:
    enabled: false
    address: me@example.com
  terminal:
    enabled: true
    refresh_rate: 0.5
"""


def write(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "job.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def refusal(tmp_path: Path, text: str | bytes) -> str:
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as told:
        load_job_file(path)
    message = str(told.value)
    assert path in message
    assert message.isprintable()
    assert told.value.exit_code == 2
    return message


def test_every_key_of_the_classic_form_is_taken(tmp_path):
    """A file that sets everything fills every field."""
    path = write(tmp_path, WHOLE)
    assert load_job_file(path) == JobFile(
        path=path,
        name="embed wiki",
        description="second try",
        workers=2,
        gpu_ids=("0", "2,3"),
        total_items=5000,
        output_dir="/scratch/out",
        log_dir="logs",
        checkpoint_dir="ckpt",
        output_pattern="part_*.json",
        log_pattern="w*.log",
        checkpoint_pattern="step_*.pt",
        check_interval=10.0,
        launch_timeout=90.0,
        stall_timeout=900.0,
        min_growth=10_000.0,
        progress_patterns={"items_processed": r"did (\d+) of (\d+)", "throughput": r"([\d.]+) docs/s"},
        error_patterns=(("(?i)out of memory", "critical"), ("(?i)refused", "warning")),
        terminal=True,
        refresh_rate=0.5,
    )


def test_what_is_not_said_stays_open(tmp_path):
    """Unset keys, empty keys and empty sections are None, so that a flag can fill them."""
    job = load_job_file(write(tmp_path, "job:\n  name: x\n  total_items:\npaths:\n"))
    assert job == JobFile(path=job.path, name="x")


@pytest.mark.parametrize(
    ("text", "wants"),
    [
        ("", ["is empty", "job:"]),
        ("- a\n- b\n", ["not a mapping"]),
        ("just words", ["not a mapping"]),
        ("job:\n  name: a\n  name: b\n", ["line 3", "'name' is given twice", "line 2"]),
        ("job:\n  nmae: a\n", ["line 2", "job.nmae", "did you mean 'name'?"]),
        ("monitorng:\n  check_interval: 3\n", ["line 1", "monitorng", "did you mean 'monitoring'?"]),
        ("zzz:\n  a: 3\n", ["zzz", "use one of job, paths"]),
        ("job: !!python/object/apply:os.system ['true']\n", ["line 1", "tags"]),
        ("job:\n  name: !secret x\n", ["line 2", "tags"]),
        ("job: &a\n  name: x\npaths: *a\n", ["anchors and aliases"]),
        ("job:\n  name: x\n---\njob:\n  name: y\n", ["line 3", "second document"]),
        ("job:\n  name: [unclosed\n", ["not YAML"]),
        ("job:\n\tname: tab\n", ["line 2", "not YAML"]),
        ("a: " + "[" * 5000 + "]" * 5000, ["nested too deep"]),
        ("job:\n" + "  - x\n" * 30000, ["too long"]),
        ("job: 3\n", ["line 1", "job must hold keys"]),
        ("job:\n  num_workers: four\n", ["line 2", "job.num_workers", "whole number"]),
        ("job:\n  num_workers: 0\n", ["above zero"]),
        ("job:\n  num_workers: true\n", ["whole number"]),
        ("job:\n  num_workers: 0o17\n", ["whole number"]),
        ("job:\n  num_workers: 99999999999999999999999999\n", ["whole number"]),
        ("job:\n  total_items: 1.5\n", ["job.total_items"]),
        ("job:\n  gpu_ids: 3\n", ["job.gpu_ids", "[0, 1]"]),
        ("job:\n  gpu_ids: []\n", ["job.gpu_ids"]),
        ("job:\n  gpu_ids: [a b]\n", ["job.gpu_ids"]),
        ("job:\n  gpu_ids: [-1]\n", ["job.gpu_ids"]),
        ('job:\n  name: "a\\nb"\n', ["line 2", "newline"]),
        ('job:\n  name: "a\\e[31mb"\n', ["line 2", "escape code"]),
        ("job:\n  name: 7\n", ["job.name must be text"]),
        ("job:\n  1: x\n", ["job.1"]),
        ("job:\n  [a, b]: x\n", ["key must be a word"]),
        ("paths:\n  log_dir: 7\n", ["paths.log_dir must be text"]),
        ("monitoring:\n  stall_timeout: 0\n", ["line 2", "monitoring.stall_timeout", "above zero"]),
        ("monitoring:\n  stall_timeout: -5\n", ["above zero"]),
        ("monitoring:\n  stall_timeout: soon\n", ["'soon'"]),
        ("monitoring:\n  stall_timeout: .nan\n", ["above zero"]),
        ("monitoring:\n  stall_timeout: [1]\n", ["number of seconds"]),
        ("monitoring:\n  min_growth: 10\n", ["line 2", "monitoring.min_growth", "quotes"]),
        ("monitoring:\n  min_growth: fast\n", ["line 2", "monitoring.min_growth", "'fast'", "10MB/h"]),
        ("progress_patterns:\n  epoch: '('\n", ["progress_patterns.epoch", "not a pattern"]),
        ("progress_patterns:\n  epoch: 'none'\n", ["no group"]),
        ("progress_patterns:\n  epoch: '(?=x)(\\d+)'\n", ["lookaround"]),
        ("progress_patterns:\n  - a\n", ["progress_patterns must hold keys"]),
        ("progress_patterns:\n  epoch: 3\n", ["progress_patterns.epoch must be text"]),
        ("error_patterns:\n  pattern: x\n", ["error_patterns must be a list"]),
        ("error_patterns:\n  - severity: critical\n", ["line 2", "no 'pattern'"]),
        ("error_patterns:\n  - pattern: x\n    severity: fatal\n", ["line 3", "critical or warning"]),
        ("error_patterns:\n  - pattern: x\n    level: warning\n", ["level", "not a known key"]),
        ("error_patterns:\n  - pattern: '(x'\n", ["error_patterns, number 1", "not a pattern"]),
        ("alerts:\n  terminal:\n    enabled: maybe\n", ["alerts.terminal.enabled", "true or false"]),
        ("alerts:\n  pager:\n    enabled: true\n", ["alerts.pager"]),
        ("alerts:\n  email:\n    adress: x\n", ["did you mean 'address'?"]),
        (b"job:\n  name: \xff\xfe\n", ["line 2", "UTF-8"]),
        (b"job:\n  name: a\x00b\n", ["not YAML"]),
        (b"# " + b"x" * (1 << 20), ["larger than 1 MiB"]),
    ],
)
def test_a_wrong_file_gets_one_sentence(tmp_path, text, wants):
    """The sentence names the file, the line where there is one, the key and the remedy."""
    message = refusal(tmp_path, text)
    assert [want for want in wants if want not in message] == [], message


@pytest.mark.parametrize("channel", ["email", "slack"])
@pytest.mark.parametrize("body", ["enabled: true", "{}"])
def test_a_channel_that_lacks_its_address_is_refused(tmp_path, channel, body):
    """Asking for alerts that would never come is told, not ignored."""
    with pytest.raises(UsageError, match=r"needs '(address|webhook)', or enabled: false") as told:
        load_job_file(write(tmp_path, f"alerts:\n  {channel}:\n    {body}\n"))
    assert told.value.exit_code == 2


def test_the_channels_of_a_job_file_are_read(tmp_path):
    """What is not enabled is checked and left."""
    text = """alerts:
  email: {enabled: true, address: me@example.org, smtp_server: localhost, smtp_port: 2525}
  slack: {enabled: false, webhook: 'env:HOOK'}
"""
    file = load_job_file(write(tmp_path, text))
    assert file.channels == {"email": {"to": "me@example.org", "host": "localhost", "port": 2525}}


def test_the_section_of_the_checklist_is_read(tmp_path):
    """One word or a list of them, numbers where people write numbers, and no key that is not known."""
    text = "preflight: {command: python t.py, packages: [torch], checkpoint_every: 500, resume: true, batch_size: 8}"
    told = load_job_file(write(tmp_path, text)).preflight
    assert told == PreflightSection(
        command=("python t.py",), packages=("torch",), checkpoint_every="500", resume=True, batch_size=8
    )
    assert "did you mean 'packages'?" in refusal(tmp_path, "preflight: {package: torch}")
    assert "must be true or false" in refusal(tmp_path, "preflight: {resume: 1}")


def test_a_path_that_is_no_file_is_refused(tmp_path):
    """A missing file, a directory and a FIFO each get a sentence, and nothing waits on the FIFO."""
    os.mkfifo(tmp_path / "pipe")
    for path, why in (("nowhere.yaml", "does not exist"), ("", "Is a directory"), ("pipe", "regular file")):
        with pytest.raises(UsageError, match=why):
            load_job_file(str(tmp_path / path))
    with pytest.raises(UsageError, match="cannot be read"):
        load_job_file("job\0.yaml")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("job:\n nam-[]{}&*!|>'\"#%@,?0", max_size=60))
def test_any_text_is_a_job_file_or_a_usage_error(tmp_path, text):
    """No file, however odd, ends in anything but a value or a sentence."""
    path = write(tmp_path, text)
    with contextlib.suppress(UsageError):
        assert load_job_file(path).path == path


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("15m", 900), ("2h", 7200), ("1d", 86400), ("1.5 h", 5400), (30, 30), (0.5, 0.5)],
)
def test_durations_are_seconds_or_have_a_unit(text, seconds):
    """Bare numbers are seconds; s, m, h and d multiply."""
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-1", "soon", "1w", "nan", "inf", "1e9", "99999999d", "٣", "1h30m", True])
def test_other_durations_are_refused(text):
    """Nothing, less than nothing and unknown units are told with the flag's name."""
    with pytest.raises(UsageError, match="--stall-timeout"):
        duration(text, "--stall-timeout")


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("10MB/h", 10e6 / 3600),
        ("1 GiB/d", (1 << 30) / 86400),
        ("500kB/min", 500e3 / 60),
        ("3B/s", 3.0),
        ("2.5M/m", 2.5e6 / 60),
    ],
)
def test_a_growth_is_bytes_per_time(text, rate):
    """In the units that people write sizes in."""
    assert growth(text) == pytest.approx(rate)


@given(st.text(max_size=40).filter(lambda text: "/" not in text))
def test_any_other_text_is_no_growth_and_says_so(text):
    """One sentence with an example, and nothing else."""
    with pytest.raises(UsageError, match="10MB/h"):
        growth(text, "--min-growth")
