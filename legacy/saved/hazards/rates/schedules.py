"""Hazards of what learning-rate schedules count: towers, one tower's examples, or steps that are not saved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.partitions import SAVERS
from legacy.saved.hazards.basics.directions import applied_rate
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that compare the step with the end of a phase.
COMPARISONS = {"Less", "LessEqual", "Greater", "GreaterEqual"}
_WHOLE_NUMBERS = {dtype.as_datatype_enum for dtype in (tf.int32, tf.int64)}


def miscounted_steps(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds step counters that count towers, and schedules that multiply the step by the number of towers."""
    graph = whole.graph
    variables = graph.of_types(*op_types.VARIABLES)
    steps = {name for name in variables if name.split("/")[-1] == "global_step"}
    for step in sorted({name for name in variables if _is_counter(whole, name)} - steps):
        yield from _counted_by_towers(whole, step, _adds(graph, step))
    for step in sorted(steps):
        yield from _increments(whole, step)
        yield from _scaled_steps(whole, step, steps)
    for step in sorted(_counters(whole) - steps):
        yield from _increments(whole, step)


def _counters(whole: WholeGraph) -> set[str]:
    """Scalars, of any name, that train ops raise by one, and that an update depends on, as by a schedule."""
    written = {variable for name, variable in whole.writes.items() if name in whole.members}
    scalars = {name for name in written - whole.trainable if name in whole.reach and whole.is_scalar(name)}
    counters = {name for name in scalars if all(_adds_one(whole, write) for write in _writes(whole, name))}
    by_examples = _moves_by_examples(whole)
    return {name for name in counters if not _counts_for_a_statistic(whole, name, by_examples)}


def _moves_by_examples(whole: WholeGraph) -> set[str]:
    """Changes of variables by examples, or by what these moved in the step, as a mean before its start is corrected.

    The mean is read behind a control dependency on its move, so that no tensor leads from the examples to the reader.
    """
    moves = {name for name in whole.writes if name in whole.data}
    moved = {whole.writes[name] for name in moves} - whole.trainable
    return moves | whole.graph.descendants(moved, controls=False).intersection(whole.writes)


def _counts_for_a_statistic(whole: WholeGraph, counter: str, by_examples: set[str]) -> bool:
    """Whether a counter serves one statistic of examples alone, as where a moving average corrects its zero start.

    Args:
      whole: the graph.
      counter: name of the variable.
      by_examples: changes of variables by examples.
    """
    after = whole.graph.descendants([counter], controls=False)
    moves = {name for name in whole.writes if name in after and whole.writes[name] != counter}
    moved = {whole.writes[name] for name in moves}
    is_statistic = moves <= by_examples and not moved & whole.trainable
    return len(moved) == 1 and is_statistic and after.isdisjoint(whole.applies)


def _writes(whole: WholeGraph, variable: str) -> list[str]:
    return [name for name, written in whole.writes.items() if written == variable]


def _adds_one(whole: WholeGraph, write: str) -> bool:
    inputs = whole.graph.inputs(write)
    return whole.graph.type(write) in op_types.ADDS and len(inputs) > 1 and whole.value(inputs[1].node) == 1


def _increments(whole: WholeGraph, step: str) -> Iterator[Hazard]:
    """Finds a step counter that does not rise by one in a step, and one that every tower's own update counts."""
    adds = _adds(whole.graph, step)
    addends = [whole.value(whole.graph.inputs(add)[1][0]) for add in adds if len(whole.graph.inputs(add)) > 1]
    other = next((value for value in addends if value not in (None, 1)), None)
    is_counted_once = len(adds) < 2 or _are_alternatives(whole, adds)
    of_towers = [] if is_counted_once else list(_counted_by_towers(whole, step, adds))
    if of_towers:
        yield from of_towers
    elif other is not None:
        yield Hazard(
            "STEP_COUNTS_TOWERS" if other == whole.count else "STEP_NOT_BY_ONE",  # or examples, or runs that are added
            adds[0],
            f"{step} rises by {other:g} in a step",
            "count one per update, and divide the schedule's steps",
        )
    elif not is_counted_once and whole.run_together(adds):
        yield Hazard(
            "STEP_COUNTED_TWICE",
            adds[0],
            f"{step} is incremented by {len(adds)} ops{_of_optimizers_text(whole, adds)}: {', '.join(adds[:4])}",
            "count in one place; what reads the step sees it rise that often",
        )


