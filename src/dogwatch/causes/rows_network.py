"""Causes between processes and machines: collectives, meeting points, networks, ports, model hubs."""

from __future__ import annotations

from dogwatch.causes.interface import Cause, Retry, Role, Sign

_HUB = r"huggingface\.co|hf\.co|hf-mirror|hub\.huggingface|the hub\b|modelscope"

rows = (
    Cause(
        "nccl_timeout",
        "a collective operation waited in vain for a rank",
        Retry.AS_IS,
        (
            "find the rank that did not come: the one without this message, or whose log stops first",
            "look there for an earlier error (disk, memory, data); TORCH_NCCL_TRACE_BUFFER_SIZE=2000 tells "
            "the last collective next time",
        ),
        (
            Sign("timed out in blocking wait", weight=0.94, fatal=True),
            Sign("collective operation timeout", weight=0.95, fatal=True),
            Sign("milliseconds before timing out", weight=0.95, fatal=True),
            Sign("stall shutdown", r"horovod.{0,60}stall shutdown", 0.88, fatal=True),
            Sign("waiting for remainder of ranks", weight=0.8),
            Sign("watchdog hang", r"due to processgroupnccl watchdog hang", 0.9, fatal=True),
            Sign("watchdog got stuck", r"watchdog got stuck for \d{1,6} seconds", 0.9),
            Sign("collective timeout", r"(?:due to a|received a .{0,40}) collective timeout", 0.9),
            Sign("monitoredbarrier", r"failed to pass monitoredbarrier|monitoredbarrier.{0,80}timed? ?out", 0.94),
            Sign("timed out waiting", r"timed out waiting \d{1,9}ms for (?:recv|send) operation", 0.93),
            Sign("some nccl operations have failed or timed out", weight=0.7),
            Sign("nccl", r"nccl .{0,40}\btim(?:ed out|eout)\b|nccl communicator.{0,80}timed out", 0.8, raised=True),
            Sign("barrier timed out", weight=0.85, raised=True),
            Sign("rendezvous", r"(?:stuck|waiting) .{0,80}rendezvous.{0,120}(?:termination timeout|exceeded)", 0.75),
            Sign("heartbeatmonitor|heartbeat monitor", r"heartbeat ?monitor.{0,80}(?:timed out|no heartbeat)", 0.85),
        ),
        role=Role.CASCADE,
        examples=(
            "[rank2]:[E109 04:11:00.99 ProcessGroupNCCL.cpp:616] [Rank 2] Watchdog caught collective "
            "operation timeout: WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
            "Timeout(ms)=1800000) ran for 1800021 milliseconds before timing out.",
            "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out "
            "waiting 1800000ms for recv operation to complete",
            "RuntimeError: Rank 1 failed to pass monitoredBarrier in 1800000 ms",
            "[rank0]:[F109 04:11:00.99 ProcessGroupNCCL.cpp:1557] [PG ID 0 PG GUID 0(default_pg) Rank 0] [PG "
            "ID 0 PG GUID 0(default_pg) Rank 0] Terminating the process after attempting to dump debug "
            "info, due to collective timeout or exception: ProcessGroupNCCL's watchdog got stuck for 480 "
            "seconds without making progress",
        ),
        counterexamples=("NCCL_TIMEOUT=1800", "timeout=1800", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=600"),
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
            Sign(
                "gloo/transport",
                r"gloo/transport/\S{1,80}.{0,60}(?:connection closed|connection reset|broken pipe|read error"
                r"|write error)",
                0.86,
                raised=True,
            ),
            Sign("mismatch between collectives", weight=0.86, raised=True, role=Role.ROOT),
            Sign("nccl error ", r"\bnccl error \d{1,2}\b", 0.9, raised=True, role=Role.ROOT),
            Sign(
                "following async exception",
                r"raised the following async exception: .{0,40}nccl error",
                0.93,
                fatal=True,
                role=Role.ROOT,
            ),
            Sign("ncclsystemerror", r"ncclsystemerror: \S", 0.93, fatal=True, role=Role.ROOT),
            Sign("ncclinternalerror", r"ncclinternalerror: \S", 0.92, fatal=True, role=Role.ROOT),
            Sign("ncclunhandledcudaerror", weight=0.84, fatal=True),
            Sign("ncclinvalidusage", r"ncclinvalidusage: \S", 0.93, fatal=True, role=Role.ROOT),
            Sign("ncclinvalidargument", r"ncclinvalidargument: \S", 0.92, fatal=True, role=Role.ROOT),
            Sign("unhandled cuda error", r"nccl.{0,160}unhandled cuda error", 0.84, fatal=True),
            Sign("unhandled system error", weight=0.93, role=Role.ROOT),
            Sign("duplicate gpu detected", weight=0.95, role=Role.ROOT),
            Sign("call to ibv_", r"nccl warn .{0,20}call to ibv_\w{1,40} failed", 0.85, role=Role.ROOT),
            Sign(
                "nccl error in: ",
                r"nccl error in: .{1,200}, invalid (?:usage|argument)",
                0.93,
                raised=True,
                role=Role.ROOT,
            ),
            Sign(
                "got completion",
                r"net/ib ?: got completion .{0,120}with (?:error|status=) ?[1-9]",
                0.92,
                role=Role.ROOT,
            ),
            Sign(
                "catastrophic",
                r"net/ib ?: .{0,80}catastrophic error|got async event : local catastrophic",
                0.92,
                role=Role.ROOT,
            ),
            Sign("nccl error", r"nccl error(?: in)?:", 0.88),
            Sign("nccl failure", weight=0.85, raised=True),
            Sign("horovodinternalerror", weight=0.75, raised=True),
            Sign("ncclremoteerror", weight=0.85),
            Sign("nccl communicator was aborted", weight=0.85),
            Sign("distbackenderror", weight=0.75, raised=True),
            Sign("process group watchdog thread terminated", weight=0.75),
            Sign("nccl", r"nccl (?:operation|comm\w{0,12}) .{0,60}(?:fail|abort|error)", 0.75, raised=True),
        ),
        role=Role.CASCADE,
        examples=(
            "torch.distributed.DistBackendError: NCCL error in: "
            "/pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3384, unhandled system error (run "
            "with NCCL_DEBUG=INFO for details), NCCL version 2.26.2",
            "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.",
            "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
            "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000",
            "torch.distributed.DistBackendError: NCCL error in: ../c10d/NCCLUtils.hpp:317, invalid usage (run with "
            "NCCL_DEBUG=WARN for details), NCCL version 2.20.5",
            "c4:71:90 [2] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with error Invalid argument",
            "c4:71:90 [2] transport/net_ib.cc:1290 NCCL WARN NET/IB : Got completion from peer 10.8.0.4<51877> with "
            "status=12 opcode=129 len=0 vendor err 129",
        ),
        counterexamples=(
            "NCCL_ASYNC_ERROR_HANDLING is deprecated; use TORCH_NCCL_ASYNC_ERROR_HANDLING instead",
            "n1:88:88 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v5 symbol.",
            "Warning: destroy_process_group() was not called before program exit",
        ),
        neighbours=("nccl_timeout", "network_error"),
        tell="NCCL_DEBUG=INFO; the first error of the first rank",
    ),
    Cause(
        "rendezvous_failed",
        "the processes did not find one another at the start",
        Retry.AS_IS,
        (
            "check MASTER_ADDR and MASTER_PORT on every node, that the ranks are all started, and that no "
            "firewall is between",
            "make sure world size and number of started processes agree",
        ),
        (
            Sign("rendezvous: environment variable", weight=0.94, raised=True),
            Sign("connect() timed out", r"connect\(\) timed out\. original timeout", 0.92, raised=True),
            Sign("rendezvousconnectionerror", weight=0.95, fatal=True),
            Sign("rendezvoustimeouterror", weight=0.95, fatal=True),
            Sign("rendezvousclosederror", weight=0.85),
            Sign("rendezvousstateerror", weight=0.9),
            Sign("client socket has timed out", weight=0.94),
            Sign("client socket has failed to connect", weight=0.85),
            Sign(
                "clients joined",
                r"timed out after \d{1,6} seconds waiting for clients\. \d{1,6}/\d{1,6} clients joined",
                0.95,
            ),
            Sign("store based barrier", r"timed out initializing process group in store based barrier", 0.95),
            Sign("connection to the c10d store has failed", weight=0.95),
            Sign(
                "retrieving ncclunique",
                r"retrieving ncclunique ?id from .{0,200}(?:timeout|socket timeout|connection)",
                0.88,
            ),
            Sign(
                "coordination service|coordinationservice",
                r"(?:failed to connect to|barrier timed out|deadline_exceeded"
                r"|unavailable).{0,200}coordination ?service|coordination ?service.{0,200}(?:barrier "
                r"timed out|deadline_exceeded)",
                0.88,
                raised=True,
            ),
            Sign(
                "deadline_exceeded",
                r"deadline_exceeded: (?:barrier timed out|.{0,80}(?:registertask|connect|rendezvous))",
                0.88,
                raised=True,
            ),
            Sign("deadline_exceeded", r"xlaruntimeerror: deadline_exceeded: deadline exceeded", 0.86, raised=True),
            Sign("server socket cannot be initialized", weight=0.88, raised=True),
            Sign("connectfullmesh failed", weight=0.9, raised=True),
            Sign("could not find any running ray instance", weight=0.9, raised=True),
            Sign("distnetworkerror", weight=0.78, raised=True),
            Sign("diststoreerror", weight=0.8, raised=True),
            Sign("unable to reliably start", r"orte was unable to reliably start", 0.9, fatal=True),
            Sign(
                "fatal error in ",
                r"fatal error in (?:internal_|p)?mpi_init(?:_thread)?\b",
                0.85,
                fatal=True,
                many=True,
            ),
            Sign(
                "_init failed for some reason|error occurred in mpi_init",
                r"looks like \w{2,20}_init failed for some reason|\*\*\* an error occurred in mpi_init",
                0.8,
                fatal=True,
                many=True,
            ),
            Sign("mpi startup()", r"mpi startup\(\): \w{1,20} fabric is not available", 0.85, fatal=True, many=True),
            Sign("wait timeout after", r"wait timeout after \d{1,9}ms, keys: /", 0.9, raised=True),
            Sign(
                "socket timeout",
                r"(?:tcpstore|distributed|rendezvous|c10d|runtimeerror).{0,80}socket timeout",
                0.85,
                raised=True,
            ),
        ),
        examples=(
            "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d "
            "store has failed. See inner exception for details.",
            "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying "
            "to connect to (n01, 29500).",
            "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 1/2 clients joined.",
            "jaxlib._jax.XlaRuntimeError: DEADLINE_EXCEEDED: Deadline Exceeded",
            "Abort(1090831) on node 3 (rank 3 in comm 0): Fatal error in PMPI_Init: Other MPI error, error stack:",
            "It looks like MPI_INIT failed for some reason; your parallel process is",
            "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key: "
            "store_based_barrier_key:1 (world_size=8, worker_count=7, timeout=0:30:00)",
        ),
        counterexamples=("Rendezvous complete for workers.", "[I] rdzv_backend: c10d, rdzv_endpoint: n01:29500"),
        neighbours=("network_error", "port_in_use", "nccl_timeout"),
        tell="nc -zv MASTER_ADDR MASTER_PORT from every node",
    ),
    Cause(
        "network_error",
        "a network connection failed",
        Retry.AS_IS,
        (
            "try it again; if it repeats, check from that node (curl -v URL): compute nodes often have no way out",
            "download beforehand and run offline, or set the proxy that the site wants",
        ),
        (
            Sign("gaierror", weight=0.9, raised=True, unless=_HUB),
            Sign("socket.timeout", weight=0.88, raised=True),
            Sign("connectionreseterror", weight=0.6, raised=True, role=Role.CASCADE),
            Sign("connectionabortederror", weight=0.6, raised=True, role=Role.CASCADE),
            Sign(
                "apierror",
                r"\bapierror\b.{0,80}(?:exceeded|timed? ?out|unavailable|html|gateway|request)",
                0.8,
                raised=True,
            ),
            Sign("ratelimiterror", weight=0.85, raised=True),
            Sign("max retries exceeded with url", weight=0.92, raised=True, unless=_HUB),
            Sign("failure in name resolution", weight=0.92, unless=_HUB),
            Sign(
                "name or service not known", weight=0.88, raised=True, unless=r"\d{4,5}\) cannot be retrieved|" + _HUB
            ),
            Sign("could not resolve host", weight=0.9, unless=_HUB),
            Sign("network is unreachable", weight=0.9, raised=True, unless=_HUB),
            Sign("no route to host", weight=0.88, raised=True),
            Sign("http error|httperror", r"urllib\.error\.httperror|httperror: http error \d{3}", 0.92, raised=True),
            Sign("urlopen error", weight=0.92, raised=True),
            Sign(
                "client error",
                r"httperror: \d{3} client error|httpstatuserror: client error",
                0.88,
                raised=True,
                unless=_HUB,
            ),
            Sign("server error", r"httperror: 5\d\d server error|httpstatuserror: server error", 0.9, raised=True),
            Sign(
                "timeout|read timed out",
                r"(?:connecttimeout|readtimeout|connect timeout|read timed out|read timeout on endpoint"
                r"|(?:connect|read)timeouterror"
                r"|(?:^|socket\.)timeout(?:error)?: (?:the (?:read|write|handshake) operation )?timed out)\b",
                0.9,
                raised=True,
                unless=_HUB,
            ),
            Sign(
                "connectionerror|connecterror|proxyerror|sslerror",
                r"(?:requests|aiohttp|httpx|urllib3|botocore|wandb|redis|grpc)\S{0,80}(?:connection|connect"
                r"|proxy|ssl)error",
                0.9,
                raised=True,
                unless=_HUB,
            ),
            Sign("certificate_verify_failed", weight=0.92, raised=True),
            Sign(
                "cannot connect to host", r"cannot connect to host \S{1,200}:\d{1,5}\b", 0.9, raised=True, unless=_HUB
            ),
            Sign("clientconnectorerror", weight=0.9, raised=True, unless=_HUB),
            Sign(
                "serverdisconnectederror|clientpayloaderror",
                r"\b(?:serverdisconnected|clientpayload)error\b",
                0.85,
                raised=True,
            ),
            Sign("sslerror", weight=0.88, raised=True, unless=_HUB),
            Sign("proxyerror", weight=0.9, raised=True, unless=_HUB),
            Sign("commerror", r"wandb\S{0,40}commerror", 0.9, raised=True),
            Sign(
                "communicating with wandb|communicate with backend",
                r"error communicating with wandb|couldn't communicate with backend",
                0.86,
                raised=True,
            ),
            Sign("endpointconnectionerror", weight=0.92, raised=True),
            Sign("could not connect to the endpoint url", weight=0.92, raised=True),
            Sign("api", r"api(?:connection|timeout)error\b", 0.88, raised=True),
            Sign("incompleteread|chunkedencodingerror", r"incompleteread\b|chunkedencodingerror", 0.88, raised=True),
            Sign("failed to connect to all addresses", weight=0.88, raised=True),
            Sign(
                "connection_failed|connection failed",
                r"\bconnection[_ ]failed\b|_connection_failed\b",
                0.78,
                raised=True,
            ),
            Sign("_inactiverpcerror", weight=0.7, raised=True),
            Sign("statuscode.", r"statuscode\.(?:unavailable|deadline_exceeded)\b", 0.9, raised=True),
            Sign("curl: (", r"^curl: \((?:5|6|7|28|35|52|56)\) ", 0.88),
            Sign(
                "connection refused|connectionrefusederror",
                r"connectionrefusederror|connection refused",
                0.8,
                raised=True,
            ),
            Sign("connection timed out|[errno 110]", r"\[errno 110\]|connection timed out", 0.85, raised=True),
            Sign("connection reset by peer", weight=0.75, raised=True, role=Role.CASCADE),
            Sign("brokenpipeerror", weight=0.55, raised=True, role=Role.CASCADE),
            Sign("broken pipe", weight=0.7, raised=True, role=Role.CASCADE),
            Sign("remote end closed connection", weight=0.85, raised=True, unless=_HUB),
            Sign("ssh: connect to host", weight=0.88),
            # What ssh itself ends with; a command it ran elsewhere gives its own code.
            Sign(
                "exit status 255",
                r"command .{0,40}\bssh .{1,600}returned non-zero exit status 255",
                0.8,
                raised=True,
            ),
        ),
        examples=(
            "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='example.org', port=443): Max "
            "retries exceeded with url: /data.tar (Caused by "
            "NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7f>: Failed to "
            "establish a new connection: [Errno 101] Network is unreachable'))",
            "urllib.error.HTTPError: HTTP Error 503: Service Unavailable",
            'botocore.exceptions.ReadTimeoutError: Read timeout on endpoint URL: "https://store.example.org/a/7.tar"',
            "aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host 10.0.0.8:9000 ssl:default "
            "[Connect call failed ('10.0.0.8', 9000)]",
            "curl: (7) Failed to connect to data.example.org port 443 after 3 ms: Connection refused",
            "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
            "subprocess.CalledProcessError: Command 'ssh n4 hostname' returned non-zero exit status 255.",
            "RuntimeError: Connection reset by peer",
            "TimeoutError: timed out",
            "TimeoutError: The read operation timed out",
            "wandb.errors.CommError: Run initialization has timed out after 90.0 sec.",
            "    status = StatusCode.UNAVAILABLE",
            "RuntimeError: join() gave LEADER_CONNECTION_FAILED",
            "wandb.errors.UsageError: Error communicating with wandb process",
            "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='example.org', port=443): Read timed "
            "out. (read timeout=10)",
        ),
        counterexamples=(
            "network: resnet50",
            "wandb: Network error (ConnectTimeout), entering retry loop.",
            "WARNING: retrying: Read timed out",
            "TimeoutError: the lock of the cache timed out",
        ),
        neighbours=("hub_access", "rendezvous_failed"),
        tell="curl -v URL from that node",
    ),
    Cause(
        "hub_access",
        "a model hub refused or could not be reached",
        Retry.AFTER_FIX,
        (
            "check the name, that your token may read it (huggingface-cli whoami; accept the licence of "
            "gated models), and HF_TOKEN in the job's environment",
            "on nodes without a way out, download beforehand and set HF_HUB_OFFLINE=1 with the same cache",
        ),
        (
            Sign(
                "cannot find the requested files",
                r"cannot find the requested files in the (?:cached path|disk cache|local cache)",
                0.94,
                raised=True,
            ),
            Sign("gatedrepoerror", weight=0.97, raised=True),
            Sign("notexisterror", r"modelscope\S{0,40}notexisterror", 0.93, raised=True),
            Sign("repositorynotfounderror", weight=0.96, raised=True),
            Sign("gated repo", r"(?:access|is) (?:a )?gated repo|cannot access gated repo", 0.96, raised=True),
            Sign("gated dataset", weight=0.93, raised=True),
            Sign("not a valid model identifier", weight=0.95, raised=True),
            Sign("couldn't connect to", rf"couldn't connect to '?https?://(?:{_HUB})", 0.96, raised=True),
            Sign("couldn't connect to the hub", weight=0.95, raised=True),
            Sign("localentrynotfounderror", weight=0.94, raised=True),
            Sign("offlinemodeisenabled", weight=0.94, raised=True),
            Sign("hfhubhttperror", weight=0.94, raised=True),
            Sign("entrynotfounderror", weight=0.9, raised=True),
            Sign("revisionnotfounderror", weight=0.94, raised=True),
            Sign("client error", rf"\d{{3}} client error.{{0,200}}(?:{_HUB})", 0.95, raised=True),
            Sign("server error", rf"5\d\d server error.{{0,200}}(?:{_HUB})", 0.93, raised=True),
            Sign(
                "huggingface|hf.co|hf-mirror|modelscope|the hub",
                rf"(?:max retries exceeded|connectionerror|connecttimeout|readtimeout|name resolution"
                rf"|unreachable|sslerror|proxyerror|timed out).{{0,300}}(?:{_HUB})"
                rf"|(?:{_HUB}).{{0,300}}(?:max retries exceeded|name resolution|unreachable|timed out"
                rf"|refused)",
                0.95,
                raised=True,
            ),
            Sign("outgoing traffic has been disabled", weight=0.95, raised=True),
            Sign("couldn't reach", r"couldn't reach .{0,120}(?:on the hub|huggingface)", 0.94, raised=True),
            Sign("doesn't exist on the hub", weight=0.95, raised=True),
            Sign("datasetnotfounderror", weight=0.93, raised=True),
            Sign(
                "can't load",
                r"can't load (?:tokenizer|the configuration|feature extractor|image processor|the model"
                r"|config) .{0,400}huggingface\.co",
                0.85,
                raised=True,
            ),
            Sign("repository not found for url", weight=0.95, raised=True),
            Sign("invalid user token", weight=0.94, raised=True),
            Sign("huggingface-cli login", weight=0.85, raised=True),
            Sign("repo id must", weight=0.7, raised=True),
        ),
        examples=(
            "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-aa) Cannot access "
            "gated repo for url https://huggingface.co/acme/large/resolve/main/config.json.",
            "OSError: acme/largge is not a local folder and is not a valid model identifier listed on "
            "'https://huggingface.co/models'",
            "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find "
            "them in the cached files.",
            "requests.exceptions.ConnectionError: "
            "(MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded "
            'with url: /api/models/acme/large"))',
            "datasets.exceptions.DatasetNotFoundError: Dataset 'acme/corpus' doesn't exist on the Hub or "
            "cannot be accessed.",
        ),
        counterexamples=("Downloading from https://huggingface.co/acme/large", "HF_HUB_OFFLINE=1"),
        neighbours=("network_error", "file_missing"),
        tell="huggingface-cli whoami; curl -I https://huggingface.co from that node",
    ),
    Cause(
        "port_in_use",
        "a network port was already taken",
        Retry.WITH_CHANGE,
        (
            "take another port (torchrun --master_port or --rdzv_endpoint host:0), or end the old process "
            "that holds it (ss -ltnp)",
        ),
        (
            Sign("address already in use", weight=0.96),
            Sign("eaddrinuse", weight=0.96),
            Sign("[errno 98]", weight=0.96),
            Sign("errno: 98", weight=0.96),
            Sign("port", r"\bport \d{1,5} is (?:already )?(?:in use|occupied|taken)\b", 0.85, raised=True),
            Sign("server socket has failed to listen", weight=0.95),
            Sign("port", r"\bport .{1,20}, but another process is (?:utili[sz]ing|using) it", 0.96, raised=True),
        ),
        examples=(
            "RuntimeError: The server socket has failed to listen on any local network address. port: 29500, "
            "useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
            "OSError: [Errno 98] Address already in use",
            "ConnectionError: Tried to launch distributed communication on port `29411`, but another process is "
            "utilizing it. Please specify a different port",
            "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
        ),
        counterexamples=("serving on port 8000",),
        neighbours=("rendezvous_failed",),
        tell="ss -ltnp | grep PORT",
    ),
)
