"""The house rules that a machine can check, so that nobody has to say them in a review."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

from dogwatch import remote
from tests.conftest import kill_recorded

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "dogwatch"
REMOTE = SRC / "remote"
SOURCES = sorted(SRC.rglob("*.py"))

MAX_FILE = 500
MAX_FUNCTION = 60
NO_HOME = {
    "monitor",
    "manager",
    "handler",
    "helper",
    "helpers",
    "util",
    "utils",
    "common",
    "core",
    "data",
    "info",
}
NEVER_IMPORTED = {"pickle", "cPickle", "marshal", "shelve", "dill", "yaml", "multiprocessing"}
# The one that runs programs, which come with a request of ours and never out of a file.
EXTRA_PROBES = REMOTE / "probe" / "extra.py"
# Compiles the probe's own text in a child, which hands the code back through a pipe: no text of a job gets there.
START_PROBE = REMOTE / "start_probe.py"
NEVER_CALLED = {"eval", "exec", "compile", "os.system", "os.popen", "yaml.load"}
STARTS_PROCESSES = re.compile(r"os\.(fork|forkpty|posix_spawnp?|spawn\w+|exec\w+)|pty\.(fork|spawn)")
MAY_START_PROCESSES = ("transport", "actions", "remote")
HEAVY = {
    "rich",
    "textual",
    "ruamel",
    "re2",
    "dataclasses",
    "typing",
    "logging",
    "enum",
    "pathlib",
}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def dotted(node: ast.expr) -> str:
    """`os.path.join` of the expression that spells it; the empty text for anything else."""
    match node:
        case ast.Name(id=word):
            return word
        case ast.Attribute(value=value, attr=word):
            return f"{dotted(value)}.{word}"
        case _:
            return ""


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in the file it does so; ours with their full name."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, ast.Call))


def project_files() -> list[Path]:
    """What git would keep; without git (a source archive), every file but the environment and caches."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode == 0:
        names = [line for line in listed.stdout.split("\0") if line]
        return [ROOT / line for line in names if (ROOT / line).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not _made(path.relative_to(ROOT))]


def _made(path: Path) -> bool:
    return any(
        part == "__pycache__" or re.fullmatch(r"\.venv|\.git|\..*_cache|\.hypothesis|\.fuzz", part)
        for part in path.parts
    )


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_fits_in_a_head_and_its_functions_on_a_screen(path):
    """No file and no function outgrows what a reader can hold at once."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE
    functions = (n for n in ast.walk(tree(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    lines = {f.name: (f.end_lineno or f.lineno) - f.lineno + 1 for f in functions}
    assert {function: n for function, n in lines.items() if n > MAX_FUNCTION} == {}


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_says_what_it_is(path):
    """Every module opens with its purpose; a folder's says what lives there."""
    assert ast.get_docstring(tree(path)), "no docstring"


def test_every_folder_of_the_package_opens_with_an_init():
    """A folder without __init__.py is invisible to the import contracts and to type checking."""
    folders = {path.parent for path in SOURCES}
    assert [name(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_has_a_name_that_says_something(path):
    """What has no name has no home: not one of the words that any code fits under."""
    assert not NO_HOME & {part.removesuffix(".py").strip("_") for part in path.relative_to(SRC).parts}


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_nothing_read_from_a_job_could_be_executed(path):
    """No unpickling, no evaluation, no shell: text from a job stays text."""
    if path == START_PROBE:
        return
    assert {module.split(".")[0] for module in imports(path)} & NEVER_IMPORTED == set()
    called = [dotted(call.func) for call in calls(path)]
    if path == EXTRA_PROBES:
        called.remove("exec")
    assert [word for word in called if word in NEVER_CALLED] == []
    shells = [
        call.lineno
        for call in calls(path)
        for keyword in call.keywords
        if keyword.arg == "shell" and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
    ]
    assert shells == []


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_only_reach_and_hands_start_processes(path):
    """What the import contract on `subprocess` cannot see: the same by way of os and pty."""
    if path.relative_to(SRC).parts[0] in MAY_START_PROCESSES:
        return
    assert [word for word in map(dotted, (c.func for c in calls(path))) if STARTS_PROCESSES.fullmatch(word)] == []


@pytest.mark.parametrize("path", sorted((SRC / "model").glob("*.py")), ids=name)
def test_the_words_import_the_standard_library_only(path):
    """model/ knows the standard library, itself, errors and digests, and nothing else."""
    foreign = [
        module
        for module in imports(path)
        if module.split(".")[0] not in sys.stdlib_module_names
        and not module.startswith(("dogwatch.model", "dogwatch.errors", "dogwatch.digest"))
    ]
    assert foreign == []


TRAVELS = sorted(REMOTE.rglob("[!_]*.py"))
BETWEEN_PARTS = re.compile(r"dogwatch\.remote\.(?:probe|integrity|gpus|quota|preflight|memory)\.\w+")
SHAPES = "dogwatch.remote.shapes"  # types for mypy; no program


@pytest.mark.parametrize("path", TRAVELS, ids=name)
def test_what_travels_runs_on_python_3_6_and_needs_nothing_installed(path):
    """A probe meets the Python of a login node: old grammar, standard library, no future annotations."""
    ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 6))
    modules = {module for module in imports(path) if not BETWEEN_PARTS.fullmatch(module)} - {SHAPES}
    assert [module for module in modules if module.split(".")[0] not in sys.stdlib_module_names] == []
    assert "__future__" not in modules


