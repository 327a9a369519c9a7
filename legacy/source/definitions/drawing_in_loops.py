"""Random numbers in the function of one iteration of a loop: seeds and names of streams are its parameters."""

from __future__ import annotations

from typing import Dict

from legacy.source.basics.expressions import Argument, Call, Definition, Expression, Literal, Name, replace


def with_seeds(definition: Definition, seeds: Dict[str, Expression]) -> Definition:
    """Returns a definition with parameters for the seeds of its random op, which each tower has its own, and streams.

    Args:
      definition: the definition.
      seeds: {parameter: seed}; gets those of the definition, and the scope that draws its random numbers.

    Returns:
      The definition.
    """

    def named(part: Expression) -> Expression | None:
        if isinstance(part, Call) and part.function.startswith("scope."):
            seeds["scope"] = Name("scope")
            return _with_stream(part, seeds)
        if not isinstance(part, Call) or not part.function.startswith("tf.raw_ops."):
            return None
        arguments = []
        for argument in part.arguments:
            if argument.keyword in ("seed", "seed2"):
                others = sum(name.startswith("seed") for name in seeds)
                name = f"seed{others + 1 if others else ''}"
                seeds[name] = argument.value
                argument = Argument(argument.keyword, Name(name))
            arguments.append(argument)
        return Call(part.function, tuple(arguments))

    return definition._replace(expression=replace(definition.expression, named))


def _with_stream(drawing: Call, seeds: Dict[str, Expression]) -> Expression | None:
    """Returns what draws random numbers with a parameter for its stream's name; None if it has no such name.

    Loops that differ by their streams alone, as both directions of a recurrent network do, then share a function.

    Args:
      drawing: the call of a function of a scope.
      seeds: {parameter: its value}; gets the stream's name.

    Returns:
      The call.
    """
    first, *others = drawing.arguments
    if not isinstance(first.value, Literal) or not isinstance(first.value.value, str):
        return None
    number = sum(name.startswith("stream") for name in seeds)
    name = f"stream{number + 1 if number else ''}"
    seeds[name] = first.value
    return Call(drawing.function, (Argument(first.keyword, Name(name)), *others))
