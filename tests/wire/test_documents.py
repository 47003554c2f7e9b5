"""What the program prints is what `dogwatch.wire.documents` says, and docs/json.md says the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from dogwatch.wire.documents import commands, diagnosis, job, log, report, watch

ROOT = Path(__file__).parent.parent.parent
DEMO = ROOT / "src" / "dogwatch" / "demo_job.py"


def conforms(done: subprocess.CompletedProcess[str], kind: Any, codes: tuple[int, ...] = (0,)) -> Any:
    """The printed document, each line of it checked: every key is defined, present and of its type."""
    assert done.returncode in codes, done.stderr
    printed = json.loads(done.stdout)
    assert msgspec.convert(printed, kind, strict=True) == printed, done.args
    return printed


def test_a_real_job_is_printed_as_it_is_defined(dogwatch, tmp_path):
    """Every command that shows a job that succeeded keeps to the definitions, with not one key more."""
    made = [sys.executable, DEMO, "--out", tmp_path / "out", "--seconds", "1"]
    started = dogwatch("run", "--json", "--detach", "--workers", "2", "--output", tmp_path / "out" / "*", "--", *made)
    ref = conforms(started, job.JobDocument)["ref"]
    conforms(dogwatch("watch", "--json", ref), watch.JobsDocument)
    conforms(dogwatch("wait", "--json", ref), watch.JobsDocument)
    conforms(dogwatch("ls", "--all", "--json"), watch.ListingDocument)
    conforms(dogwatch("status", "--json", ref), watch.ListingDocument)
    conforms(dogwatch("ls", "--all", "--json", "--brief"), watch.BriefDocument)
    assert conforms(dogwatch("events", "--json"), watch.EventsDocument)["events"]
    assert conforms(dogwatch("patrol", "--json"), watch.PatrolDocument)["changes"]
    assert conforms(dogwatch("report", "--json", ref), report.ReportDocument)["readings"]
    conforms(dogwatch("why", "--json", ref), diagnosis.WhyDocument)
    conforms(dogwatch("logs", "--json", ref), commands.LogsDocument)


def test_a_job_that_failed_is_printed_as_it_is_defined(dogwatch, tmp_path):
    """So are its diagnosis, its findings and the bundle of its diagnostics."""
    program = "import time; time.sleep(0.5); raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')"
    started = dogwatch("run", "--json", "--detach", "--", sys.executable, "-c", program)
    ref = conforms(started, job.JobDocument)["ref"]
    (ended,) = conforms(dogwatch("watch", "--json", ref), watch.JobsDocument, codes=(1,))["jobs"]
    assert ended["diagnosis"]["cause"] == "cuda_oom"
    assert conforms(dogwatch("why", "--json", ref), diagnosis.WhyDocument)["cause"] == "cuda_oom"
    conforms(dogwatch("patrol", "--json"), watch.PatrolDocument, codes=(1,))
    conforms(dogwatch("report", "--json", ref), report.ReportDocument)
    conforms(dogwatch("report", "--json", ref, "--bundle", tmp_path / "bundle"), report.BundleDocument)


def test_a_job_that_runs_is_printed_as_it_is_defined(dogwatch):
    """So is where it stands in the decision tree, with its processes."""
    started = dogwatch("run", "--json", "--detach", "--", "sleep", "600")
    ref = conforms(started, job.JobDocument)["ref"]
    dogwatch("patrol")  # `status` waits two seconds for a poll, which a busy machine may not manage
    (running,) = conforms(dogwatch("status", "--json", ref), watch.ListingDocument)["jobs"]
    assert running["state"] == "running"
    assert conforms(dogwatch("why", "--json", "--stacks", ref), diagnosis.WhyDocument)["standing"]["stacks"]
    conforms(dogwatch("report", "--json", ref), report.ReportDocument)


def test_what_is_printed_without_a_job_is_defined(dogwatch, tmp_path):
    """Logs, files and series that somebody names, and what is said of the watching itself."""
    text = tmp_path / "train.log"
    text.write_text("".join(f"step {number}/100 loss {1 / number:.3f}\n" for number in range(1, 60)))
    rows = tmp_path / "rows.csv"
    rows.write_text("unix_seconds,step,total\n" + "".join(f"{1e9 + 10 * at},{at},100\n" for at in range(50)))
    conforms(dogwatch("read", "--json", text), log.LogDocument)
    conforms(dogwatch("eta", "--csv", rows, "--json"), log.SeriesDocument)
    conforms(dogwatch("backtest", "--csv", rows, "--json"), log.BacktestDocument, codes=(0, 3))
    conforms(dogwatch("check", "--json", text), log.FileDocument, codes=(0, 3))
    conforms(dogwatch("why", "--json", "--log", text, "--exit-code", "1"), diagnosis.WhyDocument)
    conforms(dogwatch("doctor", "--json"), commands.DoctorDocument, codes=(0, 1, 3))
    conforms(dogwatch("preflight", "--json", "--", "sleep", "1"), commands.PreflightDocument, codes=(0, 1))
    conforms(dogwatch("host", "ls", "--json"), commands.HostsDocument)
    conforms(dogwatch("alerts", "--json"), commands.AlertsDocument)
    conforms(dogwatch("service", "status", "--json"), commands.ServiceDocument, codes=(0, 1))


def test_a_channel_and_its_test_are_printed_as_they_are_defined(dogwatch, tmp_path):
    """A channel that writes into a file, what it takes, and what came of a test."""
    added = dogwatch("alerts", "add", "file", tmp_path / "alerts.log", "--json")
    assert added.returncode == 0, added.stderr
    for row in json.loads(dogwatch("alerts", "ls", "--json").stdout)["channels"]:
        assert msgspec.convert(row, commands.ChannelDocument, strict=True) == row
    tested = json.loads(dogwatch("alerts", "test", "--json").stdout)["results"]
    assert tested
    for row in tested:
        assert msgspec.convert(row, commands.ReceiptDocument, strict=True) == row
    kinds = json.loads(dogwatch("alerts", "kinds", "--json").stdout)["kinds"]
    assert {"file", "slack"} <= {row["kind"] for row in kinds}
    for row in kinds:
        assert msgspec.convert(row, commands.ChannelKindDocument, strict=True) == row


def test_the_page_and_the_schema_are_up_to_date():
    """docs/json.md and docs/schema.json are what the definitions make of them; `make docs` writes them anew."""
    command = [sys.executable, str(ROOT / "tools" / "json_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_every_key_has_a_meaning():
    """No key of a document is left without a word on what it means."""
    page = (ROOT / "docs" / "json.md").read_text()
    empty = [
        row
        for row in page.splitlines()
        if row.startswith("| `") and row.count("|") == 5 and not row.split("|")[3].strip()
    ]
    assert empty == []
