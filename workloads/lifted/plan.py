"""Plan of a lift: which part of an old graph plays which role in a training step. Plain data, stored as JSON.

Tensors are named "node:0", as in the graph. A key of the JSON is the attribute's name; where it is another, since
folders written before have it, the field's metadata say so.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from workloads.lifted.json_records import JSON_KEY, OMIT_EMPTY, arguments_of, plain
from workloads.lifted.plan_records import Condition, ControlDependency, LoopCounter, ReadVersion, TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Version of the JSON.
FORMAT = 1


@dataclasses.dataclass
class Input:
    """Data that enter the graph.

    Attributes:
      name: key of these data in a batch.
      dtype: its name.
      shape: of one replica's share; None for dimensions that the graph leaves open, or if the rank is not known.
      kind: "batch" or "whole" (cut along the first dimension; only a "batch" has as many rows as examples), "same"
        (every tower gets all of it) or "setting" (a scalar).
      limit: for integers, the number that all must be below; 0 if the graph sets none.
      tensors: the tensors that it replaces, one for each tower; a single one if it is not a tower's.
      origin: the tensor of the whole graph that it is, or is made from.
      example: shape of one replica's made-up values, with None for its number of examples, where the graph leaves
        dimensions open that must fit each other or its variables; empty if any sizes fit.
      low: the least that made-up integers may be.
      sparse: "NAME/indices", "NAME/values" or "NAME/shape" of a part of the sparse tensor NAME; empty if it is dense.
    """

    name: str
    dtype: str
    shape: Optional[List[Optional[int]]]
    kind: str
    limit: int
    tensors: List[str]
    origin: str
    example: List[Optional[int]] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    low: int = dataclasses.field(default=0, metadata={OMIT_EMPTY: True})
    sparse: str = dataclasses.field(default="", metadata={OMIT_EMPTY: True})


@dataclasses.dataclass
class Noise:
    """Random numbers that a step draws.

    Attributes:
      name: name of the stream: that of the first random node.
      op: op type of the random nodes.
      how: "keyed" (drawn by the op's stateless twin) or "seeded" (drawn by the op itself, with a fixed seed).
      nodes: the random nodes, one for each tower, None for a tower without; a single one if it is no tower's.
      in_loop: whether they are drawn in a `while` loop; such numbers can neither be recorded nor given.
      loops: {node: its loop} of nodes that draw by a key of its own in each iteration.
    """

    name: str
    op: str
    how: str
    nodes: List[Optional[str]]
    in_loop: bool = False
    loops: Dict[str, LoopCounter] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Variable:
    """A variable that a step reads or changes.

    Attributes:
      name: name of its node.
      shape: as in the checkpoint that was lifted.
      dtype: its name.
      role: "weight", "slot", "average", "statistic" or "state" (of one tower, such as a recurrent state).
      of: the weight that a slot or an average belongs to.
      tower: the tower that a state belongs to.
      resource: whether it is a resource variable; otherwise a reference variable.
    """

    name: str
    shape: List[int]
    dtype: str
    role: str
    of: str = ""
    tower: Optional[int] = None
    resource: bool = False


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
    """Combining of the towers' gradients of one variable into one tensor.

    Attributes:
      weight: the variable, or `indices_label` of it for the rows of a sparse gradient.
      kind: "mean", "sum", "concat" or "kept as written".
      tensor: the combined tensor; the ops after it do not depend on the number of towers.
      scale: factor on the sum, or on the concatenated values, where it is neither 1 nor one over the towers.
      parts: for each tower, the tensors that are combined.
      affine: whether something that no tower computes is added, such as a weight decay outside the towers.
    """

    weight: str
    kind: str
    tensor: str
    scale: float
    parts: List[List[str]]
    affine: bool = False


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
      races: descriptions of what the graph leaves open.
      combine: how gradients are combined.
      other_control_dependencies: further sets; each fixes another order that the graph allows.
      twins: {a later tower's tensor: the first tower's}, for tensors that are alone in their row of crossings.
      state_crossings: {tensor: effect} of those that only set their own tower's state.
      raw: {weight: tensor} for each tower: its gradients as differentiation gave them, before any clipping.
      shared_loss: whether the loss that is differentiated is made from all towers' losses.
      returns: for each tower, tensors that enter it again, made from all towers' results; empty for most programs.
      early: rows of crossings that `returns` are made from.
      kept: for each tower, what the part after the return takes from the part before.
      members: number of nodes that the step runs.
      other_losses: further rows of losses that are differentiated too, one tensor for each tower.
    """

    train_op: str
    losses: List[str]
    loss_scale: float
    gradients: List[Dict[str, str]]
    crossings: List[List[Optional[str]]]
    effects: List[Effect]
    versions: List[ReadVersion]
    control_dependencies: List[ControlDependency] = dataclasses.field(metadata={JSON_KEY: "pins"})
    races: List[str]
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
    members: int = 0
    other_losses: List[List[str]] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Phase:
        """Returns the phase that `Plan.to_json` wrote as `content`."""
        arguments = arguments_of(Phase, content)
        arguments["effects"] = [Effect.from_json(effect) for effect in arguments["effects"]]
        arguments["combine"] = [Combine(**combine) for combine in arguments["combine"]]
        arguments["versions"] = [ReadVersion(*read) for read in arguments["versions"]]
        arguments["control_dependencies"] = _dependencies(arguments["control_dependencies"])
        others = arguments.get("other_control_dependencies", [])
        arguments["other_control_dependencies"] = [_dependencies(other) for other in others]
        return Phase(**arguments)


@dataclasses.dataclass
class Plan:
    """Plan of a lift.

    >>> plan = Plan("old", 2, "device /gpu:k", None, [], [], [], [], [], {}, {}, {"x:0": TensorType("int32", [4])}, [])
    >>> plan.to_json()["tensors"]
    {'x:0': ['int32', [4]]}
    >>> Plan.from_json(plan.to_json()) == plan
    True

    Attributes:
      name: name of the program in reports.
      towers: number of towers that it was written for.
      found_by: how the towers were told apart.
      batch: examples of one tower in a step, or None if the graph takes any number.
      inputs: data that enter the towers.
      common: data that enter what is computed once for all towers.
      noise: random numbers of the towers.
      common_noise: random numbers that are drawn once for all towers.
      variables: all that a step reads or changes.
      sources: {placeholder: tensor of the whole graph that it stands for}.
      aliases: {tensor: variable} of tensors that are a variable, or its handle.
      tensors: {tensor: type} of those that pieces are cut at.
      phases: one for each train op.
      differences: descriptions of how the towers differ from each other.
      settings: {placeholder: value} of those that the lift fixed.
      unsafe: {node: op type} of ops that run Python, touch files or reach the network.
      about: {topic: text} for people, among them the named fields of a `Workload`.
      notes: sentences for people about what is unusual, such as a tower that reads another's loss.
    """

    name: str
    towers: int
    found_by: str
    batch: Optional[int]
    inputs: List[Input]
    common: List[Input]
    noise: List[Noise]
    common_noise: List[Noise]
    variables: List[Variable]
    sources: Dict[str, str]
    aliases: Dict[str, str]
    tensors: Dict[str, TensorType]
    phases: List[Phase]
    differences: List[str] = dataclasses.field(default_factory=list)
    settings: Dict[str, Any] = dataclasses.field(default_factory=dict)
    unsafe: Dict[str, str] = dataclasses.field(default_factory=dict)
    about: Dict[str, Any] = dataclasses.field(default_factory=dict)
    notes: List[str] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})

    def to_json(self) -> dict[str, Any]:
        """Returns the plan as plain dicts and lists."""
        content = plain(self)
        return dict({"format": FORMAT, "name": self.name, "about": content.pop("about")}, **content)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Plan:
        """Returns the plan that `to_json` wrote as `content`."""
        arguments = dict(content)
        arguments.pop("format")
        for field in ("inputs", "common"):
            arguments[field] = [Input(**item) for item in arguments[field]]
        for field in ("noise", "common_noise"):
            arguments[field] = [_noise(item) for item in arguments[field]]
        arguments["variables"] = [Variable(**item) for item in arguments["variables"]]
        arguments["tensors"] = {name: TensorType(*item) for name, item in arguments["tensors"].items()}
        arguments["phases"] = [Phase.from_json(item) for item in arguments["phases"]]
        return Plan(**arguments)


def indices_label(weight: str) -> str:
    """Returns the label of the rows of a weight's sparse gradient, in `Phase.raw` and `Combine.weight`."""
    return weight + " (indices)"


def _noise(content: Mapping[str, Any]) -> Noise:
    loops = {node: LoopCounter(*loop) for node, loop in content.get("loops", {}).items()}
    return Noise(**dict(content, loops=loops))


def _dependencies(content: List[List[str]]) -> List[ControlDependency]:
    return [ControlDependency(*edge) for edge in content]