def _are_alternatives(whole: WholeGraph, adds: Sequence[str]) -> bool:
    """Whether increments wait for updates of the same variables, and no op runs two of them.

    As of train ops for sentences of several lengths, or for a pretraining, of which a program runs one in each step.
    """
    runs = [whole.graph.ancestors([add]) for add in adds]
    updated = [{whole.variable_of(name) for name in whole.applies if name in run} for run in runs]
    both = set.intersection(*(whole.graph.descendants([add]) | {add} for add in adds))
    return bool(updated[0]) and all(names == updated[0] for names in updated) and not both


def _of_optimizers_text(whole: WholeGraph, adds: Sequence[str]) -> str:
    """A clause on increments that each wait for updates of their own; "" of others, as of two behind one update."""
    waits = [frozenset(whole.graph.ancestors([add]).intersection(whole.applies)) for add in adds]
    return ", of each optimizer and not of each tower" if all(waits) and len(set(waits)) == len(waits) else ""


def _is_counter(whole: WholeGraph, name: str) -> bool:
    """Whether a variable is a whole number that train ops raise by one, and is no weight."""
    graph = whole.graph
    if graph.nodes[name].attr["dtype"].type not in _WHOLE_NUMBERS or name in whole.trainable:
        return False
    adds = _adds(graph, name)
    addends = [graph.inputs(add)[1].node for add in adds if len(graph.inputs(add)) > 1]
    return whole.is_scalar(name) and bool(adds) and all(whole.value(node) == 1 for node in addends)


def _counted_by_towers(whole: WholeGraph, step: str, adds: list[str]) -> Iterator[Hazard]:
    """Finds a counter that every tower's own part of the graph raises: by its device, its gradients or its names."""
    towers = {_tower_of_add(whole, add) for add in adds} - {None}
    alike = {re.sub(r"\d+", "#", add.rpartition("/")[0]) for add in adds}
    is_named = len(alike) == 1 and "#" in alike.pop() and set(adds) <= whole.members
    if whole.count > 1 and len(adds) == whole.count and (len(towers) == len(adds) or is_named):
        yield Hazard(
            "STEP_COUNTS_TOWERS",
            adds[0],
            f"{step} is incremented by each of the {len(adds)} towers",
            f"count one per update; multiply the schedule's steps by {len(adds)} to keep its learning rates",
        )


def _tower_of_add(whole: WholeGraph, add: str) -> int | None:
    """The one tower whose update an increment waits for, or that it stands in; None if there is none."""
    needed = whole.graph.ancestors([add])
    before = [name for name in whole.applies if name in needed]
    towers = whole.towers_of(n for n in whole.graph.ancestors(before, controls=False) if is_gradient_op(n))
    towers = towers if before else whole.towers_of([add])
    return towers.pop() if len(towers) == 1 else None


def _scaled_steps(whole: WholeGraph, step: str, steps: set[str]) -> Iterator[Hazard]:
    """Finds products and quotients of a step counter and the number of towers that an update depends on."""
    graph, of_rates = whole.graph, nodes_of_rates(whole)
    rises = len([add for add in _adds(graph, step) if add in whole.members])
    for name in graph.descendants([step], controls=False):
        if whole.count < 2 or graph.type(name) not in ("Mul", "RealDiv", "FloorDiv", "Div") or name not in of_rates:
            continue
        numbers = [whole.value(producer) for producer, _ in graph.inputs(name)]
        is_multiple = whole.count in numbers and _has_step_input(graph, name, steps)
        if rises == whole.count and graph.type(name) != "Mul":
            continue  # it divides by the number of ops that count
        if is_multiple and not (_is_bound(whole, steps) or _counts_examples(whole, name) or _is_exponent(graph, name)):
            yield Hazard(
                "SCHEDULE_COUNTS_TOWERS",
                name,
                f"the schedule multiplies or divides the step by {whole.count}, as many as there are towers",
                "one step is one update of all replicas: keep the factor only if the old learning rates are wanted",
            )


