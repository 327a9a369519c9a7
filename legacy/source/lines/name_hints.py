"""Hints for the names of values: what computes a value, or what uses it under a telling name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence

from legacy.source.basics.expressions import (
    Call,
    Infix,
    Item,
    Literal,
    Method,
    Name,
    Value,
    Variable,
    calls,
    children,
    leaves,
    values_used,
)
from legacy.source.lines.attention_names import MASK, PROBABILITIES, SCORES, is_additive_mask
from legacy.source.lines.identifiers import identifier, variable_text, words_of_paths

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression
    from legacy.source.lines.statements import Statement

#: {function: names of its results}.
_TYPICAL = {
    "tf.unique": ("indices", "positions"),
    "lstm_cell": ("c", "h"),
    "old_lstm_cell": ("c", "h"),
    "lstm_state": ("c", "h"),
    "tf.nn.moments": ("mean", "variance"),
    "tf.norm": ("norm",),
    "tf.compat.v1.nn.fused_batch_norm": ("x", "mean", "variance"),
    "fused_batch_norm": ("x", "mean", "variance"),
}
#: {argument of a call: name of what is given}; the last ones of optimizers' kernels.
_TELLING = {"logits": "logits", "labels": "labels", "grad": "gradient", "delta": "gradient", "lr": "rate"}
#: {method of a tensor array: name of its result}.
_METHODS = {"unstack": "inputs", "write": "outputs"}
#: {function: {number of an argument: name of what is given}}.
_GIVEN = {"dropout_by_rate": {1: "rate"}, "dropout_by_keep_prob": {1: "keep_prob"}}
_GIVEN["apply_adam_to_rows"] = {9: "gradient"}
#: {function: name of the list of its results}, and the fewest results of which a list is made.
_LISTS, LEAST_LISTED = {"tf.unstack": "steps", "tf.split": "parts"}, 4
#: {op: name of a scalar or vector that it gives}, where the op's own name says nothing.
_OF_OPS = {"add": "total", "addn": "total", "sum": "total", "sub": "difference", "neg": "negative"}
_OF_OPS.update({"mul": "product", "truediv": "ratio", "div": "ratio", "floordiv": "quotient", "pow": "power"})
#: Names of ops, which say nothing about their results.
_OPS = {"add", "addn", "sub", "mul", "truediv", "div", "neg", "cast", "pow", "sum", "squeeze", "floordiv", "maximum"}
_OPS |= {"boolean_mask", "concat", "exp", "expanddims", "fill", "gather", "gathernd", "gatherv", "identity", "log"}
_OPS |= {"merge", "minimum", "pack", "reshape", "rsqrt", "select", "sqrt", "square", "stack", "stop_gradient"}
_OPS |= {"strided_slice", "switch", "tile", "transpose", "unstack", "where", "abs", "argmax", "clip_by_value"}
_OPS |= {"diag_part", "equal", "floor", "floor_mod", "greater", "less", "logical_and", "max", "maximum", "min", "mod"}
_OPS |= {"not_equal", "prod", "relu", "sigmoid", "softplus", "tanh", "to_float", "to_int32", "to_int64"}
#: {function: name of a scalar that it gives}, where the op's own name says nothing.
_OF_FUNCTIONS = {"tf.minimum": "least", "tf.maximum": "most", "tf.sqrt": "root"}
#: What a name of a cut-out graph's input has before the last part of its variable's.
_FED = re.compile(r"^feed_\d+_(.*_)?")
_COMPARISONS = ("<", "<=", ">", ">=")
_EQUALITIES = ("tf.equal", "tf.not_equal")
#: Part of the name of a variable that counts steps.
_COUNT = re.compile(r'values\["[^"]*step[^"]*"\]')


def hints_of_use(expression: Expression) -> Dict[str, str]:
    """Returns {tensor: name} of values that a call takes under a telling name."""
    found = {}
    for part in calls(expression):
        for argument in part.arguments:
            if argument.keyword in _TELLING and isinstance(argument.value, Value):
                found[argument.value.tensor] = _TELLING[argument.keyword]
        for place, name in _GIVEN.get(part.function, {}).items():
            given = part.arguments[place].value
            found.update({given.tensor: name} if isinstance(given, Value) else {})
        if part.function == "tf.nn.softmax" and isinstance(part.arguments[0].value, Value):
            found.setdefault(part.arguments[0].value.tensor, SCORES)
        if part.function == "tf.cond" and isinstance(part.arguments[0].value, Value):
            found[part.arguments[0].value.tensor] = "predicate"
        if part.function.startswith("tf.random.stateless") and isinstance(part.arguments[1].value, Value):
            found[part.arguments[1].value.tensor] = "seed"
        if part.function == "tf.while_loop":
            found.update((bound, "steps") for bound in _bounds(part.arguments[0].value.body))
            starts = part.arguments[2].value.items
            found.update((start.tensor, name) for start, name in zip(starts, _states(part)) if isinstance(start, Value))
    return found


def _bounds(condition: Expression) -> List[str]:
    """Returns the tensors below which the condition of a loop holds a count."""
    if not isinstance(condition, Infix):
        return []
    if condition.symbol == "<" and isinstance(condition.right, Value):
        return [condition.right.tensor]
    return [*_bounds(condition.left), *_bounds(condition.right)]


def _states(loop: Call) -> List[str]:
    """Returns the names of what a loop carries: the parameters of its condition."""
    return list(loop.arguments[0].value.parameters.split(", "))


def hint(statement: Statement, number: int, shape: Optional[List[int]]) -> str:
    """Returns the name that suits a target by what computes it.

    Args:
      statement: that computes it.
      number: of the target.
      shape: of the target, or None if it is not known.

    Returns:
      The name.
    """
    expression = statement.expression
    if isinstance(expression, Call) and expression.function == "tf.while_loop":
        return _states(expression)[number]
    if isinstance(expression, Call) and expression.function in _TYPICAL:
        return _TYPICAL[expression.function][number]
    if isinstance(expression, Item) and isinstance(expression.base, Name):
        return identifier(expression.key.strip('"'))
    if isinstance(expression, Variable):
        return _variable_word(expression)
    if isinstance(expression, Method) and expression.name in _METHODS:
        return _METHODS[expression.name]
    if _is_comparison(expression) or is_additive_mask(expression):
        return MASK
    if isinstance(expression, Call) and expression.function == "tf.nn.softmax" and len(shape or ()) > 1:
        return PROBABILITIES
    if isinstance(expression, Call) and expression.function == "tf.cast" and _is_count(expression.arguments[0].value):
        return "step"
    functions = {part.function for part in calls(expression)}
    if any(function.startswith("dropout_by_") for function in functions):
        return "x"
    if "tf.linalg.global_norm" in functions:
        return (
            "global_norm"
            if isinstance(expression, Call) and expression.function == "tf.linalg.global_norm"
            else "scale"
        )
    if functions & {"scope.uniform", "scope.common.uniform", "scope.keep"}:
        return "noise" if shape is None or "tf.cast" not in functions else "kept"
    if any("cross_entropy" in function or "CTCLoss" in function for function in functions):
        return "losses" if shape else "loss"
    if shape is None:
        return _name_in_update(expression)
    if len(shape) >= 2:
        return "x"
    if shape == [] and ("tf.nn.l2_loss" in functions or _sums_penalties(expression) or _limits_norms(expression)):
        return "penalty"
    name = identifier(_FED.sub("", statement.targets[number].partition(":")[0]))
    if len(shape) == 1 and name.rstrip("_") in _OPS:
        asked = [leaf for leaf in leaves(expression) if isinstance(leaf, Variable)]
        return _variable_word(asked[0]) if len(asked) == 1 and not values_used(expression) else "x"
    if name.rstrip("_") not in _OPS:
        return name
    if _is_size(expression):
        return "size"
    return _OF_OPS.get(name.rstrip("_"), _OF_FUNCTIONS.get(getattr(expression, "function", ""), "x"))


def _sums_penalties(expression: Expression) -> bool:
    """Returns whether an expression adds the penalties of all weights of a name."""
    return any(isinstance(leaf, Name) and "tf.nn.l2_loss(" in leaf.text for leaf in leaves(expression))


def _limits_norms(expression: Expression) -> bool:
    """Returns whether an expression squares how far norms are from 1, as the penalty on a critic's gradients does."""
    if isinstance(expression, Infix) and expression.symbol == "**" and expression.right in (Literal(2), Literal(2.0)):
        base = expression.left
    elif isinstance(expression, Call) and expression.function == "tf.square":
        base = expression.arguments[0].value
    else:
        return any(map(_limits_norms, children(expression)))
    is_distance = isinstance(base, Infix) and base.symbol == "-" and base.right in (Literal(1), Literal(1.0))
    return is_distance and isinstance(base.left, Call) and base.left.function in ("tf.sqrt", "tf.norm")


