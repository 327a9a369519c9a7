"""Loops over steps that the old program unrolled, as lines."""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence, Tuple

from legacy.source.basics.expressions import (
    BATCH_SIZE,
    Expression,
    Item,
    Listing,
    Name,
    Value,
    call,
    calls,
    leaves,
    replace,
    values_used,
)
from legacy.source.basics.rendering import WIDTH, expression_text, layout
from legacy.source.functions.loop_headers import header_of_steps, without_item
from legacy.source.functions.step_bodies import Unrolled, result_of_step, results_before
from legacy.source.lines.identifiers import RESERVED
from legacy.source.lines.naming import numbered

if TYPE_CHECKING:
    from legacy.source.lines.statements import Statement


class StepLoop(NamedTuple):
    """The lines of a loop, and what the lines after it see of its results.

    Attributes:
      lines: of the loop.
      names: {tensor: name} of results that are used after the loop.
      lists: (tensors of all steps, name of their list).
    """

    lines: List[str]
    names: Dict[str, str]
    lists: List[Tuple[List[str], str]]


class _Around(NamedTuple):
    """Tensors and names around a loop in its function.

    Attributes:
      after: tensors that are used after the loop.
      kept: names that the loop must not give to other values: of functions, and of what it or later lines still use.
      later: names that later lines give to their own results.
      others: all names of the function, but for those of the loop's results.
    """

    after: set[str]
    kept: set[str]
    later: set[str]
    others: set[str]


class _Named(NamedTuple):
    """The names of a loop's results.

    Attributes:
      local: {(statement, result): name inside of the loop}; "_" for what nobody uses.
      kept: {tensor: name} of results of the last step that are used after the loop.
      lists: (statement and result, tensors of all steps, name of their list) where those of other steps are used, too.
    """

    local: Dict[Tuple[int, int], str]
    kept: Dict[str, str]
    lists: List[Tuple[Tuple[int, int], List[str], str]]


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
    around = _around(run, statements, results, names)
    named = _name_results(run, statements, around, names)
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


def _as_loop(lines: List[str], named: _Named) -> StepLoop:
    """Returns the loop of some lines, with what the lines after it see."""
    indexed = {tensor: f"{name}[{n}]" for _, tensors, name in named.lists for n, tensor in enumerate(tensors)}
    return StepLoop(lines, {**named.kept, **indexed}, [(tensors, name) for _, tensors, name in named.lists])


def _is_taken(run: Unrolled, key: Tuple[int, int]) -> bool:
    """Returns whether a statement of a step takes a result of this step or of the one before."""
    results = [result_of_step(leaf) for one in run.body for leaf in leaves(one)]
    return any(result is not None and result.key == key for result in results)


def _around(run: Unrolled, statements: Sequence[Statement], results: Sequence[str], names: Dict[str, str]) -> _Around:
    """Returns what stands around a loop; the arguments are those of `step_loop`."""
    end = run.start + run.length * run.turns
    own = _made(statements[run.start : end])
    inside, after = _used(statements[run.start : end]), _used(statements[end:]) | set(results)
    functions = {part.function for one in statements for part in calls(one.expression)}
    reserved = {*functions, *RESERVED, "scope", "batch", BATCH_SIZE.text}
    parameters = names.keys() - _made(statements)
    used = (_made(statements[: run.start]) & (after | inside)) | parameters
    return _Around(
        after,
        {without_item(names[tensor]) for tensor in used} | reserved,
        {without_item(names[tensor]) for tensor in _made(statements[end:])},
        {without_item(name) for tensor, name in names.items() if tensor not in own} | reserved,
    )


def _name_results(run: Unrolled, statements: Sequence[Statement], around: _Around, names: Dict[str, str]) -> _Named:
    """Names the results of a loop's statements, one after the other.

    A name is free again after the last statement that takes its value.

    Args:
      run: the steps.
      statements: of the function.
      around: what stands around the loop.
      names: {tensor: name} as without a loop.

    Returns:
      The names.
    """
    steps = [[one.targets for one in statements[run.start + n * run.length :][: run.length]] for n in range(run.turns)]
    last, before = _last_uses(run), _last_uses_before(run)
    starts = _starts_that_end(run, statements, around, names)
    named = _Named({}, {}, [])
    for key in [(k, m) for k, targets in enumerate(steps[0]) for m in range(len(targets))]:
        own = [step[key[0]][key[1]] for step in steps]
        is_listed = bool(around.after & set(own[:-1]))
        is_kept = own[-1] in around.after and not is_listed
        last[key] = run.length if is_listed or is_kept else last.get(key, -1)
        if last[key] < 0:
            named.local[key] = "_"
            continue
        name = starts.get(key) or _base(own, names)
        needed = {
            one
            for other, one in named.local.items()
            if last[other] > key[0] or other[0] == key[0] or other[0] < before.get(key, 0)
        }
        taken = {*(around.kept - {starts.get(key, "")}), *needed, *(around.later if is_kept else ())}
        named.local[key] = numbered("x" if name == "_" else name, taken)
        if is_listed:
            lists = [one for _, _, one in named.lists]
            word, taken = "losses" if name == "loss" else "outputs", {*around.others, *lists, *named.local.values()}
            named.lists.append((key, own, numbered(word, taken)))
        elif is_kept:
            named.kept[own[-1]] = named.local[key]
    return named


