"""The forward pass of one tower at two batch sizes, which tell the constants that follow the batch."""

from __future__ import annotations

import fractions
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Set, Tuple, Union

import numpy as np
import tensorflow as tf

from legacy.source.basics.branches import merge_branches
from legacy.source.basics.calls import with_bodies
from legacy.source.basics.cut import Cut, example_sizes, variable_of, with_noise_shapes
from legacy.source.basics.loops import take_out_loops
from legacy.source.basics.typed import SCALAR_PLACEHOLDERS, Typed
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.made_up_data import part_of_whole
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from legacy.source.basics.loops import Loop
    from workloads.lifted.plan import Plan

v1 = tf.compat.v1

#: Batch sizes of a graph that takes any: what differs between the two depends on the batch.
BATCHES = ((14, 22), (8, 12), (8, 16))
#: Parts of a batch that a model takes are halves, quarters and so on.
LARGEST_DIVISOR = 64
#: How many rows there are for each example; of a part of the batch, a fraction.
Multiple = Union[int, fractions.Fraction]


class Forward:
    """A part of the graph with the knowledge of which of its constants depend on the size of the batch.

    Args:
      cut: the part.
      plan: of the lift.

    Attributes:
      cut: the part.
      typed: the part, imported at `batch` examples.
      batch: the number of examples.
      fixed: whether the graph takes this number only.
      loops: {op: loop that it stands for}.
      wholes: placeholders of all towers' examples, of which this tower has a part.
      untrained: placeholders of the variables that no gradient trains.
      examples: placeholders of the tower's own examples.
      handed_on: tensors that the next iteration of a loop gets, which is a use of them; none outside of loops.
    """

    def __init__(self, cut: Cut, plan: Plan) -> None:
        self.cut = cut
        without_loops, loops = take_out_loops(with_bodies(with_noise_shapes(cut)))
        self.loops = {loop.name: loop for loop in loops}
        self._inputs = {tensor: entry for entry in plan.inputs + plan.common for tensor in entry.tensors}
        self._graph_def = merge_branches(without_loops, self._settings())
        others = {variable.name for variable in plan.variables if variable.role != "weight"}
        read = {name: variable_of(feed) for name, feed in cut.feeds.items()}
        self.handed_on: List[str] = []
        self.untrained = {name for name, version in read.items() if version and version.variable in others}
        entries = plan.inputs + plan.common
        whole = {tensor for entry in entries if part_of_whole(entry, entries) for tensor in entry.tensors}
        self.wholes = {name for name, feed in cut.feeds.items() if feed.kind == "cut" and str(feed.key) in whole}
        owners = {name: self._inputs.get(str(feed.key)) for name, feed in cut.feeds.items() if feed.kind == "cut"}
        self.examples = {name for name, entry in owners.items() if entry is not None and entry.has_examples}
        self._towers = plan.towers
        self.fixed = plan.batch is not None
        sizes = ((plan.batch, plan.batch),) if plan.batch is not None else BATCHES
        errors: List[InputError] = []
        for batch, other in sizes:
            try:
                self.typed = self._imported(batch)
                self._other = self.typed if self.fixed else self._imported(other)
                self._with_more = self._imported(batch, plan.towers + 1) if self.wholes else self.typed
            except InputError as error:
                errors.append(error)
                continue
            self.batch, self._other_batch = batch, other
            return
        raise errors[0]

    def _settings(self) -> Set[str]:
        """The placeholders of the scalars that were fed."""
        entries = {name: self._inputs.get(str(feed.key)) for name, feed in self.cut.feeds.items() if feed.kind == "cut"}
        return {name for name, entry in entries.items() if entry is not None and entry.kind == "setting"}

    def constant(self, tensor: str) -> np.ndarray | None:
        """Returns a tensor's value if it follows from shapes and constants alone, at `batch` examples."""
        return self.typed.constants.get(tensor)

    def varies(self, tensor: str) -> bool:
        """Returns whether a constant depends on the size of the batch, as far as two sizes tell, or on all towers'."""
        one, two = self.typed.constants.get(tensor), self._other.constants.get(tensor)
        return one is None or two is None or not _same(one, two) or self._follows_towers(tensor)

    def _follows_towers(self, tensor: str) -> bool:
        """Returns whether a constant depends on the number of all towers' examples."""
        one, more = self.typed.constants.get(tensor), self._with_more.constants.get(tensor)
        return one is None or more is None or not _same(one, more)

    def per_example(self, tensor: str) -> float | None:
        """Returns the factor c of a scalar constant that is c times the batch at both sizes, or None."""
        one, two = self.typed.constants.get(tensor), self._other.constants.get(tensor)
        if one is None or two is None or one.shape != () or not self.varies(tensor):
            return None
        factor = float(one) / self.batch
        return factor if float(two) == factor * self._other_batch and not self._follows_towers(tensor) else None

    def per_example_of_all(self, tensor: str) -> float | None:
        """Returns the factor c of a scalar constant that is c times the number of all towers' examples, or None."""
        found = [typed.constants.get(tensor) for typed in (self.typed, self._other, self._with_more)]
        one, two, more = found
        if one is None or two is None or more is None or one.shape != () or not self._follows_towers(tensor):
            return None
        factor = float(one) / (self.batch * self._towers)
        expected = [factor * self._other_batch * self._towers, factor * self.batch * (self._towers + 1)]
        return factor if [float(two), float(more)] == expected else None

    def sizes_per_example(self, tensor: str) -> List[Tuple[Multiple, bool]] | None:
        """Returns the entries of a constant vector: (size, False), or (c, True) for c times the batch; or None."""
        one, two = self.typed.constants.get(tensor), self._other.constants.get(tensor)
        if one is None or two is None or one.ndim != 1 or one.shape != two.shape or self._follows_towers(tensor):
            return None
        return _multiples(list(zip(one.tolist(), two.tolist())), self.batch, self._other_batch)

    def shape(self, tensor: str) -> list[int] | None:
        """Returns a tensor's static shape at `batch` examples; None where it is not fully known."""
        return _static_shape(self.typed, tensor)

    def shape_per_example(self, tensor: str) -> List[Tuple[Multiple, bool]] | None:
        """Returns a tensor's shape: of each dimension (size, False), or (c, True) for c times the batch; or None.

        In a graph of one batch size the first dimension follows the batch if it has this size.
        """
        one, two = _static_shape(self.typed, tensor), _static_shape(self._other, tensor)
        if one is None or two is None or one != _static_shape(self._with_more, tensor):
            return None
        if self.fixed:
            return [(1, True) if not place and size == self.batch else (size, False) for place, size in enumerate(one)]
        return _multiples(list(zip(one, two)), self.batch, self._other_batch)

    def _imported(self, batch: int, towers: int | None = None) -> Typed:
        """Returns the part at a number of examples of each tower, and of towers that share out the whole of them."""
        shapes: Dict[str, Sequence[Optional[int]]] = {}
        for name, feed in self.cut.feeds.items():
            entry = self._inputs.get(str(feed.key)) if feed.kind == "cut" else None
            if entry is not None and name in self.wholes:
                shapes[name] = [batch * (towers or self._towers), *example_sizes(entry)]
            elif entry is not None and entry.has_examples and (entry.shape or entry.example):
                shapes[name] = [batch, *example_sizes(entry)]
            elif entry is not None and entry.is_copied:
                shapes[name] = example_sizes(entry, batch)
            elif entry is not None and entry.kind == "setting":
                shapes[name] = []
        return Typed(self._graph_def, shapes, list(self.loops))


