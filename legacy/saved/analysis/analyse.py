"""From a saved graph to the plan of its lift."""

from __future__ import annotations

import collections

from legacy.saved.analysis import carried_state, correspondence, inputs, losses, phases, roles
from legacy.saved.analysis.context import Context
from legacy.saved.graph import cone, folding
from workloads.lifted.graph import Graph, tensor_name
from workloads.lifted.plan import Plan


class Analysis(collections.namedtuple("Analysis", "plan cut whole context")):
    """The `plan.Plan`, the `cone.Cut`, the `Graph` it was cut from, and the `Context` of what was cut."""


def analyse(saved, name, train_op=(), feed=None, carry=None):
    """Takes a saved graph apart.

    Args:
      saved: `graph_file.SavedGraph`.
      name: what to call the program.
      train_op: names of the train ops, or empty to find the one.
      feed: {placeholder: text} of settings that stay as they are.
      carry: {placeholder: tensor} of state that the program fetched and fed into the next step.

    Returns:
      `Analysis`.

    Raises:
      InputError: there is nothing to train, or something that a lift cannot do; says what.
    """
    whole, settings = folding.settle(Graph(saved.graph_def), feed or {})
    trainable = saved.collections.get("trainable_variables", [])
    targets = cone.choose(whole, train_op, trainable)
    whole, targets = carried_state.carry(whole, carry or {}, targets)
    minimized = losses.differentiated(whole, whole.ancestors(targets))
    cut = cone.cut(whole, sorted(set(targets) | set(minimized)))
    cone.require_known(cut)
    context = Context(cut.graph, trainable)
    taken_apart = [phases.take_apart(context, target) for target in targets]
    plan = _plan(context, cut, name, taken_apart)
    plan.settings = settings
    return Analysis(plan, cut, whole, context)


def _plan(context, cut, name, taken_apart):
    """The `Plan` of some `phases.PhaseParts`."""
    graph, imported, towers = context.graph, context.imported, context.towers
    pairs = correspondence.pair(context, taken_apart)
    batch, taken = inputs.batch_size(imported, pairs.rows), set()
    own = inputs.describe(graph, imported, cut.origins, pairs.rows, batch, taken)
    common_rows = [[tensor] for tensor in pairs.common]
    common = inputs.describe(graph, imported, cut.origins, common_rows, batch, taken, common=True)
    aliases = {tensor_name(*tensor): variable for tensor, variable in context.state.aliases.items()}
    variables = _variables(context, [effect for phase in taken_apart for effect in phase.effects])
    written = [phases.write_down(context, phase, aliases, variables) for phase in taken_apart]
    context.names(tensor for row in pairs.rows + common_rows for tensor in row)
    context.names((node, output) for node in context.random for output in range(imported.outputs(node)))
    return Plan(
        name=name,
        towers=towers.count,
        found_by=towers.found_by,
        batch=batch,
        inputs=own,
        common=common,
        noise=pairs.noise,
        common_noise=pairs.common_noise,
        variables=variables,
        sources={placeholder: origin for placeholder, (origin, _) in cut.origins.items()},
        aliases=aliases,
        tensors=context.tensors,
        phases=written,
        differences=pairs.differences,
        unsafe=dict(cut.unsafe),
    )


def _variables(context, effects):
    used = {variable for effect in effects for variable in effect.writes}
    used |= {variable for node, read in context.state.reads.items() for variable in read}
    return roles.variables(context.graph, context.state, effects, context.towers.of, used)
