"""How a log ends, by its own words: what finished, what failed, what stopped without a word."""

from __future__ import annotations

import pytest

from dogwatch.logs.ending.verdict import SURVIVED, WINDOW
from tests.logs.endings import CAUGHT, CRASH, WORK, at, ends


@pytest.mark.parametrize(
    "last",
    [
        "Training completed in 3 h",
        "Training complete at step 900. Best val loss: 0.71",
        "Training of the small linear probe on frozen features completed.",
        "100% Integration done in 2h, 11min.",
        "Target validation loss of 0.25 achieved at step 812!",
        "Accuracy of the network on the 5000 test images: 71 %",
        "Done. Output saved to: /data/captions.csv",
        "进程已结束,退出代码0",
        "Epoch 00041: early stopping",
        "*** EARLY STOP ***",
        "02:11:07 - INFO - fit - Score didn't improve for 30 epochs. Training stops.",
        "INFO - no gain in 5 epochs, stopping training",
        "********Experiment Success********",
        "[21:40:31 sweep.py:9]: >> experiment wide_residual_with_long_name_04 finished!",
        "End train and validation. Best validation epoch is 12.",
        "# End of output for job 4711.queue-1",
        "Training completed after 100 iterations at 2026-02-04 10:01:12. Total running time: 1hr 40min",
        "training finished",
        "Fine-tuning done.",
        "Training Process Done",
        "Finished training",
        "done training in 55.1 seconds",
        "INFO - Evaluation complete.",
        "{'train_runtime': 55.1, 'train_samples_per_second': 3.1, 'epoch': 3.0}",
        "  train_runtime            = 0:14:55.93",
        "[2026-01-02 03:04:05,678] [INFO] [launch.py:351:main] Process 4242 exits successfully.",
        "`Trainer.fit` stopped: `max_epochs=7` reached.",
        ':::MLLOG {"key": "run_stop", "value": null, "metadata": {"status": "success"}}',
        "12 epochs completed in 0.512 hours.",
        "INFO:tensorflow:Loss for final step: 0.311.",
        "bestIteration = 212",
        "Shrink model to first 213 iterations.",
        "INFO | core.trainer:after_train:90 - Training of experiment is done and the best AP is 71.20",
        "Total training time: 0:05:12 (0.1 s / it)",
        "[exiting program at iteration 700] datetime: 2026-01-02",
        "INFO:     Finished server process [77]",
        "Job completed successfully",
        "process exited with exit code 0",
        "All done!",
        "Done.",
        "=== finished ===",
        "Results saved to runs/detect/train7",
        "Final test accuracy: 0.91",
        "Final WER: 0.378",
        "Average Test Loss (MSE) 4.5",
        "Execution time: 112.9 seconds",
        "Program ends Mon Jul 18 19:58:44 UTC 2022",
        "End.",
        "训练完成",
        "Metric val_loss did not improve in the last 5 records. Best score: 0.019. Signaling Trainer to stop.",
        "saved to out/answers.json, 4079 in all",
        "INFO 2026-01-02 03:04:05 train.py:438 End of training",
        "[01/02 03:04:05 d2.evaluation.testing]: copypaste: 53.7,75.1,61.0",
        "wandb: Find logs at: ./wandb/run-1/logs",
        "|Tasks|Version|Filter|n-shot|Metric|",
        "Finished mdrun on rank 0 Fri Jan  2 03:04:05 2026",
        'GROMACS reminds you: "It takes a while." (Anonymous)',
        "Total wall time: 0:11:12",
        "|  Total wall time:         612    seconds     0.17 hours",
        "	(1) Normal termination (return value 0)",
        "                             ****SOLVER TERMINATED NORMALLY****",
        "Best Epoch 31. Final test result: {'recall': 0.05}",
        "model saved to runs/walker/final_ckpt.pt",
        "Wrote tokenized data to bins",
        "prepare.sh for /data/a completed at time: 2026-01-02 03:04:05",
        "build	Complete job	2026-01-02T03:04:05.1Z Cleaning up orphan processes",
        "🎉 评估完成！",
        "INFO - 预训练任务圆满结束 (总耗时: 1.5 小时)",
        "所有测试运行完毕。",
        "build succeeded, 12 warnings.",
        "**********************End training**********************",
        "I0102 03:04:05.678 train.py:40] [Timing] final eval finished (Took 32.1s).",
        "Done! Corpus=4064, Train=1485",
        "Time ellapsed in training is: 2801.8",
        "Optimizer stripped from runs/pills/weights/best.pt, 12.3MB",
        "BENCH PASS COMPLETE",
        "2026-01-02 03:04:05,678 - INFO - Process Finished.",
        "[INFO] numpy installation completed.",
        "cleaning done",
        "12 shards are merged, finished in 10 secs",
        "Logs written to     : /srv/out/flat",
        "Finished playing! It took 0 minutes and 6 seconds.",
        "10:54:48.364 [main] INFO corpus.PrepareDataset - Done",
        "2026-01-02 03:04:05,678 __main__     INFO     END predict.py",
        "*** Solver exiting successfully. Have a good day!",
        "JOB_FINISHED",
        "[NbConvertApp] Writing 1281214 bytes to code/report.nbconvert.ipynb",
    ],
)
def test_words_that_say_it_is_done(last: str) -> None:
    """Each framework's own, and those that people print."""
    assert ends(f"{WORK}{last}\n") == "finished"


