"""The cause in what is installed around a program: modules and libraries that are missing or do not fit."""

from __future__ import annotations

from dogwatch.diagnosis.interface import Cause, Pattern, Retry, Role

rows = (
    Cause(
        "missing_module",
        "a Python module or shared library is missing or incompatible",
        Retry.AFTER_FIX,
        (
            "install it into the environment that the job uses (which python; pip show NAME), or activate "
            "the right one",
            "an undefined symbol means that a compiled package was built for another version: rebuild it "
            "against the installed torch",
        ),
        (
            Pattern("may indicate binary incompatibility", weight=0.92, raised=True),
            Pattern("modulenotfounderror", weight=0.96, raised=True),
            Pattern("error while finding module", r"error while finding module specification for", 0.96, fatal=True),
            Pattern("no module named", r"(?:^|: |\()no module named ['\w]", 0.93, raised=True),
            Pattern("no module named", r"^\S{1,200}python[\d.]{0,5}: no module named \S", 0.96, fatal=True),
            Pattern("importerror", weight=0.94, raised=True),
            Pattern("undefined symbol", weight=0.94, raised=True),
            Pattern("[winerror ", r"\[winerror (?:126|127|182|193|1114)\]", 0.93, raised=True),
            Pattern("error while loading shared libraries", weight=0.96, fatal=True),
            Pattern("symbol lookup error", weight=0.95, fatal=True),
            Pattern("cannot open shared object file", weight=0.93, raised=True, unless=r"libcuda\.so"),
            Pattern("' not found (required by", r"version `\S{1,40}' not found \(required by", 0.95, raised=True),
            Pattern(
                "' not found (required by",
                r"^\S{1,200}: \S{1,200}: version `\S{1,40}' not found \(required by",
                0.94,
                fatal=True,
            ),
            # Perl, R, Julia and Node.
            Pattern(
                "in @inc|there is no package called|not found in current path|cannot find module '",
                r"^can't locate \S{1,200}\.pm in @inc\b|^error in .{0,200}: there is no package called "
                r"|\bargumenterror: package \S{1,80} not found in current path|^error: cannot find module '",
                0.93,
                fatal=True,
            ),
            # It needs sentencepiece or tiktoken for the files that are there, and says so a few lines below.
            Pattern("couldn't instantiate the backend tokenizer", weight=0.86, raised=True),
            Pattern("packagenotfounderror", weight=0.93, raised=True, unless=r"\bconda\b"),
            Pattern("distributionnotfound", weight=0.94, raised=True),
            Pattern(
                "no solution found when resolving", r"\bno solution found when resolving (?:\w{1,20} )?dependenc", 0.88
            ),
            Pattern("no matching distribution found for", r"^\s{0,12}error: no matching distribution found for", 0.86),
            Pattern("cuda_home", r"cuda_home (?:environment variable is not set|does not exist)", 0.94, raised=True),
            Pattern("versionconflict", weight=0.9, raised=True),
            Pattern("dependencynotinstalled", weight=0.94, raised=True),
            # What was built for another version than the one that is there.
            Pattern(
                "does not exist|custom c++ ops|different cuda versions|compiled against api version"
                "|numpy is not available|used to compile pytorch|failed to open lib",
                r"\boperator \w{1,60}::\w{1,60} does not exist|\bclass '[\w.]{1,80}', but it does not exist"
                r"|couldn't load custom c\+\+ ops"
                r"|compiled with different cuda versions|module compiled against api version|numpy is not available"
                r"|mismatches the version that was used to compile pytorch|failed to open lib[\w.-]{1,60}\.so",
                0.88,
                raised=True,
            ),
            # An exception that says how to install what it lacks.
            Pattern(
                "pip install|pip3 install|conda install|apt install|apt-get install",
                r"\b(?:pip3?|conda|apt|apt-get) install\b",
                0.86,
                raised=True,
            ),
            Pattern("error locating target", r"^error locating target '", 0.8, fatal=True),
            Pattern("the following module(s) are unknown", weight=0.7, role=Role.CASCADE),
            Pattern("failed to import", r"failed to import \S{1,120} because of the following error", 0.7, raised=True),
        ),
        examples=(
            "ValueError: Couldn't instantiate the backend tokenizer from one of:",
            "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 88 from C header",
            "ModuleNotFoundError: No module named 'flash_attn'",
            "/opt/env/bin/python: Error while finding module specification for 'acme.train' "
            "(ModuleNotFoundError: No module named 'acme')",
            "/usr/bin/python3: No module named torch.distributed.run",
            "Can't locate Text/Acme.pm in @INC (you may need to install it) (@INC contains: /etc/perl)",
            "ERROR: LoadError: ArgumentError: Package Acme not found in current path.",
            'OSError: [WinError 126] The specified module could not be found. Error loading "C:\\env\\lib\\shm.dll"',
            "ERROR: No matching distribution found for acme-kernels==2.7",
            "  × No solution found when resolving dependencies:",
            "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
            "ImportError: /opt/env/lib/python3.11/site-packages/flash_attn_2_cuda.so: undefined symbol: "
            "_ZN2at4_ops5zeros",
            "ImportError: /lib64/libm.so.6: version `GLIBC_2.29' not found (required by /opt/env/lib/libtriton.so)",
            "./train: /lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by ./train)",
            "RuntimeError: operator torchvision::roi_align does not exist",
            "RuntimeError: Tried to instantiate class '_fast_C.Queue', but it does not exist! Ensure ...",
            "RuntimeError: The detected CUDA version (12.6) mismatches the version that was used to compile PyTorch "
            "(11.8)",
            "RuntimeError: nvrtc: error: failed to open libnvrtc-builtins.so.11.3.",
            "RuntimeError: acme-kernels is needed for this: run `pip install acme-kernels`",
            "gymnasium.error.DependencyNotInstalled: Box2D is not installed",
            "Error locating target 'acme.data.Crystals', set env var HYDRA_FULL_ERROR=1 to see chained exception.",
            "train: error while loading shared libraries: libcudart.so.12: cannot open shared object file: "
            "No such file or directory",
        ),
        counterexamples=(
            "WARNING: No module named 'apex', using torch.optim",
            "apex is not installed; continuing without",
        ),
        neighbours=("code_error", "cuda_unavailable"),
        tell="which python; pip list | grep NAME",
    ),
)
