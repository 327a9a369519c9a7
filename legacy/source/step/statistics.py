"""Statistics: which towers change them in a train op, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Sequence, Tuple

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import imported_graph
from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.learning import find_counters, is_rule
from workloads.lifted.graph import parse_tensor_name, tensor_name
from workloads.numerics.statistics import FIRST_TOWER, LAST_TOWER, TOWERS_IN_TURN
from workloads.support.wording import SEVERAL, listed

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Effect, Phase, Plan

#: Policy of variables of which each tower has and changes its own.
EACH_TOWER = "each_tower"
#: Ops whose changes by several towers add up.
_ADDING = ("AssignSub", "AssignAdd", "ScatterSub", "ScatterAdd", "ResourceScatterSub", "ResourceScatterAdd")


def is_scatter(op: str) -> bool:
    """Returns whether an op type changes some rows of a variable."""
    return op.replace("Resource", "").startswith("Scatter")


class Proposal(NamedTuple):
    """A statistic's new value, as one tower computes it.

    Attributes:
      variable: its name.
      op: type of the op that changes it.
      value: the tensor that the op takes.
      node: name of the op.
      rows: of an op that changes some rows, the tensor of their numbers; "" of others.
    """

    variable: str
    op: str
    value: str
    node: str
    rows: str = ""


class Statistics(NamedTuple):
    """The towers' changes of statistics.

    Attributes:
      policy: value of `Workload.statistics`, or `EACH_TOWER`.
      proposals: of each tower.
      in_rounds: whether all towers make their first changes before one makes its second one, of towers in turn.
    """

    policy: str
    proposals: List[List[Proposal]]
    in_rounds: bool = False

    @property
    def tower(self) -> int:
        """Number of the tower whose changes are written; of all, the last one's: it sees what the others changed."""
        return 0 if self.policy == FIRST_TOWER else len(self.proposals) - 1

    @property
    def changes_again(self) -> bool:
        """Whether a tower changes a statistic more than once, as where a layer runs on real and on made-up data."""
        return any(len({one.variable for one in own}) < len(own) for own in self.proposals)


def find_statistics(
    plan: Plan, graph: Graph, phase: Phase, counters: Sequence[str] | None = None, again: bool = False
) -> Statistics:
    """Finds the towers' updates of statistics.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      counters: names of the variables that count steps; None to find them.
      again: whether all towers in turn, or the one that changes it, may change a statistic more than once.

    Returns:
      The updates.

    Raises:
      Unwritten: an update is none of a rule, counter, average, accumulator or statistic, or is made in another order
        than that of the towers.
    """
    if counters is None:
        counters = find_counters(phase, imported_graph(graph))
    found = _effects(plan, graph, phase, counters)
    everywhere = list(range(plan.towers))
    policies, in_rounds = {}, {}
    for name, effects in found.items():
        towers = [tower for tower, _ in effects]
        changes = [effect for _, effect in effects]
        once = len(towers) == 1 or again and _sees_the_changes_before(graph, phase, name, changes)
        if set(towers) == {0} and once:
            policies[name] = FIRST_TOWER
        elif set(towers) == {everywhere[-1]} and once:
            policies[name] = LAST_TOWER
        elif towers in _turns(plan.towers, len(towers), again) and _sees_the_changes_before(
            graph, phase, name, changes
        ):
            policies[name] = TOWERS_IN_TURN
            if len(towers) > plan.towers:
                in_rounds[name] = towers != sorted(towers)
        else:
            numbers = ", ".join(str(tower) for tower in towers)
            who = "what no tower computes alone" if -1 in towers else f"towers {numbers}"
            raise Unwritten(f"statistics: {name!r} is changed by {who}, by {effects[0][1].op}")
    if len(set(policies.values())) > 1:
        kinds = [f"{kind} {name!r}" for name, kind in policies.items()]
        raise Unwritten("statistics: of different towers: " + ", ".join([kinds[0], kinds[-1]]))
    if len(set(in_rounds.values())) > 1:
        raise Unwritten(f"statistics: towers change {listed(list(in_rounds), SEVERAL)} in different orders")
    proposals: List[List[Proposal]] = [[] for _ in everywhere]
    for name, effects in found.items():
        for tower, effect in effects:
            rows = effect.values[0] if is_scatter(effect.op) else ""
            proposals[tower].append(Proposal(name, effect.op, effect.values[-1], effect.node, rows))
    return Statistics(next(iter(policies.values()), FIRST_TOWER), proposals, any(in_rounds.values()))


