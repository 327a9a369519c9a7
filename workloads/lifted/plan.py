"""The plan of a lift: what of an old graph is what. Plain data, written and read as JSON."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Optional

FORMAT = 1


@dataclasses.dataclass
class Input:
    """Data that enter the graph.

    Attributes:
      name: what a batch calls it.
      dtype: its name.
      shape: of one replica's share; None for dimensions that the graph leaves open.
      kind: "batch" (cut along its first dimension), "same" (every tower gets all of it) or "setting" (a scalar).
      limit: for integers, the number above all that the graph can take; 0 if it sets none.
      tensors: where it enters, for each tower; one tensor if it is not a tower's.
      origin: name of the tensor of the whole graph that it is, or is made from.
    """

    name: str
    dtype: str
    shape: List[Any]
    kind: str
    limit: int
    tensors: List[str]
    origin: str


@dataclasses.dataclass
class Noise:
    """Random numbers that a step draws: `how` is "keyed" (by a stateless twin of `op`) or "seeded".

    `nodes` are the random ops, one a tower (None for a tower without), or a single one that belongs to none. Numbers
    drawn in a `while` loop (`in_loop`) can neither be recorded nor given; `loops` has each node's frame and counter,
    as in `pieces.Cutter`.
    """

    name: str
    op: str
    how: str
    nodes: List[Optional[str]]
    in_loop: bool = False
    loops: Dict[str, List[str]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Variable:
    """A variable: its `role` is "weight", "slot", "average", "statistic" or "state" (of one tower).

    `of` is the weight that a slot or an average belongs to; `tower` whose state it is.
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
      node, op: its name and type.
      writes: variables that it changes, in the order of its inputs.
      values: its other inputs.
      gradient, rate: which of them are those, seen from outside of a `cond`; `gradient_at`, `rate_at`: their places.
      condition: [predicate, branch] if it is only run in one branch of a `cond`.
    """

    node: str
    op: str
    writes: List[str]
    values: List[str]
    gradient: Optional[str] = None
    rate: Optional[str] = None
    gradient_at: int = -1
    rate_at: int = -1
    condition: Optional[List[Any]] = None


@dataclasses.dataclass
class Combine:
    """How towers' gradients of one variable become one tensor.

    Attributes:
      weight: the variable, with " (indices)" for the rows of a sparse gradient.
      kind: "mean", "sum", "concat" or "kept as written".
      tensor: the combined tensor; what comes after it no longer knows how many towers there are.
      scale: factor on the sum, or on the concatenated values, where it is neither 1 nor one over the towers.
      affine: something that no tower computes is added to it, such as a weight decay outside the towers.
      parts: for each tower, the tensors that are combined.
    """

    weight: str
    kind: str
    tensor: str
    scale: float
    parts: List[List[str]]
    affine: bool = False


@dataclasses.dataclass
class Phase:
    """One train op. A program with several runs them in turn, one a step.

    Attributes:
      train_op: its node.
      losses: one tensor a tower; empty if the graph does not tell.
      loss_scale: what the towers' losses are weighted with before they are differentiated.
      gradients: {weight: tensor} for each tower, before combining.
      crossings: for each matching set of tensors that leave the towers, one a tower or None.
      effects: `Effect`s in order.
      versions: [node, variable, how many changes it sees], where that is not 0.
      pins: [before, after]: control edges that fix an order which the graph leaves open.
      races: what those are, in words.
      other_pins: further sets of pins; each fixes another order that the graph allows.
      combine: `Combine`s.
      twins: {a later tower's tensor: the first tower's}, for those that are alone in their row of crossings.
      state_crossings: {tensor: effect} of those that only set their own tower's state.
      raw: {weight: tensor} for each tower: its gradients as differentiation gave them, before any clipping.
      shared_loss: whether what is differentiated is made from all towers' losses.
      returns: for each tower, tensors that come back into it from what was made of all towers' results; mostly none.
      early: rows of crossings that the returns are made from.
      kept: for each tower, what the part after the return takes from the part before.
      members: number of nodes that the step runs.
    """

    train_op: str
    losses: List[str]
    loss_scale: float
    gradients: List[Dict[str, str]]
    crossings: List[List[Optional[str]]]
    effects: List[Effect]
    versions: List[List[Any]]
    pins: List[List[str]]
    races: List[str]
    combine: List[Combine]
    other_pins: List[List[List[str]]] = dataclasses.field(default_factory=list)
    twins: Dict[str, str] = dataclasses.field(default_factory=dict)
    state_crossings: Dict[str, str] = dataclasses.field(default_factory=dict)
    raw: List[Dict[str, str]] = dataclasses.field(default_factory=list)
    shared_loss: bool = False
    returns: List[List[str]] = dataclasses.field(default_factory=list)
    early: List[List[Optional[str]]] = dataclasses.field(default_factory=list)
    kept: List[List[str]] = dataclasses.field(default_factory=list)
    members: int = 0


@dataclasses.dataclass
class Plan:
    """All of it.

    Attributes:
      name: what reports call the program.
      towers: how many it was written for; `found_by`: how they were told apart.
      batch: examples of one tower in a step, or None if the graph takes any number.
      common: `Input`s of what is computed once; `common_noise` likewise.
      sources: {placeholder: tensor of the whole graph that it stands for}.
      aliases: {tensor: variable} of tensors that are a variable, or its handle.
      tensors: {tensor: [dtype, shape]} of those that pieces are cut at.
      settings: {placeholder: value} of those that the lift fixed.
      differences: [text] where the towers are not the same.
      about: {topic: text} for people, among them the named fields of a `Workload`.
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
    tensors: Dict[str, List[Any]]
    phases: List[Phase]
    differences: List[str] = dataclasses.field(default_factory=list)
    settings: Dict[str, Any] = dataclasses.field(default_factory=dict)
    unsafe: Dict[str, str] = dataclasses.field(default_factory=dict)
    about: Dict[str, Any] = dataclasses.field(default_factory=dict)

    def to_json(self):
        """Plain dicts and lists."""
        content = dataclasses.asdict(self)
        return dict({"format": FORMAT, "name": self.name, "about": content.pop("about")}, **content)

    @staticmethod
    def from_json(content):
        """Undoes `to_json`."""
        content = dict(content)
        content.pop("format")
        for field, kind in (
            ("inputs", Input),
            ("common", Input),
            ("noise", Noise),
            ("common_noise", Noise),
            ("variables", Variable),
        ):
            content[field] = [kind(**item) for item in content[field]]
        content["phases"] = [_phase(item) for item in content["phases"]]
        return Plan(**content)


def _phase(item):
    item = dict(item)
    item["effects"] = [Effect(**effect) for effect in item["effects"]]
    item["combine"] = [Combine(**combine) for combine in item["combine"]]
    return Phase(**item)
