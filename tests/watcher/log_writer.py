"""A watcher reduced to its experiment log: `python -m tests.watcher.log_writer HOME FILE NOW` advances until killed."""

from __future__ import annotations

import sys
import time

from dogwatch.store.sqlite.location import open_store
from dogwatch.watcher.reports.experiment_log import ExperimentLog

if __name__ == "__main__":
    with open_store(sys.argv[1]) as store:
        log = ExperimentLog(store, sys.argv[2])
        while True:
            log.advance(float(sys.argv[3]))
            print("advanced", flush=True)
            time.sleep(0.002)
