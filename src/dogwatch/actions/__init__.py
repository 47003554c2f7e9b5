"""The only code that changes anything: starting and ending jobs, moving their files, a timer that polls.

May start processes; imports model, errors and remote, never watcher or an interface, and watching never calls it.
A verb writes its intent before its side effect and never does it twice; a new one gets a file of its own.
"""
