"""When something deserves attention. One rule per file, pure: what is known and now → Findings.

A rule file has `name` and either `judge(case, now)` (about a job) or `judge_place(case, now)`; it
imports `model` and `rules.interface` only. To add one, add a file: `engine.judge` finds it.
"""
