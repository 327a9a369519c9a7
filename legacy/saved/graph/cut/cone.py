"""The fan-in cone of a train op: the subgraph that one training step runs, ended at its data sources.

Behind a data source lie queues, readers and files. They do not belong to the step, so the cone has a Placeholder in
place of each output of a source that it uses; and it leaves out what fills a queue or a staging area for a later step.
Updates that a source waits for do belong to the step, such as those before a clock in Python: what uses the source then
waits for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.cut.idle import idle_behind_python, is_update, make_idle
from legacy.saved.graph.cut.placeholders import add_placeholders
from legacy.saved.graph.cut.tables import is_size, known_size
from legacy.saved.graph.cut.texts import is_data_source, shapes_of_texts
from workloads.lifted.graph import Graph, input_text
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from tensorflow.core.framework.node_def_pb2 import NodeDef

v1 = tf.compat.v1


#: Ops that give a tensor's shape, or a part of it.
_SHAPES = ("Shape", "Size", "Rank")


class Cone(NamedTuple):
    """The subgraph that a step runs.

    Attributes:
      graph: `Graph` in which every output of a data source is a Placeholder.
      origins: {placeholder: (name of the tensor that it replaces, op type of the source)}.
      unknown: op types that this TensorFlow does not have, sorted.
      unsafe: {node: op type} of the nodes that run Python, touch files or reach the network.
    """

    graph: Graph
    origins: dict[str, tuple[str, str]]
    unknown: list[str]
    unsafe: dict[str, str]


def extract_cone(graph: Graph, targets: Collection[str]) -> Cone:
    """Returns the `Cone` of some nodes of a graph: all that they depend on, by data or control dependencies.

    >>> graph_def = v1.GraphDef()
    >>> for name, op, inputs in [
    ...     ("queue", "FIFOQueueV2", []),
    ...     ("batch", "QueueDequeueV2", ["queue"]),
    ...     ("loss", "Square", ["batch"]),
    ...     ("train", "NoOp", ["^loss"]),
    ...     ("summary", "ScalarSummary", ["loss"]),
    ... ]:
    ...     _ = graph_def.node.add(name=name, op=op, input=inputs)
    >>> cone = extract_cone(Graph(graph_def), ["train"])
    >>> [(name, node.op) for name, node in cone.graph.nodes.items()]
    [('batch', 'Placeholder'), ('loss', 'Square'), ('train', 'NoOp')]
    >>> cone.origins
    {'batch': ('batch:0', 'QueueDequeueV2')}
    """
    ends = _Ends(graph)
    members = ends.members_of(targets)
    idle = idle_behind_python(graph, members, targets)
    result = v1.GraphDef(versions=graph.graph_def.versions, library=graph.graph_def.library)
    placeholders = add_placeholders(result, graph, members - idle, ends.sources)
    of_texts = shapes_of_texts(graph, ends.sources & members)
    for name, node in graph.nodes.items():
        if name in members and name not in ends.left_out:
            copy = result.node.add()
            copy.CopyFrom(node)
            if name in idle:
                make_idle(copy, ends.awaited_by(name, values=True))
                continue
            size = known_size(graph, name) if is_size(graph, name) else None
            if size is not None:
                _make_constant(copy, size)
                continue
            for number, tensor in enumerate(graph.inputs(name)):
                copy.input[number] = placeholders.get(tensor) or input_text(tensor)
            if copy.op in _SHAPES and of_texts.get(graph.inputs(name)[0]) in placeholders:
                copy.input[0] = placeholders[of_texts[graph.inputs(name)[0]]]
                copy.attr["T"].type = tf.bool.as_datatype_enum
            if ends.is_next_to(name):
                copy.input[len(graph.inputs(name)) :] = ["^" + before for before in ends.awaited_by(name)]
    cone = leading_to(Graph(result), targets) if of_texts else Graph(result)
    origins: dict[str, tuple[str, str]] = {}
    for tensor, placeholder in placeholders.items():
        if placeholder in cone.nodes:
            origins.setdefault(placeholder, (tensor.name, graph.type(tensor.node)))
    return Cone(cone, origins, _unknown_types(cone), _unsafe_nodes(graph, cone, members & ends.sources))


def _make_constant(node: NodeDef, number: int) -> None:
    """Makes a node a whole number."""
    del node.input[:]
    node.op = "Const"
    node.attr["dtype"].type = tf.int64.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(number, tf.int64))


class _Ends:
    """Where the part of a graph that a step runs ends: data sources, and ops that hand data to a later step.

    Args:
      graph: the whole graph.

    Attributes:
      sources: names of the data sources.
      left_out: names of these and of the ops that hand data on.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.sources = {name for name in graph.nodes if is_data_source(graph, name)}
        self._feeders = set(graph.of_kind(op_types.is_feeder))
        self.left_out = self.sources | self._feeders
        self._waits: dict[str, list[str]] = {}

    def members_of(self, targets: Collection[str]) -> set[str]:
        """Returns the nodes that a step runs, with the sources that it reads."""
        members: set[str] = set()
        todo = set(targets)
        while todo:
            found = self._graph.ancestors(todo, self.left_out) - members
            members |= found
            todo = {name for source in found & self.sources for name in self._waits_of(source)} - members
        return members - self._feeders

    def is_next_to(self, name: str) -> bool:
        """Returns whether a node has an input, by data or control, that the step leaves out."""
        before = [tensor.node for tensor in self._graph.inputs(name)] + self._graph.controls(name)
        return not self.left_out.isdisjoint(before)

    def awaited_by(self, name: str, values: bool = False) -> list[str]:
        """Returns the control inputs of a node in the step: its own, and the updates that its sources wait for.

        Args:
          name: of the node.
          values: whether the nodes are added whose results it takes.
        """
        taken = [tensor.node for tensor in self._graph.inputs(name)]
        sources = [before for before in [*taken, *self._graph.controls(name)] if before in self.sources]
        own = [
            before
            for before in [*(taken if values else []), *self._graph.controls(name)]
            if before not in self.left_out
        ]
        return list(dict.fromkeys(own + [waited for source in sources for waited in self._waits_of(source)]))

    def _waits_of(self, source: str) -> list[str]:
        """Returns the inputs of a source, and of sources before it, that run an update."""
        if source not in self._waits:
            self._waits[source] = found = []
            for before in [*[tensor.node for tensor in self._graph.inputs(source)], *self._graph.controls(source)]:
                if before in self.sources:
                    found += self._waits_of(before)
                elif any(is_update(self._graph, name) for name in self._graph.ancestors([before], self.left_out)):
                    found.append(before)
        return self._waits[source]


