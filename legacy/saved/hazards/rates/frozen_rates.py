"""Hazards of learning-rate schedules without a reader or without progress."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator, Sequence

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import is_read
from legacy.saved.hazards.rates.schedules import nodes_of_rates
from workloads.lifted.tensors.gradient_names import is_gradient_op

_WHOLE_NUMBERS = {dtype.as_datatype_enum for dtype in (tf.int32, tf.int64)}
FLOATS = {dtype.as_datatype_enum for dtype in (tf.float32, tf.float64)}
#: Ops that make one rate of others, such as a warm-up's and a schedule's.
_CHOICES = ("Select", "SelectV2", "Switch", "Merge")
_OF_RATES = {"Identity", "Reshape", "Mul", "RealDiv", "Div", "Add", "AddV2", "Sub", "Minimum", "Maximum", *_CHOICES}
#: Names of learning rates.
RATES = re.compile(r"(?i)(^|/)(lr|(\w*_)?learning_?rate|(new|base|init|initial)_?lr)(_\d+|_?(ph|placeholder|input))?$")
#: The name that a variable has of itself, within a scope.
UNNAMED = re.compile(r"/Variable(_\d+)?$")
SCHEDULES = re.compile(
    r"(?i)(exponential|piecewise|polynomial|cosine|natural_?exp|inverse_?time)_?\w*(decay|constant)(_\d+(?=/|$))?"
)


def frozen_learning_rate(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds schedules that no update depends on, and schedules of a step that nothing advances."""
    schedules = _schedules(whole)
    used = [scope for scope, names in schedules.items() if whole.reach & set(names)]
    unused = {scope: names for scope, names in schedules.items() if scope not in used}
    unused = {s: names for s, names in unused.items() if _is_only_shown(whole, names)}  # not of what explores
    # A schedule that is used may be of something else than an optimizer, such as a penalty.
    rates = nodes_of_rates(whole) if used else set()
    is_scheduled = bool(used) and bool(rates & set().union(*schedules.values()))
    if whole.applies and not is_scheduled:
        for scope, names in unused.items():
            yield Hazard(
                "LEARNING_RATE_FROZEN",
                names[-1],
                f"the schedule {scope} is computed and no update depends on it",
                "hand the optimizer the schedule; for parity with the old program keep the constant it used",
            )
    yield from _frozen_by_hand(whole, {name for names in schedules.values() for name in names})
    yield from _fed_in_vain(whole)
    yield from _set_in_vain(whole)
    yield from _only_shown(whole)
    for scope in used:
        variables = _variables_behind(whole, schedules[scope])
        if not variables or any(variable in whole.writes.values() for variable in variables):
            continue
        fed = whole.graph.ancestors(set(schedules[scope]) & whole.reach, controls=False)
        if not any(whole.graph.type(name).startswith("Placeholder") for name in fed):
            is_rate = bool(rates.intersection(schedules[scope]))
            named = scope if is_rate else f"{scope}, of no learning rate,"
            yield Hazard(
                "LEARNING_RATE_FROZEN" if is_rate else "SCHEDULE_FROZEN",
                variables[0],
                f"the schedule {named} depends on {variables[0]}, which nothing advances",
                "give apply_gradients the global_step; in tf.distribute count the steps in a variable",
            )


