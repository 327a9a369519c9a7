"""A GraphDef that can be asked questions: what feeds a node, what uses it, in which order nodes come."""

from __future__ import annotations

import collections
from typing import NamedTuple, Tuple

#: A tensor of a graph: its node's name and the number of that node's output.
Endpoint = Tuple[str, int]

#: Ops of 1.x's control flow, which lives in the graph itself as frames and dead branches.
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


def input_text(tensor: TensorId) -> str:
    """Returns a tensor as a NodeDef's data input names it: without ":0" for a first output.

    >>> input_text(TensorId("a", 0)), input_text(TensorId("a", 1))
    ('a', 'a:1')
    """
    return tensor.node if tensor.output == 0 else tensor.name


def split(text):
    """A NodeDef's input as (node name, output number), or (name, None) for a control input."""
    if text.startswith("^"):
        return text[1:], None
    name, _, output = text.partition(":")
    return TensorId(name, int(output or 0))


def tensor_name(name, output):
    """ "node:0" of ("node", 0)."""
    return f"{name}:{output}"


def forget_placement(node):
    """Takes from a NodeDef where the old program put it, and what was written down of its shapes."""
    node.device = ""
    for attribute in ("_class", "_output_shapes"):
        if attribute in node.attr:
            del node.attr[attribute]


class Graph:
    """Index of a GraphDef, which must not be changed while it is used.

    Attributes:
      graph_def: the GraphDef.
      nodes: {name: NodeDef}, in the order of the GraphDef.
    """

    def __init__(self, graph_def):
        self.graph_def = graph_def
        self.nodes = collections.OrderedDict((node.name, node) for node in graph_def.node)
        self._inputs = {}
        self._controls = {}
        for node in graph_def.node:
            parsed = [split(text) for text in node.input]
            self._inputs[node.name] = [TensorId(name, output) for name, output in parsed if output is not None]
            self._controls[node.name] = [name for name, output in parsed if output is None]
        self._regions = {}
        self._users = collections.defaultdict(list)
        self._after = collections.defaultdict(list)
        for name in self.nodes:
            for position, (producer, output) in enumerate(self._inputs[name]):
                self._users[producer].append((name, position, output))
            for producer in self._controls[name]:
                self._after[producer].append(name)

    def type(self, name):
        """Op type of a node."""
        return self.nodes[name].op

    def inputs(self, name):
        """[(producer, output number)] of the data inputs, in order."""
        return self._inputs[name]

    def controls(self, name):
        """Names of the control inputs."""
        return self._controls[name]

    def users(self, name):
        """[(consumer, input position, output number)] over all outputs of a node."""
        return self._users[name]

    def after(self, name):
        """Names of the nodes with a control input from this one."""
        return self._after[name]

    def origin(self, tensor):
        """A tensor (node, output), or what it is by way of nothing but Identity."""
        while self.type(tensor[0]) == "Identity":
            tensor = self._inputs[tensor[0]][0]
        return tensor

    def ancestors(self, names, stop=(), controls=True):
        """The set of nodes that `names` need, themselves included; nothing beyond a node in `stop`."""
        seen, todo = set(names), [name for name in names if name not in stop]
        while todo:
            name = todo.pop()
            before = [producer for producer, _ in self._inputs[name]] + (self._controls[name] if controls else [])
            for producer in before:
                if producer not in seen:
                    seen.add(producer)
                    if producer not in stop:
                        todo.append(producer)
        return seen

    def descendants(self, names, controls=True):
        """The set of nodes that depend on `names`, themselves included."""
        seen, todo = set(names), list(names)
        while todo:
            name = todo.pop()
            for user in [user for user, _, _ in self._users[name]] + (self._after[name] if controls else []):
                if user not in seen:
                    seen.add(user)
                    todo.append(user)
        return seen

    def order(self, members, extra=()):
        """`members` so that each comes after what it needs; a loop's back edges do not count.

        Args:
          extra: further (before, after) pairs to respect.

        Raises:
          ValueError: there is no such order; names a node on the cycle.
        """
        after, waits = collections.defaultdict(list), {name: 0 for name in members}
        for name in members:
            back = self.type(name) in MERGES
            producers = [p for p, _ in self._inputs[name] if not (back and "NextIteration" in self.type(p))]
            for producer in producers + self._controls[name]:
                if producer in waits:
                    after[producer].append(name)
                    waits[name] += 1
        for before, name in extra:
            after[before].append(name)
            waits[name] += 1
        ready = collections.deque(name for name in self.nodes if waits.get(name) == 0)
        ordered = []
        while ready:
            name = ready.popleft()
            ordered.append(name)
            for user in after[name]:
                waits[user] -= 1
                if waits[user] == 0:
                    ready.append(user)
        if len(ordered) < len(waits):
            raise ValueError(next(name for name, count in waits.items() if count > 0))
        return ordered

    def flow(self, ordered, own, backwards=False, controls=True, stop=()):
        """Bit sets carried along the edges until they settle; a loop's back edges carry them too.

        Args:
          ordered: nodes, in order.
          own: {node: bits that start there}.
          backwards: from users to producers.
          stop: nodes that nothing arrives at.

        Returns:
          {node: the bits that reach it, without its own unless a loop brings them back}.
        """
        arriving = {name: 0 for name in ordered}
        changed = True
        while changed:
            changed = False
            for name in reversed(ordered) if backwards else ordered:
                mask = arriving[name]
                if name in stop:
                    continue
                for other in self._neighbours(name, backwards, controls):
                    if other in arriving:
                        mask |= arriving[other] | own.get(other, 0)
                if mask != arriving[name]:
                    arriving[name] = mask
                    # Within one pass only a loop's back edge can bring news to a node that was passed already.
                    changed = changed or self.type(name) in MERGES or "NextIteration" in self.type(name)
        return arriving

    def _neighbours(self, name, backwards, controls):
        if backwards:
            return [user for user, _, _ in self._users[name]] + (self._after[name] if controls else [])
        return [producer for producer, _ in self._inputs[name]] + (self._controls[name] if controls else [])

    def frames(self):
        """The set of nodes inside `while` loops, from their Enter to just before their Exit."""
        return self._region(ENTERS, EXITS)

    def branches(self):
        """The set of nodes inside `cond` branches, from their Switch to just before their Merge."""
        return self._region(SWITCHES, MERGES + EXITS)

    def _region(self, starts, ends):
        if starts not in self._regions:
            self._regions[starts] = self._reach_until(starts, ends)
        return self._regions[starts]

    def _reach_until(self, starts, ends):
        todo = [name for name in self.nodes if self.type(name) in starts]
        inside = set(todo)
        while todo:
            name = todo.pop()
            users = [user for user, _, _ in self._users[name]] + self._after[name]
            for user in users:
                if user not in inside and self.type(user) not in ends:
                    inside.add(user)
                    todo.append(user)
        return inside