@pytest.mark.parametrize(
    "last",
    [
        "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***",
        " 40%|##  | 40/100 [10:00<9:00, 1s/it]slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-02T03:04:05 ***",
        "slurmstepd: error: *** STEP 77.0 ON n1 CANCELLED AT 2026-01-02T03:04:05 DUE TO PREEMPTION ***",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=77.batch. Some of the step tasks have been OOM Killed.",
        "srun: error: n1: tasks 0-2: Exited with exit code 1",
        "srun: error: n1: task 3: Killed",
        "Killed",
        "Terminated",
        "/spool/job77/slurm_script: line 19: 3789 Killed                  python train.py",
        "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 80): address already in use",
        "Segmentation fault (core dumped)",
        "run.sh: line 4: 77 Aborted                 (core dumped) python train.py",
        "make: *** [Makefile:25: train] Error 1",
        "FATAL:   image file not found in $PATH",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
        "Unhandled exception. System.IO.IOException: the shard is held by another process",
        "(Api pid=9) ERROR [llm.py:70] acme.engine.exceptions.EngineDeadError: EngineCore encountered an issue.",
        "  exitcode  : -9 (pid: 50328)",
        "[2026-01-02 03:04:05,678] [ERROR] [launch.py:321] ['python', 'a.py'] exits with return code = 1",
        "subprocess.CalledProcessError: Command 'x' returned non-zero exit status 2.",
        "Error executing job with overrides: ['seed=1']",
        "Main process received SIGTERM, exiting",
        "Detected KeyboardInterrupt, attempting graceful shutdown...",
        "terminate called after throwing an instance of 'c10::Error'",
        "[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7) ran for 600010 ms",
        "(raylet) A worker died or was killed while executing a task by an unexpected system error.",
        "[77.1] Out of memory: Killed process 4242 (python)",
        "[Fri Jan 02 12:04:05 2026] NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.",
        "Exited with exit code 1.",
        "training ended with status 143",
        "=== finished with code 3 at noon ===",
        "launcher exited with 139",
        "❌ Training failed: no such column 'label'",
        "✗ vectors.pt not found",
        "[proxy:0:0@n7] HYDU_create_process (launch.c:74): execvp error on file solve (Permission denied)",
        "/src/ggml/src/ggml-cuda/ggml-cuda.cu:90: CUDA error",
        "/src/ggml/src/ggml.c:301: GGML_ASSERT(n > 0) failed",
        "ERROR on proc 0: Cannot open restart file melt.restart (../read_restart.cpp:144)",
        "97% tests passed, 2 tests failed out of 80",
        "Tests:       3 failed, 14 passed, 17 total",
        "=================== 1 failed, 14 passed in 0.81s ===================",
        "The command '/bin/sh -c pip3 install numpy' returned a non-zero code: 1",
        "*** Aborted at 1767322800 (unix time) try 'date -d @1767322800'",
        "[1,3]<stderr>:*** Aborted at 1767322800 (unix time) try 'date -d @1767322800'",
        "mpirun detected that one or more processes exited with non-zero status, thus causing",
        "free(): double free detected in tcache 2",
        "进程已结束,退出代码为 -9",
        "*** stack smashing detected ***: terminated",
        "2026-01-02 - WARNING - User interrupted execution (Ctrl+C). Exiting.",
        "2026-04-02 10:11:12 - LOGS - Keyboard interruption. Leaving the loop\n10:11:13 - LOGS - Training took 4 min",
        'ERROR: SystemError: opening file "/data/a.jl": No such file\nStacktrace:\n [1] systemerror(p::String)',
        "	(1) Normal termination (return value 2)",
        "	(0) Abnormal termination (signal 9)",
    ],
)
def test_words_that_say_it_failed(last: str) -> None:
    """From the scheduler, the launcher, the shell, the kernel, or a program that gives up."""
    assert ends(f"{WORK}{last}\n", at(WORK, "step 20", 20, 100)) == "failed"


