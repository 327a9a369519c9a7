"""Order of definitions: each after those that it needs, with updates of statistics as early as they can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence

from legacy.source.basics.expressions import Call, Literal, Variable, values_used
from legacy.source.basics.unwritten import Unwritten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from legacy.source.basics.expressions import Definition


class Order:
    """Orders definitions: each after those that it needs.

    Args:
      definitions: among which those that are needed are looked for.
      before: {target: targets whose definitions come before it, though it does not use them}.
    """

    def __init__(self, definitions: Sequence[Definition], before: Mapping[str, Sequence[str]] | None = None) -> None:
        self._by_target = {target: d for d in definitions for target in d.targets}
        self._before = before or {}

    def needed(self, tensors: Iterable[str]) -> List[Definition]:
        """Returns the definitions that tensors need, depth first.

        Raises:
          Unwritten: one needs itself.
        """
        found: List[Definition] = []
        state: Dict[str, bool] = {}  # {first target: whether all that it needs is there}
        todo = [(tensor, False) for tensor in reversed(list(tensors))]
        while todo:
            tensor, ready = todo.pop()
            definition = self._by_target.get(tensor)
            if definition is None or state.get(definition.targets[0]):
                continue
            if ready:
                state[definition.targets[0]] = True
                found.append(definition)
            elif definition.targets[0] in state:
                raise Unwritten("model: networks that need each other")
            else:
                state[definition.targets[0]] = False
                todo.append((tensor, True))
                used = [*self._before.get(definition.targets[0], ()), *values_used(definition.expression)]
                todo += [(other, False) for other in reversed(dict.fromkeys(used)) if not self._is_done(other, state)]
        return found

    def _is_done(self, tensor: str, state: Mapping[str, bool]) -> bool:
        definition = self._by_target.get(tensor)
        return definition is None or bool(state.get(definition.targets[0]))

    def with_effects(self, items: Sequence[Definition], effects: Sequence[Definition]) -> List[Definition]:
        """Returns definitions with those that are made for their effect, in order, each as early as it can be."""
        result = list(items)
        asked: List[Definition] = []  # on a line before that of the update
        for effect in effects:
            if asked_for(effect):
                asked.append(effect)
                continue
            needed = self.needed(values_used(effect.expression))
            places = {id(item): place for place, item in enumerate(result)}
            same = [p for p, item in enumerate(result) if updated(item) and updated(item) == updated(effect)]
            place = max([places.get(id(item), -1) for item in needed] + same, default=-1) + 1
            while place < len(result) and not result[place].targets:
                place += 1
            result[place:place] = [*(item for item in needed if id(item) not in places), *asked, effect]
            asked = []
        return [*result, *asked]


def updated(definition: Definition) -> str:
    """Returns the name of the statistic that a definition updates, or ""."""
    expression = definition.expression
    if definition.targets or not isinstance(expression, Call) or expression.function != "scope.update":
        return ""
    name = expression.arguments[0].value
    return str(name.value) if isinstance(name, Literal) else ""


def asked_for(definition: Definition) -> str:
    """Returns the name of the variable that a definition asks for on a line of its own, or ""."""
    expression = definition.expression
    return str(expression.name) if isinstance(expression, Variable) and not definition.targets else ""


def is_read(definition: Definition) -> bool:
    """Returns whether a definition asks for a variable whose value others use."""
    return isinstance(definition.expression, Variable) and bool(definition.targets)
