"""`while` loops of 1.x, taken out of a graph: one op stands for each loop, and its inside is a graph of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Set, Tuple

import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.source.basics.branches import merge_branches
from legacy.source.basics.unwritten import Unwritten
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.graph.tensor_names import data_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

v1 = tf.compat.v1

#: Ops that make a loop, and are not part of its inside.
_FRAME = ("Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch")
#: Ops by which the derivative of a loop takes what each of the loop's iterations has kept for it.
_KEPT_OF_EACH_TURN = ("StackPop", "StackPopV2")
#: Suffix of the op that stands for a loop.
LOOP = "/loop"


class Loop(NamedTuple):
    """A loop.

    Attributes:
      name: of the op that stands for it: its inputs are `starts` and `invariants`, its outputs the last states.
      starts: tensors that the states start from.
      invariants: tensors from outside that the inside uses.
      states: placeholders of the inside that are the states.
      given: placeholders of the inside that are the invariants.
      condition: tensor of the inside: whether there is another iteration.
      results: tensors of the inside: the next states.
      inside: GraphDef of one iteration.
    """

    name: str
    starts: List[str]
    invariants: List[str]
    states: List[str]
    given: List[str]
    condition: str
    results: List[str]
    inside: Any


def take_out_loops(graph_def: Any) -> Tuple[Any, List[Loop]]:
    """Takes the loops out of a graph.

    Args:
      graph_def: the GraphDef.

    Returns:
      The GraphDef with one op in place of each loop, and the loops.

    Raises:
      Unwritten: a loop within a loop, a branch in one that is not finite for all numbers, or the derivative of a loop.
    """
    nodes = {node.name: node for node in graph_def.node}
    frames = _frames(nodes)
    for frame, members in frames.items():
        if any(nodes[name].op in _KEPT_OF_EACH_TURN for name in members):
            raise Unwritten(
                f"model: it uses the derivative of a while loop, {frame!r}, beside what differentiates the loss"
            )
    if not frames:
        return graph_def, []
    outside = v1.GraphDef()
    outside.versions.CopyFrom(graph_def.versions)
    inner = {name for members in frames.values() for name in members}
    outside.node.extend(node for node in graph_def.node if node.name not in inner)
    loops = []
    for frame, members in frames.items():
        taken = _Frame(frame, members, nodes)
        loop = taken.loop()
        loop.inside.versions.CopyFrom(graph_def.versions)
        loops.append(loop)
        taken.stand_in(outside)
    return outside, loops


def _frames(nodes: Dict[str, Any]) -> Dict[str, Set[str]]:
    """Returns {frame: names of its nodes, from Enter to Exit}."""
    users: Dict[str, List[str]] = {}
    for node in nodes.values():
        for text in node.input:
            users.setdefault(parse_tensor_name(text.lstrip("^")).node, []).append(node.name)
    frames: Dict[str, Set[str]] = {}
    owner: Dict[str, str] = {}
    for node in nodes.values():
        if node.op == "Enter":
            frames.setdefault(node.attr["frame_name"].s.decode(), set()).add(node.name)
    for frame, members in frames.items():
        todo = list(members)
        while todo:
            name = todo.pop()
            if owner.setdefault(name, frame) != frame:
                raise Unwritten(f"model: {frame!r} and {owner[name]!r} are a loop within a loop")
            members.add(name)
            if nodes[name].op != "Exit":
                todo += [user for user in users.get(name, ()) if user not in members]
    return frames


class _Frame:
    """One loop of a graph.

    Args:
      frame: its name.
      members: names of its nodes.
      nodes: {name: node} of the graph.
    """

    def __init__(self, frame: str, members: Set[str], nodes: Dict[str, Any]) -> None:
        self._name, self._members, self._nodes = frame.rpartition("/")[0] + LOOP, members, nodes
        self._merges = self._states()
        self._switches: Dict[str, str] = {}  # {merge: its switch}
        for name in members:
            if nodes[name].op == "Switch" and self._source(name, 0) in self._merges:
                self._switches[self._source(name, 0)] = name
        left = [n for n in members if nodes[n].op in ("Merge", "Switch")]
        self._branches = set(left) - set(self._merges) - set(self._switches.values()) - set(self._same)
        self._branches -= {name for name in left if self._source(name, 0) in self._same}
        constants = [name for name in members if nodes[name].op == "Enter" and nodes[name].attr["is_constant"].b]
        self._invariants = sorted({nodes[name].input[0] for name in constants}, key=_natural)

    def loop(self) -> Loop:
        """Returns the loop."""
        (condition,) = [name for name in self._members if self._nodes[name].op == "LoopCond"]
        states, given = self._placeholders()
        return Loop(
            self._name,
            self._starts(),
            list(self._invariants),
            states,
            given,
            self._inner(self._nodes[condition].input[0]),
            [self._inner(self._next(merge).input[0]) for merge in self._merges],
            self._inside(states, given),
        )

    def stand_in(self, outside: Any) -> None:
        """Adds the op that stands for the loop, and its results under their names, to the GraphDef around it."""
        types = [self._nodes[merge].attr["T"].type for merge in self._merges]
        enters = {self._nodes[n].input[0]: self._nodes[n] for n in self._members if self._nodes[n].op == "Enter"}
        types += [enters[tensor].attr["T"].type for tensor in self._invariants]
        node = outside.node.add(name=self._name, op="IdentityN", input=[*self._starts(), *self._invariants])
        node.attr["T"].list.type.extend(types)
        for name in self._members:
            if self._nodes[name].op == "Exit":
                merge = self._state_of(self._source(self._source(name, 0), 0))
                source = f"{self._name}:{self._merges.index(merge)}"
                result = outside.node.add(name=name, op="Identity", input=[source])
                result.attr["T"].type = self._nodes[name].attr["T"].type

    def _states(self) -> List[str]:
        """Returns the merges of the states in their order; of counters that count alike, the first one."""
        merges = [n for n in self._members if self._nodes[n].op == "Merge" and self._enter(n) is not None]
        merges.sort(key=lambda name: _natural(self._enter(name).name))
        self._same: Dict[str, str] = {}  # {merge: the one that has the same value}
        kept: Dict[Any, str] = {}
        for merge in merges:
            count = self._count(merge)
            if count is not None and count in kept:
                self._same[merge] = kept[count]
            elif count is not None:
                kept[count] = merge
        return [merge for merge in merges if merge not in self._same]

    def _count(self, merge: str) -> Any:
        """Returns (start, step, type) of a state that a constant is added to in each iteration; None of others."""
        start = self._constant(self._enter(merge).input[0])
        added = self._nodes[self._source(self._next(merge).name, 0)]
        if start is None or added.op not in op_types.SUMS_OF_TWO:
            return None
        step = self._constant(added.input[1])
        behind = self._nodes[parse_tensor_name(added.input[0]).node]
        switch = self._source(behind.name, 0) if behind.op == "Identity" else behind.name
        own = self._nodes[switch].op == "Switch" and self._source(switch, 0) == merge
        return (start, step, added.attr["T"].type) if own and step is not None else None

    def _constant(self, tensor: str) -> float | None:
        node = self._nodes[parse_tensor_name(tensor).node]
        if node.op != "Const":
            return None
        value = tf.make_ndarray(node.attr["value"].tensor)
        return value.item() if value.shape == () and value.dtype.kind in "if" else None

    def _enter(self, merge: str) -> Any:
        sources = [self._nodes[parse_tensor_name(text).node] for text in self._nodes[merge].input]
        return next((node for node in sources if node.op == "Enter"), None)

    def _next(self, merge: str) -> Any:
        sources = [self._nodes[parse_tensor_name(text).node] for text in self._nodes[merge].input]
        return next(node for node in sources if node.op == "NextIteration")

    def _starts(self) -> List[str]:
        return [self._enter(merge).input[0] for merge in self._merges]

    def _source(self, name: str, position: int) -> str:
        return parse_tensor_name(self._nodes[name].input[position]).node

    def _state_of(self, merge: str) -> str:
        return self._same.get(merge, merge)

    def _placeholders(self) -> Tuple[List[str], List[str]]:
        states = [f"{self._name}/state_{number}" for number in range(len(self._merges))]
        return states, [f"{self._name}/given_{number}" for number in range(len(self._invariants))]

    def _inner(self, tensor: str) -> str:
        """Returns the tensor of the inside that a tensor of the frame is."""
        name, output = parse_tensor_name(tensor)
        node = self._nodes[name]
        if node.op in ("Merge", "Switch") and name not in self._branches:
            merge = self._state_of(name if node.op == "Merge" else self._source(name, 0))
            return self._placeholders()[0][self._merges.index(merge)] + ":0"
        if node.op == "Enter":
            return self._placeholders()[1][self._invariants.index(node.input[0])] + ":0"
        return f"{name}:{output}"

    def _inside(self, states: Sequence[str], given: Sequence[str]) -> Any:
        inside = v1.GraphDef()
        types = {placeholder: self._nodes[merge].attr["T"].type for placeholder, merge in zip(states, self._merges)}
        enters = {self._nodes[n].input[0]: self._nodes[n] for n in self._members if self._nodes[n].op == "Enter"}
        types.update((name, enters[tensor].attr["T"].type) for name, tensor in zip(given, self._invariants))
        for name, dtype in types.items():
            node = inside.node.add(name=name, op="Placeholder")
            node.attr["dtype"].type = dtype
        for name in sorted(self._members | self._apart()):
            if self._nodes[name].op not in _FRAME or name in self._branches:
                node = inside.node.add()
                node.CopyFrom(self._nodes[name])
                node.attr.pop("_class", None)  # nodes that it was placed beside are not in the inside
                node.input[:] = [self._inner(t) for t in data_inputs(self._nodes[name])]
        return merge_branches(inside)

    def _apart(self) -> Set[str]:
        """Returns the nodes of the inside that nothing of the loop leads to: constants without a control input."""
        todo = [name for name in self._members if self._nodes[name].op != "Enter"]
        found: Set[str] = set()
        while todo:
            sources = {parse_tensor_name(t).node for t in data_inputs(self._nodes[todo.pop()])}
            new = sources - self._members - found
            found |= new
            todo += sorted(new)
        return found


def _natural(name: str) -> List[Any]:
    """Returns a key that sorts numbers in names by their value, and a name before the same name with a number.

    >>> sorted(["while/Enter_10", "while/Enter_2", "while/Enter"], key=_natural)
    ['while/Enter', 'while/Enter_2', 'while/Enter_10']
    """
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
