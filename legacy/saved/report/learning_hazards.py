"""Hazards in what is learned: regularization, statistics, batch sizes, schedules, inputs, reports."""

from __future__ import annotations

import collections
import re

from legacy.saved.graph import gradient_names, op_types
from legacy.saved.report.whole_graph import ancestors_of
from workloads.lifted.graph import split

SCHEDULES = re.compile(r"(?i)(exponential|piecewise|polynomial|cosine|natural_?exp|inverse_?time)_?\w*(decay|constant)")
SUMMARIES = ("ScalarSummary", "ScalarSummaryV2")
PENALTIES = re.compile(r"(?i)(l2loss|l2_loss|regularizer|weight_loss|weight_decay)")


def _row(*parts):
    return collections.OrderedDict(zip(("hazard", "op", "what", "in tf.distribute"), parts))


def regularization(whole):
    """Penalties that only some towers' gradients have, or none."""
    penalties = [n for n in whole.graph.nodes if whole.graph.type(n) == "L2Loss" or _named_penalty(whole, n)]
    # A global norm of gradients is made of the same op.
    penalties = [n for n in penalties if not any("_grad/" in b for b in whole.graph.ancestors([n], controls=False))]
    if not penalties or not whole.applies:
        return
    known = set(penalties)
    counts = collections.Counter()
    for name in whole.reach:
        if "_grad/" in name and gradient_names.forward_name(name) in known:
            counts[whole.labels.get(name, 0), gradient_names.forward_name(name)] = 1
    alive = [t for t in whole.towers() if whole.reach & set(whole.backward(t))] or [0]
    per_tower = [sum(1 for tower, _ in counts if tower == t) for t in alive]
    if not any(per_tower):
        yield _row(
            "REGULARIZATION_LOST",
            penalties[0],
            f"{len(penalties)} regularization terms are in the graph and no gradient has them",
            "leave them out for parity, or add them and say so",
        )
    elif len(set(per_tower)) > 1:
        yield _row(
            "REGULARIZATION_ONCE",
            next(penalty for _, penalty in sorted(counts)),
            "regularization terms by tower: {}; averaged over {} towers they count {:g} of {}".format(
                ", ".join(map(str, per_tower)), len(alive), sum(per_tower) / len(alive), max(per_tower)
            ),
            "add them to every replica's loss, scaled by 1 / N for what the old program did; "
            "tf.nn.scale_regularization_loss for all of it",
        )


def _named_penalty(whole, name):
    return whole.graph.type(name) in ("Mul", "Sum") and "_grad/" not in name and PENALTIES.search(name.split("/")[-1])


def statistics(whole, found):
    """Whose batch statistics are kept."""
    owners = collections.defaultdict(list)
    roles = {variable.name for variable in found.plan.variables if variable.role in ("statistic", "state")}
    for phase in found.plan.phases:
        names = {n: tower for tower, row in enumerate(zip(*phase.crossings)) for n in row if n}
        for effect in phase.effects:
            made = found.cut.graph.ancestors([effect.node], {split(n)[0] for n in names}, controls=False)
            for name in set(effect.writes) & roles:
                owners[name].append(tuple(sorted({t for n, t in names.items() if split(n)[0] in made})))
    towers = found.plan.towers
    if towers < 2:
        return
    kinds = collections.defaultdict(list)
    for name, who in owners.items():
        kinds["in turn" if len(who) > 1 else who[0]].append(name)
    if len({len(kinds.get((tower,), ())) for tower in range(towers)}) == 1 and "in turn" not in kinds:
        return  # each tower has as many of its own: state that it carries, not statistics of one model
    for who, names in kinds.items():
        if who == "in turn":
            what = "{} statistics are updated by several towers one after the other, in no fixed order"
        elif who == (towers - 1,):
            what = "{} statistics are updated by the last tower only"
        elif who == (0,):
            what = "{} statistics are updated by the first tower only"
        else:
            continue
        yield _row(
            "STATISTICS_OF_ONE_TOWER" if who != "in turn" else "STATISTICS_RACE",
            names[0],
            what.format(len(names)),
            "the lift keeps this order; in new code, variables with aggregation ONLY_FIRST_REPLICA or MEAN",
        )


def batch_constants(whole, found):
    """A sum over examples divided by a number that is not how many there are."""
    graph, batch, towers = found.cut.graph, found.plan.batch, found.plan.towers
    for phase in found.plan.phases:
        for loss in phase.losses[:1]:
            for name in ancestors_of(graph, [loss]):
                number = _divided_sum(whole, graph, name)
                if number is None or number in (batch, 1):
                    continue
                if batch is None:
                    what = f"a sum over examples is divided by {number:g}, and the inputs take any batch"
                elif number == batch * towers:
                    what = f"a sum over a tower's {batch} examples is divided by all towers' {number:g}"
                else:
                    what = f"a sum over a tower's {batch} examples is divided by {number:g}"
                yield _row(
                    "BATCH_SIZE_CONSTANT",
                    name,
                    what,
                    "tf.nn.compute_average_loss with the global batch, and reduce with SUM",
                )


def _divided_sum(whole, graph, name):
    """c of `Sum(...) / c` or `Sum(...) * (1 / c)` with a whole c above one, of a loss's forward pass; or None."""
    if graph.type(name) not in ("RealDiv", "Div", "Mul") or "_grad/" in name:
        return None
    numbers = [(whole.value(p), i) for i, (p, _) in enumerate(graph.inputs(name)) if p in whole.graph.nodes]
    constants = [(value, i) for value, i in numbers if value is not None]
    if len(constants) != 1:
        return None
    value, position = constants[0]
    other = graph.inputs(name)[1 - position][0]
    while graph.type(other) == "Identity":
        other = graph.inputs(other)[0][0]
    if graph.type(other) != "Sum" or not value:
        return None
    divisor = value if graph.type(name) != "Mul" else 1.0 / value
    whole_number = divisor > 1 and abs(divisor - round(divisor)) < 1e-4 * divisor
    return round(divisor) if whole_number else None


