"""Abstraction: from blocks of statements that do the same to one function and its calls."""

from __future__ import annotations

import collections
import itertools
import re
from typing import TYPE_CHECKING, Counter, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import (
    BATCH_SIZE,
    Argument,
    Call,
    Infix,
    Lambda,
    Name,
    Scoped,
    Value,
    Variable,
    calls,
    children,
    leaves,
    values_used,
)
from legacy.source.lines.attention_names import MASK, in_own_shape
from legacy.source.lines.holes import with_holes
from legacy.source.lines.naming import usual_folder
from legacy.source.lines.statements import Statement, uses_scope
from legacy.source.repeats.parameters import Parameters
from legacy.source.repeats.readings import Readings
from legacy.source.repeats.words import function_name, telling_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from legacy.source.basics.expressions import Expression

#: The most results of a function.
MOST_RESULTS = 2
#: A parameter in an f-string, and names that every function knows.
_IN_TEXT, _ALWAYS_KNOWN = re.compile(r"\{(\w+)\}"), {"scope", "batch", BATCH_SIZE.text}


class Function(NamedTuple):
    """A function of the program.

    Attributes:
      name: of the function.
      parameters: names, in order; `scope` and `batch_size` first if the body needs them.
      tensors: {tensor of the body: parameter}.
      statements: the body.
      results: tensors that it returns.
      batch_of: parameter whose first dimension is the batch, or "" if the body does not need it or is given its size.
      scope: the name scope that it is named after, or "".
      is_network: whether it is a whole network, which the model uses several times.
    """

    name: str
    parameters: List[str]
    tensors: Dict[str, str]
    statements: List[Statement]
    results: List[str]
    batch_of: str = ""
    scope: str = ""
    is_network: bool = False


def make_function(
    statements: Sequence[Statement],
    starts: Sequence[int],
    length: int,
    shape: Callable[[str], Optional[List[int]]],
    taken: Set[str],
    batch: int = 0,
    read: Optional[Readings] = None,
) -> Optional[Tuple[Function, Dict[int, Statement]]]:
    """Makes a function of blocks of statements.

    Args:
      statements: that the blocks are in.
      starts: of the blocks, whose skeletons and inner uses are equal.
      length: of each block.
      shape: returns a tensor's static shape, or None.
      taken: names of other functions.
      batch: number of examples that the shapes are for.
      read: keeps what is read of the statements.

    Returns:
      The function and {start of a block: the statement that calls it}; None if it would have too many results.
    """
    blocks = [statements[start : start + length] for start in starts]
    read = read or Readings()
    outputs = _outputs(statements, starts, length, read)
    if not 0 < len(outputs) <= MOST_RESULTS or _is_for_lines_outside(blocks[0], [row for row, _ in outputs]):
        return None
    whole = read.of_all(statements, _folder_of_all)
    results = [blocks[0][row].targets[number] for row, number in outputs]
    asked = (tuple(results), batch, whole)
    made = read.of_blocks(blocks, asked, lambda: function_of_blocks(blocks, results, shape, batch, whole, read))
    if any(_names_in(s.expression) - set(made.function.parameters) for s in made.function.statements):
        return None  # a name that the function around the blocks was given
    scope = "" if made.function.scope in made.function.parameters else made.function.scope
    name = function_name(made.function.statements, scope, {*taken, *made.function.parameters})
    calls = {}
    for start, block, arguments in zip(starts, blocks, made.arguments):
        targets = tuple(block[row].targets[number] for row, number in outputs)
        calls[start] = Statement(targets, Call(name, arguments))
    return made.function._replace(name=name), calls


class Abstracted(NamedTuple):
    """A function of blocks, without its name, and for each block the arguments of its call."""

    function: Function
    arguments: List[Tuple[Argument, ...]]


