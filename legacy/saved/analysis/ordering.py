"""In which order a step reads and changes its variables, where the old graph says so and where it leaves it open.

The result is single static assignment: every use of a variable is given the number of changes that came before it
in the step. Where the graph orders a use and a change neither way it has a race; one order that the graph allows is
chosen, and the control edges that pin it are named, so that the old graph can be made to keep to it too.
"""

from __future__ import annotations

import collections

from legacy.saved.graph import op_types
from workloads.lifted.graph import ENTERS, EXITS
from workloads.support.errors import InputError


class Order(collections.namedtuple("Order", "effects versions pins races")):
    """
    Attributes:
      effects: nodes that change variables, in the order in which they do.
      versions: {(node, variable): how many effects changed the variable before this node used it}.
      pins: [(before, after)] control edges that the chosen order needs and the graph does not have.
      races: [text], one for each race between changes, or between a change and a use, of a variable.
    """


def settle(graph, state, members, depends_on_data, variant="late"):
    """The `Order` of a step that runs the nodes `members`.

    Args:
      variant: "late" as described; "early", where every use that the graph leaves open comes before the change; or
        "reversed", where changes that it leaves open take turns the other way round.
      depends_on_data: set of nodes whose value depends on the step's data.

    Raises:
      InputError: the chosen order runs in circles.
    """
    ordered = graph.order(members)
    effects = [name for name in ordered if name in state.writes]
    position = {name: i for i, name in enumerate(effects)}
    own = {name: 1 << i for name, i in position.items()}
    earlier, later = graph.flow(ordered, own), graph.flow(ordered, own, backwards=True)
    versions, pins, races = {}, [], []
    for variable in state.variables:
        chain = [name for name in effects if variable in state.writes[name]]
        free = not any(earlier[second] >> position[first] & 1 for first in chain for second in chain)
        if variant == "reversed" and free:
            chain.reverse()
        for first, second in zip(chain, chain[1:]):
            if not earlier[second] >> position[first] & 1:
                pins.append((first, second))
                races.append(f"{variable}: changed by {first} and {second} in any order")
        for user in [name for name in members if variable in state.reads.get(name, ())]:
            count = 0
            for change in chain:
                if change == user:
                    break
                if earlier[user] >> position[change] & 1:
                    count += 1
                elif later[user] >> position[change] & 1:
                    break
                elif variant != "early" and _comes_after(
                    state.rules, effects, chain, change, user, later[user], depends_on_data
                ):
                    count += 1
                    pins.append((change, user))
                    races.append(f"{variable}: {user} may use it before or after {change}; taken after")
                else:
                    pins.append((user, change))
                    if graph.type(user) not in op_types.HANDLE_PASSES:
                        races.append(f"{variable}: {user} may use it before or after {change}; taken before")
                    break
            versions[user, variable] = count
            if graph.type(user) in ENTERS and chain[count:]:
                pins += _after_loop(graph, user, chain[count], members, earlier, later, position)
    inside = graph.frames()
    pins = [pair for pair in pins if not inside & set(pair)]  # no edge may leave a loop but by its exit
    try:
        final = graph.order(members, pins)
    except ValueError as error:
        raise InputError(f"graph file: no order of reads and updates around {str(error)!r} satisfies the graph")
    return Order([name for name in final if name in state.writes], versions, pins, races)


def _after_loop(graph, enter, change, members, earlier, later, position):
    """Pins that make a change wait for every loop that a variable went into: inside, its memory is still shared."""
    exits = [name for name in graph.descendants([enter]) & members if graph.type(name) in EXITS]
    bit = 1 << position[change]
    return [(name, change) for name in sorted(exits) if not (earlier[name] & bit or later[name] & bit)]


def _comes_after(rules, effects, chain, change, user, reached, depends_on_data):
    """Whether a use that the graph does not order against a change is taken to come after it.

    A use that leads to a later change of the same variable does (two towers updating one statistic take turns), and
    so does an average of weights that is not ordered against their update: it mostly sees the new weight, and its
    authors meant it to. Everything else belongs to the step's computation, which starts from the step's first values.
    """
    reached = {name for i, name in enumerate(effects) if reached >> i & 1}
    trained = bool(set(chain) & rules)
    if not (trained and user in depends_on_data) and any(
        later in reached or later == user for later in chain[chain.index(change) + 1 :]
    ):
        return True
    if user in depends_on_data or change not in rules:
        return False
    return not reached & rules
