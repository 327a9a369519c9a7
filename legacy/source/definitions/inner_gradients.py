"""Derivatives inside of a loss, as gradient penalties have them: recognised as `tf.gradients(values, by)`.

The names that `tf.gradients` gives to its ops propose what is differentiated and by what; that it is this derivative is
decided by numbers, and by the kinds of its ops, among which there must be none that the derivative does not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Sequence, Set, Tuple

import numpy as np
import tensorflow as tf

from workloads.lifted.graph.importing import import_graph
from workloads.lifted.tensors.gradient_names import forward_name_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from legacy.source.basics.forward import Forward

v1 = tf.compat.v1

#: Ops of numbers with which versions of TensorFlow give one gradient in several forms; none limits a number.
_ANY_FORM = {
    *("Add", "AddN", "AddV2", "BroadcastTo", "Cast", "Const", "Div", "Fill", "Identity", "Mul", "Neg", "OnesLike"),
    *("RealDiv", "Reciprocal", "Reshape", "Select", "SelectV2", "Square", "Sub", "Sum", "Tile", "Transpose"),
    *("ZerosLike", "ExpandDims", "Squeeze", "PreventGradient"),
}
#: Largest difference of both forms of a derivative, relative to its largest entry: rounding in a deep model.
_ROUNDING = 1e-4
_SEED = 20


class InnerGradient(NamedTuple):
    """A derivative that a loss is made of.

    Attributes:
      scope: name scope of its ops.
      values: the tensors whose sum is differentiated.
      by: the tensors that it is differentiated by.
      results: the derivative by each of these.
    """

    scope: str
    values: Tuple[str, ...]
    by: Tuple[str, ...]
    results: Tuple[str, ...]


def find_inner_gradients(forward: Forward, targets: Mapping[str, Sequence[str]]) -> List[InnerGradient]:
    """Recognises derivatives in a forward pass.

    Args:
      forward: the forward pass.
      targets: {name scope of a gradient graph: the tensors of the forward pass that it differentiates}.

    Returns:
      Those that are `tf.gradients` of these tensors by others, in all their parts that the forward pass uses.
    """
    found = [_recognised(forward, scope, tuple(values)) for scope, values in targets.items()]
    return [gradient for gradient in found if gradient is not None]


def _recognised(forward: Forward, scope: str, values: Tuple[str, ...]) -> InnerGradient | None:
    """Returns the derivative that the ops of a name scope are, or None."""
    graph = forward.typed.graph
    results = _results(forward, scope)
    choices = [_choices(graph, scope, result, set(values)) for result in results]
    if not results or not all(choices):
        return None
    candidates = list(dict.fromkeys(name for names in choices for name in names))
    with tf.Graph().as_default() as copy:
        import_graph(_with_usual_gradients(graph), subject="graph file")
        before = set(copy.get_operations())
        try:
            made = v1.gradients(*([copy.get_tensor_by_name(n) for n in names] for names in (values, candidates)))
        except (LookupError, ValueError, TypeError, AttributeError):  # an op without a gradient here
            return None
        new = [op for op in copy.get_operations() if op not in before]
        old = [op for op in before if op.name.startswith(scope)]
        if None in made or not _kinds(old) <= _kinds(new) | _ANY_FORM:
            return None
        equal = _equal_pairs(copy, dict(zip(candidates, made)), dict(zip(results, choices)))
    if not all(equal):
        return None
    return InnerGradient(scope, values, tuple(own[0] for own in equal), results)


def _with_usual_gradients(graph: tf.Graph) -> Any:
    """Returns a graph's GraphDef with the usual gradients of all ops, which the text will have."""
    graph_def = graph.as_graph_def()
    for node in graph_def.node:
        node.attr.pop("_gradient_op_type", None)
    return graph_def


def _results(forward: Forward, scope: str) -> Tuple[str, ...]:
    """Returns the tensors of a gradient graph that other ops use, unless constants."""
    found = []
    for operation in forward.typed.operations():
        for tensor in operation.outputs if operation.name.startswith(scope) else ():
            ends = tensor.name in forward.cut.fetches
            used = ends or any(not user.name.startswith(scope) for user in tensor.consumers())
            if used and forward.constant(tensor.name) is None:
                found.append(str(tensor.name))
    return tuple(found)


