"""Causes in tensors and checkpoints: what does not fit, and what is damaged."""

from __future__ import annotations

from dogwatch.diagnosis.interface import Cause, Pattern, Retry

_UNLIKE = (
    r"(?:(?:do|does|did) ?n[o']t (?:match|agree|fit)|(?:must|should) (?:match|agree|be (?:the same|equal|identical))"
    r"|mismatch(?:ed)?|incompatible|inconsistent|the same|(?:not|un)equal|but (?:got|found|received)|differ(?:s|ent)?)"
)
_STATE_DICT = r"error\(s\) in loading state_dict|state_dict|copying a param|checkpoint"

rows = (
    Cause(
        "shape_mismatch",
        "tensor shapes do not match",
        Retry.AFTER_FIX,
        (
            "print the shapes just before the failing line; a changed batch, sequence length, vocabulary or "
            "number of classes is the usual reason",
        ),
        (
            Pattern("inconsistent tensor size", weight=0.94, raised=True),
            # TensorFlow says what is wrong some lines under the exception that it raises.
            Pattern(
                "incompatible shapes: [|size-incompatible: in[0]|labels must be broadcastable|input to reshape is a",
                r"^\s{0,8}(?:\(\d\) )?(?:invalid_?argument: {1,2})?(?:incompatible shapes: \[[\d,]{0,80}\] vs\. \["
                r"|matrix size-incompatible: in\[0\]|logits and labels must be broadcastable"
                r"|input to reshape is a tensor with \d)",
                0.92,
            ),
            Pattern(
                "cannot batch tensors with different shapes",
                r"^\s{0,8}(?:\(\d\) )?(?:invalid_?argument: {1,2})?cannot batch tensors with different shapes",
                0.92,
            ),
            Pattern("the number of sizes provided", weight=0.9, raised=True),
            Pattern("need to be at least 1d", weight=0.86, raised=True),
            Pattern("number of dimensions in the tensor input does not match", weight=0.94, raised=True),
            Pattern("sizes do not match", weight=0.92, raised=True),
            Pattern("size mismatch", r"^(?:runtimeerror|valueerror): size mismatch", 0.9, raised=True),
            Pattern("shapes cannot be multiplied", weight=0.97, raised=True),
            Pattern(
                "must match mat2|must be a matrix",
                r"mat\d (?:dim \d must match mat2|must be a matrix)",
                0.92,
                raised=True,
            ),
            Pattern("size mismatch", r"size mismatch(?:,| for| between|:)", 0.9, raised=True, unless=_STATE_DICT),
            Pattern(
                "must match the size",
                r"size of tensor \w{1,10} \(\d{1,12}\) must match the size of tensor",
                0.97,
                raised=True,
            ),
            Pattern("is invalid for input of size", weight=0.97, raised=True),
            Pattern("sizes of tensors must match", weight=0.97, raised=True),
            Pattern("each tensor to be equal size", weight=0.97, raised=True),
            Pattern(
                "could not be broadcast|could not broadcast",
                r"(?:operands )?could not be broadcast|could not broadcast input array",
                0.96,
                raised=True,
            ),
            Pattern(
                "broadcast",
                r"doesn'?t match the broadcast shape|incompatible shapes for broadcasting|not broadcastable"
                r"|objects cannot be broadcast",
                0.95,
                raised=True,
            ),
            Pattern(
                "batch_size", r"expected input batch_size \(\d{1,12}\) to match target batch_size", 0.97, raised=True
            ),
            Pattern("not aligned", r"shapes .{1,80} not aligned", 0.95, raised=True),
            Pattern("mismatch in its core dimension", weight=0.95, raised=True),
            Pattern("cannot concatenate arrays with shapes", weight=0.95, raised=True),
            Pattern("incompatible shapes", weight=0.95, raised=True),
            Pattern("dimensions must be equal", weight=0.94, raised=True),
            Pattern("channels, but got", r"to have \d{1,9} channels, but got \d{1,9} channels", 0.97, raised=True),
            Pattern("running_mean should contain", weight=0.95, raised=True),
            Pattern("expected shape compatible with", weight=0.96, raised=True),
            Pattern("indices imply", r"shape of passed values is .{1,60}, indices imply", 0.94, raised=True),
            Pattern("normalized_shape", r"given normalized_shape", 0.94, raised=True),
            Pattern("inhomogeneous shape", weight=0.92, raised=True),
            Pattern("is incompatible with the layer", weight=0.94, raised=True),
            Pattern("does not broadcast with", r"does not broadcast with previously seen size", 0.95, raised=True),
            Pattern("shapeerror", r"^[\w.]{0,80}shapeerror: ", 0.9, raised=True),
            Pattern("contracting dimensions", weight=0.94, raised=True),
            Pattern("must be the same as input size", weight=0.95, raised=True),
            Pattern("split_with_sizes expects", weight=0.94, raised=True),
            Pattern("shape mismatch", r"shape mismatch", 0.92, raised=True),
            Pattern(
                "shape",
                r"\bshapes? (?:must be equal|do(?:es)? not match|don'?t match|mismatch|must match|cannot be)"
                r"|mismatched (?:tensor )?shapes?",
                0.93,
                raised=True,
                unless=_STATE_DICT,
            ),
            Pattern("expanded size of the tensor", weight=0.96, raised=True),
            Pattern("cannot reshape", r"cannot reshape (?:array|tensor)", 0.94, raised=True),
            Pattern("total size of new array must be unchanged", weight=0.94, raised=True),
            Pattern(
                "expected size|expected tensor",
                r"expected size for first two dimensions|expected tensor .{0,60}size",
                0.9,
                raised=True,
            ),
            Pattern(
                "dimension|number of dims",
                r"(?:number of dim(?:ension)?s|dimensions?) .{0,80}(?:do(?:es)?n'?t match|do not match"
                r"|mismatch|must match|out of range)|all the input array(?:s|'s)? .{0,40}dimensions?",
                0.88,
                raised=True,
            ),
            Pattern("view size is not compatible", weight=0.75, raised=True),
            # Whatever the words of a program that compares two shapes.
            Pattern(
                "shape|dimension|dims|ndim|tensor|matri|array",
                rf"\b(?:shapes?|dimensions?|dims|ndims?)\b.{{0,120}}\b{_UNLIKE}|\b{_UNLIKE}\b.{{0,80}}\b(?:shapes?|dimensions?)\b"
                rf"|\b(?:tensors?|matri(?:x|ces)|arrays?)\b.{{0,120}}\bsizes?\b.{{0,80}}\b{_UNLIKE}"
                rf"|\b{_UNLIKE} (?:tensor|matrix|array) sizes?\b|\btensors?\b.{{0,120}}\bto have the same sizes?\b",
                0.85,
                raised=True,
                unless=_STATE_DICT + r"|embedding dimension of|typeerror|dtype|parallel|world.size",
            ),
            Pattern(
                "features, but|numbers of samples|cardinality is ambiguous|expected|should be of size"
                "|greater than actual input size",
                r"\bexpected sequence of length \d{1,9} at dim|kernel size can't be greater than actual input size"
                r"|\bexpected target size [\[(]|\bshould be of size [\[(].{1,80}, but is\b|\b\dd target tensor expected"
                r"|\bx has \d{1,9} features, but |inconsistent numbers of samples|data cardinality is ambiguous"
                r"|\bexpected \d(?:-?d| dim\w{0,8}) (?:\w{1,20} )?(?:input|array|tensor)\b",
                0.86,
                raised=True,
            ),
            # Keras says what is wrong some lines under the exception that it raises.
            Pattern(
                "is incompatible with the layer",
                r"^\s{0,8}input \d{1,3} (?:with name \S{1,80} )?of layer \S{1,120} is incompatible with the layer: ",
                0.92,
            ),
            Pattern(
                "unable to create tensor",
                r"unable to create tensor, you should probably activate truncation",
                0.85,
                raised=True,
            ),
            Pattern("axes don't match array", weight=0.94, raised=True),
        ),
        neighbours=("config_error", "checkpoint_mismatch"),
        tell="the shapes just before the failing line",
    ),
    Cause(
        "checkpoint_mismatch",
        "the checkpoint does not match the model or its settings",
        Retry.AFTER_FIX,
        (
            "resume with the settings the checkpoint was made with (model size, vocabulary, number of ranks, "
            "optimizer), or start from its weights alone",
        ),
        (
            Pattern("checkpoint contains only the model", weight=0.94, raised=True),
            Pattern(
                "mismatch",
                r"mismatch (?:for|between) (?:the )?(?:loaded|saved|checkpoint|restored)\b",
                0.97,
                raised=True,
            ),
            Pattern("tree structures do not match", weight=0.92, raised=True),
            Pattern("stored shape", r"\bnot (?:compatible with|equal to) the stored shape\b", 0.93, raised=True),
            Pattern(
                "checkpointvalue|checkpoint value",
                r"checkpoint ?value .{1,120} (?:do|does) not match",
                0.95,
                raised=True,
            ),
            Pattern("in loading state_dict", r"error\(s\) in loading state_dict", 0.97, raised=True),
            Pattern(
                "state_dict", r"(?:missing|unexpected) key(?:s|\(s\))? in (?:\w{1,40} )?state_dict", 0.93, raised=True
            ),
            Pattern(
                "objects could not be loaded", r"a total of \d{1,6} objects could not be loaded", 0.93, raised=True
            ),
            Pattern("copying a param with shape", weight=0.94, raised=True),
            Pattern(
                "loaded state dict",
                r"loaded state dict (?:contains a parameter group|has a different number)",
                0.97,
                raised=True,
            ),
            Pattern(
                "world size",
                r"checkpoint.{0,120}(?:dp |data parallel )?world size of \d{1,6} but the current world size",
                0.96,
                raised=True,
            ),
            Pattern(
                "value from checkpoint",
                r"value from checkpoint \(.{1,80}\) is not equal to the input argument",
                0.96,
                raised=True,
            ),
            Pattern(
                "state dict",
                r"(?:target dict keys and state dict keys do not match|state dict .{0,80}does not match|does "
                r"not match .{0,40}state dict)",
                0.94,
                raised=True,
            ),
            Pattern("not found in checkpoint", r"key \S{1,200} not found in checkpoint", 0.95, raised=True),
            Pattern("ignore_mismatched_sizes", weight=0.94, raised=True),
            Pattern("trying to set a tensor of shape", weight=0.94, raised=True),
            Pattern(
                "mismatch|does not match|do not match|incompatible|different",
                r"(?:checkpoint|saved|restored?)\b.{0,160}\b(?:mismatch|do(?:es)? not match|incompatible"
                r"|different)\b|\bmismatch\b.{0,80}\bcheckpoint",
                0.85,
                raised=True,
            ),
            Pattern("attempting to restore", r"incompatible tensor .{0,80}attempting to restore", 0.96, raised=True),
            Pattern("layer count mismatch", weight=0.9, raised=True),
            Pattern(
                "loading weights|load weights|weights were not initialized",
                r"(?:loading|load) weights.{0,120}(?:mismatch|unexpected|not initialized from checkpoint)"
                r"|weights were not initialized from checkpoint",
                0.88,
                raised=True,
            ),
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
            Pattern("unable to load weights from pytorch checkpoint", weight=0.86, raised=True),
            Pattern("badgzipfile", weight=0.9, raised=True),
            Pattern("unidentifiedimageerror", weight=0.88, raised=True),
            Pattern("pytorchstreamreader failed", weight=0.95, raised=True),
            Pattern("failed finding central directory", weight=0.96, raised=True),
            Pattern("archive is corrupted", weight=0.95, raised=True),
            Pattern("file might be corrupted", weight=0.95, raised=True),
            Pattern("unpicklingerror", weight=0.93, raised=True, unless=r"weights_only|weights only"),
            # What torch found where a pickle ought to begin.
            Pattern("unsupported operand ", r"^unsupported operand \d{1,3}\s{0,4}$", 0.93),
            Pattern("invalid load key", weight=0.94, raised=True),
            Pattern("pickle data was truncated", weight=0.95, raised=True),
            Pattern("eoferror", r"^eoferror\s{0,4}$", 0.88, raised=True, frame="_weights_only_unpickler"),
            Pattern(
                "unicodedecodeerror|keyerror: |indexerror: |struct.error",
                r"^(?:unicodedecodeerror: |keyerror: \d|indexerror: pop from empty |struct\.error)",
                0.94,
                raised=True,
                frame=r"_weights_only_unpickler|torch/serialization\.py",
            ),
            Pattern("eoferror: ", r"^eoferror: \S", 0.88, raised=True, unless="reading a line"),
            Pattern(
                "[errno 22]", weight=0.88, raised=True, frame=r"torch/serialization\.py\", line \d{1,6}, in __init__"
            ),
            Pattern(
                "xgboosterror|lightgbmerror",
                weight=0.86,
                raised=True,
                unless=r"\bopen\b|no such file",
                frame=r"\bload_model\(|\bmodel_file ?=",
            ),
            Pattern("protobuf parsing failed", weight=0.9, raised=True),
            Pattern("/json.cc:|/json.h:", r"/json\.(?:cc|h):\d{1,6}: expecting", 0.88, raised=True),
            # JSON that a program reads from a file, and not from an answer or from a line that it was given.
            Pattern(
                "jsondecodeerror",
                weight=0.86,
                raised=True,
                unless="extra data",
                frame=r"\bjson\.load\(|\bloads\((?:.{0,60}(?:\.(?:read|decode)|bytes\b)|line\b)|\.read_json\("
                r"|, in \w{0,40}(?:load|read|from)_\w{0,20}(?:json|file)",
            ),
            Pattern(
                "json parse error|when decoding |msgpack.exceptions.",
                r"json parse error|\bfound when decoding "
                r"|\bwhen decoding (?:array|object|string)|\bmsgpack\.exceptions\.\w",
                0.86,
                raised=True,
            ),
            Pattern(
                "safetensor|deserializing header",
                r"safetensor\w{0,10}error.{0,80}(?:deserializ|header|incomplete|invalid)|error while "
                r"deserializing header",
                0.95,
                raised=True,
            ),
            # Whatever the words of a program that read less than there ought to be, or something else.
            Pattern(
                "truncated|could only read|expected|incomplete input|end of |is 0 bytes|multiple of|mmap|data stream",
                r"\b(?:file|archive|image|record|header|stream)\b.{0,40}\btruncated\b"
                r"|\btruncated (?:file|archive|image|record|header|stream)\b|\bcould only read \d"
                r"|\bexpected (?:to be able to read )?\d{1,15} (?:bytes|elements)\b.{0,40}\b(?:got|read|found) \d"
                r"|\bmultiple of (?:the )?(?:data-type|element|item) ?size|\bmmap length is greater than file size"
                r"|\bmmap an empty file|\binvalid data stream\b|\bincomplete input\b"
                r"|\b(?:unexpected|premature) end of (?:\w{1,20} )?(?:file|data|stream|input|archive)"
                r"|\bfile size is 0 bytes",
                0.9,
                raised=True,
            ),
            Pattern(
                "model format|not a",
                r"\b(?:invalid|unknown) model format\b|\bfile is not a database\b|\bnot an? (?:valid )?"
                r"(?:arrow|parquet|zip|gzip(?:ped)?|tar|hdf5?|npz|tiff?|png|jpe?g|wav|onnx|torchscript|safetensors|gguf)"
                r" (?:file|archive|image)\b",
                0.88,
                raised=True,
            ),
            Pattern("file signature not found", weight=0.9, raised=True),
            Pattern("bad magic number|not an sstable", r"not an sstable|bad magic number", 0.88, raised=True),
            Pattern("dataloss|data_loss", r"datalosserror|data_loss: ", 0.93, raised=True),
            Pattern("badzipfile", weight=0.9, raised=True),
            Pattern(
                "gguf_init_from|model is corrupted or incomplete",
                r"gguf_init_from\w{1,20}: (?:invalid magic|failed to read)|model is corrupted or incomplete",
                0.86,
            ),
            Pattern(
                "tarfile.readerror|lzmaerror|decompress|flatbuffers|not recognised|video stream|parse |read data",
                r"invalid flatbuffers message|format not recognised|cannot find video stream|tarfile\.readerror: "
                r"|lzmaerror: |\bdecompress(?:ion|ing)?\b.{0,20}\b(?:error|failed)\b"
                r"|\berror\b.{0,60}\bdecompress(?:ion|ing)?\b"
                r"|\b(?:could not|cannot|can't|failed to) parse \w{0,40}proto\b"
                r"|\bcan't (?:synchronously )?read data \(",
                0.88,
                raised=True,
            ),
            Pattern(
                "corrupt",
                r"(?:checkpoint|file|archive|shard|record|weights?)\b.{0,80}\b(?:is|are|was|appears?|seems?"
                r"|may be|be)? ?corrupt",
                0.88,
                raised=True,
                unless=r"\bnot corrupt",
            ),
            # What a reader asks for that could not get a file, whatever the reason was.
            Pattern("not corrupt", weight=0.7, raised=True),
            # The tools that unpack and check files in scripts.
            Pattern(
                "unexpected end of |unexpected eof in archive|not in gzip format|directory signature not found"
                "|did not match|does not look like a tar|invalid compressed data|compressed data is corrupt",
                r"^(?:gzip|gunzip|xz|unxz|bzip2|zstd|tar|\w{2,8}sum): .{0,300}(?:unexpected end of (?:file|input)"
                r"|invalid compressed data|compressed data is corrupt"
                r"|unexpected eof in archive|not in gzip format|computed checksums? did not match"
                r"|does not look like a tar archive)"
                r"|^\s{0,4}end-of-central-directory signature not found",
                0.85,
                fatal=True,
            ),
            Pattern("storage has wrong", r"storage has wrong (?:byte )?size", 0.94, raised=True),
            Pattern("checksum", r"checksum (?:does not match|mismatch|failed)", 0.88, raised=True),
            Pattern("crc", r"crc(?:32)? (?:check failed|mismatch)|bad crc", 0.88, raised=True),
        ),
        neighbours=("checkpoint_mismatch", "disk_full"),
        tell="ls -l of the checkpoint beside an older one; python -m zipfile -t FILE",
    ),
)
