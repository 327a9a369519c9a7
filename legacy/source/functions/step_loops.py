"""Loops over steps that the old program unrolled, as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence, Tuple

from legacy.source.basics.expressions import (
    Expression,
    Item,
    Listing,
    Name,
    Value,
    call,
    leaves,
    replace,
)
from legacy.source.basics.rendering import expression_text
from legacy.source.functions.loop_headers import header_of_steps, without_item
from legacy.source.functions.loop_names import LoopNames, name_results, surroundings_of
from legacy.source.functions.step_bodies import Unrolled, result_of_step
from legacy.source.lines.line_breaks import WIDTH, layout

if TYPE_CHECKING:
    from legacy.source.lines.statements import Statement


class StepLoop(NamedTuple):
    """The lines of a loop, and the names of its results for the lines after it.

    Attributes:
      lines: of the loop.
      names: {tensor: name} of results that are used after the loop.
      lists: (tensors of all steps, name of their list).
    """

    lines: List[str]
    names: Dict[str, str]
    lists: List[Tuple[List[str], str]]


def step_loop(
    run: Unrolled, statements: Sequence[Statement], results: Sequence[str], names: Dict[str, str], indent: int = 4
) -> StepLoop:
    """Writes a loop.

    Args:
      run: the steps.
      statements: of the function.
      results: tensors that are used after the last statement.
      names: {tensor: name} as without a loop.
      indent: columns that the lines are indented by.

    Returns:
      The loop.
    """
    around = surroundings_of(run, statements, results, names)
    named = name_results(run, statements, around, names)
    local, pad, lists = named.local, " " * indent, [name for _, _, name in named.lists]
    header = header_of_steps(run, names, {*around.others, *lists, *local.values()})
    texts = {**header.items, **header.series}
    body = [replace(_named(one, names), lambda part: _in_body(part, local, texts)) for one in run.body]
    if len(local) == len(lists) == 1 and not run.starts and not header.lines:
        comprehension = Name(f"[{expression_text(body[0])} {header.text[:-1]}]")
        at_once = layout(f"{lists[0]} = ", comprehension, "", indent)
        if max(map(len, at_once)) <= WIDTH:
            return _as_loop(at_once, named)
    lines = _start_lines({local[key]: _named(one, names) for key, one in run.starts.items()}, indent)
    lines += [f"{pad}{name} = []" for name in lists]
    lines += [pad + header.text, *(f"{pad}    {line}" for line in header.lines)]
    later: List[str] = []
    appended = {key: name for key, _, name in named.lists if not _is_taken(run, key)}
    for number, expression in enumerate(body):
        targets = {key: name for key, name in local.items() if key[0] == number}
        if len(targets) == 1 and (number, 0) in appended:
            lines += layout("", call(f"{appended[number, 0]}.append", expression), "", indent + 4)
            continue
        lines += layout(f"{', '.join(targets.values())} = ", expression, "", indent + 4)
        made = [(name, local[key]) for key, _, name in named.lists if key[0] == number]
        later += [f"{pad}    {name}.append({value})" for name, value in made]
    return _as_loop(lines + later, named)


def _as_loop(lines: List[str], named: LoopNames) -> StepLoop:
    """Returns the loop of some lines, with the names of its results for the lines after it."""
    indexed = {tensor: f"{name}[{n}]" for _, tensors, name in named.lists for n, tensor in enumerate(tensors)}
    return StepLoop(lines, {**named.kept, **indexed}, [(tensors, name) for _, tensors, name in named.lists])


def _is_taken(run: Unrolled, key: Tuple[int, int]) -> bool:
    """Returns whether a statement of a step uses a result of this step or of the one before."""
    results = [result_of_step(leaf) for one in run.body for leaf in leaves(one)]
    return any(result is not None and result.key == key for result in results)


def with_lists(expression: Expression, lists: Sequence[Tuple[List[str], str]]) -> Expression:
    """Returns an expression with the lists that loops filled in place of lists of the results of all steps.

    Args:
      expression: the expression.
      lists: (tensors of all steps, name of their list).

    Returns:
      The expression.
    """

    def listed(part: Expression) -> Optional[Expression]:
        if not isinstance(part, Listing):
            return None
        values = [item.tensor if isinstance(item, Value) else "" for item in part.items]
        for tensors, name in lists:
            for whole, text in ((tensors, name), (tensors[::-1], f"{name}[::-1]")):
                if values == whole:
                    return Name(text)
                places = [n for n in range(len(values)) if values[n : n + len(whole)] == whole]
                if places:
                    rest = part.items[places[0] + len(whole) :]
                    return Listing((*part.items[: places[0]], Name(f"*{text}"), *rest))
        return None

    return replace(expression, listed)


def _named(expression: Expression, names: Dict[str, str]) -> Expression:
    return replace(expression, lambda part: Name(names[part.tensor]) if isinstance(part, Value) else None)


def _start_lines(starts: Dict[str, Expression], indent: int) -> List[str]:
    """Returns the lines that set the values that the first step uses; several names of one value in one line.

    >>> _start_lines({"c": Name("zeros"), "h": Name("zeros"), "x": Name("x")}, 0)
    ['c = h = zeros']
    >>> _start_lines({"c": Name("h"), "h": Name("c")}, 0)
    ['c, h = [h, c]']
    """
    starts = {name: expression for name, expression in starts.items() if expression != Name(name)}
    used = [leaf.text for one in starts.values() for leaf in leaves(one) if isinstance(leaf, Name)]
    given_anew = set(map(without_item, used)) & set(starts)
    if given_anew:  # in one assignment, as one new value is computed from another's old one
        return layout(f"{', '.join(starts)} = ", Listing(tuple(starts.values())), "", indent)
    names: Dict[str, List[str]] = {}
    values = {repr(expression): expression for expression in starts.values()}
    for name, expression in starts.items():
        names.setdefault(repr(expression), []).append(name)
    lines = [layout(f"{' = '.join(sorted(given))} = ", values[text], "", indent) for text, given in names.items()]
    return [line for group in lines for line in group]


def _in_body(part: Expression, local: Dict[Tuple[int, int], str], texts: Dict[str, str]) -> Optional[Expression]:
    """Returns the expression that replaces a placeholder of a loop's body; None for any other part."""
    if isinstance(part, Name) and part.text in texts:
        return Name(texts[part.text])
    if isinstance(part, Item) and part.key in texts:
        return Item(part.base, texts[part.key], part.bounds)
    result = result_of_step(part)
    return None if result is None else Name(local[result.key])
