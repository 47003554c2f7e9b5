"""Journeys: what a person does with the real program, from the first command to the last alert.

One file per subject; each test is one journey, judged by what the person sees: words on the screen, exit codes, alerts
that a real receiver got. Nothing inside the program is imported or patched.

Long waits: ask for the fixture `fast` before anything is started, start things at the real pace, and then
`with fast(100): wait_until(...)`. Everything that was started with `environment` (`dogwatch`, `spawn`, workers that a
test starts with env=environment, their children) then lives 100 seconds in one while all of it sleeps, and in real time
while any of it works: its clocks, sleeps, timeouts and the times of its files. `fast.ahead` says how far. Not covered:
CPU seconds and start times in /proc, signal.alarm, programs that are linked statically, other hosts.
"""
