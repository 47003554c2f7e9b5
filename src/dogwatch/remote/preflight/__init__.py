"""The extra probe of `dogwatch preflight`: what is true of the place where a job shall run, in one round trip.

The parts are joined behind those of `integrity/` and travel as one program. They only collect facts, which are judged
by `api/preflight`. Python >= 3.6 and the standard library. Each question is answered by a process of its own, so that
what hangs (a mount, a driver, an import) costs its own answer and no other. To add one, write a function that returns
plain values and name it in `checks.py`.
"""