def schedule_steps(whole):
    """A step counter that counts towers, or a schedule that multiplies the step by their number."""
    graph = whole.graph
    steps = {n for n in graph.nodes if n.split("/")[-1] == "global_step" and graph.type(n) in op_types.VARIABLES}
    for step in sorted(steps):
        adds = [user for user in _adds(graph, step) if user in graph.nodes]
        values = [whole.value(graph.inputs(add)[1][0]) for add in adds if len(graph.inputs(add)) > 1]
        if len(adds) > 1 and len(adds) == whole.count:
            yield _row(
                "STEP_COUNTS_TOWERS",
                adds[0],
                f"{step} is incremented by each of the {len(adds)} towers",
                f"count one per update; multiply the schedule's steps by {len(adds)} to keep its knees",
            )
        elif any(value not in (None, 1) for value in values):
            yield _row(
                "STEP_COUNTS_TOWERS",
                adds[0],
                f"{step} rises by {next(v for v in values if v not in (None, 1)):g} in a step",
                "count one per update, and divide the schedule's steps",
            )
        for name in graph.descendants([step], controls=False):
            if whole.count > 1 and graph.type(name) in ("Mul", "RealDiv", "FloorDiv", "Div") and name in whole.reach:
                numbers = [whole.value(producer) for producer, _ in graph.inputs(name)]
                if whole.count in numbers and _is_step(graph, name, steps):
                    yield _row(
                        "SCHEDULE_COUNTS_TOWERS",
                        name,
                        f"the schedule reads the step times or over {whole.count}, the number of towers",
                        "one step is one update of all replicas: keep the factor only if the old knees are wanted",
                    )


def _adds(graph, variable):
    direct = {user for user, position, _ in graph.users(variable) if position == 0}
    return sorted(name for name in direct if graph.type(name) in ("AssignAdd", "AssignAddVariableOp"))


def _is_step(graph, name, steps):
    """Whether an input of `name` is the step itself, or a cast of it."""
    for producer, _ in graph.inputs(name):
        while graph.type(producer) in ("Identity", "Cast", "ReadVariableOp") and graph.inputs(producer):
            producer = graph.inputs(producer)[0][0]
        if producer in steps:
            return True
    return False


def frozen_rate(whole):
    """A schedule that no update reads, or one whose step nothing counts."""
    graph = whole.graph
    schedules = collections.OrderedDict()
    for name in graph.nodes:
        match = SCHEDULES.search(name)
        if match and "_grad/" not in name:
            schedules.setdefault(name[: match.end()], []).append(name)
    used = [prefix for prefix, names in schedules.items() if whole.reach & set(names)]
    for prefix, names in schedules.items():
        if whole.applies and not used:
            yield _row(
                "LEARNING_RATE_FROZEN",
                names[-1],
                f"the schedule {prefix} is computed and no update reads it",
                "hand the optimizer the schedule; for parity with the old program keep the constant it used",
            )
    for prefix in used:
        variables = {
            n
            for n in graph.ancestors(set(schedules[prefix]) & whole.reach, controls=False)
            if graph.type(n) in op_types.VARIABLES
        }
        if variables and not any(_adds(graph, variable) or _assigned(graph, variable) for variable in variables):
            yield _row(
                "LEARNING_RATE_FROZEN",
                sorted(variables)[0],
                f"the schedule {prefix} reads a step that nothing counts",
                "give apply_gradients the global_step; in tf.distribute count the steps in a variable",
            )


def _assigned(graph, variable):
    users = [u for u, position, _ in graph.users(variable) if position == 0]
    return any(
        graph.type(u) in ("Assign", "AssignVariableOp") and not re.search(r"(?i)(init|save|restore|Assign$)", u)
        for u in users
    )


def same_batch(whole, found):
    """Towers that all get the same data."""
    same = [entry for entry in found.plan.inputs if entry.kind == "same"]
    if found.plan.towers > 1 and same and len(same) == len(found.plan.inputs):
        yield _row(
            "SAME_BATCH",
            same[0].name,
            f"all {found.plan.towers} towers get the same batch: {found.plan.towers} times the work for one batch's gradient",
            "distribute one global dataset, or shard by the replica's number; parity needs the same batch on each",
        )


def reports_of_one_tower(whole):
    """Losses and summaries that show one tower."""
    if whole.count < 2:
        return
    one = collections.defaultdict(list)
    for name in whole.graph.nodes:
        if whole.graph.type(name) in SUMMARIES:
            towers = whole.towers_of(whole.graph.ancestors([name], controls=False))
            if len(towers) == 1:
                one[towers.pop()].append(name)
    if len(one) == 1:
        tower, names = next(iter(one.items()))
        yield _row(
            "REPORTED_BY_ONE_TOWER",
            names[0],
            "{} summar{} tower {} alone".format(len(names), "y shows" if len(names) == 1 else "ies show", tower),
            "strategy.reduce the per-replica values before they are written",
        )


OF_GRAPH = (regularization, schedule_steps, frozen_rate, reports_of_one_tower)
OF_ANALYSIS = (statistics, batch_constants, same_batch)
