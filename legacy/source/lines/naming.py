"""Names of a function's values: `x` for what goes from layer to layer, otherwise after what computes or uses them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Set

from legacy.source.basics.expressions import (
    Call,
    Infix,
    Item,
    Lambda,
    Literal,
    Method,
    Name,
    Scoped,
    Value,
    Variable,
    calls,
    children,
    values_used,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from legacy.source.basics.expressions import Expression
    from legacy.source.lines.statements import Statement

#: Names for tensors that go from layer to layer; the first whose value is not needed any more is taken again.
CHAIN = ("x", "y", "z", "u", "v", "w")
_TYPICAL = {
    "lstm_cell": ("c", "h"),
    "lstm_state": ("c", "h"),
    "tf.nn.moments": ("mean", "variance"),
    "tf.compat.v1.nn.fused_batch_norm": ("x", "mean", "variance"),
    "fused_batch_norm": ("x", "mean", "variance"),
}
#: {argument of a call: name of what is given}; the last ones of optimizers' kernels.
_TELLING = {"logits": "logits", "labels": "labels", "grad": "gradient", "delta": "gradient", "lr": "rate"}
#: {method of a tensor array: name of its result}.
_METHODS = {"unstack": "inputs", "write": "outputs"}
#: Names of ops, which say nothing about their results.
_OPS = {"add", "addn", "sub", "mul", "truediv", "div", "neg", "cast", "pow", "sum", "squeeze", "floordiv", "maximum"}
_COMPARISONS = ("<", "<=", ">", ">=")
#: Words that name no value in text: Python's and those that the program's text uses.
RESERVED = {"and", "as", "batch", "from", "for", "if", "in", "is", "lambda", "not", "or", "scope", "self", "tf", "np"}
RESERVED |= {"max", "min", "sum", "pow", "abs", "range", "slice", "batch_size", "dataclasses", "del", "with", "while"}


def name_values(
    statements: Sequence[Statement],
    results: Sequence[str],
    taken: Mapping[str, str],
    shape: Callable[[str], Optional[List[int]]],
) -> Dict[str, str]:
    """Names the values of one function.

    Args:
      statements: of the function, in order.
      results: tensors that are used after the last statement.
      taken: {tensor: name} of the parameters.
      shape: returns a tensor's static shape, or None.

    Returns:
      {tensor: name}, parameters included.
    """
    last = {tensor: len(statements) for tensor in results}
    hints: Dict[str, str] = {}
    for position, statement in reversed(list(enumerate(statements))):
        for tensor in values_used(statement.expression):
            last.setdefault(tensor, position)
        # An update that is a function looks its values up when it is called, after the last line.
        last.update((tensor, len(statements)) for tensor in _values_in_functions(statement.expression))
        hints.update(_hints_of_use(statement.expression))
    names = dict(taken)
    holder = {name: tensor for tensor, name in taken.items()}
    for position, statement in enumerate(statements):
        own: Set[str] = set()
        for number, target in enumerate(statement.targets):
            if target not in last:
                names[target] = "_"
                continue
            wanted = hints.get(target) or _hint(statement, number, shape(target))
            free = _free_names(wanted, holder, last, position, own)
            names[target] = free
            holder[free] = target
            own.add(free)
    return names


def _values_in_functions(expression: Expression) -> List[str]:
    """Returns the tensors that an update of a statistic uses in a function."""
    if not isinstance(expression, Call) or expression.function != "scope.update":
        return []
    return [tensor for part in children(expression) if isinstance(part, Lambda) for tensor in values_used(part)]


def _free_names(wanted: str, holder: Mapping[str, str], last: Mapping[str, int], position: int, own: Set[str]) -> str:
    """Returns the first form of a name that no value has which is still needed."""
    forms = list(CHAIN) if wanted == "x" else [wanted]
    number = 2
    while True:
        for form in forms:
            needed = form in holder and last.get(holder[form], -1) > position
            if not needed and form not in own and form not in RESERVED:
                return form
        forms = [f"{wanted}{number}"]
        number += 1


def _hints_of_use(expression: Expression) -> Dict[str, str]:
    """Returns {tensor: name} of values that a call takes under a telling name."""
    found = {}
    for part in calls(expression):
        for argument in part.arguments:
            if argument.keyword in _TELLING and isinstance(argument.value, Value):
                found[argument.value.tensor] = _TELLING[argument.keyword]
        if part.function == "tf.cond" and isinstance(part.arguments[0].value, Value):
            found[part.arguments[0].value.tensor] = "predicate"
        if part.function.startswith("tf.random.stateless") and isinstance(part.arguments[1].value, Value):
            found[part.arguments[1].value.tensor] = "seed"
        if part.function == "tf.while_loop":
            starts = part.arguments[2].value.items
            found.update((start.tensor, name) for start, name in zip(starts, _states(part)) if isinstance(start, Value))
    return found


def _states(loop: Call) -> List[str]:
    """Returns the names of what a loop carries: the parameters of its condition."""
    return list(loop.arguments[0].value.parameters.split(", "))


def _hint(statement: Statement, number: int, shape: Optional[List[int]]) -> str:
    """Returns the name that suits a target by what computes it."""
    expression = statement.expression
    if isinstance(expression, Call) and expression.function == "tf.while_loop":
        return _states(expression)[number]
    if isinstance(expression, Call) and expression.function in _TYPICAL:
        return _TYPICAL[expression.function][number]
    if isinstance(expression, Item) and isinstance(expression.base, Name):
        return identifier(expression.key.strip('"'))
    if isinstance(expression, Variable):
        return identifier(re.sub(r"\{\w+\}", "", _variable_text(expression.name)).replace(".", "/"))
    if isinstance(expression, Method) and expression.name in _METHODS:
        return _METHODS[expression.name]
    if isinstance(expression, Infix) and expression.symbol in _COMPARISONS:
        return "mask"
    functions = {part.function for part in calls(expression)}
    if "scope.uniform" in functions or "scope.keep" in functions:
        return "noise" if shape is None or "tf.cast" not in functions else "kept"
    if any("cross_entropy" in function for function in functions):
        return "losses" if shape else "loss"
    if shape is None or len(shape) >= 2:
        return "x"
    name = identifier(statement.targets[number].partition(":")[0])
    return "x" if name.rstrip("_") in _OPS else name


def _variable_text(name: Any) -> str:
    """Returns the name of a variable as far as it is known: without its scope, or the first tower's of several."""
    if isinstance(name, Scoped):
        return name.rest
    if isinstance(name, Item) and isinstance(name.base, Literal):
        return str(name.base.value[0])
    return name if isinstance(name, str) else name.text.strip('"')


def identifier(path: str) -> str:
    """Returns the last telling word of a name in the graph as a Python name.

    >>> identifier("tower_0/conv1/weights"), identifier("tower_0/loss"), identifier("net/Mean_1")
    ('weights', 'loss', 'mean')
    """
    word = re.sub(r"\W", "_", path.rpartition("/")[2])
    word = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", word).lower()
    word = re.sub(r"_?\d+$", "", word).strip("_") or "value"
    return word + "_" if word in RESERVED or word[0].isdigit() else word
