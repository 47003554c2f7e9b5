"""What launchers and wrappers say when something else has ended. It shows that a job fell, and never why."""

from __future__ import annotations

from dogwatch.causes.interface import Role, Sign

consequences = (
    Sign("childfailederror", weight=0.5, fatal=True, role=Role.CASCADE),
    Sign("root cause (first observed failure)", weight=0.5, fatal=True, role=Role.TEARDOWN),
    Sign(
        "exited with exit code",
        r"srun: error: .{1,200}: tasks? [\d,\- ]{1,80}: exited with exit code",
        0.4,
        role=Role.TEARDOWN,
    ),
    Sign("due to task failure", weight=0.5, fatal=True, role=Role.TEARDOWN),
    Sign("job step aborted", r"srun: job step aborted", 0.4, role=Role.TEARDOWN),
    Sign("srun: terminating", weight=0.4, role=Role.TEARDOWN),
    Sign("closing signal", r"sending process \d{1,10} closing signal", 0.4, role=Role.TEARDOWN),
    Sign("calledprocesserror", r"calledprocesserror: command .{1,2000}", 0.45, raised=True, role=Role.CASCADE),
    Sign("non-zero exit status", r"returned non-zero exit status", 0.45, raised=True, role=Role.CASCADE),
    Sign("raytaskerror", r"raytaskerror\(", 0.45, raised=True, role=Role.CASCADE),
    Sign("actordiederror", weight=0.45, raised=True, role=Role.CASCADE),
    Sign("rayactorerror", weight=0.45, raised=True, role=Role.CASCADE),
    Sign("actorunavailableerror", weight=0.45, raised=True, role=Role.CASCADE),
    Sign("workercrashederror", weight=0.45, raised=True, role=Role.CASCADE),
    Sign("processraisedexception", weight=0.45, raised=True, role=Role.CASCADE),
    Sign("processexitedexception", r"processexitedexception.{0,120}exit code", 0.45, raised=True, role=Role.CASCADE),
    Sign("see root cause above", weight=0.45, raised=True, role=Role.CASCADE),
    Sign("enginedeaderror", weight=0.45, raised=True, role=Role.CASCADE),
    Sign("systemexit", r"\bsystemexit\b", 0.4, raised=True, role=Role.CASCADE),
    Sign("destroy_process_group() was not called", weight=0.2, role=Role.TEARDOWN),
    Sign("eoferror", r"eoferror\s{0,4}$", 0.4, raised=True, role=Role.CASCADE),
    Sign("killing subprocess", weight=0.3, role=Role.TEARDOWN),
    Sign("exits with return code", r"exits with return code = -?[1-9]", 0.4, fatal=True, role=Role.TEARDOWN),
    Sign("a worker died or was killed", weight=0.45, role=Role.CASCADE),
)
