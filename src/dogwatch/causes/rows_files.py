"""Causes in tensors, checkpoints and files: what does not fit, is damaged, missing or closed to us."""

from __future__ import annotations

from dogwatch.causes.interface import Cause, Retry, Sign

_UNLIKE = (
    r"(?:(?:do|does|did) ?n[o']t (?:match|agree|fit)|(?:must|should) (?:match|agree|be (?:the same|equal|identical))"
    r"|mismatch(?:ed)?|incompatible|inconsistent|the same|(?:not|un)equal|but (?:got|found|received)|differ(?:s|ent)?)"
)
_STATE_DICT = r"error\(s\) in loading state_dict|state_dict|copying a param|checkpoint"

rows = (
    Cause(
        "shape_mismatch",
        "tensor shapes do not fit together",
        Retry.AFTER_FIX,
        (
            "print the shapes just before the failing line; a changed batch, sequence length, vocabulary or "
            "number of classes is the usual reason",
        ),
        (
            Sign("inconsistent tensor size", weight=0.94, raised=True),
            # TensorFlow says what is wrong some lines under the exception that it raises.
            Sign(
                "incompatible shapes: [|size-incompatible: in[0]|labels must be broadcastable|input to reshape is a",
                r"^\s{0,8}(?:\(\d\) )?(?:invalid_?argument: {1,2})?(?:incompatible shapes: \[[\d,]{0,80}\] vs\. \["
                r"|matrix size-incompatible: in\[0\]|logits and labels must be broadcastable"
                r"|input to reshape is a tensor with \d)",
                0.92,
            ),
            Sign(
                "cannot batch tensors with different shapes",
                r"^\s{0,8}(?:\(\d\) )?(?:invalid_?argument: {1,2})?cannot batch tensors with different shapes",
                0.92,
            ),
            Sign("the number of sizes provided", weight=0.9, raised=True),
            Sign("need to be at least 1d", weight=0.86, raised=True),
            Sign("number of dimensions in the tensor input does not match", weight=0.94, raised=True),
            Sign("sizes do not match", weight=0.92, raised=True),
            Sign("size mismatch", r"^(?:runtimeerror|valueerror): size mismatch", 0.9, raised=True),
            Sign("shapes cannot be multiplied", weight=0.97, raised=True),
            Sign(
                "must match mat2|must be a matrix",
                r"mat\d (?:dim \d must match mat2|must be a matrix)",
                0.92,
                raised=True,
            ),
            Sign("size mismatch", r"size mismatch(?:,| for| between|:)", 0.9, raised=True, unless=_STATE_DICT),
            Sign(
                "must match the size",
                r"size of tensor \w{1,10} \(\d{1,12}\) must match the size of tensor",
                0.97,
                raised=True,
            ),
            Sign("is invalid for input of size", weight=0.97, raised=True),
            Sign("sizes of tensors must match", weight=0.97, raised=True),
            Sign("each tensor to be equal size", weight=0.97, raised=True),
            Sign(
                "could not be broadcast|could not broadcast",
                r"(?:operands )?could not be broadcast|could not broadcast input array",
                0.96,
                raised=True,
            ),
            Sign(
                "broadcast",
                r"doesn'?t match the broadcast shape|incompatible shapes for broadcasting|not broadcastable"
                r"|objects cannot be broadcast",
                0.95,
                raised=True,
            ),
            Sign("batch_size", r"expected input batch_size \(\d{1,12}\) to match target batch_size", 0.97, raised=True),
            Sign("not aligned", r"shapes .{1,80} not aligned", 0.95, raised=True),
            Sign("mismatch in its core dimension", weight=0.95, raised=True),
            Sign("incompatible shapes", weight=0.95, raised=True),
            Sign("dimensions must be equal", weight=0.94, raised=True),
            Sign("channels, but got", r"to have \d{1,9} channels, but got \d{1,9} channels", 0.97, raised=True),
            Sign("running_mean should contain", weight=0.95, raised=True),
            Sign("normalized_shape", r"given normalized_shape", 0.94, raised=True),
            Sign("inhomogeneous shape", weight=0.92, raised=True),
            Sign("is incompatible with the layer", weight=0.94, raised=True),
            Sign("does not broadcast with", r"does not broadcast with previously seen size", 0.95, raised=True),
            Sign("shapeerror", r"^[\w.]{0,80}shapeerror: ", 0.9, raised=True),
            Sign("contracting dimensions", weight=0.94, raised=True),
            Sign("must be the same as input size", weight=0.95, raised=True),
            Sign("split_with_sizes expects", weight=0.94, raised=True),
            Sign("shape mismatch", r"shape mismatch", 0.92, raised=True),
            Sign(
                "shape",
                r"\bshapes? (?:must be equal|do(?:es)? not match|don'?t match|mismatch|must match|cannot be)"
                r"|mismatched (?:tensor )?shapes?",
                0.93,
                raised=True,
                unless=_STATE_DICT,
            ),
            Sign("expanded size of the tensor", weight=0.96, raised=True),
            Sign("cannot reshape", r"cannot reshape (?:array|tensor)", 0.94, raised=True),
            Sign("total size of new array must be unchanged", weight=0.94, raised=True),
            Sign(
                "expected size|expected tensor",
                r"expected size for first two dimensions|expected tensor .{0,60}size",
                0.9,
                raised=True,
            ),
            Sign(
                "dimension|number of dims",
                r"(?:number of dim(?:ension)?s|dimensions?) .{0,80}(?:do(?:es)?n'?t match|do not match"
                r"|mismatch|must match|out of range)|all the input array(?:s|'s)? .{0,40}dimensions?",
                0.88,
                raised=True,
            ),
            Sign("view size is not compatible", weight=0.75, raised=True),
            # Whatever the words of a program that compares two shapes.
            Sign(
                "shape|dimension|dims|ndim|tensor|matri|array",
                rf"\b(?:shapes?|dimensions?|dims|ndims?)\b.{{0,120}}\b{_UNLIKE}|\b{_UNLIKE}\b.{{0,80}}\b(?:shapes?|dimensions?)\b"
                rf"|\b(?:tensors?|matri(?:x|ces)|arrays?)\b.{{0,120}}\bsizes?\b.{{0,80}}\b{_UNLIKE}"
                rf"|\b{_UNLIKE} (?:tensor|matrix|array) sizes?\b|\btensors?\b.{{0,120}}\bto have the same sizes?\b",
                0.85,
                raised=True,
                unless=_STATE_DICT + r"|embedding dimension of|typeerror|dtype|parallel|world.size",
            ),
            Sign(
                "features, but|numbers of samples|cardinality is ambiguous|expected",
                r"\bx has \d{1,9} features, but |inconsistent numbers of samples|data cardinality is ambiguous"
                r"|\bexpected \d(?:-?d| dim\w{0,8}) (?:\w{1,20} )?(?:input|array|tensor)\b",
                0.86,
                raised=True,
            ),
            # Keras says what is wrong some lines under the exception that it raises.
            Sign(
                "is incompatible with the layer",
                r"^\s{0,8}input \d{1,3} of layer \S{1,120} is incompatible with the layer: ",
                0.92,
            ),
            Sign(
                "unable to create tensor",
                r"unable to create tensor, you should probably activate truncation",
                0.85,
                raised=True,
            ),
            Sign("axes don't match array", weight=0.94, raised=True),
        ),
        examples=(
            "Incompatible shapes: [24] vs. [24,31]",
            "RuntimeError: mat1 dim 1 must match mat2 dim 0",
            "  (1) INVALID_ARGUMENT:  Cannot batch tensors with different shapes in component 0. First element had "
            "shape [40,50,3] and element 1 had shape [36,34,3].",
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 768x256)",
            "RuntimeError: The size of tensor a (77) must match the size of tensor b (64) at non-singleton dimension 1",
            "RuntimeError: shape '[8, 12, 64]' is invalid for input of size 4096",
            "RuntimeError: stack expects each tensor to be equal size, but got [3, 224, 224] at entry 0 and "
            "[1, 224, 224] at entry 5",
            "ValueError: operands could not be broadcast together with shapes (3,4) (5,)",
            "ValueError: Expected input batch_size (64) to match target batch_size (32).",
            "tensorflow.python.framework.errors_impl.InvalidArgumentError: Incompatible shapes: [32,10] vs. [32,12]",
            "ValueError: Source and result must have the same number of spatial dimensions, but got 2 and 3",
            "RuntimeError: Incompatible matrix sizes for lu_solve: each A matrix is 4 by 4 but each b matrix is 9 by 4",
            "RuntimeError: Expected tensor [4 x 5], src [4 x 8] and index [4 x 5] to have the same size apart from "
            "dimension 0",
            "ValueError: X has 7 features, but RobustScaler is expecting 9 features as input.",
            "ValueError: Expected 2D array, got 1D array instead:",
            '    Input 0 of layer "conv2d_9" is incompatible with the layer: expected axis -1 of input shape to have '
            "value 3, but received input with shape (None, 28, 28, 1)",
        ),
        counterexamples=(
            "size mismatch for head.weight: copying a param with shape torch.Size([10, 768]) from "
            "checkpoint, the shape in current model is torch.Size([5, 768]).",
            "output shape: (32, 10)",
            "ValueError: all workers must use the same seed",
            "AssertionError: tensor parallel size must be the same on both sides",
        ),
        neighbours=("config_error", "checkpoint_mismatch"),
        tell="the shapes just before the failing line",
    ),
    Cause(
        "checkpoint_mismatch",
        "the checkpoint does not fit the model or the way it is run",
        Retry.AFTER_FIX,
        (
            "resume with the settings the checkpoint was made with (model size, vocabulary, number of ranks, "
            "optimizer), or start from its weights alone",
        ),
        (
            Sign("checkpoint contains only the model", weight=0.94, raised=True),
            Sign("shape mismatch for loaded", weight=0.97, raised=True),
            Sign("tree structures do not match", weight=0.92, raised=True),
            Sign(
                "checkpointvalue|checkpoint value",
                r"checkpoint ?value .{1,120} (?:do|does) not match",
                0.95,
                raised=True,
            ),
            Sign("in loading state_dict", r"error\(s\) in loading state_dict", 0.97, raised=True),
            Sign("key(s) in state_dict", r"(?:missing|unexpected) key\(s\) in state_dict", 0.93, raised=True),
            Sign("copying a param with shape", weight=0.94, raised=True),
            Sign(
                "loaded state dict",
                r"loaded state dict (?:contains a parameter group|has a different number)",
                0.97,
                raised=True,
            ),
            Sign(
                "world size",
                r"checkpoint.{0,120}(?:dp |data parallel )?world size of \d{1,6} but the current world size",
                0.96,
                raised=True,
            ),
            Sign(
                "value from checkpoint",
                r"value from checkpoint \(.{1,80}\) is not equal to the input argument",
                0.96,
                raised=True,
            ),
            Sign(
                "state dict",
                r"(?:target dict keys and state dict keys do not match|state dict .{0,80}does not match|does "
                r"not match .{0,40}state dict)",
                0.94,
                raised=True,
            ),
            Sign("not found in checkpoint", r"key \S{1,200} not found in checkpoint", 0.95, raised=True),
            Sign("ignore_mismatched_sizes", weight=0.94, raised=True),
            Sign("trying to set a tensor of shape", weight=0.94, raised=True),
            Sign(
                "mismatch|does not match|do not match|incompatible|different",
                r"(?:checkpoint|saved|restored?)\b.{0,160}\b(?:mismatch|do(?:es)? not match|incompatible"
                r"|different)\b|\bmismatch\b.{0,80}\bcheckpoint",
                0.85,
                raised=True,
            ),
            Sign("layer count mismatch", weight=0.9, raised=True),
            Sign(
                "loading weights|load weights|weights were not initialized",
                r"(?:loading|load) weights.{0,120}(?:mismatch|unexpected|not initialized from checkpoint)"
                r"|weights were not initialized from checkpoint",
                0.88,
                raised=True,
            ),
        ),
        examples=(
            "RuntimeError: Error(s) in loading state_dict for GPT:",
            "size mismatch for head.weight: copying a param with shape torch.Size([10, 768]) from "
            "checkpoint, the shape in current model is torch.Size([5, 768]).",
            "ValueError: loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
            "AssertionError: hidden_size value from checkpoint (4096) is not equal to the input argument value (2048).",
        ),
        counterexamples=(
            "Loaded checkpoint, all keys match",
            "WARNING: The model and loaded state dict do not match exactly",
        ),
        neighbours=("shape_mismatch", "checkpoint_corrupt"),
        tell="the settings saved beside the checkpoint",
    ),
    Cause(
        "checkpoint_corrupt",
        "a checkpoint or data file is damaged or cut off",
        Retry.AFTER_FIX,
        (
            "go back to the checkpoint before it, and remove or re-download the damaged file",
            "a full disk or a kill while saving is the usual reason: check both",
        ),
        (
            Sign("unable to load weights from pytorch checkpoint", weight=0.86, raised=True),
            Sign("badgzipfile", weight=0.9, raised=True),
            Sign("unidentifiedimageerror", weight=0.88, raised=True),
            Sign("file is truncated", r"(?:image )?file is truncated", 0.88, raised=True),
            Sign("pytorchstreamreader failed", weight=0.95, raised=True),
            Sign("failed finding central directory", weight=0.96, raised=True),
            Sign("archive is corrupted", weight=0.95, raised=True),
            Sign("file might be corrupted", weight=0.95, raised=True),
            Sign("unpicklingerror", weight=0.93, raised=True, unless=r"weights_only|weights only"),
            Sign("invalid load key", weight=0.94, raised=True),
            Sign("pickle data was truncated", weight=0.95, raised=True),
            Sign("ran out of input", r"eoferror: ran out of input", 0.88, raised=True),
            Sign(
                "safetensor|deserializing header",
                r"safetensor\w{0,10}error.{0,80}(?:deserializ|header|incomplete|invalid)|error while "
                r"deserializing header",
                0.95,
                raised=True,
            ),
            Sign(
                "truncated file",
                r"unable to (?:synchronously )?open file \(truncated file|truncated file: eof",
                0.94,
                raised=True,
            ),
            Sign("file signature not found", weight=0.9, raised=True),
            Sign("bad magic number|not an sstable", r"not an sstable|bad magic number", 0.88, raised=True),
            Sign("dataloss|data_loss", r"datalosserror|data_loss: ", 0.93, raised=True),
            Sign("badzipfile", weight=0.9, raised=True),
            Sign(
                "tarfile.readerror|lzmaerror|zlib.error|unexpected end of data",
                r"tarfile\.readerror: |lzmaerror: |zlib\.error: |unexpected end of data",
                0.88,
                raised=True,
            ),
            Sign(
                "corrupt",
                r"(?:checkpoint|file|archive|shard|record|weights?)\b.{0,80}\b(?:is|are|was|appears?|seems?"
                r"|may be|be)? ?corrupt",
                0.88,
                raised=True,
            ),
            Sign("storage has wrong", r"storage has wrong (?:byte )?size", 0.94, raised=True),
            Sign("checksum", r"checksum (?:does not match|mismatch|failed)", 0.88, raised=True),
            Sign("crc", r"crc(?:32)? (?:check failed|mismatch)|bad crc", 0.88, raised=True),
        ),
        examples=(
            "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
            "_pickle.UnpicklingError: pickle data was truncated",
            "EOFError: Ran out of input",
            "tarfile.ReadError: unexpected end of data",
            "zlib.error: Error -3 while decompressing data: invalid block type",
            "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer",
            "OSError: Unable to synchronously open file (truncated file: eof = 96, sblock->base_addr = 0, "
            "stored_eof = 2048)",
        ),
        counterexamples=("checkpoint verified, checksum ok",),
        neighbours=("checkpoint_mismatch", "disk_full"),
        tell="ls -l of the checkpoint beside an older one; python -m zipfile -t FILE",
    ),
    Cause(
        "file_missing",
        "a file or folder is not there",
        Retry.AFTER_FIX,
        (
            "check the path in the line on the machine that ran it: a relative path, a mount or a finished "
            "clean-up is the usual reason",
        ),
        (
            Sign("_src.empty()", weight=0.76, raised=True),
            Sign("filenotfounderror", weight=0.95, raised=True),
            Sign("no such file or directory", weight=0.9, raised=True),
            Sign("can't open file", r"can't open file '[^']{1,300}': \[errno 2\]", 0.96, fatal=True),
            Sign(
                "no such file or directory",
                r"^(?:\S{1,80}: )?(?:cat|cp|mv|ls|cd|tar|source|bash|sh|rm|head|python\d?)\b.{0,200}: no "
                r"such file or directory",
                0.72,
            ),
            Sign(
                "no such file or directory", r"^[^\s:]{1,200}: line \d{1,6}: .{1,300}: no such file or directory", 0.8
            ),
            Sign(
                "error: can't open|error: cannot open|error: could not open|error: unable to open",
                r"^(?:fatal )?error: (?:can't|cannot|could not|unable to) open (?:\w{1,20} ){0,3}(?:file|folder)\b",
                0.8,
            ),
            Sign("notadirectoryerror", weight=0.9, raised=True),
            Sign("isadirectoryerror", weight=0.85, raised=True),
            Sign(
                "does not exist|doesn't exist",
                r"\b(?:does not|doesn't) exist\b",
                0.85,
                raised=True,
                unless=r"\bhub\b|attribute|column|key\b|\b(?:tokenizer|model) class\b|gym(?:nasium)?\.error\.",
            ),
            Sign(
                "not found|could not find|couldn't find",
                r"(?:file|path|directory|folder|checkpoint|dataset|norm\w{0,12} stats)\b.{0,120}\bnot found"
                r"|(?:could not|couldn't) find (?:any )?(?:file|checkpoint|directory|dataset|path|folder)",
                0.85,
                raised=True,
            ),
            Sign("checkpoint", r"\bno (?:valid )?checkpoints? (?:was |were )?found\b", 0.85, raised=True),
            Sign("does not appear to have a file named", weight=0.85, raised=True),
            Sign(
                "unable to open file", r"unable to (?:synchronously )?open file \(unable to open file", 0.9, raised=True
            ),
            Sign("stale file handle", weight=0.8, raised=True),
            Sign("nosuchkey|nosuchbucket", r"\b(?:nosuchkey|nosuchbucket)\b", 0.92, raised=True),
            Sign("api_core.exceptions.notfound", weight=0.9, raised=True),
            Sign(
                " not found",
                r"(?:^|[\s'\":])(?:\.{0,2}/|~/)[^\s'\"]{2,300}['\"]? (?:was )?not found\b",
                0.88,
                raised=True,
            ),
            Sign("no file named", r"no file named .{1,200} found in directory", 0.88, raised=True),
        ),
        examples=(
            "FileNotFoundError: [Errno 2] No such file or directory: '/data/train/part-0007.parquet'",
            "python: can't open file 'trian.py': [Errno 2] No such file or directory",
            "OSError: Error no file named pytorch_model.bin, model.safetensors found in directory ./out/checkpoint-40.",
            "AssertionError: dataset path ./data/coco does not exist",
            "ValueError: No valid checkpoint found in output directory (runs/pretrain-7)",
            "botocore.errorfactory.NoSuchKey: An error occurred (NoSuchKey) when calling the GetObject operation: "
            "The specified key does not exist.",
        ),
        counterexamples=(
            "Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so: libtpu.so: cannot open "
            "shared object file: No such file or directory",
            "[Errno 2] handled: cache file not found, building it",
        ),
        neighbours=("permission_denied", "config_error"),
        tell="ls -l PATH on the machine that ran it",
    ),
    Cause(
        "permission_denied",
        "something may not be read, written or used",
        Retry.AFTER_FIX,
        ("check owner and mode of the path in the line (ls -ld PATH), or use one that is yours",),
        (
            Sign("permissionerror", weight=0.95, raised=True),
            Sign("[winerror 5]", weight=0.93, raised=True),
            Sign("permission denied", weight=0.9, raised=True),
            Sign(
                "permission denied",
                r"^(?:\S{1,160}: ){1,3}.{0,200}permission denied\s{0,4}$|permission denied \(publickey",
                0.85,
            ),
            Sign("execve()", r"error: execve\(\): .{1,200}: permission denied", 0.95, fatal=True),
            Sign("[errno 13]", weight=0.94, raised=True),
            Sign("read-only file system", weight=0.92),
            Sign("operation not permitted", weight=0.85, raised=True),
            Sign("accessdenied|access denied", r"\baccessdenied\b|access denied", 0.88, raised=True),
            Sign("credentialserror", r"(?:no|default|partial|invalid)credentialserror", 0.88, raised=True),
            Sign("forbidden", r"\b403\b.{0,80}\bforbidden\b", 0.85, raised=True),
            Sign("api_core.exceptions.forbidden", weight=0.93, raised=True),
            Sign("authenticationerror", r"\bauthenticationerror\b", 0.88, raised=True, unless="verifying the api key"),
            Sign("permissiondeniederror", weight=0.9, raised=True),
            Sign("denied on resource", r"permission '[\w.]{1,80}' denied on resource", 0.93, raised=True),
        ),
        examples=(
            "PermissionError: [Errno 13] Permission denied: '/shared/cache/tokens.lock'",
            "bash: ./launch.sh: Permission denied",
            "slurmstepd: error: execve(): /proj/run_all.sh: Permission denied",
            "OSError: [Errno 30] Read-only file system: '/opt/models/out'",
            "google.auth.exceptions.DefaultCredentialsError: Your default credentials were not found.",
            "botocore.exceptions.ClientError: An error occurred (403) when calling the HeadObject operation: Forbidden",
            "botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling the PutObject "
            "operation: Access Denied",
        ),
        counterexamples=("permissions: rw-r--r--",),
        neighbours=("file_missing", "launch_failed"),
        tell="ls -ld PATH; id",
    ),
    Cause(
        "dataloader_worker_died",
        "a data-loading worker died",
        Retry.WITH_CHANGE,
        (
            "use fewer workers (num_workers) and look at the memory of the machine: the kernel's memory "
            "killer is the usual killer",
            "run once with num_workers=0 to see an error of the dataset itself",
        ),
        (
            Sign(
                "dataloader worker",
                r"dataloader worker \(pid(?:\(s\))? [\d, ]{1,200}\) (?:exited unexpectedly|is killed by signal)",
                0.93,
                unless=r"bus error|out of shared memory",
            ),
            Sign(
                "worker",
                r"(?:data ?loader|loader|dataset) worker.{0,60}(?:died|exited unexpectedly|was killed)",
                0.88,
                raised=True,
            ),
            Sign("background workers are no longer alive", weight=0.86, raised=True),
            Sign("pin memory thread exited unexpectedly", weight=0.8),
            Sign("dataloader timed out after", weight=0.88, raised=True),
        ),
        examples=(
            "RuntimeError: DataLoader worker (pid 4410) is killed by signal: Killed.",
            "RuntimeError: DataLoader worker (pid(s) 881, 882) exited unexpectedly",
            "RuntimeError: DataLoader timed out after 60 seconds",
            "RuntimeError: Some background workers are no longer alive",
            "RuntimeError: DataLoader worker (pid 4410) is killed by signal: Segmentation fault.",
        ),
        counterexamples=(
            "FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 2.",
            "This DataLoader will create 16 worker processes in total",
        ),
        neighbours=("host_oom", "shm_exhausted", "segfault"),
        tell="dmesg -T | grep -i oom; num_workers=0",
    ),
)
