"""Causes between a job and other machines: networks, model hubs, ports."""

from __future__ import annotations

from dogwatch.diagnosis.interface import Cause, Pattern, Retry, Role

_HUB = r"huggingface\.co|hf\.co|hf-mirror|hub\.huggingface|the hub\b|modelscope"

rows = (
    Cause(
        "network_error",
        "a network connection failed",
        Retry.AS_IS,
        (
            "try it again; if it repeats, check from that node (curl -v URL): compute nodes often have "
            "no internet access",
            "download beforehand and run offline, or set the proxy of your site",
        ),
        (
            Pattern("gaierror", weight=0.9, raised=True, unless=_HUB),
            Pattern("socket.timeout", weight=0.88, raised=True),
            Pattern("connectionreseterror", weight=0.6, raised=True, role=Role.CASCADE),
            Pattern("connectionabortederror", weight=0.6, raised=True, role=Role.CASCADE),
            Pattern(
                "apierror",
                r"\bapierror\b.{0,80}(?:exceeded|timed? ?out|unavailable|html|gateway|request)",
                0.8,
                raised=True,
            ),
            Pattern("ratelimiterror", weight=0.85, raised=True),
            Pattern("max retries exceeded with url", weight=0.92, raised=True, unless=_HUB),
            Pattern("failure in name resolution", weight=0.92, unless=_HUB),
            Pattern(
                "name or service not known", weight=0.88, raised=True, unless=r"\d{4,5}\) cannot be retrieved|" + _HUB
            ),
            Pattern("could not resolve host", weight=0.9, unless=_HUB),
            Pattern("unable to resolve host address", weight=0.88, unless=_HUB),
            Pattern("host key verification failed", r"\bhost key verification failed\.", 0.85),
            Pattern("_exchange_identification: ", r"\b(?:kex|ssh)_exchange_identification: \S", 0.8),
            Pattern("rsync error: ", r"^rsync error: .{1,120}\(code (?:5|10|12|30|35|255)\)", 0.8),
            # A file system that lives on another machine.
            Pattern("[errno 10|[errno 11", r"\[errno (?:107|108|112)\]", 0.85, raised=True),
            Pattern("network is unreachable", weight=0.9, raised=True, unless=_HUB),
            Pattern("no route to host", weight=0.88, raised=True),
            Pattern("http error|httperror", r"urllib\.error\.httperror|httperror: http error \d{3}", 0.92, raised=True),
            Pattern("urlopen error", weight=0.92, raised=True),
            Pattern(
                "client error",
                r"httperror: \d{3} client error|httpstatuserror: client error",
                0.88,
                raised=True,
                unless=_HUB,
            ),
            Pattern("server error", r"httperror: 5\d\d server error|httpstatuserror: server error", 0.9, raised=True),
            Pattern(
                "timeout|read timed out",
                r"(?:connecttimeout|readtimeout|connect timeout|read timed out|read timeout on endpoint"
                r"|(?:connect|read)timeouterror"
                r"|(?:^|socket\.)timeout(?:error)?: (?:the (?:read|write|handshake) operation )?timed out)\b",
                0.9,
                raised=True,
                unless=_HUB,
            ),
            Pattern(
                "connectionerror|connecterror|proxyerror|sslerror",
                r"(?:requests|aiohttp|httpx|urllib3|botocore|wandb|redis|grpc)\S{0,80}(?:connection|connect"
                r"|proxy|ssl)error",
                0.9,
                raised=True,
                unless=_HUB,
            ),
            Pattern("certificate_verify_failed", weight=0.92, raised=True),
            Pattern(
                "cannot connect to host", r"cannot connect to host \S{1,200}:\d{1,5}\b", 0.9, raised=True, unless=_HUB
            ),
            Pattern("clientconnectorerror", weight=0.9, raised=True, unless=_HUB),
            Pattern(
                "serverdisconnectederror|clientpayloaderror",
                r"\b(?:serverdisconnected|clientpayload)error\b",
                0.85,
                raised=True,
            ),
            Pattern("sslerror", weight=0.88, raised=True, unless=_HUB),
            Pattern("proxyerror", weight=0.9, raised=True, unless=_HUB),
            Pattern("commerror", r"wandb\S{0,40}commerror", 0.9, raised=True),
            Pattern(
                "communicating with wandb|communicate with backend",
                r"error communicating with wandb|couldn't communicate with backend",
                0.86,
                raised=True,
            ),
            Pattern("endpointconnectionerror", weight=0.92, raised=True),
            Pattern("could not connect to the endpoint url", weight=0.92, raised=True),
            Pattern("api", r"api(?:connection|timeout)error\b", 0.88, raised=True),
            Pattern("incompleteread|chunkedencodingerror", r"incompleteread\b|chunkedencodingerror", 0.88, raised=True),
            Pattern("failed to connect to all addresses", weight=0.88, raised=True),
            Pattern(
                "connection_failed|connection failed",
                r"\bconnection[_ ]failed\b|_connection_failed\b",
                0.78,
                raised=True,
            ),
            Pattern("_inactiverpcerror", weight=0.7, raised=True),
            Pattern("statuscode.", r"statuscode\.(?:unavailable|deadline_exceeded)\b", 0.9, raised=True),
            Pattern("curl: (", r"^curl: \((?:5|6|7|16|18|22|28|35|51|52|55|56|58|60|77|83|92)\) ", 0.88),
            # Its last lines, below the one that says what was wrong.
            Pattern("curl failed to verify the legitimacy of", weight=0.7),
            # What wget says of a certificate, of a connection and of an answer.
            Pattern(
                "the certificate of |cannot verify ",
                r"^error: (?:the certificate of .{1,200}(?:trusted|issuer|expired|revoked|activated)"
                r"|cannot verify .{1,200}certificate)",
                0.9,
            ),
            Pattern("unable to establish ssl connection", weight=0.88),
            Pattern("error: failed to fetch: ", r"^error: failed to fetch: ", 0.88),
            Pattern("... failed: ", r"^connecting to \S.{0,200}\.\.\. failed: (?:connection|no route|network)", 0.86),
            Pattern(
                " error 40| error 42| error 50",
                r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d error (?:40|42|50)\d: \w",
                0.86,
            ),
            Pattern(
                "after connection broken by", r"\bretrying \(retry\(total=0\b.{1,200} after connection broken by", 0.9
            ),
            Pattern(
                "connection refused|connectionrefusederror",
                r"connectionrefusederror|connection refused",
                0.8,
                raised=True,
            ),
            Pattern("connection timed out|[errno 110]", r"\[errno 110\]|connection timed out", 0.85, raised=True),
            Pattern("connection reset by peer", weight=0.76, raised=True, role=Role.CASCADE),
            Pattern("brokenpipeerror", weight=0.55, raised=True, role=Role.CASCADE),
            Pattern("broken pipe", weight=0.74, raised=True, role=Role.CASCADE),
            Pattern("remote end closed connection", weight=0.85, raised=True, unless=_HUB),
            Pattern("ssh: connect to host", weight=0.88),
            # The network of MPI: Omni-Path, InfiniBand and what lies over them.
            Pattern(
                "unable to open an endpoint|can't open hfi unit|can't open nic unit",
                r"psm\d? was unable to open an endpoint|psm\d? can't open (?:hfi|nic) unit",
                0.8,
            ),
            # What ssh itself ends with; a command it ran elsewhere gives its own code.
            Pattern(
                "exit status 255",
                r"command .{0,40}\bssh .{1,600}returned non-zero exit status 255",
                0.8,
                raised=True,
            ),
        ),
        neighbours=("hub_access", "rendezvous_failed"),
        tell="curl -v URL from that node",
    ),
    Cause(
        "hub_access",
        "the model hub refused the request or could not be reached",
        Retry.AFTER_FIX,
        (
            "check the name, that your token may read it (huggingface-cli whoami; accept the licence of "
            "gated models), and HF_TOKEN in the job's environment",
            "on nodes without internet access, download beforehand and set HF_HUB_OFFLINE=1 with the same cache",
        ),
        (
            Pattern(
                "cannot find the requested files",
                r"cannot find the requested files in the (?:cached path|disk cache|local cache)",
                0.94,
                raised=True,
            ),
            Pattern("gatedrepoerror", weight=0.97, raised=True),
            Pattern("notexisterror", r"modelscope\S{0,40}notexisterror", 0.93, raised=True),
            Pattern("repositorynotfounderror", weight=0.96, raised=True),
            Pattern("gated repo", r"(?:access|is) (?:a )?gated repo|cannot access gated repo", 0.96, raised=True),
            Pattern("gated dataset", weight=0.93, raised=True),
            Pattern("couldn't reach server at", r"couldn't reach server at '", 0.86, raised=True),
            Pattern("not a valid model identifier", weight=0.95, raised=True),
            Pattern("path_or_model_id", r"incorrect path_or_model_id", 0.88, raised=True),
            Pattern("couldn't connect to", rf"couldn't connect to '?https?://(?:{_HUB})", 0.96, raised=True),
            Pattern("couldn't connect to the hub", weight=0.95, raised=True),
            Pattern("localentrynotfounderror", weight=0.94, raised=True),
            Pattern("offlinemodeisenabled", weight=0.94, raised=True),
            Pattern("hfhubhttperror", weight=0.94, raised=True),
            Pattern("entrynotfounderror", weight=0.9, raised=True),
            Pattern("revisionnotfounderror", weight=0.94, raised=True),
            Pattern("client error", rf"\d{{3}} client error.{{0,200}}(?:{_HUB})", 0.95, raised=True),
            Pattern("server error", rf"5\d\d server error.{{0,200}}(?:{_HUB})", 0.93, raised=True),
            Pattern(
                "huggingface|hf.co|hf-mirror|modelscope|the hub",
                rf"(?:max retries exceeded|connectionerror|connecttimeout|readtimeout|name resolution"
                rf"|unreachable|sslerror|proxyerror|timed out).{{0,300}}(?:{_HUB})"
                rf"|(?:{_HUB}).{{0,300}}(?:max retries exceeded|name resolution|unreachable|timed out"
                rf"|refused)",
                0.95,
                raised=True,
            ),
            Pattern("outgoing traffic has been disabled", weight=0.95, raised=True),
            Pattern("couldn't reach", r"couldn't reach .{0,120}(?:on the hub|huggingface)", 0.94, raised=True),
            Pattern("doesn't exist on the hub", weight=0.95, raised=True),
            Pattern("datasetnotfounderror", weight=0.93, raised=True),
            Pattern(
                "can't load",
                r"can't load (?:tokenizer|the configuration|feature extractor|image processor|the model"
                r"|config) .{0,400}huggingface\.co",
                0.85,
                raised=True,
            ),
            Pattern("repository not found for url", weight=0.95, raised=True),
            Pattern("invalid user token", weight=0.94, raised=True),
            Pattern("huggingface-cli login", weight=0.85, raised=True),
            Pattern("repo id must", weight=0.7, raised=True),
        ),
        neighbours=("network_error", "file_missing"),
        tell="huggingface-cli whoami; curl -I https://huggingface.co from that node",
    ),
    Cause(
        "port_in_use",
        "a network port was already in use",
        Retry.WITH_CHANGE,
        (
            "take another port (torchrun --master_port or --rdzv_endpoint host:0), or end the old process "
            "that holds it (ss -ltnp)",
        ),
        (
            Pattern("address already in use", weight=0.96),
            Pattern("eaddrinuse", weight=0.96),
            Pattern("[errno 98]", weight=0.96),
            Pattern("errno: 98", weight=0.96),
            Pattern("port", r"\bport \d{1,5} is (?:already )?(?:in use|occupied|taken)\b", 0.85, raised=True),
            Pattern(
                "port",
                r"\bfind (?:an? )?(?:empty|free|available|open|unused) port\b|\bno (?:free|available|empty) ports?\b",
                0.93,
                raised=True,
            ),
            Pattern("server socket has failed to listen", weight=0.95),
            Pattern("failed to start the grpc server", weight=0.9, raised=True),
            Pattern(
                "in use by another program|could not bind to port",
                r"\bport \d{1,5} is in use by another program|could not bind to port \d{1,5}, it was already in use",
                0.88,
            ),
            Pattern("port", r"\bport .{1,20}, but another process is (?:utili[sz]ing|using) it", 0.96, raised=True),
        ),
        neighbours=("rendezvous_failed",),
        tell="ss -ltnp | grep PORT",
    ),
)