def _fed_in_vain(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds the first fed scalar with the name of a learning rate that no update of the graph depends on.

    One that is fed for a summary, beside the rate that an update takes, is the value that a program reports.
    """
    rates = [name for name in whole.graph.nodes if _is_fed_rate(whole, name)] if whole.applies else []
    changing = {name for name in rates if whole.graph.descendants([name], controls=False) & whole.writes.keys()}
    for name in [name for name in rates if name not in changing]:
        is_reported = bool(whole.graph.users(name)) and _is_only_shown(whole, [name])
        if not (changing and is_reported):
            yield Hazard(
                "LEARNING_RATE_FROZEN",
                name,
                f"the fed learning rate {name} changes nothing: no update depends on it",
                "hand the optimizer the fed rate; for parity with the old program keep the constant it used",
            )
            return


def _set_in_vain(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds the first variable with the name of a learning rate that the program sets, and that no op reads.

    Where updates take a fed rate, the program may read the variable itself and feed what it holds.
    """
    is_fed = any(whole.graph.type(name).startswith("Placeholder") for name in nodes_of_rates(whole))
    for variable in dict.fromkeys(whole.writes.values()) if whole.applies and not is_fed else ():
        is_rate = RATES.search(UNNAMED.sub("", variable)) and variable not in whole.trainable
        is_number = whole.is_scalar(variable) and whole.graph.nodes[variable].attr["dtype"].type in FLOATS
        if is_rate and is_number and not is_read(whole.graph, variable):
            yield Hazard(
                "LEARNING_RATE_FROZEN",
                variable,
                f"the program sets the learning rate {variable}, and no op reads it: no update depends on it",
                "hand the optimizer the variable; for parity with the old program keep the constant it used",
            )
            return


def _is_fed_rate(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a fed number, perhaps of unknown rank, with the name of a learning rate."""
    if not whole.graph.type(name).startswith("Placeholder") or not RATES.search(name):
        return False
    attributes = whole.graph.nodes[name].attr
    return attributes["dtype"].type in FLOATS and not attributes["shape"].shape.dim


def _is_only_shown(whole: WholeGraph, names: Sequence[str]) -> bool:
    """Whether no op takes what a schedule gives but summaries."""
    todo, seen = list(names), set(names)
    while todo:
        for user in {use.node for use in whole.graph.users(todo.pop())} - seen:
            if whole.graph.type(user) in _OF_RATES:
                seen.add(user)
                todo.append(user)
            elif "Summary" not in whole.graph.type(user):
                return False
    return True


def _frozen_by_hand(whole: WholeGraph, named: set[str]) -> Iterator[Hazard]:
    """Finds the first learning rate, but for named schedules, that is computed from a step which nothing advances."""
    graph = whole.graph
    for name in graph.nodes:
        is_step = graph.type(name) in op_types.VARIABLES and graph.nodes[name].attr["dtype"].type in _WHOLE_NUMBERS
        if not is_step or not whole.is_scalar(name) or name in set(whole.writes.values()) | whole.trainable:
            continue
        after = graph.descendants([name], controls=False)
        for apply in [apply for apply in whole.applies if apply in after]:
            rates = [t.node for t in graph.inputs(apply)[1:] if t.node in after and t.node not in whole.data]
            if rates and not graph.ancestors(rates, controls=False) & (whole.trainable | named):
                yield Hazard(
                    "LEARNING_RATE_FROZEN",
                    name,
                    f"the learning rate {rates[0]} depends on {name}, which nothing advances",
                    "give apply_gradients the global_step; in tf.distribute count the steps in a variable",
                )
                return


def _only_shown(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a summary of a rate by hand that follows the step, where every optimizer's rate is a constant."""
    graph, rates = whole.graph, nodes_of_rates(whole)
    if not whole.applies or rates == whole.reach or any(_may_change(whole, name) for name in rates):
        return
    summaries = [name for name in graph.of_types(*op_types.SCALAR_SUMMARIES) if RATES.search(name)]
    for summary in summaries:
        shown = graph.origin(graph.inputs(summary)[1]).node
        counters = _counters_behind(whole, shown)
        if counters and shown not in whole.reach:
            yield Hazard(
                "LEARNING_RATE_FROZEN",
                shown,
                f"the learning rate that {summary} shows follows {counters[0]}; no update depends on it",
                "hand the optimizer the schedule; for parity with the old program keep the constant it used",
            )
            return


def _may_change(whole: WholeGraph, name: str) -> bool:
    """Whether a learning rate is computed from what may change: a variable, or a number that is fed."""
    return whole.graph.type(name) in op_types.VARIABLES or op_types.is_source(whole.graph.type(name))


def _counters_behind(whole: WholeGraph, shown: str) -> list[str]:
    """The scalar variables that the step changes, from which alone a number is computed; none of a named schedule's."""
    before = whole.graph.ancestors([shown], controls=False)
    variables = {name for name in before if whole.graph.type(name) in op_types.VARIABLES}
    changed = {variable for name, variable in whole.writes.items() if name in whole.members or not whole.members}
    is_function = variables <= changed - whole.trainable and all(map(whole.is_scalar, variables))
    is_named = any(map(SCHEDULES.search, before))
    return sorted(variables) if is_function and not is_named and not before & whole.data else []


def _schedules(whole: WholeGraph) -> dict[str, list[str]]:
    """{name scope of a schedule: its nodes}, of those that depend on a variable and not on data or weights."""
    schedules: dict[str, list[str]] = collections.OrderedDict()
    for name in whole.graph.nodes:
        match = SCHEDULES.search(name)
        if match and not is_gradient_op(name):
            schedules.setdefault(name[: match.end()], []).append(name)
    return {scope: names for scope, names in schedules.items() if _is_schedule(whole, names)}


def _is_schedule(whole: WholeGraph, names: list[str]) -> bool:
    """Whether some nodes compute a function of a variable that is no weight: a decay of weights has such a name too."""
    before = whole.graph.ancestors(names, controls=False)
    variables = {name for name in before if whole.graph.type(name) in op_types.VARIABLES}
    return bool(variables) and not variables & whole.trainable and not before & whole.data


def _variables_behind(whole: WholeGraph, names: list[str]) -> list[str]:
    """The variables that some nodes of the way to an update depend on, sorted."""
    needed = whole.graph.ancestors(set(names) & whole.reach, controls=False)
    return sorted(name for name in needed if whole.graph.type(name) in op_types.VARIABLES)
