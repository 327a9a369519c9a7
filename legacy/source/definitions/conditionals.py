"""Conditionals: choices that compute what may fail, and values of different sizes, only where a branch is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Set

from legacy.source.basics.branch_sizes import APART
from legacy.source.basics.branches import DRAWS, GUARDED
from legacy.source.basics.expressions import Expression, Lambda, Value, call, replace
from legacy.source.basics.unwritten import Unwritten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from legacy.source.basics.expressions import Definition
    from legacy.source.basics.forward import Forward
    from legacy.source.definitions.recovery import Recovery
    from legacy.source.ops.view import OpView


class Conditionals:
    """The choices of a forward pass whose branches hold ops that may fail.

    Args:
      forward: the forward pass.
      recovery: its definitions so far.
    """

    def __init__(self, forward: Forward, recovery: Recovery) -> None:
        self._forward, self._recovery = forward, recovery
        self._computed: Dict[str, Set[str]] = {}  # {choice: the ops that it computes in a branch only}

    def choice(self, op: OpView) -> Expression | None:
        """Returns a choice that computes the ops which may fail only where their branch is taken; None without such.

        Where the values differ in size, that is all ops of the branches.

        Raises:
          Unwritten: such an op is part of a function, computed with others at once, or drawn for several choices.
        """
        names, apart = (self._names(op, attribute) for attribute in (GUARDED, APART))
        if not names and not apart:
            return None
        both = self._recovery.ordered([op.argument(1), op.argument(2)])
        needed = {target.partition(":")[0] for one in both for target in one.targets}
        inner = {name for name, own in self._computed.items() if name in needed and own and own <= set(names)}
        guarded = {name for name in names + apart if self._recovery.definition(f"{name}:0") is not None} | inner
        self._require_drawn_once(names, inner)
        left = set(names) - needed - {name for one in inner for name in self._computed[one]}
        standing = {name: _standing_for(op, name, needed) for name in left}
        guarded |= {one for found in standing.values() for one in found}
        left = {name for name, found in standing.items() if not found}

        def inside(definition: Definition) -> bool:
            needed = self._recovery.ordered([Value(definition.targets[0])])
            return any(target.partition(":")[0] in guarded for one in needed for target in one.targets)

        left |= {one.targets[0].partition(":")[0] for one in both if len(one.targets) > 1 and inside(one)}
        if left:
            kind = self._kind(min(left))
            raise Unwritten(f"model: a branch of {op.operation.name!r} keeps {min(left)!r} ({kind}) from some numbers")

        def opened(part: Expression) -> Expression | None:
            definition = self._recovery.definition(part.tensor) if isinstance(part, Value) else None
            if definition is None or len(definition.targets) > 1 or not inside(definition):
                return None
            return replace(definition.expression, opened)

        self._computed[op.operation.name] = set(names)
        taken, other = (Lambda("", replace(op.argument(position), opened)) for position in (1, 2))
        return call("tf.cond", op.argument(0), taken, other)

    def _names(self, op: OpView, attribute: str) -> List[str]:
        """Returns the ops that an attribute of a choice names and whose values are not known."""
        names = [name.decode() for name in op.operation.node_def.attr[attribute].list.s]
        return [name for name in names if self._forward.constant(f"{name}:0") is None]

    def _require_drawn_once(self, names: Sequence[str], inner: Set[str]) -> None:
        """Raises `Unwritten` if another choice than those in this one's branches computes a random op of some ops."""
        drawn = {name for name in names if self._kind(name) in DRAWS}
        again = {name for choice, own in self._computed.items() if choice not in inner for name in drawn & own}
        if again:
            first = min(again)
            raise Unwritten(f"random numbers: {first!r} ({self._kind(first)}) is drawn once for several choices")

    def _kind(self, name: str) -> str:
        """Returns the type of an op."""
        return str(self._forward.typed.graph.get_operation_by_name(name).type)


def _standing_for(op: OpView, name: str, needed: Set[str]) -> Set[str]:
    """Returns the ops whose definitions compute an op, too, as that of a normalization computes its root.

    Args:
      op: the choice.
      name: an op in one of its branches.
      needed: the ops whose definitions the choice needs.

    Returns:
      Their names; empty if the choice takes a value that they do not stand for.
    """
    found: Set[str] = set()
    todo, seen = [op.operation.graph.get_operation_by_name(name)], {name}
    while todo:
        for user in [user for output in todo.pop().outputs for user in output.consumers()]:
            if user is op.operation:
                return set()
            if user.name in needed:
                found.add(user.name)
            elif user.name not in seen:
                seen.add(user.name)
                todo.append(user)
    return found