def _unknown_types(cone: Graph) -> list[str]:
    """Returns the op types that are neither this TensorFlow's nor functions of the graph's library."""
    functions = {function.signature.name for function in cone.graph_def.library.function}
    types = {node.op for node in cone.nodes.values()}
    return sorted(op_type for op_type in types if not is_known(op_type) and op_type not in functions)


def _unsafe_nodes(graph: Graph, cone: Graph, sources: Iterable[str]) -> dict[str, str]:
    """Returns the unsafe nodes of a cone, and the unsafe sources whose inputs depend on variables.

    Such a source is Python in the middle of the model: the placeholder in its place could not be fed, and its code is
    not saved with the graph.
    """
    unsafe = {name: node.op for name, node in cone.nodes.items() if op_types.is_unsafe(node.op)}
    for name in sources:
        if op_types.is_unsafe(graph.type(name)) and _depends_on_variables(graph, name):
            unsafe[name] = graph.type(name)
    return unsafe


def _depends_on_variables(graph: Graph, name: str) -> bool:
    return any(graph.type(before) in op_types.VARIABLES for before in graph.ancestors([name], controls=False))


def is_known(op_type: str) -> bool:
    """Returns whether this TensorFlow has an op type."""
    return hasattr(tf.raw_ops, op_type)


def leading_to(graph: Graph, ends: Iterable[str]) -> Graph:
    """Returns the part of a graph that some nodes depend on."""
    members = graph.ancestors(ends)
    result = v1.GraphDef(versions=graph.graph_def.versions, library=graph.graph_def.library)
    result.node.extend(node for name, node in graph.nodes.items() if name in members)
    return Graph(result)


def require_known(cone: Cone) -> None:
    """Raises `InputError` with the op types of a cone that this TensorFlow does not have."""
    if cone.unknown:
        raise InputError(
            f"graph file: TensorFlow {tf.__version__} has no op {', '.join(cone.unknown)}; a graph that needs it "
            "cannot be run here"
        )
