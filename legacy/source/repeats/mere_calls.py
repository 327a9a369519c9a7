"""Functions that only call another one with what they are given: their calls become calls of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence, Tuple

from legacy.source.basics.expressions import Call, Name, Value, replace

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression
    from legacy.source.lines.statements import Statement
    from legacy.source.repeats.abstraction import Function


def without_mere_calls(
    functions: Sequence[Function], parts: Sequence[List[Statement]]
) -> Tuple[List[Function], List[List[Statement]]]:
    """Returns a program without functions that do no more than to call another one.

    Args:
      functions: of the program.
      parts: the statements that call them.

    Returns:
      Both.
    """
    parameters = {function.name: function.parameters for function in functions}
    called = {function.name: _only_call(function) for function in functions}
    meant: Dict[str, str] = {}
    for function in functions:
        other = called[function.name]
        if other and parameters.get(other) == function.parameters:
            meant[function.name] = other

    def renamed(part: Expression) -> Expression | None:
        if not isinstance(part, Call) or part.function not in meant:
            return None
        name = part.function
        while name in meant:
            name = meant[name]
        return Call(name, part.arguments)

    def with_renamed(statements: Sequence[Statement]) -> List[Statement]:
        return [one._replace(expression=replace(one.expression, renamed)) for one in statements]

    kept = [one._replace(statements=with_renamed(one.statements)) for one in functions if one.name not in meant]
    return kept, [with_renamed(part) for part in parts]


def _only_call(function: Function) -> str:
    """Returns the function that another one calls with its own parameters in their order, and does nothing else."""
    if len(function.statements) != 1:
        return ""
    (statement,) = function.statements
    made = statement.expression
    if not isinstance(made, Call) or (statement.targets and list(statement.targets) != list(function.results)):
        return ""
    given: List[str] = []
    for argument in made.arguments:
        value = argument.value
        name = function.tensors.get(value.tensor, "") if isinstance(value, Value) else ""
        given.append(value.text if isinstance(value, Name) else name)
        if argument.keyword not in ("", given[-1]):
            return ""
    return made.function if given == function.parameters else ""
