"""One train op of a plan: losses, gradients, how they are combined, and the ops that change variables."""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from workloads.lifted.plan.json_records import JSON_KEY, OMIT_EMPTY, arguments_of
from workloads.lifted.plan.records import Condition, ControlDependency, Race, ReadVersion, ResultExchange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Ends of the labels of gradients that are more than one tensor.
_INDICES, _PART = " (indices)", " (part "


@dataclasses.dataclass
class Effect:
    """An op that changes variables.

    Attributes:
      node: name of the op.
      op: its type.
      writes: variables that it changes, in the order of its inputs.
      values: its other inputs.
      gradient: which of `values` is the gradient, named as outside of a `cond`; None if there is none.
      learning_rate: likewise, the learning rate.
      gradient_at: position of the gradient among `values`, or -1.
      learning_rate_at: position of the learning rate among `values`, or -1.
      condition: the branch of a `cond` that it is in, or None.
      around: branches of further `cond`s that the one of `condition` is in, the outermost first.
    """

    node: str
    op: str
    writes: List[str]
    values: List[str]
    gradient: Optional[str] = None
    learning_rate: Optional[str] = dataclasses.field(default=None, metadata={JSON_KEY: "rate"})
    gradient_at: int = -1
    learning_rate_at: int = dataclasses.field(default=-1, metadata={JSON_KEY: "rate_at"})
    condition: Optional[Condition] = None
    around: List[Condition] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})

    @property
    def conditions(self) -> Tuple[Condition, ...]:
        """All branches that it is in, the outermost first."""
        return (*self.around, self.condition) if self.condition else ()

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Effect:
        """Returns the effect that `Plan.to_json` wrote as `content`."""
        arguments = arguments_of(Effect, content)
        condition, around = arguments.get("condition"), arguments.get("around", [])
        arguments["condition"] = Condition(*condition) if condition else None
        arguments["around"] = [Condition(*outer) for outer in around]
        return Effect(**arguments)


@dataclasses.dataclass
class Combine:
    """Combining of the towers' gradients of one variable, or of other results of theirs, into one tensor.

    Attributes:
      weight: the variable, or `indices_label` of it for the rows of a sparse gradient; of other results, the variable
        whose update they are combined for.
      kind: "mean", "sum", "concat" or "kept as written".
      tensor: the combined tensor; the ops after it do not depend on the number of towers.
      scale: factor on the sum, or on the concatenated values, where it is neither 1 nor one over the towers.
      parts: for each tower, the tensors that are combined.
      affine: whether something that no tower computes is added, such as a weight decay outside the towers.
      divided: whether the result counts towers / replicas at another number of replicas: one tower's gradient, whose
        graph does not tell a sum from a mean; a sum of which the parts are divided by all towers' examples; or one that
        is a multiple of a mean.
    """

    weight: str
    kind: str
    tensor: str
    scale: float
    parts: List[List[str]]
    affine: bool = False
    divided: bool = dataclasses.field(default=False, metadata={OMIT_EMPTY: True})


