"""Journeys: what a person does with the real program, from the first command to the last alert.

One file per subject; each test is one journey, judged by what the person sees: words on the screen, exit codes, alerts
that a real receiver got. Nothing inside the program is imported or patched.
"""