def _is_size(expression: Expression) -> bool:
    """Returns whether an expression is one size of a tensor."""
    base = expression.base if isinstance(expression, Item) else None
    return isinstance(base, Call) and base.function == "tf.shape"


def _is_comparison(expression: Expression) -> bool:
    """Returns whether an expression compares, also with a number, and in another shape or type."""
    if isinstance(expression, Call) and expression.function in ("tf.reshape", "tf.cast"):
        return _is_comparison(expression.arguments[0].value)
    if isinstance(expression, Call) and expression.function in _EQUALITIES:
        return any(isinstance(argument.value, Literal) for argument in expression.arguments)
    return isinstance(expression, Infix) and expression.symbol in _COMPARISONS


def _variable_word(variable: Variable) -> str:
    """Returns the last telling word of a variable's name; of one whose name is a parameter, what its shape tells."""
    if isinstance(variable.name, Name) and variable.name.text.isidentifier():
        return "kernel" if len(variable.shape) > 1 else "bias"
    return identifier(re.sub(r"\{\w+\}", "", variable_text(variable.name)).replace(".", "/"))


def _name_in_update(expression: Expression) -> str:
    """Returns the name of a value whose shape is not known, as in an update; "x" if its form tells nothing."""
    if isinstance(expression, Call) and expression.function == "tf.sqrt":
        return "root"
    if not isinstance(expression, Infix):
        return "x"
    if expression.symbol == "+":
        parts = (expression.left, expression.right)
        if all(isinstance(part, Infix) and part.symbol == "*" for part in parts):
            has_square = any(part.function == "tf.square" for part in calls(expression))
            return "average_of_squares" if has_square else "average"
        if any(isinstance(part, Call) and part.function == "tf.sqrt" for part in parts):
            return "denominator"
        return "update" if any(map(_is_divided_by_root, parts)) else "x"
    if expression.symbol == "-" and isinstance(expression.left, Name):
        return "new_value" if expression.left.text.startswith("values[") else "x"
    return "update" if _is_divided_by_root(expression) else "x"


