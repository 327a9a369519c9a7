"""Reads the graph of a step from a TensorFlow graph: which ops run, on which devices, with which tensors and work."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Mapping, Sequence

import tensorflow as tf

from parity.prediction.graph_costs import work_of_ops
from parity.prediction.step_graph import FEED, HOST, Edge, StepNode
from parity.prediction.work import Work
from parity.profiling.kernel_events import short_device

#: Ops whose value is known once the shapes are.
_SHAPES = ("Shape", "ShapeN", "Size", "Rank", "BroadcastGradientArgs")

#: Kinds of collective ops, which all replicas run together.
_COLLECTIVES = ("CollectiveReduceV2", "CollectiveReduceV3", "CollectiveReduce", "NcclAllReduce")

#: Name of the op that stands for all results of a function.
_RESULTS = "results_of_the_step"


def read_nodes(
    graph: tf.Graph,
    results: Sequence[tf.Operation],
    device_of: Callable[[str], str],
    graph_def: tf.compat.v1.GraphDef | None = None,
    places: Mapping[str, str] | None = None,
) -> list[StepNode]:
    """Reads the ops that some results need.

    Ops on constants and on static shapes are left out, as Grappler computes them before the first step; so are those
    that others only wait for.

    Args:
      graph: the graph.
      results: the ops that a step runs for.
      device_of: function from a short device name of the graph, such as "CPU:1" or "", to one of the machine.
      graph_def: the graph with another form of the same ops, for the cost model; None for its own.
      places: {op's name: short device name}, of ops whose device in the graph does not count.

    Returns:
      the ops, each after those that it needs.
    """
    needed = ops_that_run(results)
    graph_def = tf.compat.v1.GraphDef() if graph_def is None else graph_def
    if not graph_def.node:
        graph_def.CopyFrom(graph.as_graph_def())
    graph_def.node.add(name=_RESULTS, op="NoOp", input=[f"^{op.name}" for op in results])
    work = work_of_ops(graph_def, [_RESULTS])
    order = [op for op in graph.get_operations() if op in needed]
    constant = _constants(order)
    devices = _devices(order, device_of, places or {})
    groups = _collective_groups(order, devices)
    fed = {op.name for op in order if _is_fed(op, places or {})}
    return [_node(op, devices, constant, work, groups, fed) for op in order if op.name not in constant]


def ops_that_run(results: Iterable[tf.Operation]) -> set[tf.Operation]:
    """Returns the ops that Grappler's dependency optimizer keeps.

    An op without side effects whose values nobody reads does not run, though others may wait for it; what it reads is
    waited for instead. A gradient by an input batch is such an op: `tf.gradients` makes it, and a group waits for it.
    """
    found: set[tf.Operation] = set()
    seen: set[tf.Operation] = set()
    open_ends = [(op, True) for op in results]
    while open_ends:
        op, needed = open_ends.pop()
        needed = needed or _has_side_effects(op)
        if op in (found if needed else seen | found):
            continue
        (found if needed else seen).add(op)
        open_ends += [(tensor.op, needed) for tensor in op.inputs]
        open_ends += [(before, False) for before in op.control_inputs]
    return found


def _has_side_effects(op: tf.Operation) -> bool:
    return bool(op.op_def.is_stateful) or any(tensor.dtype._is_ref_dtype for tensor in op.inputs)


def _node(
    op: tf.Operation,
    devices: Mapping[str, str],
    constant: set[str],
    work: Mapping[str, Work],
    groups: Mapping[str, str],
    fed: set[str],
) -> StepNode:
    edges = [
        Edge(tensor.name, tensor.op.name, tensor_bytes(tensor))
        for tensor in _forward_inputs(op)
        if tensor.op.name not in constant
    ]
    controls = [before.name for before in op.control_inputs if before.name not in constant]
    dtype = op.outputs[0].dtype.base_dtype.name if op.outputs else "float32"
    kind = op.type
    if op.name in fed:
        kind = FEED
        work = {op.name: Work(0.0, tensor_bytes(op.outputs[0]))}
    return StepNode(
        op.name,
        kind,
        devices[op.name],
        dtype,
        work.get(op.name, Work()),
        tuple(edges),
        tuple(controls),
        groups.get(op.name, ""),
    )


def tensor_bytes(tensor: tf.Tensor) -> float:
    """Returns the bytes of a tensor; unknown dimensions count as one, handles and unknown shapes as nothing."""
    size: int = tensor.dtype.base_dtype.size or 0
    if tensor.dtype.base_dtype in (tf.resource, tf.variant, tf.string) or tensor.shape.rank is None:
        return 0.0
    for dimension in tensor.shape:
        size *= 1 if dimension is None else dimension
    return float(size)


def _forward_inputs(op: tf.Operation) -> list[tf.Tensor]:
    """An op's inputs without the edge that closes a loop, whose body is counted once."""
    return [tensor for tensor in op.inputs if tensor.op.type not in ("NextIteration", "RefNextIteration")]


def _constants(order: Iterable[tf.Operation]) -> set[str]:
    """Names of the ops with values that are known before the first step."""
    found: set[str] = set()
    for op in order:
        static = op.type in _SHAPES and all(tensor.shape.is_fully_defined() for tensor in op.inputs)
        folded = bool(op.inputs) and not op.op_def.is_stateful and all(tensor.op.name in found for tensor in op.inputs)
        if op.type == "Const" or static or folded:
            found.add(op.name)
    return found


def _devices(
    order: Iterable[tf.Operation], device_of: Callable[[str], str], places: Mapping[str, str]
) -> dict[str, str]:
    """{op's name: device of the machine}.

    An op that takes a variable's handle runs where the variable is. What a session is fed is on the host.
    """
    devices: dict[str, str] = {}
    for op in order:
        handles = [tensor.op.name for tensor in op.inputs if tensor.dtype == tf.resource or tensor.dtype._is_ref_dtype]
        owner = next((devices[name] for name in handles if name in devices), None)
        fed = HOST if _is_fed(op, places) else None
        here = places.get(op.name, short_device(_canonical(op.device)))
        devices[op.name] = owner or fed or device_of(here)
    return devices


def _is_fed(op: tf.Operation, places: Mapping[str, str]) -> bool:
    """Whether an op is a placeholder that a session is fed, which copies an array of Python's."""
    return op.type == "Placeholder" and not op.device and op.name not in places


def _canonical(device: str) -> str:
    """A device name with "device:", which old graphs leave out: "/gpu:0" is "/device:GPU:0"."""
    return tf.DeviceSpec.from_string(device).to_string() if device else ""


def _collective_groups(order: Iterable[tf.Operation], devices: Mapping[str, str]) -> dict[str, str]:
    """{collective op's name: name of its group}. All replicas run their collectives in the same order."""
    count: collections.Counter[str] = collections.Counter()
    groups = {}
    for op in order:
        if op.type in _COLLECTIVES:
            count[devices[op.name]] += 1
            groups[op.name] = f"collective {count[devices[op.name]]}"
    return groups
