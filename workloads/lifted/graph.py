"""Index of a GraphDef: inputs and users of each node, topological order, reachability, control-flow regions."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Deque, Dict, List, NamedTuple, Set, Tuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

#: Ops of 1.x's control flow, which is part of the graph itself, as frames (`while`) and dead branches (`cond`).
ENTERS = ("Enter", "RefEnter")
SWITCHES = ("Switch", "RefSwitch", "SwitchN")
EXITS = ("Exit", "RefExit")
MERGES = ("Merge", "RefMerge")
CONTROL_FLOW = ENTERS + SWITCHES + EXITS + MERGES + ("NextIteration", "RefNextIteration", "LoopCond", "ControlTrigger")


class TensorId(NamedTuple):
    """A tensor of a graph: one output of a node.

    Attributes:
      node: name of the node.
      output: number of the output, from 0.
    """

    node: str
    output: int

    @property
    def name(self) -> str:
        """The tensor's name, "node:0"."""
        return tensor_name(self.node, self.output)


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


def parse_tensor_name(text: str) -> TensorId:
    """Returns the `TensorId` of a tensor's name or of a NodeDef's data input, which leaves out ":0".

    >>> parse_tensor_name("tower_0/split:1")
    TensorId(node='tower_0/split', output=1)
    >>> parse_tensor_name("tower_0/loss").name
    'tower_0/loss:0'
    """
    if ":" not in text:
        return TensorId(text, 0)
    name, _, output = text.partition(":")
    return TensorId(name, int(output))


def tensor_name(node: str, output: int) -> str:
    """Returns a tensor's name, "node:0"."""
    return f"{node}:{output}"


def input_text(tensor: TensorId) -> str:
    """Returns a tensor as a NodeDef's data input names it: without ":0" for a first output.

    >>> input_text(TensorId("a", 0)), input_text(TensorId("a", 1))
    ('a', 'a:1')
    """
    return tensor.node if tensor.output == 0 else tensor.name


def _parsed_inputs(node: Any) -> Tuple[List[TensorId], List[str]]:
    """Returns the data inputs of a NodeDef, and the names of its control inputs."""
    texts = list(node.input)  # an update may wait for thousands of others
    inputs = [parse_tensor_name(text) for text in texts if text[:1] != "^"]
    return inputs, [text[1:] for text in texts if text[:1] == "^"]