def _is_count(expression: Expression) -> bool:
    """Returns whether an expression is the number of a step, or one some steps before or after it."""
    if isinstance(expression, Infix) and expression.symbol in ("+", "-") and isinstance(expression.right, Literal):
        return _is_count(expression.left)
    return isinstance(expression, Name) and bool(_COUNT.fullmatch(expression.text))


def _is_divided_by_root(expression: Expression) -> bool:
    """Returns whether an expression is a quotient by a root, as an adaptive optimizer's direction is."""
    if not isinstance(expression, Infix) or expression.symbol != "/":
        return False
    return any(part.function == "tf.sqrt" for part in calls(expression.right))


def list_name(statement: Statement) -> str:
    """Returns the name of the list of a statement's results, if these are many equal parts; "" if each has a name.

    >>> from legacy.source.basics.expressions import call
    >>> from legacy.source.lines.statements import Statement
    >>> list_name(Statement(tuple("abcd"), call("tf.unstack"))), list_name(Statement(tuple("ab"), call("tf.unstack")))
    ('steps', '')
    """
    expression = statement.expression
    if not isinstance(expression, Call) or len(statement.targets) < LEAST_LISTED:
        return ""
    return _LISTS.get(expression.function, "")


def names_of_variables(statements: Sequence[Statement]) -> Dict[str, str]:
    """Returns {tensor: name} of those variables of which another one has the same last word: the layer is told, too.

    >>> from legacy.source.lines.statements import Statement
    >>> asked = [Statement((one,), Variable(f"{one}/w", (), "", True)) for one in ("fc1", "fc2")]
    >>> names_of_variables(asked), names_of_variables(asked[:1])
    ({'fc1': 'fc1_w', 'fc2': 'fc2_w'}, {})
    """
    asked = {s.targets[0]: s.expression for s in statements if s.targets and isinstance(s.expression, Variable)}
    paths = {tensor: one.name for tensor, one in asked.items() if isinstance(one.name, str) and "/" in one.name}
    words = words_of_paths(paths)
    return {tensor: name for tensor, name in words.items() if name != identifier(paths[tensor])}
