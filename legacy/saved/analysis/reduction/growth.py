"""Growth of a loss with the number of examples: a mean over them stays, a sum grows with them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from legacy.saved.analysis.reduction.guarded_quotients import without_guard
from legacy.saved.analysis.reduction.loops_over_examples import has_row_per_example
from legacy.saved.analysis.reduction.static_sizes import static_number
from legacy.saved.analysis.reduction.unrolled_examples import is_sum_of_each_row
from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId

#: Ops of one tensor after which a number grows as before.
_LINEAR = ("Cast", "Neg", "Print", "NextIteration", *op_types.HANDLE_PASSES, *op_types.VIEWS)
#: Sums of several tensors, and choices between them, of which the first input is the condition.
_SUMS, _CHOICES = ("Sub", "Pack", *op_types.ADDITIONS), ("Merge", "Select", "SelectV2")
#: Reductions, those whose result stays as it is where every example is repeated, and counts of elements.
_REDUCTIONS, _STAYING = ("Sum", "Mean", "Max", "Min"), ("Mean", "Max", "Min")
_COUNTS = ("L2Loss", "Size", "Prod")
#: Ops whose result is one number wherever it stands.
_CONSTANT = ("ZerosLike", "OnesLike", "Rank")
#: Ops whose elements are made of the elements of their inputs.
_ELEMENTWISE = {*op_types.ARITHMETIC, *_LINEAR, *_SUMS, *_CHOICES, "Square", "SquaredDifference", "Pow"}
_ELEMENTWISE |= {"Abs", "Exp", "Log", "Log1p", "Reciprocal", "Relu", "Rsqrt", "Sigmoid", "Softplus", "Sqrt", "Tanh"}
#: Relative difference within which a float32 number is a whole one.
_TOLERANCE = 1e-5


class Growth:
    """The power of the number of examples by which a number of a model grows where every example is repeated.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      data: its nodes that depend on data.
      batch: number of examples; None if it is open.
    """

    def __init__(self, graph: Graph, imported: ImportedGraph, data: Collection[str], batch: int | None) -> None:
        self._graph, self._imported, self._data, self._batch = graph, imported, data, batch
        self._known: dict[TensorId, int | None] = {}  # by term
        self._products: dict[TensorId, set[int | None] | None] = {}

    def power(self, tensor: TensorId) -> int | None:
        """Returns the power of a number.

        Args:
          tensor: a loss, or what it is computed from.

        Returns:
          0 for a mean over the examples, 1 for a sum, -1 for one over their number; None where that is not known.
        """
        powers = {self._of_term(term) for term in self._terms(tensor)}
        return powers.pop() if len(powers) == 1 else None if powers else 0

    def _terms(self, tensor: TensorId, of_data: bool = True) -> Iterator[TensorId]:
        """Yields the terms of a sum that depend on data, or do not."""
        todo, seen = [tensor], {tensor}
        while todo:
            term = todo.pop()
            kind, inputs = self._graph.type(term.node), self._graph.inputs(term.node)
            if (term.node in self._data) != of_data or kind in _CONSTANT:
                continue
            if kind not in (*_SUMS, *_CHOICES, *_LINEAR):
                yield term
                continue
            before = inputs[:1] if kind in _LINEAR else list(inputs)
            if kind in _CHOICES:
                before = list(without_guard(self._graph, self._imported, term.node))
            todo += [one for one in before if one not in seen]
            seen.update(before)

    def _of_term(self, term: TensorId) -> int | None:
        if term not in self._known:
            self._known[term] = None  # as of a loop
            self._known[term] = self._of_op(term)
        return self._known[term]

    def _of_op(self, term: TensorId) -> int | None:
        kind, inputs = self._graph.type(term.node), self._graph.inputs(term.node)
        if kind in (*_REDUCTIONS, *_COUNTS):
            return self._of_reduction(term)
        if kind == "StridedSlice" and self._graph.type(inputs[0].node) == "Shape":
            begin = self._imported.constant(*inputs[1])
            return int(begin is not None and begin.tolist() == [0])
        if kind in op_types.BOUNDS:
            computed = [tensor for tensor in inputs if tensor.node in self._data]
            return self.power(computed[0]) if len(computed) == 1 else None
        if kind == "Mul" or kind in op_types.QUOTIENTS:
            return 0 if self._is_mean_of_rows(inputs, kind != "Mul") else self._of_product(inputs, kind != "Mul")
        if self._imported.shape(*term) != ():
            return None
        return 0 if {self.power(value) for value in inputs} <= {0} else None

    def _is_mean_of_rows(self, inputs: Sequence[TensorId], is_quotient: bool) -> bool:
        """Whether what is computed for one example after another is added up, and divided by their number."""
        computed = [tensor for tensor in inputs if tensor.node in self._data]
        if not self._batch or len(computed) != 1 or (is_quotient and computed[0] != inputs[0]):
            return False
        factor = static_number(self._graph, self._imported, inputs[computed[0] == inputs[0]])
        if factor is None or np.ndim(factor) or not factor:
            return False
        times = (float(factor) if is_quotient else 1 / float(factor)) / self._batch
        is_count = abs(times - 1) < _TOLERANCE
        return is_count and is_sum_of_each_row(self._graph, self._imported, self._data, computed[0], self._batch)

    def _of_product(self, inputs: Sequence[TensorId], is_quotient: bool) -> int | None:
        left, right = (self.power(tensor) for tensor in inputs)
        if left is None or right is None:
            return None
        if is_quotient:
            return left - (right or int(left == 1 and self._is_number_of_examples(inputs[1], inputs[0])))
        sums = [inputs[i] for i, power in enumerate((left, right)) if power == 1]
        others = [tensor for tensor in inputs if tensor not in sums]
        return (
            left
            + right
            - int(len(sums) == len(others) == 1 and self._is_number_of_examples(others[0], sums[0], inverse=True))
        )

    def _is_number_of_examples(self, tensor: TensorId, total: TensorId, inverse: bool = False) -> bool:
        """Whether a constant is the number of the examples of a sum, or a whole multiple of it, or one over that."""
        value = static_number(self._graph, self._imported, tensor)
        if not self._batch:
            return False
        rows = self._rows_of_part(total) or self._batch
        if value is None:
            counts = [term.node for term in self._terms(tensor, of_data=False) if self._graph.type(term.node) == "Sum"]
            shapes = [self._imported.shape(*self._graph.inputs(name)[0]) for name in counts]
            return not inverse and any(shape and shape[0] == rows for shape in shapes)
        if np.ndim(value) or not value:
            return False
        times = (1 / float(value) if inverse else float(value)) / rows
        return round(times) >= 1 and abs(times - round(times)) < _TOLERANCE * times

    def _rows_of_part(self, total: TensorId) -> int | None:
        """The examples that a sum adds up, where it is of a part of the batch, as of one tower's that alone trains."""
        name, shape = total.node, None
        while not shape and self._graph.type(name) in (*_LINEAR, "Sum") and self._graph.inputs(name):
            source = self._graph.inputs(name)[0]
            shape = self._imported.shape(*source) if self._graph.type(name) == "Sum" else None
            name = source.node
        rows = shape[0] if shape else None
        if not rows or not self._batch or rows >= self._batch:
            return None
        before = self._graph.ancestors([name], controls=False) & set(self._data)
        return rows if any(self._takes_part(part, rows) for part in before) else None

    def _takes_part(self, name: str, rows: int) -> bool:
        """Whether a node takes a number of rows of what has a row for each example."""
        if self._graph.type(name) not in op_types.PARTS:
            return False
        source = self._graph.inputs(name)[op_types.divided_input(self._graph.type(name))]
        shapes = [self._imported.shape(*tensor) or () for tensor in (TensorId(name, 0), source)]
        return [shape[:1] for shape in shapes] == [(rows,), (self._batch,)]

    def _of_reduction(self, term: TensorId) -> int | None:
        """The power of a sum, a mean or a number of elements."""
        kind, source = self._graph.type(term.node), self._graph.inputs(term.node)[0]
        if self._imported.shape(*source) == ():
            return self.power(source)
        if self._imported.shape(*source) is None and self._takes_rows_of_loop(term.node):
            return int(kind not in _STAYING)
        shape = () if self._is_over_all(term.node) else self._imported.shape(*term)
        if shape is None or any(size != 1 for size in shape):
            return None  # of each example, or of each element
        own = self._of_elements(source)
        if own is None:  # it has the examples
            return int(kind not in _STAYING) + self._of_weights(source)
        return own.pop() if len(own) == 1 else None

    def _takes_rows_of_loop(self, name: str) -> bool:
        """Whether a reduction is along the examples, one after another of which a loop takes."""
        if self._graph.type(name) not in _REDUCTIONS:
            return False
        source, axes = self._graph.inputs(name)[:2]
        taken = self._imported.constant(*axes)
        is_first = taken is not None and 0 in np.ravel(taken)
        return is_first and has_row_per_example(self._graph, self._imported, source.node, self._batch)

    def _is_over_all(self, name: str) -> bool:
        """Whether a reduction is over all axes of what has an open rank: a range of its rank."""
        graph = self._graph
        axes = graph.inputs(name)[1:]
        limits = [graph.inputs(one.node)[1] for one in axes if graph.type(one.node) == "Range"]
        ranked = [graph.inputs(one.node)[0] for one in limits if graph.type(one.node) == "Rank"]
        return ranked == graph.inputs(name)[:1] and not graph.nodes[name].attr["keep_dims"].b

    def _of_weights(self, tensor: TensorId) -> int:
        """The power of what multiplies each example's own number: -1 of weights that are divided by their sum."""
        power, todo = 0, [(tensor, 1)]
        while todo:
            (node, _), sign = todo.pop()
            kind, inputs = self._graph.type(node), self._graph.inputs(node)
            if kind in _LINEAR and inputs:
                todo.append((inputs[0], sign))
            elif kind == "Mul":
                todo += [(one, sign) for one in inputs if one.node in self._data]
            elif kind in op_types.QUOTIENTS:
                todo.append((inputs[0], sign))
                is_sum = self._imported.shape(*inputs[1]) in ((), (1,)) and self.power(inputs[1]) == 1
                power -= sign * int(is_sum)
        return power

    def _of_elements(self, tensor: TensorId) -> set[int | None] | None:
        """The powers of what elements are made of; None where a tensor has elements for each example."""
        todo, seen = [tensor], {tensor}
        powers: set[int | None] = set()
        while todo:
            name = todo.pop()
            kind, inputs = self._graph.type(name.node), self._graph.inputs(name.node)
            if name.node not in self._data:
                continue
            if kind in _REDUCTIONS:
                if not self._takes_examples(name.node):
                    return None
                powers.add(int(kind not in _STAYING))
            elif kind == "MatMul" and self._is_of_units(name.node):
                powers.add(None)
            elif kind in op_types.QUOTIENTS and self._is_mean_of_products(inputs):
                powers.add(0)
            elif kind in op_types.SCALINGS and all(one.node in self._data for one in inputs):
                own = self._of_product_by_element(name)
                if own is None:
                    return None
                powers |= own
            elif kind in _ELEMENTWISE:
                todo += [one for one in inputs if one not in seen]
                seen.update(inputs)
            else:
                return None
        return powers or None

    def _of_product_by_element(self, tensor: TensorId) -> set[int | None] | None:
        """The powers of the elements of a product or quotient of two tensors of data."""
        if tensor not in self._products:
            left, right = (self._of_elements(one) for one in self._graph.inputs(tensor.node))
            sign = 1 if self._graph.type(tensor.node) == "Mul" else -1
            pairs = None if left is None or right is None else [(one, other) for one in left for other in right]
            self._products[tensor] = (
                None
                if pairs is None
                else {None if one is None or other is None else one + sign * other for one, other in pairs}
            )
        return self._products[tensor]

    def _is_of_units(self, product: str) -> bool:
        """Whether a product's rows are those of units, since it sums over the examples: its data come transposed."""
        first = self._graph.origin(self._graph.inputs(product)[0])
        is_transposed = self._graph.nodes[product].attr["transpose_a"].b or self._graph.type(first.node) == "Transpose"
        return is_transposed and first.node in self._data

    def _is_mean_of_products(self, quotient: Sequence[TensorId]) -> bool:
        """Whether a covariance of units is divided by the number of examples, or by one less."""
        product, divisor = self._graph.origin(quotient[0]).node, quotient[1]
        if self._graph.type(product) != "MatMul" or not self._is_of_units(product):
            return False
        value = self._imported.constant(*divisor)
        if value is None:
            return self.power(divisor) == 1
        return self._batch is not None and np.ndim(value) == 0 and float(value) in (self._batch, self._batch - 1.0)

    def _takes_examples(self, name: str) -> bool:
        """Whether a reduction is along the first dimension, which the examples have."""
        source, axes = self._graph.inputs(name)[:2]
        shape, taken = self._imported.shape(*source), self._imported.constant(*axes)
        if taken is not None and shape is None and np.all(np.ravel(taken) > 0):
            return False  # of an open rank, as of a placeholder without a shape
        if taken is None or not shape:
            return True
        is_first = not {0, -len(shape)}.isdisjoint(np.ravel(taken).tolist())
        return is_first and shape[0] in (None, self._batch)
