"""Index of a GraphDef: inputs and users of each node, topological order, reachability, control-flow regions."""

from __future__ import annotations

import collections
import functools
import operator
from typing import TYPE_CHECKING, Any, Dict, FrozenSet, List, NamedTuple, OrderedDict, Set, Tuple

from workloads.lifted.graph.stacks import PUSHES, pops_of_pushes, reversed_edges
from workloads.lifted.graph.tensor_names import TensorId, parse_tensor_name
from workloads.lifted.graph.topological_order import Barrier, TopologicalOrder, nodes_after

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

#: Ops of 1.x's control flow, which is part of the graph itself, as frames (`while`) and dead branches (`cond`).
ENTERS = ("Enter", "RefEnter")
SWITCHES = ("Switch", "RefSwitch", "SwitchN")
EXITS = ("Exit", "RefExit")
MERGES = ("Merge", "RefMerge")
CONTROL_FLOW = ENTERS + SWITCHES + EXITS + MERGES + ("NextIteration", "RefNextIteration", "LoopCond", "ControlTrigger")

#: Neighbours of a node: by data edges, and by control edges; of the latter, equal lists are one object.
Neighbours = Tuple[List[str], List[str]]
#: Sets of ancestors or descendants that have so many nodes are kept, and so many of them.
LARGE_ANSWER = 1000
MOST_ANSWERS = 32


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
    >>> graph.order({"x", "y"})
    ['x', 'y']

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
        self._after = nodes_after(self._barriers, {name: position for position, name in enumerate(self.nodes)})
        self._whole_order: List[str] = []
        self._topological_order: TopologicalOrder | None = None
        self._regions: Dict[Tuple[str, ...], Set[str]] = {}
        self._edges: Dict[Tuple[bool, bool], Dict[str, Neighbours]] = {}
        self._answers: OrderedDict[Tuple[bool, bool, FrozenSet[str]], Set[str]] = collections.OrderedDict()

    def _read_inputs(self) -> List[Barrier]:
        """Reads the inputs of all nodes; returns the different sets of control inputs."""
        barriers: Dict[Tuple[str, ...], Barrier] = {}
        for name, node in self.nodes.items():
            texts = list(node.input)
            self._inputs[name] = [parse_tensor_name(text) for text in texts if text[:1] != "^"]
            controls = tuple([text for text in texts if text[:1] == "^"])
            if controls not in barriers:
                barriers[controls] = Barrier([text[1:] for text in controls], [])
            self._controls[name] = barriers[controls].before
            barriers[controls].after.append(name)
            for position, (producer, output) in enumerate(self._inputs[name]):
                self._users[producer].append(Use(name, position, output))
        return [barrier for barrier in barriers.values() if barrier.before]

    def type(self, name: str) -> str:
        """Returns the op type of a node."""
        return self._types[name]

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

    def ancestors(self, names: Iterable[str], stop: Collection[str] = (), controls: bool = True) -> set[str]:
        """Returns the nodes that `names` depend on, `names` included.

        Args:
          names: nodes to start from.
          stop: nodes whose own inputs are not followed.
          controls: whether control inputs are followed too.

        Returns:
          The set of names.
        """
        return self._reached(False, controls, names, stop)

    def descendants(self, names: Iterable[str], controls: bool = True, stop: Collection[str] = ()) -> set[str]:
        """Returns the nodes that depend on `names`, `names` included.

        Args:
          names: nodes to start from.
          controls: whether control inputs are followed too.
          stop: nodes whose own users are not followed.

        Returns:
          The set of names.
        """
        return self._reached(True, controls, names, stop)

    def _reached(self, users: bool, controls: bool, names: Iterable[str], stop: Collection[str]) -> Set[str]:
        """Returns `_reached` by the edges of `_neighbours`; keeps large answers, which many questions have alike."""
        edges = self._neighbours(users, controls)
        if stop:
            return _reached(edges, names, stop)
        question = (users, controls, frozenset(names))
        if question not in self._answers:
            found = _reached(edges, question[-1])
            if len(found) < LARGE_ANSWER:
                return found
            self._answers[question] = found
            if len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)
        return set(self._answers[question])

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
        edges = self._neighbours(backwards, controls)
        arriving = dict.fromkeys(ordered, 0)
        leaving = {name: own.get(name, 0) for name in ordered}
        passed = [name for name in (reversed(ordered) if backwards else ordered) if name not in stop]
        changed = True
        while changed:
            changed, brought = False, {}
            for name in passed:
                mask = before = arriving[name]
                own_neighbours, shared = edges[name]
                for neighbour in own_neighbours:
                    mask |= leaving.get(neighbour, 0)
                if shared:
                    if id(shared) not in brought:  # in topological order, all of them have been passed
                        brought[id(shared)] = functools.reduce(operator.or_, (leaving.get(n, 0) for n in shared), 0)
                    mask |= brought[id(shared)]
                if mask != before:
                    arriving[name] = mask
                    leaving[name] |= mask
                    # Within one pass only a loop's back edge, or a stack, can bring news to a node passed already.
                    changed = changed or self._types[name] in MERGES + PUSHES or "NextIteration" in self._types[name]
        return arriving

    def _neighbours(self, users: bool, controls: bool) -> Dict[str, Neighbours]:
        """Returns {node: its users, or else its producers; by control edges too if `controls`}; keeps them.

        What a loop's gradient pops from a stack comes from what the loop pushes there.
        """
        if (users, controls) not in self._edges:
            more = (self._after if users else self._controls) if controls else {}
            stacks = pops_of_pushes(self._types, self._inputs)
            if not users:
                stacks = reversed_edges(stacks)
            edges: Dict[str, Neighbours] = {}
            for name, inputs in self._inputs.items():
                if users:
                    found = [use.node for use in self._users[name]] if name in self._users else []
                else:
                    found = [tensor.node for tensor in inputs]
                edges[name] = (found + stacks[name] if name in stacks else found, more.get(name, []))
            self._edges[users, controls] = edges
        return self._edges[users, controls]

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
            self._regions[SWITCHES] = _reached(self._neighbours(True, True), first, outside) - outside
        return self._regions[SWITCHES]


def _reached(edges: Mapping[str, Neighbours], names: Iterable[str], stop: Collection[str] = ()) -> Set[str]:
    """Returns the nodes that edges lead to from some nodes, these included.

    Args:
      edges: {node: its neighbours}.
      names: nodes to start from.
      stop: nodes whose own edges are not followed.
    """
    seen, followed = set(names), set()
    todo = list(seen)
    for name in todo:  # which grows
        if name in stop or name not in edges:
            continue
        own, shared = edges[name]
        for neighbour in own:
            if neighbour not in seen:
                seen.add(neighbour)
                todo.append(neighbour)
        if shared and id(shared) not in followed:
            followed.add(id(shared))
            new = [neighbour for neighbour in shared if neighbour not in seen]
            seen.update(new)
            todo += new
    return seen


def made_dense(graph: Graph, tensor: str) -> str:
    """Returns the tensor that rows are added up to, as `tf.convert_to_tensor` does it; of others, the tensor itself."""
    rows = parse_tensor_name(tensor)
    for use in graph.users(rows.node):
        if graph.type(use.node) == "UnsortedSegmentSum" and graph.inputs(use.node)[0] == rows:
            return use.node + ":0"
    return tensor
