"""Pieces of logs of jobs that fell or did not, and why the one made of them did."""

from __future__ import annotations

from dogwatch.diagnosis import Evidence, Log, diagnose

TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/srv/train.py", line 88, in <module>\n'
    "    main()\n"
    '  File "/srv/train.py", line 71, in main\n'
    "    loss.backward()\n"
)
CAUGHT = (
    "Traceback (most recent call last):\n"
    '  File "/srv/shards.py", line 30, in __getitem__\n'
    "    return self.load(index)\n"
)
TIME_LIMIT = "slurmstepd: error: *** JOB 61 ON gpu3 CANCELLED AT 2026-02-01T04:00:11 DUE TO TIME LIMIT ***\n"
FRAMES = 'Traceback (most recent call last):\n  File "fit.py", line 9, in <module>\n    go()\n'
REQUEST = (
    "Traceback (most recent call last):\n"
    '  File "/opt/env/uvicorn/protocols/http/h11_impl.py", line 403, in run_asgi\n'
    "    result = await app(\n"
    '  File "/srv/chat.py", line 12, in answer\n'
    "    body['messages']\n"
)
STEPS = "".join(f"step {i}/9000 | loss {3 - i / 4000:.4f} | 4.1 it/s | lr 3.0e-4\n" for i in range(1200))


def why(*logs: str, **known):
    texts = tuple(Log(f"rank{i}.log", [text.encode()]) for i, text in enumerate(logs))
    return diagnose(Evidence(logs=texts, **known))