@pytest.mark.parametrize(
    "line",
    [
        "/spool/job77/slurm_script: line 21: --run-type=train: command not found",
        "bash: line 1: train.sh: No such file or directory",
        "python: can't open file 'trian.py': [Errno 2] No such file or directory",
        "train.py: error: unrecognized arguments: --lr",
    ],
)
def test_what_a_shell_complains_of_matters_at_the_end_only(line: str) -> None:
    """A script goes on after a command that was not found; when nothing follows, that was the job."""
    assert ends(f"starting\n{line}\n") == "failed"
    assert ends(f"starting\n{line}\n" + "reading a file of the data set\n" * 100) == "unknown"


def test_a_logger_that_failed_is_not_the_program() -> None:
    """`--- Logging error ---` is followed by a traceback, the frames it was called from, and the message."""
    rest = (
        'Call stack:\n  File "train.py", line 12, in <module>\n    main()\nMessage: "a long one"\n'
        + "Arguments: ()\n" * 20
    )
    assert ends(f"{WORK}--- Logging error ---\n{CRASH}{rest}", at(WORK, "step 20", 20, 100)) == "cut"


def test_what_a_tracker_says_as_it_is_closed_is_not_the_program() -> None:
    """Nor is what it says because of that; a traceback that only stands below it is."""
    closed = "WARNING Router:7 [router.py:message_loop():77] message_loop has been closed\n"
    caught = CAUGHT.partition("\n")[2]
    chain = "\nThe above exception was the direct cause of the following exception:\n\n"
    assert ends(f"reading\n{closed}{caught}{chain}{caught}") == "unknown"
    assert ends(f"reading\n{closed}{caught}{caught}") == "failed"


def test_an_evaluation_in_mid_run_is_a_stage_and_not_the_run() -> None:
    """`Evaluation complete` at 20 % is not the end; in a log that only evaluates, it is."""
    log = f"{WORK}Evaluation complete.\n"
    assert ends(log, at(log, "step 20", 20, 100)) == "cut"
    assert ends(log, at(log, "step 20", 100, 100)) == "finished"
    assert ends("loading\nEvaluation complete.\n") == "finished"
    assert ends("Inference done 3037/3334. 0.04 s/iter\n") == "unknown"


