"""What the op types of TensorFlow 0.x and 1.x mean to a lift. (Op registry of TensorFlow 0.12, 1.4, 1.15 and 2.21.)"""

from __future__ import annotations

import re

from workloads.lifted.noise import TWINS

#: Where data comes in. What feeds these (queues, readers, files) is not part of a training step.
SOURCES = [
    "Placeholder",
    "PlaceholderV2",
    "PyFunc",
    "PyFuncStateless",
    "EagerPyFunc",
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
    "ReadFile",
    "OptionalGetValue",
    "DatasetToSingleElement",
]

#: Other random ops: reproducible by their seeds alone.
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

VARIABLES = ("VariableV2", "Variable", "VarHandleOp", "AutoReloadVariable")

#: Reads of a resource variable, and what may be done to its handle without touching the value.
RESOURCE_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape")
HANDLE_PASSES = ("Identity", "Enter", "Switch", "RefIdentity", "RefEnter", "RefSwitch", "Exit", "RefExit")
NOT_EFFECTS = HANDLE_PASSES + RESOURCE_READS + ("IsVariableInitialized", "VarIsInitializedOp")

#: Run Python, touch files or reach the network: an old graph is a program.
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

#: The scope that `tf.gradients` names its ops in.
GRADIENTS = re.compile(r"(^|/)gradients(_\d+)?/")


def is_source(kind):
    """Whether an op type brings data in."""
    return kind in SOURCES


def is_random(kind):
    """Whether an op type draws random numbers."""
    return kind in TWINS or kind in SEEDED


def is_unsafe(kind):
    """Whether an op type runs Python, touches files or reaches the network."""
    return kind.startswith(tuple(UNSAFE_PREFIXES))


def is_apply(kind):
    """Whether an op type is an optimizer's update rule."""
    return kind.startswith(("Apply", "SparseApply", "ResourceApply", "ResourceSparseApply"))


def moved_by_gradients(graph, trainable):
    """Plain assignments to trainable variables of what is made from gradients: optimizers that were written by hand."""
    sources = {name for name in graph.nodes if GRADIENTS.search(name)}
    made = graph.descendants(sources, controls=False)
    assignments = {name for name in made if graph.type(name).startswith("Assign") and graph.inputs(name)}
    return {name for name in assignments if graph.inputs(name)[0][0] in trainable}


def rule(kind):
    """ "Momentum" of "ResourceSparseApplyMomentum"."""
    return kind.replace("Resource", "").replace("Sparse", "").replace("Apply", "")


def is_sparse(kind):
    """Whether an update rule takes indices."""
    return "SparseApply" in kind or kind.replace("Resource", "").startswith("Scatter")
