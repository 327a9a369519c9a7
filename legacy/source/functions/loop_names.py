"""Names of the results of a loop over steps: inside of the loop, after it, and of the lists that it fills."""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Sequence, Tuple

from legacy.source.basics.expressions import BATCH_SIZE, Value, calls, leaves, values_used
from legacy.source.functions.loop_headers import without_item
from legacy.source.functions.step_bodies import Unrolled, result_of_step, results_before
from legacy.source.lines.identifiers import RESERVED
from legacy.source.lines.naming import numbered

if TYPE_CHECKING:
    from legacy.source.lines.statements import Statement


class Surroundings(NamedTuple):
    """Tensors and names around a loop in its function.

    Attributes:
      after: tensors that are used after the loop.
      kept: names that the loop must not reuse: of functions, and of values that it or later lines still use.
      later: names that later lines give to their own results.
      others: all names of the function except those of the loop's results.
    """

    after: set[str]
    kept: set[str]
    later: set[str]
    others: set[str]


class LoopNames(NamedTuple):
    """The names of a loop's results.

    Attributes:
      local: {(statement, result): name inside of the loop}; "_" for a result that nothing uses.
      kept: {tensor: name} of results of the last step that are used after the loop.
      lists: (statement and result, tensors of all steps, name of their list) of results that are used of other steps.
    """

    local: Dict[Tuple[int, int], str]
    kept: Dict[str, str]
    lists: List[Tuple[Tuple[int, int], List[str], str]]


def surroundings_of(
    run: Unrolled, statements: Sequence[Statement], results: Sequence[str], names: Dict[str, str]
) -> Surroundings:
    """Returns the tensors and names around a loop.

    Args:
      run: the steps.
      statements: of the function.
      results: tensors that are used after the last statement.
      names: {tensor: name} as without a loop.

    Returns:
      The tensors and names.
    """
    end = run.start + run.length * run.turns
    own = _made(statements[run.start : end])
    inside, after = _used(statements[run.start : end]), _used(statements[end:]) | set(results)
    functions = {part.function for one in statements for part in calls(one.expression)}
    reserved = {*functions, *RESERVED, "scope", "batch", BATCH_SIZE.text}
    parameters = names.keys() - _made(statements)
    used = (_made(statements[: run.start]) & (after | inside)) | parameters
    return Surroundings(
        after,
        {without_item(names[tensor]) for tensor in used} | reserved,
        {without_item(names[tensor]) for tensor in _made(statements[end:])},
        {without_item(name) for tensor, name in names.items() if tensor not in own} | reserved,
    )


def name_results(
    run: Unrolled, statements: Sequence[Statement], around: Surroundings, names: Dict[str, str]
) -> LoopNames:
    """Names the results of a loop's statements, one after the other.

    A name is free again after the last statement that uses its value.

    Args:
      run: the steps.
      statements: of the function.
      around: tensors and names around the loop.
      names: {tensor: name} as without a loop.

    Returns:
      The names.
    """
    steps = [[one.targets for one in statements[run.start + n * run.length :][: run.length]] for n in range(run.turns)]
    last, before = _last_uses(run), _last_uses_before(run)
    starts = _starts_that_end(run, statements, around, names)
    named = LoopNames({}, {}, [])
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


def _last_uses(run: Unrolled) -> Dict[Tuple[int, int], int]:
    """Returns {(statement, result): last statement of a step that uses it}; the step's end if the next step uses it."""
    found: Dict[Tuple[int, int], int] = {}
    for number, expression in enumerate(run.body):
        for leaf in leaves(expression):
            result = result_of_step(leaf)
            if result is not None:
                end = run.length if result.is_before else number
                found[result.key] = max(end, found.get(result.key, -1))
    return found


def _last_uses_before(run: Unrolled) -> Dict[Tuple[int, int], int]:
    """Returns {(statement, result): last statement of a step that uses its value of the step before}."""
    taken = [(one, number) for number, expression in enumerate(run.body) for one in results_before(expression)]
    return dict(taken)


def _starts_that_end(
    run: Unrolled, statements: Sequence[Statement], around: Surroundings, names: Dict[str, str]
) -> Dict[Tuple[int, int], str]:
    """Returns {(statement, result): name of the value that the first step uses}, if nothing else uses this value.

    Args:
      run: the steps.
      statements: of the function.
      around: tensors and names around the loop.
      names: {tensor: name} as without a loop.

    Returns:
      The names, which the loop's results may take over.
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
