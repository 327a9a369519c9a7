"""Index of a GraphDef: inputs and users of each node, topological order, reachability, control-flow regions."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Set, Tuple

from workloads.lifted.graph.control_flow import ENTERS, EXITS, MERGES, SWITCHES
from workloads.lifted.graph.edges import Edges
from workloads.lifted.graph.tensor_names import TensorId, parse_tensor_name
from workloads.lifted.graph.topological_order import Barrier, TopologicalOrder, nodes_after

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

_UNIQUE = ("Unique", "UniqueV2")


class Use(NamedTuple):
    """One use of a node's output as a data input.

    Attributes:
      node: name of the node that uses it.
      position: number of that node's input.
      output: number of the output that is used.
    """

    node: str
    position: int
    output: int


class Graph:
    """Index of a GraphDef, which must not be changed while it is used.

    >>> from tensorflow.core.framework import graph_pb2, node_def_pb2
    >>> x = node_def_pb2.NodeDef(name="x", op="Placeholder")
    >>> y = node_def_pb2.NodeDef(name="y", op="Square", input=["x"])
    >>> graph = Graph(graph_pb2.GraphDef(node=[y, x]))
    >>> graph.inputs("y"), graph.users("x")
    ([TensorId(node='x', output=0)], [Use(node='y', position=0, output=0)])
    >>> graph.order({"x", "y"}), graph.of_types("Placeholder", "Square")
    (['x', 'y'], ['y', 'x'])

    Attributes:
      graph_def: the GraphDef.
      nodes: {name: NodeDef}, in the order of the GraphDef.
    """

    def __init__(self, graph_def: Any) -> None:
        self.graph_def = graph_def
        self.nodes: Dict[str, Any] = collections.OrderedDict((node.name, node) for node in graph_def.node)
        self._types: Dict[str, str] = {name: node.op for name, node in self.nodes.items()}
        self._inputs: Dict[str, List[TensorId]] = {}
        self._controls: Dict[str, List[str]] = {}
        self._users: Dict[str, List[Use]] = collections.defaultdict(list)
        self._barriers = self._read_inputs()
        self._positions = {name: position for position, name in enumerate(self.nodes)}
        self._after = nodes_after(self._barriers, self._positions)
        self._of_type: Dict[str, List[str]] = collections.defaultdict(list)
        for name, op_type in self._types.items():
            self._of_type[op_type].append(name)
        self._whole_order: List[str] = []
        self._topological_order: TopologicalOrder | None = None
        self._regions: Dict[Tuple[str, ...], Set[str]] = {}
        self._edges = Edges(self._types, self._inputs, self._users, self._controls, self._after)

    def _read_inputs(self) -> List[Barrier]:
        """Reads the inputs of all nodes; returns the different sets of control inputs.

        Equal names are one object: looking a long name up is several times faster where no characters are compared.
        """
        barriers: Dict[Tuple[str, ...], Barrier] = {}
        tensors: Dict[str, TensorId] = {name: TensorId(name, 0) for name in self.nodes}
        for name, node in self.nodes.items():
            texts = list(node.input)
            self._inputs[name] = [self._tensor(text, tensors) for text in texts if text[:1] != "^"]
            controls = tuple([text for text in texts if text[:1] == "^"])
            if controls not in barriers:
                before = [tensors[text[1:]].node if text[1:] in tensors else text[1:] for text in controls]
                barriers[controls] = Barrier(before, [])
            self._controls[name] = barriers[controls].before
            barriers[controls].after.append(name)
            for position, (producer, output) in enumerate(self._inputs[name]):
                self._users[producer].append(Use(name, position, output))
        return [barrier for barrier in barriers.values() if barrier.before]

    def _tensor(self, text: str, known: Dict[str, TensorId]) -> TensorId:
        """Returns the tensor that a data input names, and keeps it among the known ones."""
        if text not in known:
            node, output = parse_tensor_name(text)
            known[text] = TensorId(known[node].node if node in known else node, output)
        return known[text]

    def type(self, name: str) -> str:
        """Returns the op type of a node."""
        return self._types[name]

    def of_types(self, *types: str) -> list[str]:
        """Returns the nodes of some op types, in the order of the GraphDef."""
        found = [name for op_type in set(types) if op_type in self._of_type for name in self._of_type[op_type]]
        return found if len(types) == 1 else sorted(found, key=self._positions.__getitem__)

    def of_kind(self, is_kind: Callable[[str], bool]) -> list[str]:
        """Returns the nodes of the op types that a function is true of, in the order of the GraphDef."""
        return self.of_types(*filter(is_kind, self._of_type))

    def of_type_prefix(self, prefix: str | tuple[str, ...]) -> list[str]:
        """Returns the nodes whose op types start with a prefix, or one of several, in the order of the GraphDef."""
        return self.of_kind(lambda op_type: op_type.startswith(prefix))

    def inputs(self, name: str) -> list[TensorId]:
        """Returns the data inputs of a node, in order."""
        return self._inputs[name]

    def controls(self, name: str) -> list[str]:
        """Returns the names of a node's control inputs."""
        return self._controls[name]

    def users(self, name: str) -> list[Use]:
        """Returns the uses of all outputs of a node."""
        return self._users[name]

    def after(self, name: str) -> list[str]:
        """Returns the names of the nodes with a control input from this one."""
        return self._after.get(name, [])

    def origin(self, tensor: TensorId) -> TensorId:
        """Returns the tensor that `tensor` is a copy of, by way of Identity nodes only; without any, itself."""
        while self.type(tensor[0]) == "Identity":
            tensor = self._inputs[tensor[0]][0]
        return tensor

    def before_branches(self, tensor: TensorId) -> TensorId:
        """Returns the tensor that `tensor` is a copy of, by way of Identity nodes and of Switch nodes into branches."""
        while self.type(tensor.node) in ("Identity", *SWITCHES) and self._inputs[tensor.node]:
            tensor = self._inputs[tensor.node][0]
        return tensor

    def chosen_by(self, name: str) -> list[str]:
        """Returns the copies of predicates that a node without data inputs waits for: they choose its `cond` branch."""
        return [] if self._inputs[name] else [control for control in self._controls[name] if self._is_pivot(control)]

    def _is_pivot(self, name: str) -> bool:
        """Whether a node is the copy of a predicate, on the side of one branch, that the branch's ops wait for."""
        copied = self._inputs[name][0].node if self.type(name) == "Identity" else ""
        return bool(copied) and self.type(copied) in SWITCHES and len(set(self._inputs[copied])) == 1

    def ancestors(self, names: Iterable[str], stop: Collection[str] = (), controls: bool = True) -> set[str]:
        """Returns the nodes that `names` depend on, `names` included.

        Args:
          names: nodes to start from.
          stop: nodes whose own inputs are not followed.
          controls: whether control inputs are followed too.

        Returns:
          The set of names.
        """
        return self._edges.reached(names, False, controls, stop)

    def descendants(self, names: Iterable[str], controls: bool = True, stop: Collection[str] = ()) -> set[str]:
        """Returns the nodes that depend on `names`, `names` included.

        Args:
          names: nodes to start from.
          controls: whether control inputs are followed too.
          stop: nodes whose own users are not followed.

        Returns:
          The set of names.
        """
        return self._edges.reached(names, True, controls, stop)

    def order(self, members: Collection[str], extra: Iterable[tuple[str, str]] = ()) -> list[str]:
        """Returns `members` in topological order; a loop's back edges do not count.

        Args:
          members: nodes to order.
          extra: further (before, after) edges to respect.

        Returns:
          The names, each after all that it needs; otherwise in the order of the GraphDef.

        Raises:
          ValueError: there is no such order; the message is the name of a node on the cycle.
        """
        chosen, further = self.nodes.keys() & set(members), list(extra)
        if len(chosen) < 2 and not further:
            return list(chosen)
        is_whole = len(chosen) == len(self.nodes) and not further
        if is_whole and self._whole_order:
            return list(self._whole_order)
        if self._topological_order is None:
            self._topological_order = self._make_topological_order()
        ordered = self._topological_order.sorted(chosen, further)
        if is_whole:
            self._whole_order = list(ordered)
        return ordered

    def _make_topological_order(self) -> TopologicalOrder:
        forward = {name: [tensor.node for tensor in inputs] for name, inputs in self._inputs.items()}
        for name in self.nodes:
            if self._types[name] in MERGES:
                forward[name] = [producer for producer in forward[name] if "NextIteration" not in self.type(producer)]
        return TopologicalOrder(forward, self._barriers)

    def flow(
        self,
        ordered: list[str],
        own: Mapping[str, int],
        backwards: bool = False,
        controls: bool = True,
        stop: Collection[str] = (),
    ) -> dict[str, int]:
        """Propagates bit sets along the edges to a fixed point; a loop's back edges carry them too.

        Args:
          ordered: nodes, in topological order.
          own: {node: bits that start there}.
          backwards: whether bits go from users to producers.
          controls: whether control edges carry bits too.
          stop: nodes that nothing arrives at.

        Returns:
          {node: the bits that reach it, without its own unless a loop brings them back}.
        """
        return self._edges.flow(ordered, own, backwards, controls, stop)

    def frames(self) -> set[str]:
        """Returns the nodes inside `while` loops, from their Enter to just before their Exit.

        The Exit of a loop that is in another loop, and what follows it there, are inside of the other one.
        """
        if ENTERS not in self._regions:
            depths = self._loop_depths()
            self._regions[ENTERS] = {name for name, depth in depths.items() if depth > 0}
        return self._regions[ENTERS]

    def _loop_depths(self) -> Dict[str, int]:
        """Returns {node: number of `while` loops that it is in}; an Exit is outside of its own."""
        depths: Dict[str, int] = {}
        of_controls: Dict[int, int] = {}  # many nodes share one list of control inputs
        for name in self.order(self.nodes):
            controls = self.controls(name)
            if id(controls) not in of_controls:
                of_controls[id(controls)] = max((depths.get(control, 0) for control in controls), default=0)
            around = max((depths.get(tensor.node, 0) for tensor in self._inputs[name]), default=0)
            step = 1 if self._types[name] in ENTERS else -1 if self._types[name] in EXITS else 0
            depths[name] = max(max(around, of_controls[id(controls)]) + step, 0)
        return depths

    def branches(self) -> set[str]:
        """Returns the nodes inside `cond` branches, from their Switch to just before their Merge."""
        if SWITCHES not in self._regions:
            first = [name for name in self.nodes if self.type(name) in SWITCHES]
            outside = {name for name in self.nodes if self.type(name) in MERGES + EXITS}
            self._regions[SWITCHES] = self._edges.reached(first, True, True, outside) - outside
        return self._regions[SWITCHES]

    def outermost_joins(self) -> set[str]:
        """Returns the Merge and Exit nodes that are in no branch and no loop: what waits for them is always run."""
        if MERGES not in self._regions:
            frames = self.frames()
            depths: Dict[str, int] = {}
            for name in self.order(self.nodes):
                before = [tensor.node for tensor in self._inputs[name]] + self._controls[name]
                entered = name not in frames and self._types[name] in SWITCHES
                left = name not in frames and self._types[name] in MERGES
                depths[name] = max(max((depths.get(one, 0) for one in before), default=0) + entered - left, 0)
            joins = {name for name in self.nodes if self._types[name] in MERGES + EXITS and name not in frames}
            self._regions[MERGES] = {name for name in joins if not depths[name]}
        return self._regions[MERGES]


def made_dense(graph: Graph, tensor: str) -> str:
    """Returns the tensor that rows are added up to, as `tf.convert_to_tensor` does it; of others, the tensor itself.

    An optimizer adds up rows of one index, too, before it changes the rows of a weight: a sum for each index that there
    is, which is no dense tensor.
    """
    rows = parse_tensor_name(tensor)
    for use in graph.users(rows.node):
        is_sum = graph.type(use.node) == "UnsortedSegmentSum" and graph.inputs(use.node)[0] == rows
        if is_sum and graph.type(graph.inputs(use.node)[1].node) not in _UNIQUE:
            return use.node + ":0"
    return tensor
