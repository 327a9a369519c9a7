"""The model: one tower's loss and statistics of a train op, recovered as statements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Sequence, Tuple

from legacy.source.basics.expressions import Definition, Expression, Infix, Item, Name, call, calls
from legacy.source.basics.forward import Cut, Forward, cut_part
from legacy.source.learning import Unwritten
from legacy.source.lines.naming import identifier
from legacy.source.lines.statements import Statement, build_statements
from legacy.source.recovery import Names, Recovery
from workloads.lifted.graph import CONTROL_FLOW
from workloads.lifted.piece import VariableVersion
from workloads.lifted.plan import Input

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan

_SUBTRACTS = ("AssignSub", "AssignSubVariableOp")
_ADDS = ("AssignAdd", "AssignAddVariableOp")
_ASSIGNS = ("Assign", "AssignVariableOp")


class Proposal(NamedTuple):
    """A statistic's new value, as one tower computes it.

    Attributes:
      variable: its name.
      op: type of the op that changes it.
      value: the tensor that the op takes.
      node: name of the op.
    """

    variable: str
    op: str
    value: str
    node: str


class Model(NamedTuple):
    """A tower's loss as statements.

    Attributes:
      statements: in order; the last one is the loss.
      recovery: that they come from.
      inputs: {input of the text: input of the plan}.
      settings: {constant of the text: name of the scalar input that was fed}.
      statistics: the proposals that are written.
      batch: examples of one tower that the shapes were analysed at.
    """

    statements: List[Statement]
    recovery: Recovery
    inputs: Dict[str, Input]
    settings: Dict[str, str]
    statistics: List[Proposal]
    batch: int


def recover_model(
    plan: Plan, graph: Graph, phase: Phase, proposals: Sequence[Proposal], initializers: Mapping[str, str]
) -> Model:
    """Recovers the model of a train op from the first tower, and where the others differ from it.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      proposals: the statistics that the first tower changes.
      initializers: {variable: text of its initializer}.

    Returns:
      The model.

    Raises:
      Unwritten: the model cannot be said.
    """
    if not phase.losses:
        raise Unwritten("loss: the gradients do not tell what is minimized")
    inputs, settings = input_names(plan)
    trainable = {variable.name for variable in plan.variables if variable.role == "weight"}
    recoveries = []
    for tower in range(min(plan.towers, 2 if plan.differences else 1)):
        own = list(proposals) if tower == 0 else []
        cuts = [entry.tensors[min(tower, len(entry.tensors) - 1)] for entry in plan.inputs]
        cuts += [entry.tensors[0] for entry in plan.common]
        fetches = [phase.losses[tower]] + [proposal.value for proposal in own]
        cut = cut_part(plan, graph, fetches, cuts, phase.versions)
        _require_plain(cut)
        for feed in cut.piece.feeds:
            if isinstance(feed.key, VariableVersion) and feed.key.version:
                raise Unwritten(f"model: it reads {feed.key.variable!r} after the step has changed it")
        recoveries.append(_recovery(plan, cut, tower, inputs, settings, trainable, initializers))
    recovery, ends = recoveries[0]
    loss, updates = ends[0], ends[1:]
    if len(recoveries) > 1 and plan.differences:
        loss = _with_differences(recoveries[0], recoveries[1])
    written = [_update(proposal, value, recovery, plan) for proposal, value in zip(proposals, updates)]
    statements = build_statements(_with_updates(recovery, loss, written))
    for statement in statements:
        for part in calls(statement.expression):
            if part.function == "tf.raw_ops.Const":
                raise Unwritten(f"model: a table of numbers, {statement.targets}, is too large to be written")
    return Model(statements, recovery, inputs, settings, list(proposals), recovery.batch)


def _require_plain(cut: Cut) -> None:
    """Raises `Unwritten` if a part has loops or branches."""
    flow = sorted({node.op for node in cut.piece.graph_def.node if node.op in CONTROL_FLOW})
    if flow:
        raise Unwritten("model: it has loops or branches (" + ", ".join(flow) + ")")


def _with_updates(recovery: Recovery, loss: Expression, updates: Sequence[Expression]) -> List[Definition]:
    """Returns the loss's definitions, with each update as early as what it needs is there, and the loss at the end."""
    items = recovery.ordered([loss])
    for update in updates:
        needed = recovery.ordered([update])
        place = max([items.index(item) + 1 for item in needed if item in items], default=0)
        while place < len(items) and not items[place].targets:
            place += 1
        items[place:place] = [item for item in needed if item not in items] + [Definition((), update)]
    return [*items, Definition((), loss)]


