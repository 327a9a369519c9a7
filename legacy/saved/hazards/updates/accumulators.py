"""Hazards of gradients that are kept between runs: never added up, never set to zero, too early, or overwritten."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.runs.accumulation import ADDITIONS, accumulators, sums_of_gradients
from workloads.lifted.plan import Race
from workloads.support.wording import FEW, counted, listed, plural


def kept_gradients(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sums that no run adds to or sets back, and variables that each run sets to its own gradients."""
    kept = accumulators(whole.graph, whole.applies, whole.trainable)
    changes: dict[str, list[str]] = {variable: [] for variable in kept}
    for name, variable in whole.writes.items():
        changes.get(variable, []).append(name)
    sums = sums_of_gradients(whole.graph, kept)
    endless = [variable for variable in kept if variable in sums and set(changes[variable]) == set(kept[variable])]
    endless = [variable for variable in endless if f"{variable}/Assign" not in whole.members]
    if endless:
        yield Hazard(
            "ACCUMULATOR_NEVER_RESET",
            kept[endless[0]][0],
            f"{counted(len(endless), 'sum')} of gradients ({listed(endless, FEW)}): no op but "
            f"{plural(len(endless), 'its initializer sets it', 'their initializers set them')} to zero: unless these "
            "run after each update, every update takes the gradients of all runs before",
            "set the sums to zero after each update",
        )
    yield from _sums_of_no_run(whole, {name: kept[name] for name in kept if name in sums})
    added = {name: kept[name] if name in sums else _additions(whole, kept[name], name) for name in kept}
    yield from _resets_of_other_runs(whole, {name: writes for name, writes in added.items() if writes}, changes)
    overwritten = [variable for variable in kept if not _adds(whole, changes[variable], variable)]
    parts = {name for name in overwritten if any(_is_part(whole, write) for write in kept[name])}
    overwritten = [name for name in overwritten if name in parts or _is_divided(whole, name)]
    if overwritten:
        yield Hazard(
            "ACCUMULATOR_OVERWRITTEN",
            kept[overwritten[0]][0],
            f"{counted(len(overwritten), 'variable keeps', 'variables keep')} gradients for another run's update, "
            f"{'divided for it' if overwritten[0] in parts else 'which divides them'} "
            f"({listed(overwritten, FEW)}), and every run assigns its own: only the last one's count",
            "add them up; for parity, divide the last batch's gradients",
        )


def _sums_of_no_run(whole: WholeGraph, sums: dict[str, list[str]]) -> Iterator[Hazard]:
    """Finds sums that a period applies and no run of it adds to, where its runs add to other ones.

    Args:
      whole: the graph.
      sums: {variable that holds a sum of gradients: the assignments that add to it}.
    """
    applied = [name for name in whole.applies if name in whole.members]
    used = whole.graph.ancestors(applied, controls=False)
    never = [name for name in sums if name in used and whole.members.isdisjoint(sums[name])]
    if never and any(not whole.members.isdisjoint(adding) for adding in sums.values()):
        taking = [name for name in applied if set(never) & whole.graph.ancestors([name], controls=False)]
        weights = [whole.writes.get(name, name) for name in taking]
        yield Hazard(
            "ACCUMULATOR_NEVER_FILLED",
            taking[0],
            f"{counted(len(never), 'sum')} of gradients ({listed(never, FEW)}): the graph has ops that add to "
            f"{plural(len(never), 'it', 'them')}, such as {sums[never[0]][0]}, and no run of this period runs them: "
            f"the update of {listed(weights, FEW)} takes zeros",
            "add these gradients up, too; if the program did, name that run in --train_op",
        )


def _additions(whole: WholeGraph, writes: list[str], variable: str) -> list[str]:
    """The assignments that add to a sum which others begin; none where another one changes it by its own value.

    Args:
      whole: the graph.
      writes: the assignments that bring gradients to a variable.
      variable: its name.
    """
    adding = [name for name in writes if whole.graph.type(name).endswith(ADDITIONS)]
    return adding if not _adds(whole, [name for name in writes if name not in adding], variable) else []