def forget_placement(node: Any) -> None:
    """Removes a NodeDef's device, its colocation constraints and its recorded output shapes."""
    node.device = ""
    for attribute in ("_class", "_output_shapes"):
        if attribute in node.attr:
            del node.attr[attribute]


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
        self._inputs: Dict[str, List[TensorId]] = {}
        self._controls: Dict[str, List[str]] = {}
        for name, node in self.nodes.items():
            self._inputs[name], self._controls[name] = _parsed_inputs(node)
        self._types: Dict[str, str] = {name: node.op for name, node in self.nodes.items()}
        self._whole_order: List[str] = []
        self._needed_by: Dict[str, List[str]] = {}
        self._regions: Dict[Tuple[str, ...], Set[str]] = {}
        self._edges: Dict[Tuple[bool, bool], Dict[str, List[str]]] = {}
        self._users: Dict[str, List[Use]] = collections.defaultdict(list)
        self._after: Dict[str, List[str]] = collections.defaultdict(list)
        for name in self.nodes:
            for position, (producer, output) in enumerate(self._inputs[name]):
                self._users[producer].append(Use(name, position, output))
            for producer in self._controls[name]:
                self._after[producer].append(name)

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
        return self._after[name]

    def origin(self, tensor: TensorId) -> TensorId:
        """Returns the tensor that `tensor` is a copy of, by way of Identity nodes only; without any, itself."""
        while self.type(tensor[0]) == "Identity":
            tensor = self._inputs[tensor[0]][0]
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
        edges, seen = self._neighbours(False, controls), set(names)
        todo = [name for name in seen if name not in stop]
        while todo:
            for producer in edges[todo.pop()]:
                if producer not in seen:
                    seen.add(producer)
                    if producer not in stop:
                        todo.append(producer)
        return seen

    def descendants(self, names: Iterable[str], controls: bool = True) -> set[str]:
        """Returns the nodes that depend on `names`, `names` included; by control inputs too if `controls`."""
        edges, seen = self._neighbours(True, controls), set(names)
        todo = list(seen)
        while todo:
            for user in edges.get(todo.pop(), ()):
                if user not in seen:
                    seen.add(user)
                    todo.append(user)
        return seen

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
        waits = self._numbers_of_producers(chosen)
        added: Dict[str, List[str]] = collections.defaultdict(list)
        for before, name in further:
            added[before].append(name)
            waits[name] += 1
        followers = self._followers()
        ready: Deque[str] = collections.deque(name for name, count in waits.items() if count == 0)
        ordered = []
        while ready:
            name = ready.popleft()
            ordered.append(name)
            for user in followers[name] + added[name] if name in added else followers[name]:
                if user in chosen:
                    waits[user] -= 1
                    if waits[user] == 0:
                        ready.append(user)
        if len(ordered) < len(waits):
            raise ValueError(next(name for name, count in waits.items() if count > 0))
        if is_whole:
            self._whole_order = list(ordered)
        return ordered

    def _numbers_of_producers(self, chosen: Collection[str]) -> Dict[str, int]:
        """Returns {node of some: how many of them it needs, edge by edge; without a loop's back edges}, in order."""
        edges, found = self._neighbours(False, True), {}
        for name in self.nodes:  # not in the order of `chosen`, which may vary
            if name in chosen:
                before = self._forward_inputs(name) if self._types[name] in MERGES else edges[name]
                found[name] = len([producer for producer in before if producer in chosen])
        return found

    def _followers(self) -> Dict[str, List[str]]:
        """Returns {node: those that need it, in the order of the GraphDef}; a loop's back edges do not count; kept."""
        if not self._needed_by:
            edges = self._neighbours(False, True)
            self._needed_by = {name: [] for name in self.nodes}
            for name in self.nodes:
                for producer in self._forward_inputs(name) if self._types[name] in MERGES else edges[name]:
                    if producer in self._needed_by:
                        self._needed_by[producer].append(name)
        return self._needed_by

    def _forward_inputs(self, name: str) -> List[str]:
        """Returns the producers of all inputs of a Merge but a loop's back edge."""
        producers = [producer for producer, _ in self._inputs[name] if "NextIteration" not in self.type(producer)]
        return producers + self._controls[name]

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
            changed = False
            for name in passed:
                mask = before = arriving[name]
                for other in edges[name]:
                    if other in leaving:
                        mask |= leaving[other]
                if mask != before:
                    arriving[name] = mask
                    leaving[name] |= mask
                    # Within one pass only a loop's back edge can bring news to a node that was passed already.
                    changed = changed or self._types[name] in MERGES or "NextIteration" in self._types[name]
        return arriving

    def _neighbours(self, users: bool, controls: bool) -> Dict[str, List[str]]:
        """Returns {node: its users, or else its producers; by control edges too if `controls`}; keeps them."""
        if (users, controls) not in self._edges:
            more = self._after if users else self._controls
            edges = {}
            for name in self.nodes:
                if users:
                    found = [use.node for use in self._users[name]] if name in self._users else []
                else:
                    found = [tensor.node for tensor in self._inputs[name]]
                edges[name] = found + more[name] if controls and name in more else found
            self._edges[users, controls] = edges
        return self._edges[users, controls]

    def frames(self) -> set[str]:
        """Returns the nodes inside `while` loops, from their Enter to just before their Exit."""
        return self._region(ENTERS, EXITS)

    def branches(self) -> set[str]:
        """Returns the nodes inside `cond` branches, from their Switch to just before their Merge."""
        return self._region(SWITCHES, MERGES + EXITS)

    def _region(self, starts: Tuple[str, ...], ends: Tuple[str, ...]) -> Set[str]:
        """Returns, and keeps, the nodes reached from op types `starts` without passing one of `ends`."""
        if starts not in self._regions:
            edges = self._neighbours(True, True)
            todo = [name for name in self.nodes if self.type(name) in starts]
            inside = set(todo)
            while todo:
                for user in edges[todo.pop()]:
                    if user not in inside and self.type(user) not in ends:
                        inside.add(user)
                        todo.append(user)
            self._regions[starts] = inside
        return self._regions[starts]


def made_dense(graph: Graph, tensor: str) -> str:
    """Returns the tensor that rows are added up to, as `tf.convert_to_tensor` does it; of others, the tensor itself."""
    rows = parse_tensor_name(tensor)
    for use in graph.users(rows.node):
        if graph.type(use.node) == "UnsortedSegmentSum" and graph.inputs(use.node)[0] == rows:
            return use.node + ":0"
    return tensor
