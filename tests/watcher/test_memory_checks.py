"""When a place is asked what jobs hold, and what is made of the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msgspec import convert

from dogwatch.model import Answered, Facts, Job, Known, Running, Tasks, Waiting, Worker
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.memory_checks import FAR, MOST_JOBS, PIECES, MemoryChecks, with_trees
from dogwatch.watcher.job.memory_use import held_by, weighed
from dogwatch.watcher.job.probe_answer import PlaceReport, ProbeAnswer
from dogwatch.watcher.job.read_files import Readers
from dogwatch.watcher.job.state.learnt import Learnt
from dogwatch.watcher.job.state.ram import HeldMemory, RamSeries, Weighed
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.wire.programs import Ram, Why
from dogwatch.wire.requests import SchedulerMemoryCall

GB = 10**9
SEEN = ProbeAnswer(
    Answered("far", 0.0, 0.1, frozenset()), facts=PlaceReport(None, "login", "3", None, asked={"squeue": 1})
)
CGROUP = {"JobAcctGatherType": "jobacct_gather/cgroup"}


def slurm(number: int, state: Any = None) -> WatchedJob:
    job = Job(f"far/slurm:{number}", "far", "slurm", str(number), f"j{number}")
    return WatchedJob(job, Known(state=state or Running(0.0)), Memory(), Readers(None))


def answer(rows: dict[str, Any], about: Any = None, **more: Any) -> ProbeAnswer:
    section = {"jobs": rows, "pieces": {}, "about": about or {}, "counts": {"sstat": 1}, **more}
    return replace(SEEN, extra_probes={"memory": convert({"cpu": 0.0, "slurm": section}, Ram)})


def asked(turns: MemoryChecks, jobs: dict[str, WatchedJob], mono: float) -> SchedulerMemoryCall:
    call: Any = turns.ask(jobs, mono, once=False)["memory"].call
    slurm: SchedulerMemoryCall = call["slurm"]
    return slurm


def test_running_jobs_are_asked_about_now_and_then():
    """In one question, a bounded number at a time and each in its turn; what waits is not asked about."""
    jobs = {one.job.ref: one for one in map(slurm, range(1, 41))}
    jobs["far/slurm:90"] = slurm(90, Waiting(""))
    turns = MemoryChecks(far=True)
    first = asked(turns, jobs, 0.0)
    assert len(first.ids) == len(first.new) == MOST_JOBS
    assert first.about
    turns.heard(answer({one: {"used": 1, "top": 1, "by": "sstat", "nodes": 1} for one in first.ids}), jobs, 0.0)
    assert turns.ask(jobs, FAR - 1, once=False) == {}
    second = asked(turns, jobs, FAR).ids
    assert {str(number) for number in range(1, 41)} <= {*first.ids, *second}
    assert not {"90"} & {*first.ids, *second}


def test_a_job_of_several_pieces_is_asked_about_by_those_that_are_known():
    """It takes the room of several jobs in a question, and what is told of each piece is kept apart."""
    jobs = {one.job.ref: one for one in map(slurm, range(1, 9))}
    for one in jobs.values():
        one.memory.facts = Facts(tasks=Tasks())
    jobs["far/slurm:1"].memory.ram.pieces = {"3": RamSeries(), "4": RamSeries()}
    turns = MemoryChecks(far=True)
    call = asked(turns, jobs, 0.0)
    assert (call.ids, call.new, len(call.many)) == ([], [], MOST_JOBS // PIECES)
    assert call.many["1"] == ["3", "4"]
    pieces = {"1": {"4": {"used": 5, "by": "cgroup", "limit": 9, "left": 60}}}
    heard = turns.heard(answer({}, pieces=pieces), jobs, 0.0).learnt
    held = HeldMemory(5, "cgroup", 9, left=60.0, exact=True, counter="Slurm")
    assert heard == {"far/slurm:1": Learnt(memory=Weighed(0.0, pieces={"4": held}))}


def test_a_job_that_nobody_answers_for_is_asked_about_less_and_less():
    """Slurm tells what a job holds only to its owner."""
    jobs = {"far/slurm:7": slurm(7)}
    turns = MemoryChecks(far=True)
    times = []
    for look in range(80):
        mono = 60.0 * look
        if turns.ask(jobs, mono, once=False):
            times.append(mono)
            turns.heard(answer({}), jobs, mono)
    assert 3 <= len(times) <= 6


def test_a_place_that_fails_rests_and_questions_are_counted():
    """An extra probe that was late is not sent at every turn; what was put to Slurm is told with the rest."""
    jobs = {"far/slurm:7": slurm(7)}
    turns = MemoryChecks(far=True)
    assert turns.ask(jobs, 0.0, once=False)
    turns.heard(replace(SEEN, extra_probes={"memory": Why("no answer in 12 s")}), jobs, 0.0)
    assert turns.ask(jobs, 1.5 * FAR, once=False) == {}
    assert turns.ask(jobs, 2 * FAR, once=False)
    told = turns.heard(answer({"7": {"used": 5, "top": 5, "by": "sstat", "nodes": 1}}, CGROUP), jobs, 2 * FAR)
    assert told.facts is not None
    assert told.facts.asked == {"squeue": 1, "sstat": 1}
    weighed_now = told.learnt["far/slurm:7"].memory
    assert weighed_now is not None
    assert weighed_now.whole is not None
    assert weighed_now.whole.exact


def test_what_is_under_way_is_waited_for_and_not_sent_again():
    """Here a slow answer is taken by a later poll."""
    one = slurm(7)
    jobs = {one.job.ref: one}
    turns = MemoryChecks(far=False)
    sent = turns.ask(jobs, 0.0, once=False)
    turns.heard(replace(SEEN, extra_probes={"memory": Why(pending=True)}), jobs, 0.0)
    assert turns.ask(jobs, 1.0, once=False) is sent
    turns.heard(answer({"7": {"used": 5, "by": "cgroup", "limit": 9}}), jobs, 1.0)
    assert turns.ask(jobs, 2.0, once=False) == {}


def leak(memory: Memory, by: str = "sstat", looks: int = 24, **more: Any):
    found = None
    for look in range(looks):
        used = (10 + look) * GB
        row = HeldMemory(**{"used": used, "top": used, "by": by, "given": 64 * GB, "nodes": 1, **more})
        found = weighed(memory.ram, Weighed(180.0 * look, whole=row), 180.0 * look)
        if look == 11:
            memory.ram = Memory.from_json(memory.to_json()).ram
    return found


def test_a_leak_of_a_slurm_job_is_seen_over_looks():
    """It stands between two weighings, over a restart, and for no longer than it means anything."""
    memory = Memory()
    found = leak(memory)
    assert found is not None
    assert found.full_in is not None
    assert 4000 < found.full_in < 8000
    assert found.counter
    assert weighed(memory.ram, None, 180.0 * 24) == found
    assert weighed(memory.ram, None, 180.0 * 24 + 3600) is None


def test_more_than_a_job_may_have_is_not_held():
    """Then nothing limits it, or pages that its processes share are counted for each: no forecast."""
    assert leak(Memory(), given=8 * GB) is None


def test_on_several_nodes_the_fullest_is_watched():
    """One rank that leaks fills its own node, however little the others hold."""
    memory, found = Memory(), None
    for look in range(24):
        top = (10 + look) * GB
        used = top + 30 * GB
        row = HeldMemory(used, "sstat", top=top, usual=used // 4, given=160 * GB, nodes=4)
        found = weighed(memory.ram, Weighed(180.0 * look, whole=row), 180.0 * look)
    assert found is not None
    assert found.limit == 40 * GB
    assert found.full_in is not None
    assert found.full_in < 2400


def test_a_peak_that_is_over_does_not_fill_a_node():
    """The most that one task ever had may be from its beginning: what all of them hold now is what counts."""
    memory, found = Memory(), None
    for look in range(24):
        used = (100 + look) * GB
        row = HeldMemory(used, "sstat", top=60 * GB, usual=used // 8, given=400 * GB, nodes=4)
        found = weighed(memory.ram, Weighed(180.0 * look, whole=row), 180.0 * look)
    assert found is not None
    assert found.used < 31 * GB
    assert found.full_in is not None
    assert found.full_in > 40_000


def test_of_several_pieces_the_one_is_told_that_will_be_full_first():
    """Each has a series and a limit of its own, for as long as it runs."""
    memory, found = Memory(), None
    for look in range(24):
        rows = {
            str(task): HeldMemory(int((10 + task * look / 2) * GB), "sstat", given=64 * GB, nodes=1, left=9000.0)
            for task in range(4)
        }
        found = weighed(memory.ram, Weighed(180.0 * look, pieces=rows), 180.0 * look)
        memory.ram = Memory.from_json(memory.to_json()).ram
    assert found is not None
    assert (found.piece, found.left) == ("3", 9000.0)
    assert found.full_in is not None
    assert 1800 < found.full_in < 3600
    later = weighed(memory.ram, Weighed(180.0 * 24, pieces={"0": rows["0"]}), 180.0 * 24)
    assert later is not None
    assert (later.piece, later.full_in, list(memory.ram.pieces)) == ("0", None, ["0"])


def test_a_worker_weighs_what_its_tree_weighs():
    """For as long as that was weighed lately; and a series begins with the tree, not with its root."""
    worker = Worker(
        0, "running", 7, memory_bytes=GB, children=4, memory_used=30 * GB, memory_limit=64 * GB, memory_shared=True
    )
    memory = Memory()
    assert held_by(memory, [worker], None, 0.0) is not None
    assert memory.ram.whole.samples == []
    memory.learnt = Learnt(memory=Weighed(100.0, trees={"7": 9 * GB}))
    (heavy,) = with_trees((worker,), memory, 160.0)
    assert heavy.memory_bytes == 9 * GB
    held_by(memory, [heavy], None, 160.0)
    assert memory.ram.whole.samples == [[160.0, 30 * GB, 9 * GB]]
    assert with_trees((worker,), memory, 5000.0) == (worker,)