def _multiples(pairs: Sequence[Tuple[int, int]], batch: int, other: int) -> List[Tuple[Multiple, bool]] | None:
    """Returns sizes at two batch sizes as (size, False), or (c, True) for c times the batch; None if one is neither.

    A batch that the model itself splits has parts: there c is a fraction.

    >>> _multiples([(3, 3), (28, 44)], 14, 22), _multiples([(15, 23)], 14, 22)
    ([(3, False), (2, True)], None)
    >>> _multiples([(7, 11)], 14, 22)
    [(Fraction(1, 2), True)]
    """
    found: List[Tuple[Multiple, bool]] = []
    for one, two in pairs:
        factor = fractions.Fraction(one, batch)
        if one != two and (factor * other != two or factor.denominator > LARGEST_DIVISOR):
            return None
        multiple: Multiple = factor.numerator if factor.denominator == 1 else factor
        found.append((one, False) if one == two else (multiple, True))
    return found


def _static_shape(typed: Typed, tensor: str) -> List[int] | None:
    shape = typed.graph.get_tensor_by_name(tensor).shape
    return list(shape.as_list()) if shape.is_fully_defined() else None


def _same(one: np.ndarray, two: np.ndarray) -> bool:
    """Returns whether two constants are equal; a NaN, which clipping by a global norm has, equals itself."""
    return np.array_equal(one, two, equal_nan=one.dtype.kind == "f")


class LoopInside(Forward):
    """The inside of a loop, whose states have the shapes that they start with.

    Args:
      loop: the loop.
      outer: the graph that it is in.
    """

    def __init__(self, loop: Loop, outer: Forward) -> None:
        self.cut, self.loops, self.fixed, self.batch = outer.cut, {}, outer.fixed, outer.batch
        self.handed_on, self.wholes, self._towers = list(loop.results), outer.wholes, outer._towers
        self.untrained: set[str] = set()  # what enters a loop has other names inside
        self.examples: set[str] = set()
        self._other_batch = outer._other_batch if not outer.fixed else outer.batch
        self.typed = _typed_inside(loop, outer.typed)
        self._other = self.typed if outer.fixed else _typed_inside(loop, outer._other)
        self._with_more = _typed_inside(loop, outer._with_more) if outer.wholes else self.typed


def _typed_inside(loop: Loop, outer: Typed) -> Typed:
    """Returns the inside of a loop with the shapes and the constants that it is given from outside."""
    inside = v1.GraphDef()
    inside.versions.producer = max(SCALAR_PLACEHOLDERS, loop.inside.versions.producer)
    shapes: Dict[str, Sequence[Optional[int]]] = {}
    known = {}
    sources = list(zip(loop.states + loop.given, loop.starts + loop.invariants))
    for placeholder, source in sources:
        tensor = outer.graph.get_tensor_by_name(parse_tensor_name(source).name)
        if tensor.shape.rank is not None:
            shapes[placeholder] = tensor.shape.as_list()
        if placeholder in loop.given and tensor.name in outer.constants:
            known[placeholder] = outer.constants[tensor.name]
    for node in loop.inside.node:
        made = inside.node.add()
        made.CopyFrom(node)
        if node.name in known:
            made.op = "Const"
            made.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(known[node.name]))
    return Typed(inside, shapes)
