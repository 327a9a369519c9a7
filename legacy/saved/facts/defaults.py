"""Placeholders with a default, which a program may have fed with another value; and numbers that were fed in vain."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from legacy.saved.folding.decided import default_number
from workloads.lifted.graph import Graph
from workloads.support.wording import SEVERAL, listed, plural


def default_sentences(
    graph: Graph, step: Collection[str], settings: Mapping[str, object], numbers: Mapping[str, object]
) -> Iterator[str]:
    """Yields what a lift takes for placeholders that have a default, and how another value is given.

    Args:
      graph: the whole graph.
      step: its nodes that a training step runs.
      settings: {placeholder: value} of those that are assumed to have one value.
      numbers: {placeholder: its default, or its text} of those that are a number or a boolean unless they are fed.

    Yields:
      A sentence on numbers, such as the share that dropout keeps; and one on switches that are false unless fed, such
      as is_training, and that a step which trains is assumed to feed with true.
    """
    if numbers:
        names = listed([f"{name} is {_text(number)}" for name, number in numbers.items()], SEVERAL)
        others = {name: _text(not value) if isinstance(value, bool) else "NUMBER" for name, value in numbers.items()}
        given = ",".join(f"{name}={other}" for name, other in list(others.items())[:SEVERAL])
        yield f"{names} unless fed, which a lift takes; --feed={given} gives another"
    off = [name for name in step if settings.get(name) is True and default_number(graph, name) is False]
    if off:
        given = ",".join(f"{name}=false" for name in off[:SEVERAL])
        yield (
            f"{listed(off, SEVERAL)} {plural(len(off), 'is', 'are')} false unless fed, and taken as true, since "
            f"the step trains; --feed={given} is a program that never feeds {plural(len(off), 'it', 'them')}"
        )


def unused_sentences(graph: Graph) -> Iterator[str]:
    """Yields a sentence on the placeholders that no op of a graph uses, such as a learning rate that nothing takes.

    The parts of a sparse one are one placeholder, of which many programs leave the shape unused.

    Args:
      graph: the whole graph.
    """
    names = graph.of_types("Placeholder")
    unused = {name for name in names if not graph.users(name) and not graph.after(name)}
    whole = {}
    for name in names:
        base = name.rpartition("/")[0]
        parts = {f"{base}/{part}" for part in ("indices", "values", "shape")}
        whole[name] = (base, parts) if name in parts and parts <= set(names) else (name, {name})
    left = list(dict.fromkeys(base for base, parts in whole.values() if parts <= unused))
    if left:
        yield f"no op uses {listed(left, SEVERAL)}: what is fed there changes nothing"


def _text(value: object) -> str:
    """A value as --feed takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