def test_a_server_that_was_started_again_has_not_finished() -> None:
    """The old one's last words stand before the new one's first."""
    log = "INFO: Finished server process [7]\nINFO: Started server process [8]\nINFO: Application startup complete.\n"
    assert ends(log) == "unknown"


@pytest.mark.parametrize(
    "line",
    [
        "Loading the shards done",
        "2026-01-02 03:04:05,678 - INFO - Model initialization completed.",
        "Finished loading 12 adapters",
        "INFO 06-25 16:32:19 [runner.py:85] Graph capturing finished in 10 secs, took 0.83 GiB",
        "Epoch 3 finished",
        "warm-up is complete",
        "not everything is done",
    ],
)
def test_what_is_over_before_a_run_begins_is_not_the_run(line: str) -> None:
    """Though it is the last line of its log; and what is over in the midst of one says nothing."""
    assert ends(f"reading the configuration\n{line}\n") == "unknown"
    assert ends("cleaning done\nthe house is clean\n") == "unknown"


def test_a_stage_that_was_over_long_before_the_end_is_not_the_run() -> None:
    """Much was written after it."""
    after = "copying a.py -> build/lib/a.py\n"
    assert ends("Finished processing the requirements\n" + after * 40) == "finished"
    assert ends("Finished processing the requirements\n" + after * 4000) == "unknown"


def test_a_program_that_came_as_text_and_fell_right_behind_a_full_counter_failed() -> None:
    """`python -c` leaves it as the last word; of code that was tried for somebody, more is said."""
    done = "step 90/100\nstep 100/100\n"
    fell = "Traceback (most recent call last):\n  File \"<string>\", line 6, in <module>\nKeyError: 'score'\n"
    assert ends(done + fell, at(done, "step 100", 100, 100)) == "failed"
    assert ends(f"{done}{fell}pass@1 0.4\n", at(done, "step 100", 100, 100)) == "finished"


def test_blank_lines_at_the_end_are_not_text() -> None:
    """A terminal that was cleared leaves kilobytes of them."""
    assert ends(WORK + CAUGHT + " \n" * 5000, at(WORK, "step 20", 20, 100)) == "failed"


@pytest.mark.parametrize(
    "line",
    [
        "Epoch 3 training complete, 0.91",
        "Not done: 4 tasks are left",
        "evaluation will be complete when all ranks have finished training",
        "step 3 done",
        "loading the dataset done before training",
        "error_bars: 0.1, exit code handling enabled",
        "NCCL WARN Call to connect returned Connection refused, retrying",
        "UserWarning: the signal handler will be called when training is done",
        "fatal: not a git repository (or any of the parent directories): .git",
        "failed=0 errors=0 nan_count=0",
        "saving checkpoint to out",
        "epoch 3 ended with 137 samples; 12 files were returned with status ok",
        "pthread_setaffinity_np failed for thread: 3, error code: 22 error msg: Invalid argument",
    ],
)
def test_scary_and_hopeful_words_in_mid_run_mean_nothing(line: str) -> None:
    """A run that is a fifth of the way and says such things is neither finished nor failed."""
    log = f"{WORK}{line}\n"
    assert ends(log, at(log, "step 20", 20, 100)) == "cut"


def test_a_log_that_stops_in_mid_run_is_cut() -> None:
    """A counter that is short of its total, and not a word."""
    assert ends(WORK, at(WORK, "step 20", 20, 100)) == "cut"


@pytest.mark.parametrize("log", ["", "\n", "loading\n", "step 7\n"])
def test_a_log_that_says_nothing_is_unknown(log: str) -> None:
    """No words, and no total to be short of."""
    assert ends(log) == "unknown"


def test_an_uncaught_exception_is_a_failure() -> None:
    """Its outermost frame is the program itself."""
    assert ends(WORK + CRASH) == "failed"
    assert ends(WORK + "".join(f"[rank1]: {line}\n" for line in CRASH.splitlines())) == "failed"
    assert ends(WORK + CRASH.rstrip()) == "failed"
    assert ends(f"{WORK}100%|#| 9/9 [00:01<00:00, 9it/s]{CRASH}") == "failed"