@dataclasses.dataclass
class Phase:
    """One train op. A program with several runs them in turn, one in each step.

    Attributes:
      train_op: its node.
      losses: one tensor for each tower; empty if the graph does not tell.
      loss_scale: factor on the towers' losses before they are differentiated.
      gradients: {weight: tensor} for each tower, before combining.
      crossings: tensors that leave the towers; each row has corresponding ones, one for each tower or None.
      effects: the ops that change variables, in the order in which they are run.
      versions: the reads that see a variable after the step has changed it; all others see its value before the step.
      control_dependencies: fix an order of reads and updates that the graph leaves open.
      races: reads and updates of a variable whose order the graph leaves open.
      combine: how gradients are combined.
      other_control_dependencies: further sets; each fixes another order that the graph allows.
      twins: {a later tower's tensor: the first tower's}, for tensors that are alone in their row of crossings.
        The first tower's need not be a crossing.
      state_crossings: {tensor: effect} of those that only set their own tower's state.
      raw: {weight: tensor} for each tower: its gradients as differentiation gave them, before any clipping.
      shared_loss: whether the loss that is differentiated is made from all towers' losses.
      returns: for each tower, tensors that enter it again, made from all towers' results; empty for most programs.
      early: rows of crossings that `returns` are made from.
      kept: for each tower, what the part after the return takes from the part before.
      exchanges: `early`, `returns` and `kept` of each of several exchanges, in order; empty where there is one or none.
      members: number of nodes that the step runs.
      other_losses: further rows of losses that are differentiated too, one tensor for each tower.
      other_scales: `loss_scale` of each row of `other_losses`; empty if it is that of `losses`.
      minimized: numbers of the rows of losses, `losses` being 0, that the gradients are of; empty for all.
      sizes_alone: whether `returns` depend on the sizes of the towers' results, and not on their values.
      results: how results other than gradients are combined, such as all towers' losses for an average of them.
      joined: tensors computed from several towers' results, other than gradients, that decide what later steps train,
        and that are not combined in a way that is recognised.
      joined_beside: variables that nothing trains by, and that are set from results that are joined so: at another
        number of replicas they take the first and the last tower's.
    """

    train_op: str
    losses: List[str]
    loss_scale: float
    gradients: List[Dict[str, str]]
    crossings: List[List[Optional[str]]]
    effects: List[Effect]
    versions: List[ReadVersion]
    control_dependencies: List[ControlDependency] = dataclasses.field(metadata={JSON_KEY: "pins"})
    races: List[Race]
    combine: List[Combine]
    other_control_dependencies: List[List[ControlDependency]] = dataclasses.field(
        default_factory=list, metadata={JSON_KEY: "other_pins"}
    )
    twins: Dict[str, str] = dataclasses.field(default_factory=dict)
    state_crossings: Dict[str, str] = dataclasses.field(default_factory=dict)
    raw: List[Dict[str, str]] = dataclasses.field(default_factory=list)
    shared_loss: bool = False
    returns: List[List[str]] = dataclasses.field(default_factory=list)
    early: List[List[Optional[str]]] = dataclasses.field(default_factory=list)
    kept: List[List[str]] = dataclasses.field(default_factory=list)
    exchanges: List[ResultExchange] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    members: int = 0
    other_losses: List[List[str]] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    other_scales: List[float] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    minimized: List[int] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    sizes_alone: bool = dataclasses.field(default=False, metadata={OMIT_EMPTY: True})
    results: List[Combine] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    joined: List[str] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    joined_beside: List[str] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})

    @property
    def reductions(self) -> List[Combine]:
        """The combining of gradients, and of the towers' other results."""
        return [*self.combine, *self.results]

    @property
    def all_exchanges(self) -> List[ResultExchange]:
        """The exchanges of results between the towers before their gradients are known, in order."""
        if self.exchanges or not self.returns:
            return self.exchanges
        return [ResultExchange(self.early, self.returns, self.kept)]

    def scale_before(self, combine: Combine) -> float:
        """Returns the factor on the towers' losses that is in what a reduction combines: 1 if it is no gradient."""
        return 1.0 if combine in self.results else self.loss_scale

    @property
    def scales_of_others(self) -> List[float]:
        """Factors on each row of `other_losses`."""
        return self.other_scales or [self.loss_scale] * len(self.other_losses)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Phase:
        """Returns the phase that `Plan.to_json` wrote as `content`."""
        arguments = arguments_of(Phase, content)
        arguments["effects"] = [Effect.from_json(effect) for effect in arguments["effects"]]
        arguments["combine"] = [Combine(**combine) for combine in arguments["combine"]]
        arguments["results"] = [Combine(**combine) for combine in arguments.get("results", [])]
        arguments["versions"] = [ReadVersion(*read) for read in arguments["versions"]]
        arguments["control_dependencies"] = _dependencies(arguments["control_dependencies"])
        arguments["exchanges"] = [ResultExchange(**exchange) for exchange in arguments.get("exchanges", [])]
        arguments["races"] = [Race.from_json(race) for race in arguments["races"]]
        others = arguments.get("other_control_dependencies", [])
        arguments["other_control_dependencies"] = [_dependencies(other) for other in others]
        return Phase(**arguments)


def effects_by_variable(effects: Iterable[Effect]) -> Dict[str, List[Effect]]:
    """Returns {variable: the updates that change it, in their order}."""
    found: Dict[str, List[Effect]] = collections.defaultdict(list)
    for effect in effects:
        for variable in dict.fromkeys(effect.writes):
            found[variable].append(effect)
    return dict(found)


def indices_label(weight: str) -> str:
    """Returns the label of the rows of a weight's sparse gradient, in `Phase.raw` and `Combine.weight`."""
    return weight + _INDICES


def part_label(label: str, number: int) -> str:
    """Returns the label of one of several tensors that are combined for one gradient; `number` is from 0."""
    return f"{label}{_PART}{number + 1})"


def is_indices_label(label: str) -> bool:
    """Returns whether `indices_label` made the label."""
    return label.endswith(_INDICES)


def weight_of_label(label: str) -> str:
    """Returns the variable that a label of a gradient is of.

    >>> weight_of_label("w"), weight_of_label(indices_label("w")), weight_of_label(part_label("w", 0))
    ('w', 'w', 'w')
    """
    return label.partition(_INDICES)[0].partition(_PART)[0]


def _dependencies(content: List[List[str]]) -> List[ControlDependency]:
    return [ControlDependency(*edge) for edge in content]
