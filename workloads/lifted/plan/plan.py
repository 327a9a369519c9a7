"""Plan of a lift: which part of an old graph plays which role in a training step. Plain data, stored as JSON.

Tensors are named "node:0", as in the graph. A key of the JSON is the attribute's name; where it is another, since
folders written before have it, the field's metadata say so.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from workloads.lifted.plan.json_records import OMIT_EMPTY, plain
from workloads.lifted.plan.phase import Phase
from workloads.lifted.plan.records import OwnParts, TensorType
from workloads.lifted.plan.step_inputs import Input, Noise, Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Version of the JSON.
FORMAT = 1
#: Examples of one replica where the graph takes any number and the user names none.
DEFAULT_BATCH = 8


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
      found_by: how the towers were recognised, in words.
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
      own_parts: what is cut into parts once for all towers, of which each takes its own.
      own_variables: variables of the first tower in whose place another one reads its own, of which a step
        does not change both, but for equal constants; or that begin apart.
      like_first: whether replicas between the first and the last one are as the first of two towers that differ, since
        the last one has something besides; not as the second one.
      own_number: why the graph tells nothing of another number of towers, as where they differ in more than one thing
        that a single tower has; "" where it does.
      changed_beside: statistics and counters that each tower changes in turn, and that nothing trains by: replicas of
        another number change them as often as there are towers.
      factors_of_towers: ops that multiply the losses, the learning rates, or the steps that they follow, by the number
        of towers, or divide the latter by it: at another number the factor stays.
      updated: weights whose values after their update the gradients of the same run take.
      divided_loops: tensors inside of a tower's `while` loop that another tower takes, such as to differentiate it.
      own_batches: number of batches of the program's own data that the lift keeps, since made-up ones do not run.
      usual_batch: where the graph takes any number, examples of one tower by its slices or dataset; None if unknown.
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
    own_parts: List[OwnParts] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    own_variables: List[str] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    like_first: bool = dataclasses.field(default=False, metadata={OMIT_EMPTY: True})
    own_number: str = dataclasses.field(default="", metadata={OMIT_EMPTY: True})
    changed_beside: List[str] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    updated: List[str] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    divided_loops: List[str] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    factors_of_towers: List[str] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    own_batches: int = dataclasses.field(default=0, metadata={OMIT_EMPTY: True})
    usual_batch: Optional[int] = dataclasses.field(default=None, metadata={OMIT_EMPTY: True})

    @property
    def per_replica_batch(self) -> int:
        """Examples of one replica unless the user names another number; a graph of fixed sizes takes no other."""
        return self.batch or DEFAULT_BATCH

    @property
    def global_batch(self) -> int:
        """Examples of the towers that the program was written for."""
        return self.towers * self.per_replica_batch

    @property
    def usual_global_batch(self) -> int:
        """Examples of a step of the old program, where the graph tells; those of `global_batch` where it does not."""
        return self.towers * (self.batch or self.usual_batch or DEFAULT_BATCH)

    @property
    def changed_in_turn(self) -> list[str]:
        """Statistics and counters that several ops of one train op change, as each tower does in turn."""
        statistics = {variable.name for variable in self.variables if variable.role == "statistic"}
        changes = [[name for e in phase.effects for name in e.writes if name in statistics] for phase in self.phases]
        return sorted({name for names in changes for name in names if names.count(name) > 1})

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
            arguments[field] = [Noise.from_json(item) for item in arguments[field]]
        arguments["variables"] = [Variable(**item) for item in arguments["variables"]]
        arguments["tensors"] = {name: TensorType(*item) for name, item in arguments["tensors"].items()}
        arguments["own_parts"] = [OwnParts(*item) for item in arguments.get("own_parts", ())]
        arguments["phases"] = [Phase.from_json(item) for item in arguments["phases"]]
        return Plan(**arguments)
