"""One step of a lifted program as one replica runs it, under `strategy.run`.

A replica runs its tower's own loss and gradients, cut out of the old graph. Then the replicas exchange what left the
towers, and each runs the rest on its own copy of the variables: combining, clipping, schedule, update rules, averages.
"""

from __future__ import annotations

import collections
import functools
from typing import Any, Dict, List, NamedTuple

import tensorflow as tf

from modern.lifted import autodiff, exchange
from modern.lifted import effects as lifted_effects
from modern.lifted.function import Function, Values
from workloads.lifted.noise import drawn_nodes


class Seen(NamedTuple):
    """What one replica's step shows; see `workloads.program.StepRecord`."""

    losses: List[Any]
    gradients: Dict[str, Any]
    combined: Dict[str, Any]
    rates: List[Any]


class LiftedStep:
    """One phase of a lifted job as a function of one replica's batch.

    Args:
      job: the `Job`.
      phase: number of the phase.
      variables: `MirroredState`.
      options: `ModernOptions`.
      noise: "keyed", or "drawn" if the batch brings the random numbers.
    """

    def __init__(self, job, phase, variables, options, noise):
        self._job = job
        self._plan = job.workload.plan
        self._phase = self._plan.phases[phase]
        self._variables = variables
        self._versions = {(node, variable): count for node, variable, count in self._phase.versions}
        how = {node: "drawn" for node in drawn_nodes(self._plan)} if noise == "drawn" else {}
        self._cutter = job.workload.cutter(how)
        self._anew = options.autodiff == "new"
        if self._anew:
            autodiff.check(job.workload, self._phase)
        self._towers = {}
        self._stages = {}
        self._exchange = exchange.make(job, self._phase, options.all_reduce)
        self._crossing = set(self._exchange.cuts)
        #: How often a replica's step was traced.
        self.traces = 0

    def tower(self, replica):
        """Which tower's graph a replica runs."""
        return self._exchange.tower(replica)

    def reduction(self):
        """How replicas combine, in words."""
        return self._exchange.about

    def __call__(self, batch):
        """Runs the step on {input name: tensor}; returns `Seen`."""
        self.traces += 1
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        tower = self._exchange.tower(replica)
        local = self._variables.local(replica)
        variables = {**local.weights, **local.slots, **local.statistics, **local.averages}
        values = Values(self._job, replica, local.step.read_value(), batch, variables)
        losses, gradients, crossings = self._run_tower(context, tower, values)
        stages = self._stages_of(tower)
        needed = [f.key for function, _ in stages for f in function.feeds if f.kind == "cut"]
        values.crossings = self._exchange(
            context, tower, crossings, [name for name in needed if name in self._crossing]
        )
        seen = Seen(losses, gradients, {}, [])
        self._update(stages, values, seen)
        tf.raw_ops.AssignAddVariableOp(resource=local.step.handle, value=tf.ones([], tf.int64))
        return seen

    def _run_tower(self, context, tower, values):
        """([loss], {weight: gradient}, {tensor of the graph: value} of what leaves the tower)."""
        phase = self._phase
        losses = [phase.losses[tower]] if phase.losses else []
        gradients = phase.gradients[tower]
        parts = [name for combine in phase.combine for name in combine.parts[tower]]
        leaving = [row[tower] for row in phase.crossings if row[tower] is not None] + parts
        wanted = list(dict.fromkeys(losses + list(gradients.values()) + leaving))
        if self._anew:
            found = self._differentiate(tower, values)
            values.crossings = found
            late = [name for name in wanted if name not in found]
            found.update(self._tower(tower, late, list(phase.raw[tower].values()), values))
        elif phase.returns:
            found = self._in_two(context, tower, values, wanted)
        else:
            found = self._tower(tower, wanted, (), values)
        seen = {label: tf.zeros([]) for one in phase.gradients for label in one}  # replicas must show equal structures
        seen.update((label, found[name]) for label, name in gradients.items())
        return [found[name] for name in losses], seen, {name: found[name] for name in leaving}

    def _differentiate(self, tower, values):
        """{name: value} of the tower's loss and of its gradients, made anew."""
        cuts, noise = self._entering(tower)
        piece = self._cutter.piece([self._phase.losses[tower]], list(cuts))
        function = Function(piece, cuts, noise, common=False)
        return autodiff.gradients(self._phase, tower, piece, function.arguments(values))

    def _entering(self, tower):
        """({tensor: input's name}, {random node: noise's name}) of what enters a tower."""
        cuts = {e.tensors[tower]: e.name for e in self._plan.inputs}
        cuts.update({e.tensors[0]: e.name for e in self._plan.common})
        return cuts, {e.nodes[tower]: e.name for e in self._plan.noise if e.nodes[tower]}

    def _in_two(self, context, tower, values, wanted):
        """A tower whose gradients wait for all towers' results: forward, exchange, and on from what was kept."""
        phase = self._phase
        early, kept, returns = [row[tower] for row in phase.early], phase.kept[tower], phase.returns[tower]
        early = [name for name in early if name is not None]
        found = self._tower(tower, list(dict.fromkeys(early + kept)), (), values)
        rows = phase.early
        values.crossings = self._exchange.gather(context, tower, found, rows, {name for row in rows for name in row})
        found.update(zip(returns, self._returns(tower, returns)(values)))
        values.crossings.update(found)
        late = [name for name in wanted if name not in found]
        found.update(self._tower(tower, late, kept + returns, values))
        return found

    def _tower(self, tower, fetches, given, values):
        """{name: value} of tensors of a tower, some others of which are `given`, among the crossings."""
        if not fetches:
            return {}
        key = (tower, bool(given))
        if key not in self._towers:
            cuts, noise = self._entering(tower)
            piece = self._cutter.piece(fetches, list(cuts) + list(given))
            self._towers[key] = Function(piece, cuts, noise, common=False)
        return dict(zip(fetches, self._towers[key](values)))

    def _returns(self, tower, returns):
        """The function that makes what comes back into a tower from what left all towers before."""
        key = (tower, "returns")
        if key not in self._towers:
            cuts = {entry.tensors[0]: entry.name for entry in self._plan.common}
            noise = {e.nodes[0]: e.name for e in self._plan.common_noise}
            early = [name for row in self._phase.early for name in row if name is not None]
            self._towers[key] = Function(self._cutter.piece(returns, early + list(cuts)), cuts, noise, common=True)
        return self._towers[key]

    def _update(self, stages, values, seen):
        """Runs the effects in order; what each is made of is computed as soon as the versions it reads are there."""
        values.needed = {feed.key for function, _ in stages for feed in function.feeds if feed.kind == "read"}
        noted = set()
        for function, effects in stages:
            results = iter(function(values))
            for effect in effects:
                arguments = [next(results) for _ in effect.values]
                if effect.gradient:
                    seen.combined[effect.writes[0]] = arguments[effect.gradient_at]
                if effect.rate and effect.rate not in noted:
                    noted.add(effect.rate)
                    seen.rates.append(arguments[effect.rate_at])
                values.before_change(effect.writes)
                run = functools.partial(
                    lifted_effects.emit,
                    effect,
                    self._job.workload.graph.nodes[effect.node],
                    values.variables,
                    arguments,
                )
                if effect.condition is None:
                    run()
                else:
                    lifted_effects.run_if(next(results), effect.condition[1], run)

    def _stages_of(self, tower):
        """[(function of their arguments, effects)] of the effects that can be computed together, in order."""
        effects = [effect for effect in self._phase.effects if not self._exchange.skips(effect, tower)]
        key = tuple(effect.node for effect in effects)  # the same for all replicas, unless towers keep a state
        if key not in self._stages:
            self._stages[key] = [self._stage(group) for group in self._groups(effects)]
        return self._stages[key]

    def _groups(self, effects):
        """`effects` in as few groups as there can be if each reads nothing that its own group changes."""
        groups, done = [[]], collections.Counter()
        counts = collections.Counter()
        for effect in effects:
            needs = self._piece([effect]).feeds
            other_branch = groups[-1] and groups[-1][-1].condition != effect.condition
            if other_branch or any(f.kind == "read" and f.key[1] > done[f.key[0]] for f in needs):
                done.update(counts)
                counts.clear()
                groups.append([])
            groups[-1].append(effect)
            counts.update(effect.writes)
        return [group for group in groups if group]

    def _stage(self, effects):
        cuts = {entry.tensors[0]: entry.name for entry in self._plan.common}
        noise = {e.nodes[0]: e.name for e in self._plan.common_noise}
        return Function(self._piece(effects), cuts, noise, common=True), effects

    def _piece(self, effects):
        fetches = []
        for effect in effects:
            fetches += [(value, effect.node) for value in effect.values]
            fetches += [effect.condition[0]] if effect.condition else []
        cuts = self._exchange.cuts + [entry.tensors[0] for entry in self._plan.common]
        taken = {tuple(effect.condition) for effect in effects if effect.condition}
        return self._cutter.piece(fetches, cuts, self._versions, taken)
