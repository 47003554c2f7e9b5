"""Causes between the processes of one job: collectives that waited or failed, and meetings that did not come about."""

from __future__ import annotations

from dogwatch.diagnosis.interface import Cause, Pattern, Retry, Role

rows = (
    Cause(
        "nccl_timeout",
        "a collective operation (NCCL) timed out",
        Retry.AS_IS,
        (
            "find the rank that did not join: the one without this message, or whose log stops first",
            "look there for an earlier error (disk, memory, data); TORCH_NCCL_TRACE_BUFFER_SIZE=2000 records "
            "the last collectives next time",
        ),
        (
            Pattern("timed out in blocking wait", weight=0.94, fatal=True),
            Pattern("collective operation timeout", weight=0.95, fatal=True),
            Pattern("milliseconds before timing out", weight=0.95, fatal=True),
            Pattern("stall shutdown", r"horovod.{0,60}stall shutdown", 0.88, fatal=True),
            Pattern("waiting for remainder of ranks", weight=0.8),
            Pattern("watchdog hang", r"due to processgroupnccl watchdog hang", 0.9, fatal=True),
            Pattern("watchdog got stuck", r"watchdog got stuck for \d{1,6} seconds", 0.9),
            Pattern("collective timeout", r"(?:due to a|received a .{0,40}) collective timeout", 0.9),
            Pattern("monitoredbarrier", r"failed to pass monitoredbarrier|monitoredbarrier.{0,80}timed? ?out", 0.94),
            Pattern("timed out waiting", r"timed out waiting \d{1,9}ms for (?:recv|send) operation", 0.93),
            Pattern("some nccl operations have failed or timed out", weight=0.7),
            Pattern("nccl", r"nccl .{0,40}\btim(?:ed out|eout)\b|nccl communicator.{0,80}timed out", 0.8, raised=True),
            Pattern("barrier timed out", weight=0.85, raised=True),
            # Ascend's runtime, by the codes of its manual.
            Pattern("error code", r"\berror code(?: is |: ?)(?:107020|507046|507048)\b", 0.85, raised=True),
            Pattern(
                "notify register times out|task timeout occurred",
                r"\bei0002: .{0,80}\bnotify register times out|\bhccl\b.{0,60}\btask timeout occurred",
                0.9,
                fatal=True,
                many=True,
            ),
            Pattern("rendezvous", r"(?:stuck|waiting) .{0,80}rendezvous.{0,120}(?:termination timeout|exceeded)", 0.75),
            Pattern("heartbeatmonitor|heartbeat monitor", r"heartbeat ?monitor.{0,80}(?:timed out|no heartbeat)", 0.85),
        ),
        role=Role.CASCADE,
        neighbours=("stalled", "nccl_error", "disk_quota"),
        tell="the log of the rank that did not report a timeout; py-spy dump --pid PID there",
    ),
    Cause(
        "nccl_error",
        "communication between the GPUs failed",
        Retry.AS_IS,
        (
            "run once with NCCL_DEBUG=INFO and look at the first WARN of the first rank",
            "check that all ranks see different GPUs, that /dev/shm is big enough and that "
            "NCCL_SOCKET_IFNAME names the right network",
        ),
        (
            Pattern(
                "gloo/transport",
                r"gloo/transport/\S{1,80}.{0,60}(?:connection closed|connection reset|broken pipe|read error"
                r"|write error)",
                0.86,
                raised=True,
            ),
            Pattern("mismatch between collectives", weight=0.86, raised=True, role=Role.ROOT),
            Pattern("nccl error ", r"\bnccl error \d{1,2}\b", 0.9, raised=True, role=Role.ROOT),
            Pattern(
                "following async exception",
                r"raised the following async exception: .{0,40}nccl error",
                0.93,
                fatal=True,
                role=Role.ROOT,
            ),
            Pattern("ncclsystemerror", r"ncclsystemerror: \S", 0.93, fatal=True, role=Role.ROOT),
            Pattern("ncclinternalerror", r"ncclinternalerror: \S", 0.92, fatal=True, role=Role.ROOT),
            Pattern("ncclunhandledcudaerror", weight=0.84, fatal=True),
            Pattern("ncclinvalidusage", r"ncclinvalidusage: \S", 0.93, fatal=True, role=Role.ROOT),
            Pattern("ncclinvalidargument", r"ncclinvalidargument: \S", 0.92, fatal=True, role=Role.ROOT),
            Pattern("unhandled cuda error", r"nccl.{0,160}unhandled cuda error", 0.84, fatal=True),
            Pattern("unhandled system error", weight=0.93, role=Role.ROOT),
            Pattern("duplicate gpu detected", weight=0.95, role=Role.ROOT),
            # That another closed the connection is said at the end of a good run, too.
            Pattern(
                "nccl warn ",
                r"nccl warn .{0,60}(?:call to \w{1,40} (?:from \S{1,60} )?(?:failed|timed out)"
                r"|connect to \S{1,80} (?:failed|returned)"
                r"|failed to execute operation (?:connect|setup|init|sharedinit|register))",
                0.8,
                role=Role.ROOT,
            ),
            Pattern(
                "nccl error in: ",
                r"nccl error in: .{1,200}, invalid (?:usage|argument)",
                0.93,
                raised=True,
                role=Role.ROOT,
            ),
            Pattern(
                "got completion",
                r"net/ib ?: got completion .{0,120}with (?:error|status=) ?[1-9]",
                0.92,
                role=Role.ROOT,
            ),
            Pattern(
                "catastrophic",
                r"net/ib ?: .{0,80}catastrophic error|got async event : local catastrophic",
                0.92,
                role=Role.ROOT,
            ),
            Pattern("nccl error", r"nccl error(?: in)?:", 0.88),
            Pattern("nccl failure", weight=0.85, raised=True),
            Pattern("hccl", r"\bhccl\w{3,30}, error code is \d|\bhccl error in\b", 0.86, raised=True),
            Pattern("horovodinternalerror", weight=0.75, raised=True),
            Pattern("ncclremoteerror", weight=0.85),
            Pattern("nccl communicator was aborted", weight=0.85),
            Pattern("distbackenderror", weight=0.75, raised=True),
            Pattern("process group watchdog thread terminated", weight=0.75),
            Pattern("nccl", r"nccl (?:operation|comm\w{0,12}) .{0,60}(?:fail|abort|error)", 0.75, raised=True),
        ),
        role=Role.CASCADE,
        neighbours=("nccl_timeout", "network_error"),
        tell="NCCL_DEBUG=INFO; the first error of the first rank",
    ),
    Cause(
        "rendezvous_failed",
        "the processes could not connect to each other at start-up",
        Retry.AS_IS,
        (
            "check MASTER_ADDR and MASTER_PORT on every node, that the ranks are all started, and that no "
            "firewall blocks the port",
            "make sure that the world size equals the number of started processes",
        ),
        (
            Pattern("rendezvous: environment variable", weight=0.94, raised=True),
            Pattern("connect() timed out", r"connect\(\) timed out\. original timeout", 0.92, raised=True),
            Pattern("rendezvousconnectionerror", weight=0.95, fatal=True),
            Pattern("rendezvoustimeouterror", weight=0.95, fatal=True),
            Pattern("rendezvousclosederror", weight=0.85),
            Pattern("rendezvousstateerror", weight=0.9),
            Pattern("client socket has timed out", weight=0.94),
            Pattern("client socket has failed to connect", weight=0.85),
            Pattern(
                "clients joined",
                r"timed out after \d{1,6} seconds waiting for clients\. \d{1,6}/\d{1,6} clients joined",
                0.95,
            ),
            Pattern("store based barrier", r"timed out initializing process group in store based barrier", 0.95),
            Pattern("connection to the c10d store has failed", weight=0.95),
            Pattern(
                "retrieving ncclunique",
                r"retrieving ncclunique ?id from .{0,200}(?:timeout|socket timeout|connection)",
                0.88,
            ),
            Pattern(
                "coordination service|coordinationservice",
                r"(?:failed to connect to|barrier timed out|deadline_exceeded"
                r"|unavailable).{0,200}coordination ?service|coordination ?service.{0,200}(?:barrier "
                r"timed out|deadline_exceeded)",
                0.88,
                raised=True,
            ),
            Pattern(
                "deadline_exceeded",
                r"deadline_exceeded: (?:barrier timed out|.{0,80}(?:registertask|connect|rendezvous))",
                0.88,
                raised=True,
            ),
            Pattern("deadline_exceeded", r"xlaruntimeerror: deadline_exceeded: deadline exceeded", 0.86, raised=True),
            Pattern(
                "coordinationservice/registertask", r"^rpc: /\S{1,40}coordinationservice/registertask", 0.86, many=True
            ),
            Pattern("server socket cannot be initialized", weight=0.88, raised=True),
            Pattern("connectfullmesh failed", weight=0.9, raised=True),
            # Gloo and NCCL were told of an interface that this node does not have.
            Pattern("unable to find address for", r"gloo.{1,200}unable to find address for: \S", 0.9, raised=True),
            Pattern("bootstrap : no socket interface found", weight=0.9, many=True),
            Pattern("could not find any running ray instance", weight=0.9, raised=True),
            Pattern("failed to connect to gcs", weight=0.8),
            Pattern("waiting for gcs to become available", weight=0.8),
            Pattern(
                "current node",
                r"the current node (?:timed out during startup|has not been updated within)",
                0.88,
                raised=True,
            ),
            Pattern("distnetworkerror", weight=0.78, raised=True),
            Pattern("diststoreerror", weight=0.8, raised=True),
            Pattern("unable to reliably start", r"orte was unable to reliably start", 0.9, fatal=True),
            Pattern(
                "fatal error in ",
                r"fatal error in (?:internal_|p)?mpi_init(?:_thread)?\b",
                0.85,
                fatal=True,
                many=True,
            ),
            Pattern(
                "_init failed for some reason|error occurred in mpi_init",
                r"looks like \w{2,20}_init failed for some reason|\*\*\* an error occurred in mpi_init",
                0.8,
                fatal=True,
                many=True,
            ),
            Pattern("mpi startup()", r"mpi startup\(\): \w{1,20} fabric is not available", 0.85, fatal=True, many=True),
            Pattern("wait timeout after", r"wait timeout after \d{1,9}ms, keys: /", 0.9, raised=True),
            Pattern(
                "socket timeout",
                r"(?:tcpstore|distributed|rendezvous|c10d|runtimeerror).{0,80}socket timeout",
                0.85,
                raised=True,
            ),
        ),
        neighbours=("network_error", "port_in_use", "nccl_timeout"),
        tell="nc -zv MASTER_ADDR MASTER_PORT from every node",
    ),
)
