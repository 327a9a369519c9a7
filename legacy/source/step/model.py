"""The model: one tower's loss and statistics of a train op, recovered as statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Sequence, Tuple

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import imported_graph
from legacy.saved.inputs.settings import is_of_arrays
from legacy.source.basics.expressions import (
    Definition,
    Expression,
    Item,
    Listing,
    Name,
    Value,
    Variable,
    call,
    calls,
    leaves,
)
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.differences import adopt_values
from legacy.source.definitions.recovery import Recovery
from legacy.source.functions.unrolled_results import size_with_steps, with_steps_apart
from legacy.source.lines.complements import name_complements
from legacy.source.lines.computed_once import computed_once
from legacy.source.lines.means import name_means
from legacy.source.lines.penalties import penalties_ask_again, sum_penalties, with_shapes_first
from legacy.source.lines.penalties_by_ending import penalties_by_ending
from legacy.source.lines.statements import Statement, build_statements, shared_data_first
from legacy.source.step.derivatives import settings_of_gradients
from legacy.source.step.input_names import InputNames, input_names
from legacy.source.step.losses_of_weights import require_losses
from legacy.source.step.statistic_updates import update_lines, with_updates
from legacy.source.step.statistics import Statistics
from legacy.source.step.towers import Towers, parts_of_tower
from workloads.lifted.graph import parse_tensor_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from collections.abc import Set as AbstractSet

    import numpy as np

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Input, Phase, Plan


class Model(NamedTuple):
    """A tower's loss as statements.

    Attributes:
      statements: in order; the last one is the loss, or a list of it and of what the losses of all towers need.
      recovery: that they come from.
      inputs: {input of the text: input of the plan}.
      settings: {constant of the text: name of the scalar input that was fed}.
      statistics: the towers' changes of statistics.
      batch: examples of one tower that the shapes were analysed at.
      streams: {random stream of the plan: name in the text}.
      rates: {constant of the text: (its value, the decay d whose 1 - d it is)}.
      losses: how many losses the result begins with.
      copied: see `InputNames`.
      others: models of the further towers, where each tower has a function of its own; none where one is for all.
      definitions: that the statements are made of.
      has_data_terms: whether the other losses are the terms of the first one that depend on data; see `data_terms`.
    """

    statements: List[Statement]
    recovery: Recovery
    inputs: Dict[str, Input]
    settings: Dict[str, str]
    statistics: Statistics
    batch: int
    streams: Dict[str, str]
    rates: Dict[str, Tuple[np.float32, float]]
    losses: int = 1
    copied: Sequence[str] = ()
    others: Sequence[Model] = ()
    definitions: Sequence[Definition] = ()
    has_data_terms: bool = False


def recover_model(
    plan: Plan,
    graph: Graph,
    phase: Phase,
    statistics: Statistics,
    initializers: Mapping[str, str],
    counters: Sequence[str] = (),
    names: InputNames | None = None,
    apart: bool = False,
    scalar: bool = False,
) -> Model:
    """Recovers the model of a train op from the first tower, and where the others differ from it.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      statistics: the towers' changes of statistics.
      initializers: {variable: text of its initializer}.
      counters: names of the variables that count steps.
      names: of the inputs in the text; by default those of a workload.
      apart: whether towers that differ by more than a term get a function each; if not, they are refused.
      scalar: whether a loss of one value is a scalar in the text, whatever its shape.

    Returns:
      The model.

    Raises:
      Unwritten: the model cannot be said.
    """
    require_losses(phase)
    _require_single_precision(plan)
    names = names or input_names(plan)
    towers = Towers(plan, graph, phase, statistics, initializers, counters, names)
    recovery, (loss, *updates) = towers.recover(0)
    parts = updates[len(updates) - len(parts_of_tower(phase, 0)) :]
    seeded = any(entry.how == "seeded" for entry in plan.noise)  # each tower's ops have seeds of their own
    differ = plan.differences or towers.own_statistics or towers.own_variables or seeded
    if plan.towers > 1 and differ:
        try:
            loss = towers.merge_others(recovery, loss, updates)
        except Unwritten:
            if not apart or any(statistics.proposals):  # replicas change statistics together
                raise
            return _models_apart(plan, phase, statistics, towers, names)
    if statistics.tower > 0 and not towers.own_statistics:
        last, (_, *ends_of_last) = towers.recover(statistics.tower)
        updates = adopt_values(recovery, last, ends_of_last, towers.partners)
    written = update_lines(statistics, updates, recovery, plan, towers.changed)
    if scalar and plan.tensors[phase.losses[0]].shape:
        loss = call("tf.squeeze", loss)
    model = _model(recovery, [loss, *parts], written, phase, statistics, names)
    _require_no_numbers_of_batches(plan, graph, phase, model)
    return model


def _require_no_numbers_of_batches(plan: Plan, graph: Graph, phase: Phase, model: Model) -> None:
    """Raises `Unwritten` as `require_fed` does for a model's constants, and for what its gradients alone depend on.

    A number by which the sum of all towers' losses is divided enters a tower by the derivative that it begins with.
    """
    found = [leaf for statement in all_statements(model) for leaf in leaves(statement.expression)]
    names = {leaf.text for leaf in found if isinstance(leaf, Name)}
    of_gradients = settings_of_gradients(plan, graph, phase)
    names |= {constant for constant, source in model.settings.items() if source in of_gradients}
    require_fed(plan, graph, model.settings, names)


def require_fed(plan: Plan, graph: Graph, settings: Mapping[str, str], names: Collection[str]) -> None:
    """Raises `Unwritten` if a text has a constant for what the old program computed from each batch, or drew.

    Args:
      plan: of the lift.
      graph: of the lift.
      settings: {constant of the text: scalar}.
      names: all names that the text has.
    """
    used = {source for constant, source in settings.items() if constant in names}
    entries = [entry for entry in plan.inputs + plan.common if entry.name in used]
    computed = {entry.name: parse_tensor_name(entry.tensors[0]).node for entry in entries}
    computed = {name: node for name, node in computed.items() if graph.inputs(node)}  # what was fed is not
    imported = imported_graph(graph) if computed else None
    for name, node in computed.items():
        before = {node} if graph.type(node).startswith("Placeholder") else graph.ancestors([node], controls=False)
        if any(op_types.is_random(graph.type(one)) for one in before):
            raise Unwritten(f"inputs: {name!r} is drawn anew in each step; a source would have it as a constant")
    for entry in [entry for entry in entries if entry.name in computed]:
        is_common = entry in plan.common
        if imported is not None and is_of_arrays(graph, imported, computed[entry.name], is_common):
            raise Unwritten(
                f"inputs: {entry.name!r} is made of each batch before the towers; a source would have it as a constant"
            )


def _require_single_precision(plan: Plan) -> None:
    """Raises `Unwritten` if a weight is of another dtype than those that a source makes."""
    for variable in plan.variables:
        if variable.role == "weight" and variable.dtype != "float32":
            raise Unwritten(f"model: the weight {variable.name!r} is {variable.dtype}; weights of a source are float32")


def _model(
    recovery: Recovery,
    results: Sequence[Expression],
    updates: Sequence[Sequence[Expression]],
    phase: Phase,
    statistics: Statistics,
    names: InputNames,
) -> Model:
    """Returns the model of a function.

    Args:
      recovery: of the tower.
      results: the loss, then what is needed beside it.
      updates: the lines of each update of a statistic.
      phase: the train op.
      statistics: the towers' changes of statistics.
      names: of the inputs.

    Returns:
      The model.
    """
    result = Listing(tuple(results)) if len(results) > 1 else results[0]
    definitions = with_updates(recovery, result, updates)
    if not recovery.has_derivatives:
        definitions = computed_once(definitions)
    statements, rates = name_complements(name_means(statements_of(definitions)))
    of_loops = [line for loop in recovery.loops.values() for line in loop.statements]
    statements = penalties_by_ending(with_shapes_first(statements, definitions), of_loops)
    _require_no_tables(statements)
    losses = 1 + len(phase.other_losses)
    given = (names.inputs, names.settings, statistics, recovery.batch, names.streams, rates)
    has_data_terms = bool(phase.minimized)
    return Model(statements, recovery, *given, losses, names.copied, (), definitions, has_data_terms)


def statements_of(definitions: Sequence[Definition], kept: Collection[str] = ()) -> List[Statement]:
    """Returns the statements of some definitions, the last of which is the result.

    Args:
      definitions: each after those that it uses.
      kept: tensors that have a line of their own, at the place of their definition.

    Returns:
      The statements.
    """
    definitions = sum_penalties(penalties_ask_again(definitions))
    statements = _built(definitions, kept)
    apart = with_steps_apart(definitions)
    if not apart.of_steps:
        return statements
    with_steps = _built(apart.definitions, {*kept, *apart.kept}, apart.of_steps)
    return min(statements, with_steps, key=size_with_steps)


def _built(
    definitions: Sequence[Definition], kept: Collection[str], of_steps: AbstractSet[str] = frozenset()
) -> List[Statement]:
    """Returns the statements of definitions, in which what is made of data alone comes first; see `statements_of`."""
    *lines, last = build_statements(definitions, kept)
    lines = [line for line in lines if line.targets or not isinstance(line.expression, Value)]  # asked for before
    return shared_data_first([*lines, last], of_steps)


def _models_apart(plan: Plan, phase: Phase, statistics: Statistics, towers: Towers, names: InputNames) -> Model:
    """Returns the model of the first tower, with those of the others; none of them changes a statistic."""
    found = [towers.recover(tower) for tower in range(plan.towers)]
    first, *others = [_model(recovery, ends, [], phase, statistics, names) for recovery, ends in found]
    rates: Dict[str, Tuple[np.float32, float]] = {}
    for model in (first, *others):
        if any(rates.setdefault(name, rate) != rate for name, rate in model.rates.items()):
            raise Unwritten("towers: they differ, and have decays of one name that differ")
    return first._replace(others=others, rates=rates)


def all_statements(model: Model) -> List[Statement]:
    """Returns the statements of the model and of its loops, for all towers."""
    of_loops = [line for loop in model.recovery.loops.values() for line in loop.statements]
    return [*model.statements, *of_loops, *(line for other in model.others for line in all_statements(other))]


def has_own_variables(model: Model) -> bool:
    """Returns whether towers ask for different variables."""
    found = [leaf for statement in all_statements(model) for leaf in leaves(statement.expression)]
    return any(isinstance(leaf, Variable) and isinstance(leaf.name, Item) for leaf in found)


def _require_no_tables(statements: Sequence[Statement]) -> None:
    """Raises `Unwritten` if a statement is a constant too large to be written."""
    for statement in statements:
        for part in calls(statement.expression):
            if part.function == "tf.raw_ops.Const":
                name = ", ".join(map(repr, statement.targets)) or "in the result"
                raise Unwritten(f"model: a table of numbers without few blocks, {name}, is too large to be written")
