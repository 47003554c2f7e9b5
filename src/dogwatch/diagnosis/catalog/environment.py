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
        neighbours=("code_error", "cuda_unavailable"),
        tell="which python; pip list | grep NAME",
    ),
)