def _turns(towers: int, changes: int, again: bool) -> List[List[int]]:
    """Returns the orders of the towers that change a statistic in turn; none if no tower has so many changes.

    >>> _turns(2, 4, again=True), _turns(2, 4, again=False), _turns(2, 3, again=True)
    ([[0, 1, 0, 1], [0, 0, 1, 1]], [], [])
    """
    rounds = changes // towers
    if changes != rounds * towers or not (again or rounds == 1):
        return []
    turns = list(range(towers)) * rounds
    return [turns, sorted(turns)]


def find_states(plan: Plan, phase: Phase) -> Statistics:
    """Finds the changes of variables of which each tower has its own, such as a recurrent state.

    Args:
      plan: of the lift.
      phase: the train op.

    Returns:
      The changes by plain assignment, corresponding ones at the same place; none if towers do not correspond.
    """
    own = {variable.name: variable.tower for variable in plan.variables if variable.role == "state"}
    proposals: List[List[Proposal]] = [[] for _ in range(plan.towers)]
    for effect in phase.effects:
        tower = own.get(effect.writes[0])
        if tower is not None and effect.op in op_types.SETS and effect.condition is None:
            proposals[tower].append(Proposal(effect.writes[0], effect.op, effect.values[0], effect.node))
    if len({len(changes) for changes in proposals}) > 1:
        proposals = [[] for _ in range(plan.towers)]
    return Statistics(EACH_TOWER if any(proposals) else FIRST_TOWER, proposals)


def _effects(plan: Plan, graph: Graph, phase: Phase, counters: Sequence[str]) -> Dict[str, List[Tuple[int, Effect]]]:
    """Returns {statistic: (tower, effect) of its changes, in their order}."""
    roles = {variable.name: variable for variable in plan.variables}
    averages = {variable.name for variable in plan.variables if variable.role == "average"}
    accumulators = {v.name for v in plan.variables if v.role == "slot" and not v.of}
    dealt = [entry.tensors for entry in plan.inputs if len(set(entry.tensors)) > 1 or plan.towers == 1]
    drawn = [
        [tensor_name(node or "", 0) for node in entry.nodes] for entry in plan.noise if plan.towers == len(entry.nodes)
    ]
    cuts = [{tensor for tensors in [*dealt, *drawn] for tensor in tensors[t : t + 1]} for t in range(plan.towers)]
    found: Dict[str, List[Tuple[int, Effect]]] = {}
    for effect in phase.effects:
        name = effect.writes[0]
        if is_rule(effect.op) or name in counters or name in averages or name in accumulators:
            continue
        variable = roles[name]
        if variable.role != "statistic":
            what = "state of one tower" if variable.role == "state" else f"{variable.role}, by {effect.op}"
            raise Unwritten(f"updates: {name!r} ({what}) is changed outside of the optimizer")
        found.setdefault(name, []).append((_tower_of(graph, phase, effect, cuts), effect))
    return found


def _sees_the_changes_before(graph: Graph, phase: Phase, name: str, effects: Sequence[Effect]) -> bool:
    """Returns whether each change is made to what those before it left, of which it may know."""
    values = [parse_tensor_name(value).node for effect in effects for value in effect.values]
    before = graph.ancestors(values, controls=False)
    versions = {read.version for read in phase.versions if read.variable == name and read.node in before}
    adds = all(effect.op.startswith(_ADDING) for effect in effects)
    return versions == set(range(1, len(effects))) or adds and not versions


def _tower_of(graph: Graph, phase: Phase, effect: Effect, cuts: Sequence[set[str]]) -> int:
    """Returns the tower whose data, results or random numbers an update depends on; -1 if it is not one tower."""
    before = graph.ancestors([parse_tensor_name(value)[0] for value in effect.values], controls=False)
    towers = [n for n, own in enumerate(cuts) if any(parse_tensor_name(tensor)[0] in before for tensor in own)]
    if len(towers) > 1:  # a split of one placeholder is in all towers' past: tell by the tensors themselves
        used = {tensor.name for node in before for tensor in graph.inputs(node)}
        towers = [number for number, own in enumerate(cuts) if own & used]
    if not towers:  # all towers have the same data, or random numbers alone
        rows = [[parse_tensor_name(name).node if name else "" for name in row] for row in phase.crossings]
        towers = [number for number in range(len(cuts)) if any(row[number] in before for row in rows)]
    return towers[0] if len(towers) == 1 else -1
