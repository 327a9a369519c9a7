"""Names of a function's values: `x` for what goes from layer to layer, otherwise after what computes or uses them.

A value that is used many lines later, as of a skip connection, has the name of its layer in the old graph; one of a
branch beside `x` that of the layer whose variables it is made with, such as `query`.
"""

from __future__ import annotations

import collections
import itertools
import re
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Set

from legacy.source.basics.expressions import (
    Call,
    Lambda,
    Loop,
    calls,
    children,
    values_used,
)
from legacy.source.lines.attention_names import SCORES, attention_name
from legacy.source.lines.identifiers import RESERVED, identifier
from legacy.source.lines.layer_names import layer_name, layers_of
from legacy.source.lines.name_hints import hint, hints_of_use, list_name, names_of_variables

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
#: Folders of single towers, which say nothing about their values.
_OF_TOWERS = re.compile(r"(tower|gpu|clone|replica|device|worker)_?\d*")
#: Parts of names of folders that a value which is made of data, such as a mask, is in beside what they are named after.
_OF_OTHERS = ("loss", "logits")
#: Name of a global norm; a scalar that is made of it is a scale.
GLOBAL_NORM = "global_norm"
#: Fewest dimensions of scores; those of a matrix are a classifier's logits.
LEAST_OF_ATTENTION = 3
#: Stands for what is no value and needed up to the end: functions that are called, and parameters.
_ALWAYS = "always"


def name_values(
    statements: Sequence[Statement],
    results: Sequence[str],
    taken: Mapping[str, str],
    shape: Callable[[str], Optional[List[int]]],
    others: Iterable[str] = (),
    users: Sequence[Expression] = (),
) -> Dict[str, str]:
    """Names the values of one function.

    Args:
      statements: of the function, in order.
      results: tensors that are used after the last statement.
      taken: {tensor: name} of the parameters.
      shape: returns a tensor's static shape, or None.
      others: further names that no value may have.
      users: further expressions, which use the results.

    Returns:
      {tensor: name}, parameters included.
    """
    last = _last_uses(statements, results)
    uses = [*(statement.expression for statement in statements), *users]
    hints = {tensor: name for use in reversed(uses) for tensor, name in hints_of_use(use).items()}
    hints.update(names_of_variables(statements))
    names = dict(taken)
    holder = {name: tensor for tensor, name in taken.items()}
    functions = {part.function for statement in statements for part in calls(statement.expression)}
    holder.update((name, _ALWAYS) for name in [*functions, *others])
    last[_ALWAYS] = len(statements) + 1
    of_layers: Dict[str, str] = {}
    outer = {part for one in statements for folders in layers_of(one.expression) for part in folders[:-1]}
    whole = usual_folder([target for statement in statements for target in statement.targets])
    for position, statement in enumerate(statements):
        own: Set[str] = set()
        listed = list_name(statement)
        if listed:
            last[_whole(statement)] = max(last.get(target, position) for target in statement.targets)
            holder[_free_names(listed, holder, last, position, own)] = _whole(statement)
            base = next(name for name, tensor in holder.items() if tensor == _whole(statement))
            names.update((target, f"{base}[{number}]") for number, target in enumerate(statement.targets))
            continue
        for number, target in enumerate(statement.targets):
            if target not in last:
                names[target] = "_"
                continue
            wanted = hints.get(target) or hint(statement, number, shape(target))
            if shape(target) == [] and any(names.get(t) == GLOBAL_NORM for t in values_used(statement.expression)):
                wanted = "scale"
            if wanted == SCORES and len(shape(target) or ()) < LEAST_OF_ATTENTION:
                wanted = "logits"
            if wanted == "x":
                wanted = attention_name(statement.expression, names) or wanted
            if wanted == "x" and last[target] - position > LONG_LIVED:
                wanted = _layer_name(folder_below(target, whole), functions)
            free = _free_names(wanted, holder, last, position, own)
            ending = {names.get(tensor) for tensor in values_used(statement.expression) if last[tensor] == position}
            if wanted == "x" and free != "x" and free not in ending:  # a new branch beside `x`
                layer = _layer_of(statement, names, position, last, set(of_layers.values()))
                layer = "" if layer in outer else layer
                free = layer if layer and layer == _free_names(layer, holder, last, position, own) else free
                of_layers.update({target: layer} if free == layer else {})
            names[target] = free
            holder[free] = target
            own.add(free)
    return names


def _layer_of(
    statement: Statement, names: Mapping[str, str], position: int, last: Mapping[str, int], known: Collection[str]
) -> str:
    """Returns the name of the layer that makes a value, or that it is made of alone; "" if none tells it.

    Args:
      statement: that computes it.
      names: {tensor: name} of the values before it.
      position: of the statement.
      last: {tensor: number of the statement that uses it last}.
      known: names of layers that values before it have.

    Returns:
      The name.
    """
    if len(statement.targets) > 1:
        return ""
    if layers_of(statement.expression):
        return layer_name(statement.expression)
    used = set(values_used(statement.expression))
    before = {names[tensor] for tensor in used if tensor in names}
    ends = all(last.get(tensor) == position for tensor in used)
    return before.pop() if len(used) == len(before) == 1 and ends and before <= set(known) else ""


def _whole(statement: Statement) -> str:
    """Returns what stands for the list of all results of a statement."""
    return f"all of {statement.targets[0]}"


def _layer_name(folder: str, functions: Collection[str]) -> str:
    """Returns the last part of a folder that names no function, loss, logits or tower; "x" if there is none.

    >>> _layer_name("net/block1", ["conv"]), _layer_name("net/loss_xent", []), _layer_name("net/tower_1", [])
    ('block1', 'net', 'net')
    """
    words = {re.sub(r"\d+$", "", function) for function in functions}
    for part in reversed(folder.split("/")):
        name = identifier(part or "x", with_number=True)
        if name not in words and not any(other in name for other in _OF_OTHERS) and not _OF_TOWERS.fullmatch(name):
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
