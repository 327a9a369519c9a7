"""The order of a graph of a few nodes, all of which a step runs."""

import types

from legacy.saved.analysis.order.ordering import order_step
from legacy.saved.analysis.order.race_choices import AS_MEANT, RaceChoices
from tests.legacy.saved.graphs import graph_of

EARLY, REVERSED = RaceChoices(averages_after=False), RaceChoices(reversed_updates=True)


def ordered(text, reads, writes, rules=(), on_data=(), choices=AS_MEANT, others=(), view_uses=(), passes=()):
    """The `Order` of a graph that runs all its nodes."""
    graph = graph_of(text)
    variables = dict.fromkeys(variable for used in (reads, writes) for names in used.values() for variable in names)
    state = types.SimpleNamespace(
        variables=variables,
        reads=reads,
        writes=writes,
        rules=set(rules),
        view_uses=dict(view_uses),
        passes=dict(passes),
    )
    return order_step(graph, state, set(graph.nodes), set(on_data), choices, others=others)
