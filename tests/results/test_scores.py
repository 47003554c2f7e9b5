"""Result files: the headline of each task, in words, and nothing that the job did not write."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.results import lm_eval, nel, scores
from dogwatch.results.interface import Score
from dogwatch.wire.sections import TextFile

LM_EVAL = {
    "results": {
        "mmlu": {"alias": "mmlu", "acc,none": 0.5512, "acc_stderr,none": 0.004},
        "mmlu_stem": {"alias": " - stem", "acc,none": 0.47, "acc_stderr,none": "N/A"},
        "mmlu_anatomy": {"alias": "  - anatomy", "acc,none": 0.61, "acc_stderr,none": 0.04},
        "gsm8k": {
            "alias": "gsm8k",
            "exact_match,strict-match": 0.671,
            "exact_match_stderr,strict-match": 0.0129,
            "exact_match,flexible-extract": 0.7,
        },
        "wikitext": {"alias": "wikitext", "word_perplexity,none": 11.532, "word_perplexity_stderr,none": "N/A"},
        "broken": {"alias": "broken", "acc,none": "N/A"},
    },
    "group_subtasks": {"mmlu": ["mmlu_stem"], "mmlu_stem": ["mmlu_anatomy"], "gsm8k": []},
    "versions": {"mmlu": 2},
    "n-shot": {"gsm8k": 5},
    "total_evaluation_time_seconds": "812.5",
}
NEL = """\
command: "evaluate --out /x\\nresults: none"
config:
  output_dir: /x
  params: &shared {limit_samples: null}
  other: *shared
git_hash: ''
results:
  groups: {}
  tasks:
    gpqa_diamond:
      metrics:
        score:
          scores:
            micro:
              stats:
                stddev: 0.4899
                stderr: 0.0163
              value: 0.423
            macro:
              value: 0.1
    ifeval: {metrics: {prompt_level: {scores: {strict: {value: 81}}}}}
target:
  api_endpoint: {model_id: some/model}
"""


def file(text: str, mtime: float = 1.0) -> TextFile:
    return TextFile(text, 0, len(text), len(text), mtime, False)


def test_lm_eval_gives_the_first_metric_of_each_task_that_is_not_part_of_another():
    """Groups stand for their subtasks; a task without a number has no score."""
    found = lm_eval.reader.read(json.dumps(LM_EVAL))
    assert found == [
        Score("mmlu", "acc", 0.5512, 0.004),
        Score("gsm8k", "exact_match", 0.671, 0.0129),
        Score("wikitext", "word_perplexity", 11.532, None),
    ]


def test_nel_gives_the_first_score_of_each_task_whatever_stands_beside_the_results():
    """Anchors in the configuration and a command that looks like a key do not matter."""
    assert nel.reader.read(NEL) == [
        Score("gpqa_diamond", "score", 0.423, 0.0163),
        Score("ifeval", "prompt_level", 81.0),
    ]


def test_nel_groups_stand_for_their_tasks_and_may_nest():
    """A group without a figure of its own has that of the first group in it."""
    text = """\
results:
  tasks: {a: {metrics: {m: {scores: {s: {value: 0.1}}}}}}
  groups:
    all:
      groups:
        inner: {metrics: {acc: {scores: {micro: {value: 0.5}}}}}
"""
    assert nel.reader.read(text) == [Score("all", "acc", 0.5)]


def test_the_newer_nel_writes_one_bundle_per_benchmark():
    """Its first score is the headline."""
    bundle = {"benchmark": {"name": "gsm8k", "samples": 10, "scores": {"pass@1": {"value": 0.9, "stderr": 0.05}}}}
    assert nel.bundle.read(json.dumps(bundle)) == [Score("gsm8k", "pass@1", 0.9, 0.05)]
    assert nel.bundle.read('{"benchmark": 3}') is None


@pytest.mark.parametrize(
    ("task", "metric", "value", "words"),
    [
        ("MMLU-Pro", "acc", 0.4231, "MMLU-Pro: 42.3%"),
        ("gsm8k", "exact_match", 1, "gsm8k: 100.0%"),
        ("wikitext", "word_perplexity", 0.9, "wikitext: 0.9 (word_perplexity)"),
        ("wmt", "bleu", 31.25, "wmt: 31.25 (bleu)"),
        ("\x1b[2Jred", "acc", 0, "red: 0.0%"),
    ],
)
def test_a_fraction_is_told_in_percent_and_anything_else_with_its_metric(task, metric, value, words):
    """And no name reaches a terminal raw."""
    assert scores.words({"task": task, "metric": metric, "value": value, "stderr": None}) == words


def test_only_files_that_the_job_can_have_written_count_and_the_newest_has_the_last_word():
    """An older run's results in the same directory are not this job's."""

    def one(task: str, value: float, mtime: float) -> TextFile:
        return file(json.dumps({"results": {task: {"acc,none": value}}}), mtime)

    files = {
        "/out/m/results_1.json": one("old", 0.1, 1000.0),
        "/out/m/results_3.json": one("arc", 0.3, 3000.0),
        "/out/m/results_2.json": one("arc", 0.2, 2500.0),
        "/out/m/results_4.json": file("{", 4000.0),
        "/out/results.yml": file(NEL, 2600.0),
    }
    told = {score["task"]: score["value"] for score in scores.read(files, since=2000.0)}
    assert told == {"arc": 0.3, "gpqa_diamond": 0.423, "ifeval": 81.0}
    assert "old" in {score["task"] for score in scores.read(files, since=None)}


def test_result_files_are_looked_for_where_the_tools_put_them():
    """Directly in the output directory or one level below; a name with a wildcard means itself."""
    found = scores.globs(["/out/a*"])
    assert "/out/a[*]/results_*.json" in found
    assert "/out/a[*]/*/results_*.json" in found
    assert "/out/a[*]/artifacts/results.yml" in found


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["results", "groups", "tasks", "metrics", "scores", "value", "acc,none", "alias", "eval", "benchmark"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_no_document_breaks_a_reader(value):
    """Whatever a job writes, the answer is scores or none."""
    text = json.dumps(value)
    for path in ("/o/results_x.json", "/o/eval-x.json", "/o/results.yml", "/o/2031-x_task_id.json", "/o/x.eval"):
        for score in scores.read({path: file(text)}, None):
            assert isinstance(score["value"], float)


@given(st.text(max_size=200))
def test_no_text_breaks_the_yaml_reader(text):
    """Half a file, tags, aliases, tabs: all are no results."""
    found = nel.reader.read("results:\n" + text)
    assert found is None or all(isinstance(score, Score) for score in found)


@pytest.mark.parametrize(
    "text",
    [
        "results:\n" + " a: &x [1]\n b: [*x, *x]\n",
        "results: !!python/object:os.system {}\n",
        "results:\n" + "".join(f" k{n}: 1\n" for n in range(30_000)),
        "results:\n " + "[" * 5000,
        '{"results": ' + "[" * 100_000,
        "results:\n  tasks:\n    x: {metrics: {m: {scores: {s: {value: .nan}}}}}\n",
    ],
    ids=["alias", "tag", "long", "deep", "deep json", "not a number"],
)
def test_what_is_too_odd_to_read_has_no_scores(text):
    """And costs next to nothing."""
    for path in ("/o/results_x.json", "/o/results.yml"):
        assert scores.read({path: file(text)}, None) == []
