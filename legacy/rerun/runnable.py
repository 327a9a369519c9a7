"""Prepares a saved graph for a session: inputs become placeholders, open orders are fixed, devices are replaced."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Set

import tensorflow as tf

from legacy.rerun.observed import changed_tensors, copy_name
from workloads.lifted.graph import (
    Device,
    Graph,
    TensorId,
    Use,
    device_of,
    forget_placement,
    input_text,
    parse_tensor_name,
)
from workloads.lifted.graph.old_ops import registered_op
from workloads.lifted.pieces.noise import (
    add_iteration_key,
    drawn_nodes,
    fix_seed,
    keyed_nodes,
    loop_counters,
    noise_input,
    use_twin,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from workloads.lifted.plan import ControlDependency, Plan
    from workloads.lifted.workload import LiftedWorkload

v1 = tf.compat.v1

#: Beginnings of the op types that change a variable and give a reference to it.
_UPDATES = ("Assign", "Scatter", "Apply", "SparseApply")
#: Placeholders of inputs are called so, and numbered.
_INPUT = "lift_input_"


class DrawnTensor(NamedTuple):
    """Recorded random numbers that a batch brings.

    Attributes:
      tower: number of the tower whose batch has them.
      name: their key in the batch.
    """

    tower: int
    name: str


def key_name(node: str) -> str:
    """Returns the name of the placeholder for the key of a random node."""
    return re.sub(r"[^A-Za-z0-9_]", "_", node) + "_lift_key"


def drawn_tensors(workload: LiftedWorkload) -> dict[str, DrawnTensor]:
    """Returns {random tensor: the numbers that replace it} where batches bring recorded random numbers."""
    found = {}
    for entry in workload.plan.noise + workload.plan.common_noise:
        for tower, node in enumerate(entry.nodes if not entry.in_loop else []):
            for use in workload.graph.users(node) if node else []:
                tensor = TensorId(node or "", use.output)
                found[tensor.name] = DrawnTensor(tower, noise_input(entry.name, use.output))
    return found


def input_placeholders(plan: Plan, others: Collection[str]) -> dict[str, str]:
    """Returns {tensor: name of the placeholder that replaces it} of all inputs, and of the `others`."""
    tensors = sorted({tensor for entry in plan.inputs + plan.common for tensor in entry.tensors} | set(others))
    return {tensor: f"{_INPUT}{i}" for i, tensor in enumerate(tensors)}


def runnable_graph(
    workload: LiftedWorkload,
    inputs: Mapping[str, str],
    devices: Sequence[str],
    noise: str,
    dependencies: Sequence[Sequence[ControlDependency]] | None,
) -> Any:
    """Returns the GraphDef to import.

    Args:
      workload: the lifted workload.
      inputs: {tensor: name of the placeholder that replaces it}.
      devices: device of each tower.
      noise: "keyed", or "drawn" if the batches bring the random numbers.
      dependencies: for each phase, the control dependencies that fix an open order; None for the plan's.

    Returns:
      The GraphDef; only what a train op or an observed tensor needs.
    """
    plan, graph = workload.plan, workload.graph
    result = v1.GraphDef(versions=graph.graph_def.versions, library=graph.graph_def.library)
    for tensor, name in inputs.items():
        node = result.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = tf.as_dtype(plan.tensors[tensor].dtype).as_datatype_enum
        node.attr["shape"].shape.CopyFrom(tf.TensorShape(plan.tensors[tensor].shape).as_proto())
    renamed = {parse_tensor_name(tensor): name for tensor, name in inputs.items()}
    first: Dict[str, Set[str]] = {}
    for one in dependencies or [phase.control_dependencies for phase in plan.phases]:
        for before, after in one:
            first.setdefault(after, set()).add(before)
    changed = changed_tensors(plan)
    for tensor, changes in changed.items():
        name, at = copy_name(tensor), graph.nodes[parse_tensor_name(tensor).node]
        copy = result.node.add(name=name, op="DeepCopy", input=[input_text(parse_tensor_name(tensor))])
        copy.attr["T"].type = at.attr["T" if "T" in at.attr else "dtype"].type
        copy.device = present_device(at.device, devices)
        for change in changes:
            first.setdefault(change, set()).add(name)
    late = {read.node for phase in plan.phases for read in phase.versions}
    reseed = _Derandomizer(plan, noise)
    for name, node in graph.nodes.items():
        copy = result.node.add()
        copy.CopyFrom(node)
        forget_placement(copy)
        copy.device = present_device(node.device, devices)
        copy.input[:] = [renamed.get(tensor) or input_text(tensor) for tensor in graph.inputs(name)]
        reseed(result, copy)
        if node.op == "RefEnter":
            _enter_as_value(graph, copy, devices, late)
        controls = graph.controls(name)
        copy.input.extend("^" + control for control in controls)
        copy.input.extend("^" + before for before in sorted(first.get(name, ())) if before not in controls)
    return _pruned(result, plan, changed)


def _enter_as_value(graph: Graph, node: Any, devices: Sequence[str], late: Collection[str]) -> None:
    """Places a RefEnter where the loop is that it leads into, as an Enter of the variable's value.

    A reference has to stay where its variable is. Where that is another device than the loop's, the gradient of a loop
    with `cond`s in it, as of attention over sequences of several lengths, was seen to wait for ever.

    Args:
      graph: the old graph.
      node: the RefEnter, which is changed unless something in the loop takes the reference itself, or may read the
        variable later than at the beginning of the loop.
      devices: device of each tower.
      late: nodes that read a variable after the step has changed it.
    """
    users = graph.users(node.name)
    device = present_device(graph.nodes[users[0].node].device, devices) if users else node.device
    is_changed_before = graph.type(graph.inputs(node.name)[0].node).startswith(_UPDATES)
    reads_later = not is_changed_before and any(use.node in late for use in users)
    if device != node.device and not reads_later and not any(_takes_reference(graph, use) for use in users):
        node.op, node.device = "Enter", device


def _takes_reference(graph: Graph, use: Use) -> bool:
    """Returns whether a use takes a reference, and not a value."""
    definition = registered_op(graph.type(use.node))
    arguments = definition.input_arg if definition is not None else ()
    return definition is None or (use.position < len(arguments) and arguments[use.position].is_ref)


class _Derandomizer:
    """Makes what random nodes draw the same as in the port.

    Args:
      plan: the plan.
      noise: "keyed", or "drawn" if the batches bring the random numbers.
    """

    def __init__(self, plan: Plan, noise: str) -> None:
        given = set(drawn_nodes(plan)) if noise == "drawn" else set()
        entries = plan.noise + plan.common_noise
        self._keyed = {random.node for random in keyed_nodes(plan)} - given
        self._seeded = {node for entry in entries if entry.how == "seeded" for node in entry.nodes if node}
        self._loops = loop_counters(plan)

    def __call__(self, graph_def: Any, node: Any) -> None:
        """Changes a NodeDef if it is random, and adds what it needs to `graph_def`."""
        if node.name in self._keyed:
            key = key_name(node.name)
            if node.name in self._loops:
                frame, counter = self._loops[node.name]
                key = add_iteration_key(graph_def, node.name, key, frame, counter)
            use_twin(node, key)
            holder = graph_def.node.add(name=key_name(node.name), op="Placeholder")
            holder.attr["dtype"].type = tf.int32.as_datatype_enum
            holder.attr["shape"].shape.dim.add(size=2)
        elif node.name in self._seeded:
            fix_seed(node)


def _pruned(graph_def: Any, plan: Plan, copied: Collection[str]) -> Any:
    """Removes the nodes that no train op, no observed tensor and no copy needs: those upstream of the inputs."""
    ends = {phase.train_op for phase in plan.phases} | {variable.name for variable in plan.variables}
    ends |= {copy_name(tensor) for tensor in copied}
    for phase in plan.phases:
        observed: List[str] = phase.losses + [name for tower in phase.gradients for name in tower.values()]
        observed += [name for combine in phase.reductions for tower in combine.parts for name in tower]
        ends |= {parse_tensor_name(name).node for name in observed}
    graph = Graph(graph_def)
    kept = graph.ancestors(ends & set(graph.nodes))
    result = v1.GraphDef(versions=graph_def.versions, library=graph_def.library)
    result.node.extend(node for node in graph_def.node if node.name in kept or node.name.startswith(_INPUT))
    return result


def present_device(device: str, devices: Sequence[str]) -> str:
    """Returns the device of this run for an old device string: /gpu:1 becomes the second tower's device.

    >>> present_device("/job:worker/device:GPU:1", ["CPU:4", "CPU:5"])
    '/device:CPU:5'
    >>> present_device("/cpu:0", ["GPU:0"]), present_device("", ["GPU:0"])
    ('/device:CPU:0', '')
    """
    old = device_of(device)
    if old is None:
        return ""
    return "/device:CPU:0" if old == Device("cpu", 0) else "/device:" + devices[old.number % len(devices)]