def function_of_blocks(
    blocks: Sequence[Sequence[Statement]],
    results: List[str],
    shape: Callable[[str], Optional[List[int]]],
    batch: int = 0,
    whole: str = "",
    read: Optional[Readings] = None,
) -> Abstracted:
    """Makes a function of blocks of statements.

    Args:
      blocks: whose skeletons and inner uses are equal.
      results: tensors of the first block that the function returns.
      shape: returns a tensor's static shape, or None.
      batch: number of examples that the shapes are for.
      whole: the name scope of all statements of the program.
      read: keeps what is read of the statements.

    Returns:
      The function and the arguments of its calls.
    """
    work = Parameters(blocks, shape, read)
    body = [Statement(s.targets, with_holes(s.expression, work.contents(row))) for row, s in enumerate(blocks[0])]
    _name_masks(work, body)
    needs_batch = any(leaf == BATCH_SIZE for statement in body for leaf in leaves(statement.expression))
    has_rows = needs_batch and work.rows_follow(batch)
    batch_of = next(iter(work.tensors.values()), "") if has_rows else ""
    context = ["scope"] if any(uses_scope(statement.expression) for statement in body) else []
    context += [BATCH_SIZE.text] if needs_batch and not has_rows else []
    parameters = context + work.parameters
    function = Function("", parameters, work.tensors, body, results, batch_of, telling_scope(blocks, whole))
    by_place = set(itertools.takewhile(lambda p: p in ("name", *work.tensors.values()), work.parameters))
    made = []
    for index in range(len(blocks)):
        given = zip(work.parameters, work.arguments(index))
        own = [Argument("" if p in by_place else p, value) for p, value in given]
        made.append((*(Argument("", Name(p)) for p in context), *own))
    return Abstracted(function, made)


def _name_masks(work: Parameters, body: Sequence[Statement]) -> None:
    """Names the parameter that is added to scores before their softmax."""
    made = {statement.targets[0]: statement.expression for statement in body if len(statement.targets) == 1}
    for part in (part for statement in body for part in calls(statement.expression)):
        if part.function != "tf.nn.softmax":
            continue
        scores = part.arguments[0].value
        scores = made.get(scores.tensor, scores) if isinstance(scores, Value) else scores
        added = scores.right if isinstance(scores, Infix) and scores.symbol == "+" else None
        added = in_own_shape(added) if added is not None else None
        if isinstance(added, Value) and added.tensor in work.tensors:
            work.rename(work.tensors[added.tensor], MASK)


def _is_for_lines_outside(block: Sequence[Statement], results: Collection[int]) -> bool:
    """Returns whether a block asks for a variable that neither its own lines nor those after it use, as updates do.

    Args:
      block: the statements.
      results: numbers of those that it hands on.
    """
    used = {target for statement in block for target in values_used(statement.expression)}
    updates = any(part.function == "scope.update" for statement in block for part in calls(statement.expression))
    asked = [row for row, s in enumerate(block) if isinstance(s.expression, Variable) and not used & set(s.targets)]
    return not updates and not set(asked) <= set(results)


def _names_in(node: Expression) -> Set[str]:
    """Returns the names of parameters in an expression; constants of the module are written in capitals."""
    if isinstance(node, Name):
        found = {node.text} if node.text.isidentifier() else set(_IN_TEXT.findall(node.text))
        return {name for name in found if name.islower()} - _ALWAYS_KNOWN
    if isinstance(node, Lambda):
        return _names_in(node.body) - set(re.findall(r"\w+", node.parameters))
    parts = list(children(node))
    parts += [node.scope] if isinstance(node, Scoped) else []
    parts += [node.name, node.trainable] if isinstance(node, Variable) else []  # of a network with untrained copies
    return {name for part in parts if not isinstance(part, (str, bool)) for name in _names_in(part)}


def _folder_of_all(statements: Sequence[Statement]) -> str:
    """Returns the folder that most of the tensors that statements make are in."""
    return usual_folder([target for statement in statements for target in statement.targets])


def _uses_of_all(statements: Sequence[Statement]) -> Counter[str]:
    """Returns how often statements use each tensor."""
    return collections.Counter(tensor for statement in statements for tensor in values_used(statement.expression))


def _outputs(
    statements: Sequence[Statement], starts: Sequence[int], length: int, read: Readings
) -> List[Tuple[int, int]]:
    """Returns (row, number) of the targets that one of the blocks hands to the statements outside of it."""
    everywhere = read.of_all(statements, _uses_of_all)
    found: Set[Tuple[int, int]] = set()
    for start in starts:
        inside = collections.Counter(itertools.chain.from_iterable(map(read.uses, statements[start : start + length])))
        for row in range(length):
            targets = statements[start + row].targets
            found |= {(row, n) for n, target in enumerate(targets) if everywhere[target] > inside[target]}
    return sorted(found)
