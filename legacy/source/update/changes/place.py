"""Places of an update's text: what is known there, and which branches it is in."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, List, Mapping, Sequence, Tuple

from legacy.source.basics.cut import Cut, cut_part, variable_of
from legacy.source.basics.expressions import Expression, Method, Name
from legacy.source.basics.forward import Forward
from legacy.source.basics.rendering import literal_text
from legacy.source.basics.typed import SHAPE_OPS
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.input_values import Names
from legacy.source.definitions.recovery import Recovery
from legacy.source.step.input_names import sizes_outside
from legacy.source.update.changes.calls import local
from legacy.source.update.changes.per_weight import DICT
from workloads.lifted.graph import Graph

if TYPE_CHECKING:
    from workloads.lifted.pieces.piece import Fetch, VariableVersion
    from workloads.lifted.plan import Condition, Phase, Plan, TensorType

INDENT = "    "


@dataclasses.dataclass(frozen=True)
class Place:
    """A place in the text of an update.

    Attributes:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      given: {tensor: expression} of what is known.
      groups: {name of a list in the text: the weights in it}.
      taken: the branches that it is in, the outermost first.
      names: names of values that functions around it have computed.
      functions: names of all functions of branches so far, to which new ones are added.
      between: {version of a variable: expression} of what the variable no longer holds when the text begins.
    """

    plan: Plan
    graph: Graph
    phase: Phase
    given: Dict[str, Expression]
    groups: Mapping[str, Sequence[str]]
    taken: Tuple[Condition, ...] = ()
    names: Tuple[str, ...] = ()
    functions: List[str] = dataclasses.field(default_factory=list)
    between: Mapping[VariableVersion, Expression] = dataclasses.field(default_factory=dict)

    @property
    def indent(self) -> str:
        """The spaces that its lines begin with."""
        return INDENT * (1 + len(self.taken))

    @property
    def cuts(self) -> List[str]:
        """Tensors that are not computed here."""
        return [*self.given, *(tensor for entry in self.plan.inputs + self.plan.common for tensor in entry.tensors)]

    @property
    def dict_name(self) -> str:
        """Name of a dict of values of single weights that no function around it has."""
        return next(name for name in [DICT, *(f"{DICT}{n}" for n in range(2, 99))] if name not in self.names)

    @property
    def reserved(self) -> Dict[str, str]:
        """The names of functions around it, under keys that no tensor has."""
        return {"!" + name: name for name in self.names}

    def inside(self, condition: Condition) -> Place:
        """Returns the place in a branch here."""
        return dataclasses.replace(self, taken=(*self.taken, condition))

    def knowing(self, tensors: Mapping[str, Tuple[Expression, TensorType]], names: Sequence[str]) -> Place:
        """Returns the place where more is known.

        Args:
          tensors: {tensor: (its expression, its type)}.
          names: the names that these expressions have.

        Returns:
          The place.
        """
        given = {**self.given, **{tensor: expression for tensor, (expression, _) in tensors.items()}}
        types = {tensor: one for tensor, (_, one) in tensors.items()}
        plan = dataclasses.replace(self.plan, tensors={**types, **self.plan.tensors})
        return dataclasses.replace(self, plan=plan, given=given, names=(*self.names, *names))

    def recovered(
        self, fetches: Sequence[str | Fetch], taken: Sequence[Condition] = ()
    ) -> Tuple[Recovery, List[Expression]]:
        """Recovers what computes some tensors here.

        Args:
          fetches: the tensors.
          taken: further branches that they may be in.

        Returns:
          The recovery, and the tensors' expressions.

        Raises:
          Unwritten: a tensor needs what a tower computes from its data, or random numbers.
        """
        cut = cut_part(self.plan, self.graph, fetches, self.cuts, self.phase.versions, [*self.taken, *taken])
        given = {**_known_sizes(self.plan, cut, self.given), **self.given}
        forward = Forward(cut, self.plan)
        forward.untrained.update(cut.feeds)  # no gradient goes through an update
        recovery = Recovery(forward, names_of_variables(self.plan, given)._replace(between=self.between))
        return recovery, [recovery.expression_of(name if ":" in name else name + ":0") for name in cut.fetches]


def names_of_variables(plan: Plan, given: Mapping[str, Expression]) -> Names:
    """Returns what enters an update: values of variables before the step, and what a replica's own ones hold later."""
    before = {v.name: Name(f"values[{literal_text(v.name)}]") for v in plan.variables}
    after = {v.name: Method(local(v.name), "read_value", ()) for v in plan.variables}
    return Names(given, {}, set(), {}, before, after)


def _known_sizes(plan: Plan, cut: Cut, given: Mapping[str, Expression]) -> Dict[str, Expression]:
    """Returns {tensor: expression of its size} of the data of which an update needs the size.

    Args:
      plan: of the lift.
      cut: the part that the update needs.
      given: {tensor: expression} of what is known.

    Returns:
      The expressions.

    Raises:
      Unwritten: an update needs more of what a tower computes from its data, or random numbers.
    """
    unknown = [feed for feed in cut.piece.feeds if variable_of(feed) is None and str(feed.key) not in given]
    graph, found = Graph(cut.piece.graph_def), {}
    for feed in unknown:
        if any(graph.type(use.node) not in SHAPE_OPS for use in graph.users(feed.placeholder)):
            raise Unwritten(f"updates: {str(feed.key)!r} is neither loss nor gradient")
        found[str(feed.key)] = sizes_outside(plan).get(str(feed.key))
    missing = [key for key, size in found.items() if size is None]
    if missing:
        raise Unwritten(f"updates: {missing[0]!r} is neither loss nor gradient")
    return {key: size for key, size in found.items() if size is not None}
