"""Checks of a graph's library of functions: names that occur twice, and functions that call themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Set

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def library_problems(library: Any) -> Iterator[str]:
    """Yields functions that are called alike, or that call themselves: TensorFlow expands them without end."""
    calls: Dict[str, Set[str]] = {}
    names = {function.signature.name for function in library.function}
    for function in library.function:
        name = function.signature.name
        if not name or name in calls:
            yield f"two functions of its library are called {name!r}, or one is not called anything"
        calls[name] = {callee for node in function.node_def for callee in _called(node, names)}
    for gradient in library.gradient:
        calls.setdefault(gradient.function_name, set()).add(gradient.gradient_func)
    recursive = node_on_a_cycle(calls)
    if recursive is not None:
        yield f"function {recursive!r} of its library calls itself, directly or by way of others"


def _called(node: Any, names: Collection[str]) -> Iterator[str]:
    """Yields the functions of a library that a node calls."""
    if node.op in names:
        yield node.op
    for value in node.attr.values():
        for function in [value.func] if value.WhichOneof("value") == "func" else value.list.func:
            if function.name in names:
                yield function.name


def node_on_a_cycle(calls: Mapping[str, Set[str]]) -> Optional[str]:
    """Returns a node on a cycle of a graph {node: the nodes after it}; None if there is no cycle."""
    waits: Dict[str, int] = {name: 0 for name in calls}
    for after in calls.values():
        for name in after:
            if name in waits:
                waits[name] += 1
    ready: List[str] = [name for name, count in waits.items() if count == 0]
    done = 0
    while ready:
        done += 1
        for name in calls[ready.pop()]:
            if name in waits:
                waits[name] -= 1
                if waits[name] == 0:
                    ready.append(name)
    return None if done == len(waits) else next(name for name, count in waits.items() if count > 0)
