"""The command line. One verb, one file, named after the verb, with ABOUT, EXAMPLES, `arguments()` and `run()`.

stdout is data, stderr is narration, exit codes are those of `errors.py`. A verb file imports what it
needs inside `run()`, because `dogwatch ls` must start fast; it never imports store, sources or watcher.
"""