def test_a_traceback_without_its_first_line_is_one() -> None:
    """A bar was drawn over it."""
    headless = CRASH.partition("\n")[2]
    log = f"{WORK}{headless}" + "step 30/100\n" * 300
    assert ends(log, at(log, "step 30", 30, 100)) == "failed"
    for before in ("0: ", "[rank1]:", "2025-03-04T05:06:07.123Z ", "train-1  | "):
        every = "".join(f"{before}{line}\n" for line in log.splitlines())
        assert ends(every, at(every, "step 30", 30, 100)) == "failed"
    assert ends("x" * 500 + headless) in ("failed", "unknown")


def test_an_exceptions_name_alone_at_the_end_is_a_failure() -> None:
    """Where the frames went to another file, or there are none: a mistake in the program's text."""
    assert ends('  File "train.py", line 3\n    def f(:\n          ^\nSyntaxError: invalid syntax\n') == "failed"
    assert ends("loading\n[rank0]: KeyboardInterrupt\n") == "failed"
    assert ends("KeyError: 'x', taking the default\n" + "loading another part of the data\n" * 100) == "unknown"


def test_what_a_dying_process_still_writes_out_does_not_save_it() -> None:
    """Its buffered output lands behind the traceback in a file that both go to."""
    buffered = "step 30/100\n" * 600
    log = WORK + CRASH + buffered
    assert ends(log, at(log, "step 30", 30, 100)) == "failed"


