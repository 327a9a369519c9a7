"""Classes of op types: data sources, random ops, variables, update rules, and ops with effects outside of the graph.

The lists follow the op registries of TensorFlow 0.12, 1.4, 1.15 and 2.21.
"""

from __future__ import annotations

from workloads.lifted.graph import ENTERS, TWO_WAY_SWITCHES
from workloads.lifted.pieces.noise import TWINS

#: Ops that run a Python function.
PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")

#: Ops that make numbers of texts, which lie before the step as a table does that looks them up.
HASHES = ("StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong")
#: Ops that cut texts into words or letters: a table, which a lift leaves out, numbers these.
TEXT_CUTS = ("StringSplit", "StringSplitV2")

#: Ops that make numbers of each text by itself.
READ_TEXTS = (
    "StringToNumber",
    "StringLength",
    "RegexFullMatch",
    "StaticRegexFullMatch",
    "DecodeRaw",
    "DecodeJpeg",
    "DecodePng",
    "DecodeGif",
    "DecodeBmp",
    "DecodeImage",
)
#: Ops that compare two tensors, of texts or of numbers, for equality.
EQUALITIES = ("Equal", "NotEqual")

#: Ops that return the sparse tensors of a batch, of which a queue holds the places in a table of this session alone.
QUEUED_SPARSE = ("TakeManySparseFromTensorsMap",)

#: Data sources: their outputs enter the training step. Their own inputs (queues, readers, files) are not part of it.
SOURCES = [
    "Placeholder",
    "PlaceholderV2",
    *PYTHON,
    "QueueDequeue",
    "QueueDequeueV2",
    "QueueDequeueMany",
    "QueueDequeueManyV2",
    "QueueDequeueUpTo",
    "QueueDequeueUpToV2",
    "IteratorGetNext",
    "IteratorGetNextSync",
    "IteratorGetNextAsOptional",
    "ReaderRead",
    "ReaderReadV2",
    "ReaderReadUpTo",
    "ReaderReadUpToV2",
    "Unstage",
    "StagePeek",
    "MapUnstage",
    "LookupTableFind",
    "LookupTableFindV2",
    *HASHES,
    *TEXT_CUTS,
    *READ_TEXTS,
    "ReadFile",
    "OptionalGetValue",
    "DatasetToSingleElement",
    *QUEUED_SPARSE,
]

#: Beginnings of the types of ops that take an element out of a queue, a dataset or a staging area.
ELEMENTS = ("QueueDequeue", "IteratorGetNext", "Unstage", "MapUnstage", "DatasetToSingleElement")

#: Ops that hand data to a later step, by way of a queue or a staging area: they feed a source, and train nothing.
FEEDERS = [
    "Stage",
    "MapStage",
    "OrderedMapStage",
    "QueueEnqueue",
    "QueueEnqueueV2",
    "QueueEnqueueMany",
    "QueueEnqueueManyV2",
]

#: Random ops without a stateless twin (see `TWINS`): only their seeds make them reproducible.
SEEDED = [
    "RandomShuffle",
    "RandomGamma",
    "RandomPoisson",
    "RandomPoissonV2",
    "ParameterizedTruncatedNormal",
    "RandomCrop",
    "LogUniformCandidateSampler",
    "UniformCandidateSampler",
    "LearnedUnigramCandidateSampler",
    "FixedUnigramCandidateSampler",
    "ThreadUnsafeUnigramCandidateSampler",
    "AllCandidateSampler",
    "FractionalMaxPool",
    "FractionalAvgPool",
]

#: Ops that hold a variable's memory, or its handle.
VARIABLES = ("VariableV2", "Variable", "VarHandleOp", "AutoReloadVariable")

#: Ops that take rows of a tensor by the numbers in their second input; those that take single elements so, too; and all
#: that look up rows, of a variable's handle as well.
GATHERS = ("Gather", "GatherV2")
PICKS = ("GatherNd", *GATHERS)
LOOKUPS = (*GATHERS, "ResourceGather")
#: Ops whose first result has each of their input's numbers once.
DISTINCT = ("Unique", "UniqueV2")
#: Ops that hand a tensor's numbers on, as they are or as another type.
COPIES = ("Identity", "Cast")
#: Ops that give a variable's value as it is.
READS = ("Identity", "ReadVariableOp")
#: Those, and ops that hand it on into a loop or as another type; and those that do so into a branch of a `cond`, too.
READS_IN_LOOPS = (*READS, *ENTERS, "Cast")
READS_IN_BRANCHES = (*READS_IN_LOOPS, *TWO_WAY_SWITCHES)
#: Ops that read a resource variable's value from its handle.
RESOURCE_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape")
#: Ops that pass a handle or a reference on without reading the value.
HANDLE_PASSES = ("Identity", "Enter", "Switch", "RefIdentity", "RefEnter", "RefSwitch", "Exit", "RefExit")
#: Ops that ask whether a variable has a value.
ASKS_INITIALIZED = ("IsVariableInitialized", "VarIsInitializedOp")
#: Ops that take a handle or a reference and do not change the variable; any other op that takes one is an effect.
NOT_EFFECTS = HANDLE_PASSES + RESOURCE_READS + ASKS_INITIALIZED