def _choices(graph: tf.Graph, scope: str, result: str, values: Collection[str]) -> List[str]:
    """Returns the tensors that a tensor of a gradient graph could be the derivative by: of its type and shape.

    Args:
      graph: the forward pass.
      scope: name scope of the gradient graph.
      result: the tensor.
      values: what is differentiated.

    Returns:
      Names of inputs of the forward op in its name, behind copies; of a sum, those that all its parts have.
    """
    tensor = graph.get_tensor_by_name(result)
    names = {operation.name for operation in graph.get_operations()}
    forward = forward_name_in(tensor.op.name, scope, names)
    if forward is None and tensor.op.type in ("AddN", "Identity"):
        parts = [_choices(graph, scope, part.name, values) for part in tensor.op.inputs]
        return [name for name in parts[0] if all(name in other for other in parts)]
    found: List[str] = []
    for given in graph.get_operation_by_name(forward).inputs if forward in names else ():
        behind = given
        while behind.dtype == tensor.dtype and str(behind.shape) == str(tensor.shape):
            found.insert(0, str(behind.name))
            if behind.op.type != "Identity":
                break
            behind = behind.op.inputs[0]
    return [name for name in dict.fromkeys(found) if name not in values]


def _kinds(operations: Collection[tf.Operation]) -> Set[str]:
    """Returns the types of the ops that compute numbers."""
    return {op.type for op in operations if any(tensor.dtype.is_floating for tensor in op.outputs)}


def _equal_pairs(graph: tf.Graph, made: Dict[str, tf.Tensor], results: Dict[str, Sequence[str]]) -> List[List[str]]:
    """Returns, for each result, those of its choices whose derivative has its numbers, for made-up inputs.

    Args:
      graph: has both forms of the derivative.
      made: {tensor: derivative by it}.
      results: {tensor that may be a derivative: the tensors that it may be by}.

    Returns:
      Names of tensors for each of `results`.
    """
    left = [list(names) for names in results.values()]
    told = [False] * len(left)
    given = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
    if not all(tensor.shape.is_fully_defined() for tensor in given):
        return [[] for _ in left]
    random = np.random.RandomState(_SEED)
    with v1.Session(graph=graph) as session:
        for draw in (_positive, np.random.RandomState.randn, _large):
            fed = {tensor: _made_up(tensor, random, draw) for tensor in given}
            first = {tensor: np.zeros_like(fed[tensor]) for tensor in given if _counts(tensor)}
            forms = [list(results), made]
            numbers = _run(forms, fed, session) or _run(forms, {**fed, **first}, session)
            if numbers is None:
                return [[] for _ in left]
            old, new = numbers
            for number, value in enumerate(old):
                left[number] = [name for name in left[number] if _close(value, new[name])]
                told[number] = told[number] or bool(np.isfinite(value).all() and np.any(value))
    return [names if seen else [] for names, seen in zip(left, told)]


def _run(fetches: Any, fed: Mapping[tf.Tensor, np.ndarray], session: Any) -> Any:
    """Returns the values of tensors; None where an op refuses the numbers, as one that looks rows up does."""
    try:
        return session.run(fetches, fed)
    except tf.errors.OpError:
        return None


def _counts(tensor: tf.Tensor) -> bool:
    """Whether an input is of whole numbers, such as classes, of which 0 is one wherever they are looked up."""
    return not tensor.dtype.is_floating or any(
        user.type == "Cast" and user.outputs[0].dtype.is_integer for user in tensor.consumers()
    )


def _positive(random: np.random.RandomState, *shape: int) -> np.ndarray:
    return np.asarray(random.uniform(0.1, 1.0, shape))


def _large(random: np.random.RandomState, *shape: int) -> np.ndarray:
    """Returns numbers that a limit would change."""
    return np.asarray(random.standard_normal(shape) * 30.0)


def _made_up(tensor: tf.Tensor, random: np.random.RandomState, draw: Callable[..., np.ndarray]) -> np.ndarray:
    shape = tensor.shape.as_list()
    if tensor.dtype.is_floating:
        return np.asarray(draw(random, *shape)).astype(tensor.dtype.as_numpy_dtype)
    return np.asarray(random.randint(0, 2, shape)).astype(tensor.dtype.as_numpy_dtype)


def _close(one: np.ndarray, other: np.ndarray) -> bool:
    """Returns whether two results differ by rounding at most, not finite ones in the same places."""
    if np.shape(one) != np.shape(other) or not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return False
    finite = np.isfinite(one)
    largest = float(np.abs(one[finite]).max()) if finite.any() else 0.0
    return bool(np.all(np.abs(one[finite] - other[finite]) <= _ROUNDING * largest))
