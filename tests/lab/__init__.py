"""The laboratory: a real Slurm cluster, sshd and hosts in network namespaces, from Debian packages, without systemd.

`lab.py` is the door (`Lab.start()`, or the `lab` fixture of `plugin.py`). Below it: `processes.py` starts and ends
processes, `ground.py` is what all parts share, and `slurm.py`, `jobs.py`, `ssh.py`, `hosts.py` and `accounts.py` each
bring up one part, with the ways to break it. `lease.py` and `guard.py` see to it that nothing outlives its users.
By hand: `python -m tests.lab start|status|stop`.
"""
