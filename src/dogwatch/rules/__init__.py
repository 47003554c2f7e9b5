"""When something deserves attention. One rule per file, pure: what is known and now → Findings.

A rule file has `name` and one of `judge(case, now)` (about a job), `judge_blind(case, now)` (about a job that
its place could not see) or `judge_place(case, now)`; it imports `model` and `rules.interface` only. To add
one, add a file: `engine.judge` finds it.
"""