def steps_of_one_towers_examples(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds schedules that multiply the step by the number of one tower's examples; one hazard for all."""
    plan, graph = found.plan, whole.graph
    dealt = any(entry.kind == "batch" for entry in plan.inputs) and not any(
        entry.kind == "same batch" for entry in plan.inputs
    )
    if plan.towers < 2 or not plan.batch or plan.batch in (1, plan.towers) or not dealt:
        return
    of_rates, counters = nodes_of_rates(whole), _counters(whole)
    for name in [name for name in graph.of_types("Mul") if name in of_rates]:
        numbers = [whole.value(producer) for producer, _ in graph.inputs(name)]
        if plan.batch in numbers and _has_step_input(graph, name, counters) and not _counts_examples(whole, name):
            yield Hazard(
                "SCHEDULE_COUNTS_ONE_TOWER",
                name,
                f"the schedule counts {plan.batch} examples a step, those of one tower, and a step takes "
                f"{plan.towers} x {plan.batch}: what is planned in examples comes {plan.towers} times too late",
                "multiply the step by the global batch; for parity keep the number",
            )
            return


def steps_that_are_not_saved(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds step counters that a learning rate reads and no Saver of the graph saves, though some save weights."""
    graph = whole.graph
    savers = graph.of_types(*SAVERS)
    saved = graph.ancestors(savers, controls=False) if savers else set()
    updated = {whole.variable_of(apply) for apply in whole.applies} & whole.trainable
    if not saved & updated:
        return
    for step in sorted((_counters(whole) & nodes_of_rates(whole)) - saved):
        yield Hazard(
            "STEP_NOT_SAVED",
            step,
            f"learning rates read {step}, which no Saver of the graph saves, as where it is a local variable or not in "
            "the list that a Saver is given: where a run goes on from a checkpoint, its schedule begins anew",
            "save the step with the weights; for a port, give it the step that the old run had reached",
        )
        return


def nodes_of_rates(whole: WholeGraph) -> set[str]:
    """Returns the nodes that learning rates are computed from; of an update by hand, all that it depends on."""
    rates = [applied_rate(whole, apply) for apply in whole.applies]
    if None in rates:
        return whole.reach
    return whole.graph.ancestors([rate.node for rate in rates if rate is not None], controls=False)


def _counts_examples(whole: WholeGraph, name: str) -> bool:
    """Whether a multiple of the step is multiplied by a whole number besides, such as a tower's examples."""
    graph = whole.graph
    products = [user for user, _, _ in graph.users(name) if graph.type(user) == "Mul"]
    numbers = [whole.value(producer) for product in products for producer, _ in graph.inputs(product)]
    return any(number is not None and number > 1 and number == int(number) for number in numbers)


def _is_exponent(graph: Graph, name: str) -> bool:
    """Whether a quotient is an exponent as it is, or rounded: it counts the periods of a decay, as of two steps."""
    users = [user for user in graph.users(name) if graph.type(user.node) != "Shape"]
    if graph.type(name) == "Mul" or not users:
        return False
    rounded = [user.node for user in users if graph.type(user.node) in ("Floor", "Ceil", "Identity", "Cast")]
    powers = [user for user in users if graph.type(user.node) == "Pow" and user.position == 1]
    return len(rounded) + len(powers) == len(users) and all(_is_exponent(graph, user) for user in rounded)


def _is_bound(whole: WholeGraph, steps: set[str]) -> bool:
    """Whether the step is compared with the number of towers, as with the length of a warm-up that divides it."""
    graph = whole.graph
    compared = [name for name in whole.reach if graph.type(name) in COMPARISONS and _has_step_input(graph, name, steps)]
    return any(whole.value(producer) == whole.count for name in compared for producer, _ in graph.inputs(name))


def _adds(graph: Graph, variable: str) -> list[str]:
    """Ops that add to a variable, sorted."""
    users = {user for user, position, _ in graph.users(variable) if position == 0}
    return sorted(name for name in users if graph.type(name) in op_types.ADDS)


def _has_step_input(graph: Graph, name: str, steps: set[str]) -> bool:
    """Whether an input of a node is a step counter, or a cast of one."""
    for producer, _ in graph.inputs(name):
        while graph.type(producer) in ("Identity", "Cast", "ReadVariableOp") and graph.inputs(producer):
            producer = graph.inputs(producer)[0][0]
        if producer in steps:
            return True
    return False
