"""Names of a function's values: `x` for what goes from layer to layer, otherwise after what computes or uses them.

A value that is used many lines later, as of a skip connection, has the name of its layer in the old graph.
"""

from __future__ import annotations

import collections
import itertools
import keyword
import re
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Set

from legacy.source.basics.expressions import (
    Call,
    Infix,
    Item,
    Lambda,
    Literal,
    Loop,
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
    from collections.abc import Callable, Collection, Iterable, Mapping

    from legacy.source.basics.expressions import Expression
    from legacy.source.lines.statements import Statement

#: Names for tensors that go from layer to layer; the first whose value is not needed any more is taken again.
CHAIN = ("x", "y", "z", "u", "v", "w")
#: Lines between a value and its last use from which on it has a name of its own.
LONG_LIVED = 8
#: Share of the names from which on a folder says nothing about one of them.
SHARE_OF_USUAL_FOLDER = 0.75
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
#: Stands for what is no value and needed up to the end: functions that are called, and parameters.
_ALWAYS = "always"
#: Names of ops, which say nothing about their results.
_OPS = {"add", "addn", "sub", "mul", "truediv", "div", "neg", "cast", "pow", "sum", "squeeze", "floordiv", "maximum"}
#: What a name of a cut-out graph's input has before the last part of its variable's.
_FED = re.compile(r"^feed_\d+_(.*_)?")
_COMPARISONS = ("<", "<=", ">", ">=")
#: Words that name no value in text: Python's and those that the program's text uses.
RESERVED = {"and", "as", "batch", "from", "for", "if", "in", "is", "lambda", "not", "or", "scope", "self", "tf", "np"}
RESERVED |= {"max", "min", "sum", "pow", "abs", "range", "slice", "batch_size", "dataclasses", "del", "with", "while"}


def name_values(
    statements: Sequence[Statement],
    results: Sequence[str],
    taken: Mapping[str, str],
    shape: Callable[[str], Optional[List[int]]],
    others: Iterable[str] = (),
) -> Dict[str, str]:
    """Names the values of one function.

    Args:
      statements: of the function, in order.
      results: tensors that are used after the last statement.
      taken: {tensor: name} of the parameters.
      shape: returns a tensor's static shape, or None.
      others: further names that no value may have.

    Returns:
      {tensor: name}, parameters included.
    """
    last = _last_uses(statements, results)
    hints = {tensor: name for s in reversed(statements) for tensor, name in _hints_of_use(s.expression).items()}
    names = dict(taken)
    holder = {name: tensor for tensor, name in taken.items()}
    functions = {part.function for statement in statements for part in calls(statement.expression)}
    holder.update((name, _ALWAYS) for name in [*functions, *others])
    last[_ALWAYS] = len(statements) + 1
    whole = usual_folder([target for statement in statements for target in statement.targets])
    for position, statement in enumerate(statements):
        own: Set[str] = set()
        for number, target in enumerate(statement.targets):
            if target not in last:
                names[target] = "_"
                continue
            wanted = hints.get(target) or _hint(statement, number, shape(target))
            if wanted == "x" and last[target] - position > LONG_LIVED:
                wanted = _layer_name(folder_below(target, whole), functions)
            free = _free_names(wanted, holder, last, position, own)
            names[target] = free
            holder[free] = target
            own.add(free)
    return names


def _layer_name(folder: str, functions: Collection[str]) -> str:
    """Returns the last part of a folder that is not the name of a function as well; "x" if there is none."""
    words = {re.sub(r"\d+$", "", function) for function in functions}
    for part in reversed(folder.split("/")):
        name = identifier(part or "x", with_number=True)
        if name not in words:
            return name
    return "x"


def _last_uses(statements: Sequence[Statement], results: Sequence[str]) -> Dict[str, int]:
    """Returns {tensor: number of the last statement that uses it}; the number of statements for the results."""
    last = {tensor: len(statements) for tensor in results}
    for position, statement in reversed(list(enumerate(statements))):
        for tensor in values_used(statement.expression):
            last.setdefault(tensor, position)
        if isinstance(statement.expression, Loop):  # each turn uses them, also after the first result
            for tensor in values_used(statement.expression.body):
                last[tensor] = max(last[tensor], position + 1)
        # An update that is a function looks its values up when it is called, after the last line.
        last.update((tensor, len(statements)) for tensor in _values_in_functions(statement.expression))
    return last


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
        if isinstance(expression.name, Name) and expression.name.text.isidentifier():  # a parameter
            return "kernel" if len(expression.shape) > 1 else "bias"
        return identifier(re.sub(r"\{\w+\}", "", variable_text(expression.name)).replace(".", "/"))
    if isinstance(expression, Method) and expression.name in _METHODS:
        return _METHODS[expression.name]
    if isinstance(expression, Infix) and expression.symbol in _COMPARISONS:
        return "mask"
    functions = {part.function for part in calls(expression)}
    if any(function.startswith("dropout_by_") for function in functions):
        return "x"
    if "tf.linalg.global_norm" in functions:
        return (
            "global_norm"
            if isinstance(expression, Call) and expression.function == "tf.linalg.global_norm"
            else "scale"
        )
    if "scope.uniform" in functions or "scope.keep" in functions:
        return "noise" if shape is None or "tf.cast" not in functions else "kept"
    if any("cross_entropy" in function for function in functions):
        return "losses" if shape else "loss"
    if shape is None or len(shape) >= 2:
        return "x"
    name = identifier(_FED.sub("", statement.targets[number].partition(":")[0]))
    return "x" if name.rstrip("_") in _OPS else name


def variable_text(name: Any) -> str:
    """Returns the name of a variable as far as it is known: without its scope, or the first tower's of several."""
    if isinstance(name, Scoped):
        return name.rest
    if isinstance(name, Item) and isinstance(name.base, Literal):
        return str(name.base.value[0])
    return name if isinstance(name, str) else name.text.strip('"')


def common_folder(names: Iterable[str]) -> str:
    """Returns the folders that all names are in, without the last "/".

    >>> common_folder(["a/b/w", "a/b/c/w"]), common_folder(["a", "b"])
    ('a/b', '')
    """
    folders = [name.split("/")[:-1] for name in names]
    common = itertools.takewhile(lambda row: len(set(row)) == 1, zip(*folders))
    return "/".join(row[0] for row in common)


def usual_folder(names: Sequence[str]) -> str:
    """Returns the innermost folder that three of four names are in, without the last "/".

    >>> usual_folder(["gpu_0/a/w", "gpu_0/a/b", "gpu_0/c/w", "gpu_0/d/w", "decay"])
    'gpu_0'
    """
    folders = [name.split("/")[:-1] for name in names]
    folder: List[str] = []
    while True:
        inside = [one for one in folders if one[: len(folder)] == folder and len(one) > len(folder)]
        counts = collections.Counter(one[len(folder)] for one in inside)
        if not counts or max(counts.values()) < SHARE_OF_USUAL_FOLDER * len(folders):
            return "/".join(folder)
        folder.append(counts.most_common(1)[0][0])


def folder_below(name: str, whole: str) -> str:
    """Returns the folder that a name is in, without the folders that `whole` begins with, too.

    >>> folder_below("net/conv1/Relu:0", "net"), folder_below("net/Relu:0", "net"), folder_below("a/x:0", "a/net")
    ('conv1', '', '')
    """
    folders, others = name.split("/")[:-1], whole.split("/")
    shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(folders, others)))
    return "/".join(folders[shared:])