def test_the_probe_travels_as_one_text():
    """Its parts joined are one program of the old grammar that imports the standard library only."""
    text = remote.probe_text()
    joined = ast.parse(text, "probe", feature_version=(3, 6))
    imported = {node.module for node in ast.walk(joined) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(joined) if isinstance(node, ast.Import) for alias in node.names}
    assert [module for module in imported if str(module).split(".")[0] not in sys.stdlib_module_names] == []
    parts = [path.stem for path in sorted((REMOTE / "probe").glob("[!_]*.py"))]
    assert sorted(remote.PARTS) == parts


def test_what_travels_means_what_the_source_says():
    """Comments, the imports between parts and those for annotations stay behind, and nothing else."""
    for part in remote.PARTS:
        body = tree(REMOTE / "probe" / f"{part}.py").body
        kept = [node for node in body if not stays_behind(node)]
        travels = ast.parse(remote._part("probe", part)).body
        assert [ast.dump(node) for node in travels] == [ast.dump(node) for node in kept]


@pytest.mark.parametrize("path", sorted(REMOTE.glob("*/[!_]*.py")), ids=name)
def test_what_only_annotations_name_is_needed_by_nothing_else(path):
    """Types are imported for mypy and do not travel: their names stand in quoted annotations only."""
    body = tree(path).body
    types = {alias.name for node in body if is_for_annotations(node) for alias in node.names}
    used = {node.id for node in ast.walk(tree(path)) if isinstance(node, ast.Name)}
    assert used & types == set()


def is_for_annotations(node: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module in ("typing", "collections.abc", SHAPES)


def stays_behind(node: ast.stmt) -> bool:
    is_part = isinstance(node, ast.ImportFrom) and "remote" in (node.module or "")
    return is_part or is_for_annotations(node)


def test_no_part_of_the_probe_needs_or_hides_another_that_comes_later():
    """Joined, the parts share one namespace: each name is defined once, before it is imported, and keeps its name."""
    defined: dict[str, str] = {}
    for part in remote.PARTS:
        body = tree(REMOTE / "probe" / f"{part}.py").body
        for node in ast.walk(tree(REMOTE / "probe" / f"{part}.py")):
            if isinstance(node, ast.ImportFrom) and BETWEEN_PARTS.fullmatch(node.module or ""):
                assert node in body or node.col_offset == 0, f"{part}: an import that is not at the top"
                for alias in node.names:
                    assert alias.asname is None, f"{part} renames {alias.name}"
                    assert defined[alias.name] == str(node.module).rpartition(".")[2]
        for word in top_names(body):
            assert defined.setdefault(word, part) == part, f"{part} and {defined[word]} both define {word}"


@pytest.mark.parametrize("extra_probe", sorted(remote.EXTRA_PROBES))
def test_no_part_of_an_errand_hides_another(extra_probe):
    """Joined with what it takes along, each name is defined once; only `extra probe` itself is meant to be the last
    one."""
    defined: dict[str, str] = {}
    for folder in (*remote.TAKES_ALONG.get(extra_probe, ()), extra_probe):
        for part in remote.EXTRA_PROBES[folder]:
            for word in set(top_names(tree(REMOTE / folder / f"{part}.py").body)) - {"extra_probe"}:
                where = f"{folder}/{part}"
                assert defined.setdefault(word, where) == where, f"{where} and {defined[word]} both define {word}"


def top_names(body: list[ast.stmt]) -> Iterator[str]:
    """What a module defines at its top, imports aside."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        yield from (target.id for target in targets if isinstance(target, ast.Name) and target.id != "TYPE_CHECKING")


def test_the_demo_job_needs_nothing_installed():
    """The demo's worker plays a stranger's program: the standard library is all it imports."""
    modules = set(imports(SRC / "demo_job.py"))
    assert [module for module in modules if module.split(".")[0] not in sys.stdlib_module_names] == []


def loaded(*argv: str, env: dict[str, str] | None = None) -> set[str]:
    """The top-level modules that a Python program imports from start to end."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", *argv], env=env, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    lines = (line for line in ran.stderr.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip().split(".")[0] for line in lines}