def test_a_run_that_goes_on_after_an_exception_survived_it() -> None:
    """Or was started again: far more follows than a buffer holds."""
    log = WORK + CRASH + "step 30/100 loss 0.31\n" * (SURVIVED // 20)
    assert ends(log, at(log, "step 30", 30, 100)) == "cut"


def test_a_caught_exception_is_none() -> None:
    """A traceback whose outermost frame is a library's, with work after it."""
    log = WORK + CAUGHT + "step 30/100 loss 0.31\n" * 60
    assert ends(log, at(log, "step 30", 30, 100)) == "cut"
    assert ends(WORK + CAUGHT + "Training completed\n") == "finished"


def test_what_a_library_caught_as_it_was_imported_is_survived_by_a_few_words() -> None:
    """Nobody runs a library's file: where its own frame is the outermost, it caught that itself and goes on."""
    frames = 'Traceback (most recent call last):\n  File "/opt/site-packages/quant/native.py", line 8, in <module>\n'
    caught = f"Could not load the native part\n{frames}    part = load()\nAttributeError: no version\n"
    assert ends(f"reading\n{caught}" + "looking elsewhere for it\n" * 5) == "unknown"
    assert ends(f"reading\n{caught}") == "failed"
    mine = caught.replace("/opt/site-packages/quant/native.py", "/srv/native.py")
    assert ends(f"reading\n{mine}" + "looking elsewhere for it\n" * 5) == "failed"


def test_bars_that_workers_draw_on_do_not_save_the_driver_that_fell() -> None:
    """The actors of Ray live a second longer than the program that asked them."""
    error = CRASH.replace("ValueError: no such shape", "ray.exceptions.RayTaskError: ray::f() (pid=77, ip=10.0.0.4)")
    bars = "".join(f"  1%|1         | {done}/9000 [00:02<30:11, 14.9it/s]\n" for done in range(30, 36))
    assert ends(f"{WORK}{error}{bars}") == "failed"


def test_a_try_that_went_well_soon_after_one_that_fell_is_known_by_its_clock() -> None:
    """Whatever a program that fell still had to say is no younger than its fall; a script's "done" is no try."""
    first = f"2026-03-01 10:00:01,120: fitting the curves\n{CRASH}"
    again = "".join(f"2026-03-01 10:0{minute}:03,004: model {minute} is fitted\n" for minute in (7, 8, 9))
    over = "2026-03-01 10:09:30,511: calculation successful\n"
    assert ends(first + again + over) == "finished"
    assert ends(first + again) == "failed"
    assert ends(first + over) == "failed"
    assert ends(first + (again + over).replace("10:0", "10:00:0")) == "failed"


def test_a_log_that_ends_with_any_exception_failed() -> None:
    """Even if the frame at the top is not the program's: nothing came after it."""
    assert ends(WORK + CAUGHT, at(WORK, "step 20", 20, 100)) == "failed"


def test_an_exception_in_a_finalizer_does_not_undo_a_finish() -> None:
    """Noise of an interpreter that shuts down."""
    noise = CAUGHT.replace("WARNING could not reach the tracker, going on without it", "Exception ignored in: <x>")
    assert ends(f"{WORK}Training completed\n{noise}") == "finished"
    assert ends(f"{WORK}Training completed\nException ignored in: <function x>\n{CRASH}") == "finished"


def test_a_crash_after_the_finish_is_a_failure() -> None:
    """Trained, and then could not save."""
    assert ends(f"{WORK}Training completed\n{CRASH}") == "failed"


@pytest.mark.parametrize("echo", ["Done.", "Job finished at Fri Jan  2", "Training complete!", "exit code: 0"])
def test_a_scripts_own_last_words_do_not_heal_a_crash(echo: str) -> None:
    """The shell that started the program says `done` whatever happened."""
    assert ends(f"{WORK}{CRASH}{echo}\n") == "failed"


def test_words_long_ago_have_nothing_to_do_with_the_end() -> None:
    """The first run in the file was cancelled; the log went on for a long time."""
    cancelled = "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-01-02T03:04:05 ***\n"
    log = cancelled + "step 30/100 loss 0.31\n" * 2000
    assert ends(log, at(log, "step 30", 30, 100)) == "cut"
    log = "Training completed\n" + "loading more\n" * (WINDOW // 12)
    assert ends(log) == "unknown"


def test_a_finish_before_more_work_is_not_the_end() -> None:
    """The first stage has finished, the second is under way."""
    log = f"Training finished\n{WORK}"
    assert ends(log, at(log, "step 20", 20, 100)) == "cut"


def test_a_finish_before_a_long_run_without_a_total_is_not_the_end() -> None:
    """The first of several runs in one log has finished; the next counts on and on."""
    log = "Training finished\n" + "".join(f"round {n} loss 0.{n}\n" for n in range(SURVIVED // 10))
    assert ends(log, at(log, "round", 900, None)) == "unknown"


def test_a_phase_that_begins_after_an_early_stop_is_under_way() -> None:
    """One part of a pipeline stopped of its own will; the next began, and died."""
    stop = f"{WORK}Early stopping triggered in phase one!\n"
    assert ends(stop, at(stop, "step 20", 20, 100)) == "finished"
    logged = "ERROR - phase two failed\n" + CAUGHT.partition("\n")[2]
    log = f"{stop}===> Starting Classifier Training Phase\n{logged}"
    assert ends(log, at(log, "step 20", 20, 100)) == "failed"


def test_the_best_epoch_after_an_early_stop_is_no_progress() -> None:
    """Weights of an earlier epoch are taken: the counter seems to move, and the run is over."""
    log = f"{WORK}Patience exhausted: early stopping.\nrestored weights of epoch 17\n"
    assert ends(log, at(log, "epoch 17", 17, 60)) == "finished"


def test_noise_right_behind_the_end_is_none_and_trouble_later_is() -> None:
    """What still works when a program ends may print an exception; much later, something else was under way."""
    first = "step 100/100 loss 0.4\n"
    full, caught = at(first, "step 100", 100, 100), CAUGHT.partition("\n")[2]
    assert ends(first + caught, full) == "finished"
    assert ends(first + caught * 9, full) == "finished"
    report = "".join(f"class {n} has precision 0.{n}\n" for n in range(10, 60))
    assert ends(first + report + caught, full) == "failed"
    assert ends("Training complete\n" + report + caught) == "failed"
    assert ends(first + report + caught + "Training complete\n", full) == "finished"


def test_a_thread_that_fell_while_others_worked_ends_nothing() -> None:
    """Without any progress it may have been all there was."""
    thread = "Exception in thread Thread-7:\n" + CAUGHT.partition("\n")[2]
    assert ends(WORK + thread, at(WORK, "step 20", 20, 100)) == "cut"
    assert ends("loading\n" + thread) == "failed"


def test_a_run_that_begins_after_an_interrupt_is_another() -> None:
    """It was started again in the same log."""
    log = f"{WORK}Training interrupted by user\n"
    assert ends(log, at(log, "step 20", 20, 100)) == "failed"
    assert ends(f"{log}Starting the training\nloading\n", at(log, "step 20", 20, 100)) == "cut"


def test_killed_may_be_a_word() -> None:
    """Of a process that was killed nothing is written out later."""
    bars = "".join(f" {n}%|##   | {n}/100 [00:10<01:30, 1.1it/s]\n" for n in range(10, 16))
    assert ends(bars + "the hero was\nKilled\nby a dragon\n" + bars.replace("/100 [", "/100 [1:")) == "unknown"
    assert ends(bars + "Killed\n") == "failed"


@pytest.mark.parametrize("plan", ["no early stopping", "early stopping patience is 5", "early stopping: 10"])
def test_what_is_said_of_the_end_at_the_beginning_is_a_plan(plan: str) -> None:
    """How it may stop, before it has begun."""
    assert ends(f"loading\n{plan}\nround 1\n") == "unknown"
    saved = "Results saved to out/first.json\nround 1\n"
    assert ends(saved, at(saved, "round", 1, None)) == "unknown"


def test_a_line_of_progress_closes_nothing() -> None:
    """The total time so far, after every step."""
    steps = "".join(f"step {n} | loss 0.{n} | total time: {n}.5m\n" for n in range(300))
    assert ends(steps) == "unknown"


def test_a_score_after_every_sample_closes_nothing() -> None:
    """What a log says again and again is not its last word, unless it is the very last."""
    sample = "Final score: 3\n  answer: 2\n"
    assert ends(sample * 400) == "unknown"
    assert ends("loading\n" * 400 + sample) == "finished"


def test_much_text_below_a_program_that_fell_at_its_imports_is_anothers() -> None:
    """Also where the head of the traceback stands behind half a line of somebody else."""
    fell = CRASH.replace("main()\n", "import acme\n", 1)
    chatter = "".join(f"client {n} is served by the shard of the {n}th house\n" for n in range(120))
    assert ends(fell + chatter) == ends("Ankle" + fell + chatter) == "unknown"
    assert ends(fell + chatter[:400]) == ends(CRASH + chatter) == "failed"


def test_words_that_it_goes_on_hold_for_a_whole_chain_of_exceptions() -> None:
    """A logger prints what led to the last exception, too; the program's own frame in it does not mean that it fell."""
    chain = f"{CAUGHT}\nThe above exception was the direct cause of the following exception:\n\n{CRASH}"
    assert ends(f"{WORK}{chain}best accuracy 0.91\nTraining complete\n") == "finished"
    assert ends(f"{WORK}{chain}") == "failed"


def test_going_on_from_a_checkpoint_is_no_going_on_in_spite_of_trouble() -> None:
    """Who continues from a file says nothing of what is below."""
    stack = "Stack trace:\n" + "".join(f"  [bt] ({i}) lib.so\n" for i in range(9))
    assert ends(f"{WORK}continuing from model.json\n{CRASH}{stack}") == "failed"