def with_lists(expression: Expression, lists: Sequence[Tuple[List[str], str]]) -> Expression:
    """Returns an expression in which lists of the results of all steps are the lists that loops made.

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


def _last_uses(run: Unrolled) -> Dict[Tuple[int, int], int]:
    """Returns {(statement, result): last statement of a step that takes it}; the step's end if the next one does."""
    found: Dict[Tuple[int, int], int] = {}
    for number, expression in enumerate(run.body):
        for leaf in leaves(expression):
            result = result_of_step(leaf)
            if result is not None:
                end = run.length if result.is_before else number
                found[result.key] = max(end, found.get(result.key, -1))
    return found


def _last_uses_before(run: Unrolled) -> Dict[Tuple[int, int], int]:
    """Returns {(statement, result): last statement of a step that takes it of the step before}."""
    taken = [(one, number) for number, expression in enumerate(run.body) for one in results_before(expression)]
    return dict(taken)


def _starts_that_end(
    run: Unrolled, statements: Sequence[Statement], around: _Around, names: Dict[str, str]
) -> Dict[Tuple[int, int], str]:
    """Returns {(statement, result): name of the value that the first step takes}, if nobody else takes this value.

    Args:
      run: the steps.
      statements: of the function.
      around: what stands around the loop.
      names: {tensor: name} as without a loop.

    Returns:
      The names, which a loop's results may have, too.
    """
    tensors = {key: one.tensor for key, one in run.starts.items() if isinstance(one, Value)}
    users = collections.Counter(tensor for one in (*run.body, *run.starts.values()) for tensor in values_used(one))
    given = _made(statements[: run.start])
    ends = {key: one for key, one in tensors.items() if users[one] == 1 and one in given and one not in around.after}
    return {key: names[one] for key, one in ends.items() if "[" not in names[one]}


def _made(statements: Sequence[Statement]) -> set[str]:
    return {target for one in statements for target in one.targets}


def _used(statements: Sequence[Statement]) -> set[str]:
    return {tensor for one in statements for tensor in values_used(one.expression)}


def _base(own: Sequence[str], names: Dict[str, str]) -> str:
    """Returns the name that most steps give a result, without a number."""
    bases = [re.sub(r"_?\d+$", "", without_item(names[tensor])) for tensor in own if names.get(tensor, "_") != "_"]
    return collections.Counter(bases).most_common(1)[0][0] if bases else "_"


def _named(expression: Expression, names: Dict[str, str]) -> Expression:
    return replace(expression, lambda part: Name(names[part.tensor]) if isinstance(part, Value) else None)


def _start_lines(starts: Dict[str, Expression], indent: int) -> List[str]:
    """Returns the lines that give what the first step takes; several names of one value in one line.

    >>> _start_lines({"c": Name("zeros"), "h": Name("zeros"), "x": Name("x")}, 0)
    ['c = h = zeros']
    >>> _start_lines({"c": Name("h"), "h": Name("c")}, 0)
    ['c, h = [h, c]']
    """
    starts = {name: expression for name, expression in starts.items() if expression != Name(name)}
    used = [leaf.text for one in starts.values() for leaf in leaves(one) if isinstance(leaf, Name)]
    given_anew = set(map(without_item, used)) & set(starts)
    if given_anew:  # at once, as one is made of what another one was
        return layout(f"{', '.join(starts)} = ", Listing(tuple(starts.values())), "", indent)
    names: Dict[str, List[str]] = {}
    values = {repr(expression): expression for expression in starts.values()}
    for name, expression in starts.items():
        names.setdefault(repr(expression), []).append(name)
    lines = [layout(f"{' = '.join(sorted(given))} = ", values[text], "", indent) for text, given in names.items()]
    return [line for group in lines for line in group]


def _in_body(part: Expression, local: Dict[Tuple[int, int], str], texts: Dict[str, str]) -> Optional[Expression]:
    """Returns what stands in a loop for a placeholder of a body; None of any other part."""
    if isinstance(part, Name) and part.text in texts:
        return Name(texts[part.text])
    if isinstance(part, Item) and part.key in texts:
        return Item(part.base, texts[part.key], part.bounds)
    result = result_of_step(part)
    return None if result is None else Name(local[result.key])