def _resets_of_other_runs(
    whole: WholeGraph, sums: dict[str, list[str]], changes: dict[str, list[str]]
) -> Iterator[Hazard]:
    """Finds sums that the runs of a period add to and apply, and that only an op of no run sets back.

    Args:
      whole: the graph.
      sums: {variable that holds a sum of gradients: the assignments that add to it}.
      changes: {such a variable: all its assignments}.
    """
    left: dict[str, str] = {}
    for variable, adding in sums.items():
        resets = [name for name in changes[variable] if name not in adding]
        is_run = whole.members.issuperset(adding) and variable in whole.graph.ancestors(
            [name for name in whole.applies if name in whole.members], controls=False
        )
        is_set = whole.members.intersection([*changes[variable], f"{variable}/Assign"]).difference(adding)
        if is_run and resets and not is_set:
            left[variable] = resets[0]
    if left:
        yield Hazard(
            "ACCUMULATOR_NEVER_RESET",
            next(iter(left.values())),
            f"{counted(len(left), 'sum')} of gradients ({listed(list(left), FEW)}): the graph has ops that set "
            f"{plural(len(left), 'it', 'them')} back or anew, such as {next(iter(left.values()))}, and no run of this "
            "period runs them: every update takes the gradients of all runs before",
            "set the sums to zero after each update; if the program did, name that run in --train_op",
        )


def sums_set_back_too_early(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds sums of gradients that the run of their update sets back before it, or in no order with it."""
    kept = accumulators(whole.graph, whole.applies, whole.trainable)
    sums = sums_of_gradients(whole.graph, kept)
    for phase in found.plan.phases:
        rules = found.context.state.rules & {effect.node for effect in phase.effects}
        own = {name for name in rules if whole.writes.get(name) not in sums}  # a rule may take a sum by reference
        used = whole.graph.ancestors(rules & set(whole.graph.nodes), controls=False) - (set(whole.writes) - own)
        run = {effect.node for effect in phase.effects}
        resets = {
            whole.writes[n]: n for n in whole.writes if n in run and whole.writes[n] in sums and _resets(whole, n)
        }
        racing = [race.variable for race in phase.races if race.reader in used and _ends(race) in resets.values()]
        early = [variable for variable, reset in resets.items() if _is_read_after(whole, variable, reset, used)]
        sets = [name for name in resets if name in early] or [name for name in resets if name in racing]
        if sets:
            order, effect = ("before that", "takes") if early else ("in no order with that", "may take")
            yield Hazard(
                "ACCUMULATOR_RESET_EARLY",
                resets[sets[0]],
                f"{phase.train_op} applies {counted(len(sets), 'sum')} of gradients ({listed(sets, FEW)}) and "
                f"sets {plural(len(sets), 'it', 'them')} back {order}, such as {sets[0]} by {resets[sets[0]]}: the "
                f"update {effect} zeros",
                "set the sums back after the update, under tf.control_dependencies([train_op])",
            )
            return


def _ends(race: Race) -> str:
    """The one of a race's two nodes that changes the variable."""
    return race.second if race.reader == race.first else race.first


def _resets(whole: WholeGraph, name: str) -> bool:
    """Whether an assignment to a sum of gradients sets it to what no gradient is a part of."""
    return not whole.graph.type(name).endswith(ADDITIONS)


def _is_read_after(whole: WholeGraph, variable: str, reset: str, used: Collection[str]) -> bool:
    """Whether all that updates use of a sum is read behind its reset, and no run adds to it in between."""
    reads = [name for name, _, _ in whole.graph.users(variable) if name in used]
    before = [whole.graph.ancestors([name]) for name in reads]
    adding = {name for name, written in whole.writes.items() if written == variable} - {reset}
    return bool(reads) and all(reset in names and not adding & names for names in before)


def _adds(whole: WholeGraph, writes: list[str], variable: str) -> bool:
    """Whether some assignment to a variable adds to it, or computes its value from it."""
    for name in writes:
        value = [tensor.node for tensor in whole.graph.inputs(name)[1:2]]
        if whole.graph.type(name).endswith(ADDITIONS) or variable in whole.graph.ancestors(value, controls=False):
            return True
    return False


def _is_part(whole: WholeGraph, write: str) -> bool:
    """Whether an assignment takes a gradient over a whole number of runs: the towers' mean, or another number's."""
    graph, value = whole.graph, whole.graph.inputs(write)[1].node
    found = constant_factor(whole, value) if graph.type(value) in op_types.DIVISIONS else None
    number = 1 / found[1] if found is not None else 0.0
    is_averaged = found is not None and graph.type(found[0]) in ("Mean", "RealDiv", "Div")
    return number > 1 and number.is_integer() and (is_averaged or number != whole.count)


def _is_divided(whole: WholeGraph, variable: str) -> bool:
    """Whether what follows from a variable is divided by a constant, or multiplied by one below 1."""
    for name in whole.graph.descendants([variable], controls=False) & whole.reach:
        numbers = [whole.value(tensor.node) for tensor in whole.graph.inputs(name)[:2]]
        if whole.graph.type(name) in op_types.DIVISIONS and (numbers[1:] or [None])[0] not in (None, 1):
            return True
        if whole.graph.type(name) == "Mul" and any(number is not None and 0 < number < 1 for number in numbers):
            return True
    return False