#: Products of matrices; convolutions; and the ops that apply a layer's weights.
MATRIX_PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2")
CONVOLUTIONS = ("Conv2D", "Conv3D", "DepthwiseConv2dNative")
LAYERS = ("MatMul", *CONVOLUTIONS)
#: Ops that set a variable to a value, or rows of one, ops that add to it, and those that subtract from it.
SETS = ("Assign", "AssignVariableOp")
SETS_SLICES = ("ScatterUpdate", "ScatterNdUpdate", "ResourceScatterUpdate", "ResourceScatterNdUpdate")
ADDS = ("AssignAdd", "AssignAddVariableOp")
SUBTRACTS = ("AssignSub", "AssignSubVariableOp")
#: Ops that add two tensors, or any number of them; and ops that join tensors.
SUMS_OF_TWO = ("Add", "AddV2")
ADDITIONS = (*SUMS_OF_TWO, "AddN")
JOINS = ("Concat", "ConcatV2")
#: Ops that subtract their second input from their first, squared or not; and those that add or subtract.
DIFFERENCES = ("Sub", "SquaredDifference")
SUMS_AND_DIFFERENCES = (*SUMS_OF_TWO, "Sub")
#: Ops that sum over dimensions, or take the mean.
REDUCTIONS = ("Sum", "Mean")
#: Ops whose result shares their first input's memory, like that of Identity, and is another tensor.
VIEWS = ("Reshape", "Squeeze", "ExpandDims", "StopGradient", "PreventGradient", "CheckNumerics", "Bitcast")
#: Ops whose result is a linear function of their inputs whatever these are: sums, means, and ops that hand values on.
LINEAR = ("Mean", "Sum", "Sub", "Neg", "Pack", "Cast", "Identity", *ADDITIONS, *JOINS, *VIEWS)
#: Ops that cut one part out of a tensor; that divide it into parts; and both.
SLICES = ("StridedSlice", "Slice")
SPLITS = ("Split", "SplitV")
PARTS = (*SLICES, *SPLITS)
#: Ops that take each element from one of two tensors; that keep elements within bounds; that reverse their order.
CHOICES = ("Select", "SelectV2")
BOUNDS = ("Maximum", "Minimum", "ClipByValue")
TURNS = ("ReverseV2", "Reverse")
#: Square roots and their reciprocals; logarithms; and probabilities of logits.
ROOTS = ("Sqrt", "Rsqrt")
LOGARITHMS = ("Log", "LogSoftmax")
PROBABILITIES = ("Softmax", "Sigmoid")
#: Ops that ask which of two numbers is larger.
ORDERINGS = ("Greater", "GreaterEqual", "Less", "LessEqual")
#: Arithmetic of two tensors, element by element.
ARITHMETIC = ("Mul", "Add", "AddV2", "Sub", "RealDiv", "Div", "Maximum", "Minimum")
#: Quotients of two tensors: by the plain divisions; by these and the one that gives zero for x / 0; and products, too.
DIVISIONS = ("RealDiv", "Div")
QUOTIENTS = (*DIVISIONS, "DivNoNan")
SCALINGS = ("Mul", *QUOTIENTS)
#: Summaries of a number, and all that write one.
SCALAR_SUMMARIES = ("ScalarSummary", "ScalarSummaryV2")
SUMMARIES = (*SCALAR_SUMMARIES, "HistogramSummary", "MergeSummary", "TensorSummaryV2")
#: Ops whose result depends on their input's shape alone, and so not on data.
SHAPE_OPS = ("Shape", "ShapeN", "Size", "Rank", "VariableShape", "ZerosLike", "OnesLike")

#: Prefixes of the op types that run Python, touch files or reach the network: importing a graph trusts its author.
UNSAFE_PREFIXES = [
    "PyFunc",
    "EagerPyFunc",
    "ReadFile",
    "WriteFile",
    "MatchingFiles",
    "Save",
    "Restore",
    "MergeV2Checkpoints",
    "TextLineReader",
    "TFRecordReader",
    "WholeFileReader",
    "FixedLengthRecordReader",
    "Rpc",
    "TryRpc",
    "_Send",
    "_Recv",
    "Send",
    "Recv",
    "PrintV2",
    "DebugNumericSummary",
    "WriteScalarSummary",
    "WriteSummary",
    "WriteHistogramSummary",
    "WriteImageSummary",
    "SummaryWriter",
    "CreateSummary",
    "SdcaShrink",
]


def is_source(op_type: str) -> bool:
    """Returns whether an op type brings data into the graph."""
    return op_type in SOURCES


def divided_input(op_type: str) -> int:
    """Returns which input an op takes parts of: a Split has its axis first.

    >>> divided_input("Split"), divided_input("SplitV")
    (1, 0)
    """
    return 1 if op_type == "Split" else 0


def is_feeder(op_type: str) -> bool:
    """Returns whether an op type hands data to a later step."""
    return op_type in FEEDERS


def is_random(op_type: str) -> bool:
    """Returns whether an op type draws random numbers."""
    return op_type in TWINS or op_type in SEEDED


def is_unsafe(op_type: str) -> bool:
    """Returns whether an op type runs Python, touches files or reaches the network."""
    return op_type.startswith(tuple(UNSAFE_PREFIXES))


def is_apply(op_type: str) -> bool:
    """Returns whether an op type is an optimizer's update rule, such as ApplyAdam."""
    return op_type.startswith(("Apply", "SparseApply", "ResourceApply", "ResourceSparseApply"))


def rule_name(op_type: str) -> str:
    """Returns the optimizer that an update rule's op type names.

    >>> rule_name("ResourceSparseApplyMomentum")
    'Momentum'
    """
    return op_type.replace("Resource", "").replace("Sparse", "").replace("Apply", "")


def is_sparse(op_type: str) -> bool:
    """Returns whether an op type updates only the rows that an `indices` input names."""
    return "SparseApply" in op_type or op_type.replace("Resource", "").startswith("Scatter")