def test_ls_loads_neither_a_screen_nor_anything_slow(environment, dogwatch):
    """`dogwatch ls` starts like a bare Python: what it does not need to list a job is not imported."""
    started = dogwatch("run", "--detach", "--name", "listed", "--", "sleep", "600")
    assert started.returncode == 0, started.stderr
    bare = loaded("-c", "pass", env=environment)
    assert (loaded("-m", "dogwatch", "ls", "--no-poll", env=environment) - bare) & HEAVY == set()


def test_a_test_leaves_no_supervisor_or_worker_behind(tmp_path):
    """What a home records is killed after the test, and a process that merely has an old pid is spared."""
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    processes = [subprocess.Popen(["sleep", "600"], start_new_session=True) for _ in range(3)]
    supervisor, worker, stranger = processes
    try:
        for record, process, shift in (
            ("supervisor", supervisor, 0),
            ("worker-0.start", worker, 0),
            ("worker-1.start", stranger, 1),
        ):
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            known = {"pid": process.pid, "start": int(fields[19]) - shift, "boot": boot}
            (run / f"{record}.json").write_text(json.dumps(known))
        kill_recorded(tmp_path)
        assert [process.poll() for process in processes] == [-9, -9, None]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def private_texts() -> dict[str, re.Pattern[str]]:
    """What must not be in the tree; in pieces, so that this file does not find itself."""
    host = "|".join(("py" + "pi", "test.py" + "pi"))
    return {
        "a path of one machine": re.compile(rf"(?<![\w.~/}}-])/({'ro' + 'ot'}|{'wo' + 'rk'})/"),
        "a package registry": re.compile(rf"\b({host})\.org|python" + r"hosted\.org"),
        "a private key": re.compile("-----BEGIN [A-Z ]*" + "PRIVATE KEY-----"),
        "an AWS key": re.compile(r"\bAK" + r"IA[0-9A-Z]{16}\b"),
        "a token": re.compile(
            r"\b(h" + r"f_[A-Za-z0-9]{30,}|gh" + r"[pousr]_[A-Za-z0-9]{30,}|s" + r"k-[A-Za-z0-9_-]{32,})"
        ),
        "a Slack token or hook": re.compile(
            r"\bxo" + r"x[abprs]-[0-9A-Za-z-]{10,}|hooks\.slack" + r"\.com/services/T[0-9A-Z]{6,}"
        ),
    }


def test_nothing_private_is_in_the_tree():
    """No machine's paths, no registry hosts, no secrets, in any file that would be published."""
    found = []
    for path in project_files():
        text = path.read_text(encoding="utf-8", errors="replace")
        for what, pattern in private_texts().items():
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{name(path)}:{line}: {what}: {match.group()}")
    assert found == []


def test_all_brings_every_extra():
    """`pip install dogwatch[all]` is the union of the extras, and the test tools are not among them."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    extras = dict(project["optional-dependencies"])
    brought = set(extras.pop("all"))
    assert brought == {need for needs in extras.values() for need in needs}


def test_the_check_of_every_change_is_make_test():
    """.ci/run is a program that runs `make test` from wherever it is called."""
    run = ROOT / ".ci" / "run"
    assert os.access(run, os.X_OK)
    assert "make test" in run.read_text().splitlines()


# Lines of src that carry a mapping of anything; a document has a definition in wire/documents. It only ever shrinks.
MOST_UNTYPED = 100


def test_mappings_of_anything_become_fewer():
    """A document whose keys are known has a type: lines with `dict[str, Any]`, `Mapping[str, Any]` or a name for one
    are at most as many as they were."""
    texts = {path: path.read_text() for path in SOURCES}
    loose = re.compile(r"\b(dict|Mapping)\[str, Any\]")
    alias = re.compile(r"^\s*(\w+)(: TypeAlias)? = .*\b(?:dict|Mapping)\[str, Any\]", re.MULTILINE)
    count = 0
    for text in texts.values():
        names = [match[1] for match in alias.finditer(text)]
        named = re.compile(rf"\b({'|'.join(names)})\b") if names else None
        count += sum(bool(loose.search(line) or (named and named.search(line))) for line in text.splitlines())
    assert count <= MOST_UNTYPED, f"{count} lines; give the new ones a type"


def test_make_lists_its_targets():
    """`make` alone explains itself, and every target that a person may call is on the list."""
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    named = re.findall(r"^  make ([\w-]+)", listed.stdout, re.MULTILINE)
    assert named == [
        "help",
        "setup",
        "demo",
        "test",
        "journeys",
        "fuzz",
        "lint",
        "docs",
        "pictures",
        "dist",
        "sentences",
        "bench",
        "chaos",
        "lab",
        "lab-down",
        "clean",
    ]


def test_the_licence_is_whole():
    """The Apache licence, version 2.0, in full and with our name."""
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert "Copyright The Dogwatch authors" in text