def _update(proposal: Proposal, value: Expression, recovery: Recovery, plan: Plan) -> Expression:
    """Returns the call that proposes a statistic's new value."""
    name = proposal.variable
    shape = next(tuple(variable.shape) for variable in plan.variables if variable.name == name)
    old = recovery.variable(name, shape)
    if proposal.op in _SUBTRACTS:
        value = Infix("-", old, value)
    elif proposal.op in _ADDS:
        value = Infix("+", old, value)
    elif proposal.op not in _ASSIGNS:
        raise Unwritten(f"statistics: {name!r} is changed by {proposal.op}")
    return call("scope.update", name, value)


def _recovery(
    plan: Plan,
    cut: Any,
    tower: int,
    inputs: Mapping[str, Input],
    settings: Mapping[str, str],
    trainable: Any,
    initializers: Mapping[str, str],
) -> Tuple[Recovery, List[Expression]]:
    """Returns the recovery of one tower's part, and its ends as expressions."""
    given: Dict[str, Expression] = {}
    for name, entry in inputs.items():
        given[entry.tensors[min(tower, len(entry.tensors) - 1)]] = Item(Name("batch"), f'"{name}"')
    constants = {source: constant for constant, source in settings.items()}
    for entry in plan.inputs + plan.common:
        if entry.kind == "setting":
            given.update((tensor, Name(constants[entry.name])) for tensor in entry.tensors)
    noise: Dict[str, Tuple[str, str]] = {}
    for random in plan.noise:
        node = random.nodes[min(tower, len(random.nodes) - 1)]
        if node:
            noise[node + ":0"] = (stream_name(random.name, [other.name for other in plan.noise]), random.op)
    names = Names(given, noise, trainable, initializers)
    recovery = Recovery(Forward(cut, plan), names)
    ends = [recovery.expression_of(text if ":" in text else text + ":0") for text in cut.fetches]
    return recovery, ends


def stream_name(name: str, others: Sequence[str]) -> str:
    """Returns a short name of a random stream: the part of its path that tells it from the others.

    >>> stream_name("clone_0/drop/random_uniform/RandomUniform", ["clone_0/drop/random_uniform/RandomUniform"])
    'drop'
    """
    parts = name.split("/")
    short = [part for part in parts[:-1] if part not in ("random_uniform", "random_normal", "truncated_normal")]
    if len(short) > 1:
        short = short[1:]
    text = "/".join(short)
    alone = [other for other in others if f"/{text}/" in f"/{other}/"]
    return text if text and alone == [name] else name


def input_names(plan: Plan) -> Tuple[Dict[str, Input], Dict[str, str]]:
    """Names the inputs of a program.

    Returns:
      {name in the text: input} of data, and {constant in the text: name} of the scalars that were fed.

    Raises:
      Unwritten: an input is no batch of examples.
    """
    data = [entry for entry in plan.inputs + plan.common if entry.kind != "setting"]
    for entry in data:
        if entry.kind != "batch" or entry in plan.common:
            raise Unwritten(f"inputs: {entry.name!r} is no batch of examples, which towers share out ({entry.kind})")
        if entry.shape is None or any(size is None for size in entry.shape[1:]):
            raise Unwritten(f"inputs: the shape of {entry.name!r} is not known: {entry.shape}")
    kinds = [(tuple(entry.shape[1:]), entry.dtype.startswith("float")) for entry in data if entry.shape is not None]
    inputs: Dict[str, Input] = {}
    for entry, kind in zip(data, kinds):
        short = _input_name(entry)
        unique = kinds.count(kind) == 1 and short not in inputs
        inputs[short if unique else entry.name] = entry
    settings: Dict[str, str] = {}
    for entry in plan.inputs + plan.common:
        if entry.kind == "setting" and entry.name not in settings.values():
            settings[_unused(identifier(entry.name).upper(), settings)] = entry.name
    return inputs, settings


def _input_name(entry: Input) -> str:
    """Returns a readable name of an input: its placeholder's, or what data of its shape mostly are."""
    word = identifier(entry.name)
    if not re.search(r"(?i)dequeue|placeholder|getnext|get_next|split|slice|batch|unstage|value", word):
        return word
    rank = len(entry.shape or ())
    if entry.dtype.startswith("int"):
        return "labels" if rank == 1 else "ids"
    return "images" if rank == 4 else "features" if rank == 2 else "data"


def _unused(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name


def _with_differences(
    first: Tuple[Recovery, List[Expression]], second: Tuple[Recovery, List[Expression]]
) -> Expression:
    """Returns the first tower's loss with a condition where the second tower's loss lacks a term.

    Raises:
      Unwritten: the towers differ in another way.
    """
    from legacy.source.differences import merge_losses

    return merge_losses(first[0], first[1][0], second[0], second[1][0])
