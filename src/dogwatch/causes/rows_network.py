"""Causes between a job and other machines: networks, model hubs, ports."""

from __future__ import annotations

from dogwatch.causes.interface import Cause, Retry, Role, Sign

_HUB = r"huggingface\.co|hf\.co|hf-mirror|hub\.huggingface|the hub\b|modelscope"

rows = (
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
            Sign("unable to resolve host address", weight=0.88, unless=_HUB),
            Sign("host key verification failed", r"\bhost key verification failed\.", 0.85),
            Sign("_exchange_identification: ", r"\b(?:kex|ssh)_exchange_identification: \S", 0.8),
            Sign("rsync error: ", r"^rsync error: .{1,120}\(code (?:5|10|12|30|35|255)\)", 0.8),
            # A file system that lives on another machine.
            Sign("[errno 10|[errno 11", r"\[errno (?:107|108|112)\]", 0.85, raised=True),
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
            Sign("curl: (", r"^curl: \((?:5|6|7|16|18|22|28|35|51|52|55|56|58|60|77|83|92)\) ", 0.88),
            # Its last lines, below the one that says what was wrong.
            Sign("curl failed to verify the legitimacy of", weight=0.7),
            # What wget says of a certificate, of a connection and of an answer.
            Sign(
                "the certificate of |cannot verify ",
                r"^error: (?:the certificate of .{1,200}(?:trusted|issuer|expired|revoked|activated)"
                r"|cannot verify .{1,200}certificate)",
                0.9,
            ),
            Sign("unable to establish ssl connection", weight=0.88),
            Sign("error: failed to fetch: ", r"^error: failed to fetch: ", 0.88),
            Sign("... failed: ", r"^connecting to \S.{0,200}\.\.\. failed: (?:connection|no route|network)", 0.86),
            Sign(
                " error 40| error 42| error 50",
                r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d error (?:40|42|50)\d: \w",
                0.86,
            ),
            Sign(
                "after connection broken by", r"\bretrying \(retry\(total=0\b.{1,200} after connection broken by", 0.9
            ),
            Sign(
                "connection refused|connectionrefusederror",
                r"connectionrefusederror|connection refused",
                0.8,
                raised=True,
            ),
            Sign("connection timed out|[errno 110]", r"\[errno 110\]|connection timed out", 0.85, raised=True),
            Sign("connection reset by peer", weight=0.76, raised=True, role=Role.CASCADE),
            Sign("brokenpipeerror", weight=0.55, raised=True, role=Role.CASCADE),
            Sign("broken pipe", weight=0.74, raised=True, role=Role.CASCADE),
            Sign("remote end closed connection", weight=0.85, raised=True, unless=_HUB),
            Sign("ssh: connect to host", weight=0.88),
            # The network of MPI: Omni-Path, InfiniBand and what lies over them.
            Sign(
                "unable to open an endpoint|can't open hfi unit|can't open nic unit",
                r"psm\d? was unable to open an endpoint|psm\d? can't open (?:hfi|nic) unit",
                0.8,
            ),
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
            "wget: unable to resolve host address 'data.example.org'",
            "OSError: [Errno 107] Transport endpoint is not connected: '/mnt/data'",
            "curl: (7) Failed to connect to data.example.org port 443 after 3 ms: Connection refused",
            "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
            "subprocess.CalledProcessError: Command 'ssh n4 hostname' returned non-zero exit status 255.",
            "RuntimeError: Connection reset by peer",
            "TimeoutError: timed out",
            "curl: (60) SSL certificate problem: self-signed certificate",
            "ERROR: The certificate of 'data.example.org' is not trusted.",
            "ERROR: cannot verify data.example.org's certificate, issued by 'CN=lab':",
            "Unable to establish SSL connection.",
            "error: Failed to fetch: `https://pypi.example.org/simple/acme/`",
            "Connecting to data.example.org (data.example.org)|10.0.0.8|:443... failed: Connection refused.",
            "2026-02-01 04:00:11 ERROR 404: Not Found.",
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
            Sign("couldn't reach server at", r"couldn't reach server at '", 0.86, raised=True),
            Sign("not a valid model identifier", weight=0.95, raised=True),
            Sign("path_or_model_id", r"incorrect path_or_model_id", 0.88, raised=True),
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
            "OSError: Incorrect path_or_model_id: 'acme largge'. Please provide either the path to a local folder",
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
            Sign(
                "port",
                r"\bfind (?:an? )?(?:empty|free|available|open|unused) port\b|\bno (?:free|available|empty) ports?\b",
                0.93,
                raised=True,
            ),
            Sign("server socket has failed to listen", weight=0.95),
            Sign("failed to start the grpc server", weight=0.9, raised=True),
            Sign(
                "in use by another program|could not bind to port",
                r"\bport \d{1,5} is in use by another program|could not bind to port \d{1,5}, it was already in use",
                0.88,
            ),
            Sign("port", r"\bport .{1,20}, but another process is (?:utili[sz]ing|using) it", 0.96, raised=True),
        ),
        examples=(
            "RuntimeError: The server socket has failed to listen on any local network address. port: 29500, "
            "useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
            "OSError: [Errno 98] Address already in use",
            "OSError: Cannot find empty port in range: 7861-7861. You can specify a different port",
            "RuntimeError: Could not find a free port after 20 tries",
            "ConnectionError: Tried to launch distributed communication on port `29411`, but another process is "
            "utilizing it. Please specify a different port",
            "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
        ),
        counterexamples=("serving on port 8000", "checking whether port 8000 is in use"),
        neighbours=("rendezvous_failed",),
        tell="ss -ltnp | grep PORT",
    ),
)
