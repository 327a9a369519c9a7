"""Defaults of parameters: the value that most calls of a function give, which these calls then leave out."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Dict, List, Sequence, Tuple

from legacy.source.basics.expressions import Call, Literal, Name, calls, replace
from legacy.source.basics.rendering import expression_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.basics.expressions import Argument, Expression
    from legacy.source.lines.statements import Statement
    from legacy.source.repeats.abstraction import Function

#: Of the calls of a function, at least this share, and so many, give the value that becomes a default.
LEAST_SHARE, FEWEST = 0.6, 3
#: Parameters without a default: a reader expects them in each call.
ALWAYS_GIVEN = ("index", "units")


def with_defaults(
    functions: Sequence[Function], parts: Sequence[Sequence[Statement]]
) -> Tuple[List[Function], List[List[Statement]]]:
    """Gives parameters defaults.

    Args:
      functions: of the program.
      parts: further statements that call them.

    Returns:
      The functions, whose parameters with a default come last, with it: `strides=1`; and the parts.
    """
    bodies = [*(function.statements for function in functions), *parts]
    called: Dict[str, List[Call]] = collections.defaultdict(list)
    for part in (part for body in bodies for statement in body for part in calls(statement.expression)):
        called[part.function].append(part)
    usual = {function.name: usual_arguments(called[function.name]) for function in functions}

    def shortened(part: Expression) -> Expression | None:
        return without_usual(part, usual[part.function]) if isinstance(part, Call) and part.function in usual else None

    made = [[s._replace(expression=replace(s.expression, shortened)) for s in body] for body in bodies]
    changed = [
        function._replace(statements=body, parameters=_with_values(function.parameters, usual[function.name]))
        for function, body in zip(functions, made)
    ]
    return changed, made[len(functions) :]


def usual_arguments(made: Sequence[Call]) -> Dict[str, Expression]:
    """Returns {parameter: the value that most calls of a function give}, of those given by name in every call."""
    given: Dict[str, List[Argument]] = collections.defaultdict(list)
    for argument in (argument for one in made for argument in one.arguments if argument.keyword):
        given[argument.keyword].append(argument)
    usual: Dict[str, Expression] = {}
    for name, arguments in given.items():
        fixed = [repr(argument.value) for argument in arguments if _is_fixed(argument.value)]
        text, count = collections.Counter(fixed or [""]).most_common(1)[0]
        often = count >= FEWEST and count >= LEAST_SHARE * len(made)
        if often and len(arguments) == len(made) and name.rstrip("0123456789") not in ALWAYS_GIVEN:
            usual[name] = next(argument.value for argument in arguments if repr(argument.value) == text)
    return usual


def _is_fixed(value: Expression) -> bool:
    """Returns whether a value is the same wherever it stands: a literal, or an initializer, which no function names."""
    return isinstance(value, Literal) or isinstance(value, Name) and value.text.startswith("initializers.")


def without_usual(made: Call, usual: Mapping[str, Expression]) -> Call:
    """Returns a call without the arguments that are defaults."""
    texts = {name: repr(value) for name, value in usual.items()}  # 1 == True, which are two values
    return Call(made.function, tuple(a for a in made.arguments if texts.get(a.keyword) != repr(a.value)))


def _with_values(parameters: Sequence[str], defaults: Dict[str, Expression]) -> List[str]:
    """Returns parameters as a signature has them.

    >>> _with_values(["scope", "strides", "units"], {"strides": Literal(1)})
    ['scope', 'units', 'strides=1']
    """
    written = [f"{name}={expression_text(defaults[name])}" for name in parameters if name in defaults]
    return [*(name for name in parameters if name not in defaults), *written]