def identifier(path: str, with_number: bool = False) -> str:
    """Returns the last telling word of a name in the graph as a Python name.

    >>> identifier("tower_0/conv1/weights"), identifier("tower_0/loss"), identifier("net/Mean_1")
    ('weights', 'loss', 'mean')
    >>> identifier("net/Conv_3", with_number=True), identifier("net/64_block1", with_number=True), identifier("net/2d")
    ('conv_3', 'block1', 'x2d')

    Args:
      path: the name.
      with_number: whether a number at its end is kept.

    Returns:
      The word.
    """
    word = re.sub(r"\W", "_", path.rpartition("/")[2])
    word = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", word).lower()
    word = (word if with_number else re.sub(r"_?\d+$", "", word)).strip("_") or "value"
    word = re.sub(r"^(\d+_+(?=[a-z])|(?=\d))", lambda number: "" if number[0] else "x", word)
    return word + "_" if word in RESERVED or keyword.iskeyword(word) else word


def numbered(name: str, taken: Collection[str]) -> str:
    """Returns a name that is not taken: the given one, or with the first free number from 2.

    >>> numbered("conv", ["conv", "conv2"])
    'conv3'
    """
    others = (f"{name}{number}" for number in itertools.count(2))
    return next(one for one in itertools.chain([name], others) if one not in taken)


def free_name(name: str, taken: Collection[str]) -> str:
    """Returns a name that is not taken: the given one, or with the first free number from 2.

    >>> free_name("ADAM_WEIGHTS", ["ADAM_WEIGHTS", "ADAM_WEIGHTS_2"])
    'ADAM_WEIGHTS_3'
    """
    numbered = (f"{name}_{number}" for number in itertools.count(2))
    return next(found for found in itertools.chain([name], numbered) if found not in taken)
