"""A worker as people write them (§9.1 of the design document): logs to its own file and to stderr, writes its output at
the end, atomically. What goes wrong is said by variables: CRASH, KILL, CUT, SHORT, FREEZE, REFUSE name a worker.
"""

import argparse
import json
import logging
import os
import signal
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--worker-id", type=int, required=True)
parser.add_argument("--output-file", required=True)
parser.add_argument("--log-file", required=True)
args = parser.parse_args()

items, steps = int(os.environ.get("ITEMS", "25000")), int(os.environ.get("STEPS", "25"))
pause = float(os.environ.get("PAUSE", "0.2"))

logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s [%(levelname)s] %(message)s",
    handlers=[logging.FileHandler(args.log_file), logging.StreamHandler()],
)


def unlucky(what: str) -> bool:
    return os.environ.get(what) == str(args.worker_id)


records = []
print("worker", args.worker_id, "starts", flush=True)
for step in range(1, steps + 1):
    time.sleep(pause)
    done = step * items // steps
    if step > steps // 2:
        if unlucky("CRASH"):
            raise RuntimeError("shape mismatch: expected [32, 768], got [32, 512]")
        if unlucky("KILL"):
            os.kill(os.getpid(), signal.SIGKILL)
        if unlucky("FREEZE"):
            time.sleep(3600)
        if unlucky("REFUSE"):
            logging.error("Connection refused by the feature store, trying again")
    if unlucky("SHORT") and step > steps * 2 // 5:
        break
    records.append({"item": done, "score": done % 97})
    epoch = f"Epoch 4 Batch {step}/{steps} loss: 0.03 " if os.environ.get("LINES") else ""
    logging.info(f"{epoch}Processed {done}/{items} items ({items / steps / pause:.1f} items/s)")

text = "".join(json.dumps(one) + "\n" for one in records) if args.output_file.endswith("l") else json.dumps(records)
with open(args.output_file + ".part", "w") as file:
    file.write(text[: len(text) // 2] if unlucky("CUT") else text)
os.replace(args.output_file + ".part", args.output_file)
logging.info("done")
sys.exit(0)
