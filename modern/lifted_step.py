"""One step of a lifted program as one replica runs it, under `strategy.run`.

A replica runs its tower's own loss and gradients, cut out of the old graph. Then the replicas exchange what left the
towers, and each runs the rest on its own copy of the variables: combining, clipping, schedule, update rules, averages.
"""

from __future__ import annotations

import collections
import functools
import inspect
from typing import Any, Dict, List, NamedTuple

import tensorflow as tf

from modern import lifted_autodiff, lifted_exchange
from workloads.errors import InputError
from workloads.lifted.graph import split
from workloads.lifted.noise import drawn_nodes, key_of

#: Changes of reference variables whose resource twin has another name; the others are called "Resource..." for "...".
TWINS = {
    "Assign": "AssignVariableOp",
    "AssignAdd": "AssignAddVariableOp",
    "AssignSub": "AssignSubVariableOp",
}


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
            lifted_autodiff.check(job.workload, self._phase)
        self._towers = {}
        self._stages = {}
        self._exchange = lifted_exchange.make(job, self._phase, options.all_reduce)
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
        values = _Values(self._job, replica, local.step.read_value(), batch, variables)
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
            found.update(
                self._tower(
                    tower, [n for n in wanted if n not in found], list(phase.raw[tower].values()), values, found
                )
            )
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
        function = _Function(piece, cuts, noise, common=False)
        return lifted_autodiff.gradients(self._phase, tower, piece, function.arguments(values))

    def _entering(self, tower):
        """({tensor: input's name}, {random node: noise's name}) of what enters a tower."""
        cuts = {e.tensors[tower]: e.name for e in self._plan.inputs}
        cuts.update({e.tensors[0]: e.name for e in self._plan.common})
        return cuts, {e.nodes[tower]: e.name for e in self._plan.noise if len(e.nodes) > tower}

    def _in_two(self, context, tower, values, wanted):
        """A tower whose gradients wait for all towers' results: forward, exchange, and on from what was kept."""
        phase = self._phase
        early, kept, returns = (
            [row[tower] for row in phase.early if row[tower]],
            phase.kept[tower],
            phase.returns[tower],
        )
        found = self._tower(tower, list(dict.fromkeys(early + kept)), (), values)
        rows = phase.early
        values.crossings = self._exchange.gather(context, tower, found, rows, {name for row in rows for name in row})
        found.update(zip(returns, self._returns(tower, returns)(values)))
        values.crossings.update(found)
        late = [name for name in wanted if name not in found]
        found.update(self._tower(tower, late, kept + returns, values))
        return found

    def _tower(self, tower, fetches, given, values, known=None):
        """{name: value} of tensors of a tower, some others of which are given (by `known`, or among the crossings)."""
        if not fetches:
            return {}
        key = (tower, bool(given))
        values.crossings.update(known or {})
        if key not in self._towers:
            cuts, noise = self._entering(tower)
            piece = self._cutter.piece(fetches, list(cuts) + list(given))
            self._towers[key] = _Function(piece, cuts, noise, common=False)
        return dict(zip(fetches, self._towers[key](values)))

    def _returns(self, tower, returns):
        """The function that makes what comes back into a tower from what left all towers before."""
        key = (tower, "returns")
        if key not in self._towers:
            cuts = {entry.tensors[0]: entry.name for entry in self._plan.common}
            noise = {e.nodes[0]: e.name for e in self._plan.common_noise}
            early = [name for row in self._phase.early for name in row if name is not None]
            self._towers[key] = _Function(self._cutter.piece(returns, early + list(cuts)), cuts, noise, common=True)
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
                    emit, effect, self._job.workload.graph.nodes[effect.node], values.variables, arguments
                )
                if effect.condition is None:
                    run()
                else:
                    _run_if(next(results), effect.condition[1], run)

    def _stages_of(self, tower):
        """[(function of their arguments, effects)] of the effects that can be computed together, in order."""
        if tower not in self._stages:
            effects = [effect for effect in self._phase.effects if not self._exchange.skips(effect, tower)]
            self._stages[tower] = [self._stage(group) for group in self._groups(effects)]
        return self._stages[tower]

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
        return _Function(self._piece(effects), cuts, noise, common=True), effects

    def _piece(self, effects):
        fetches = []
        for effect in effects:
            fetches += [(value, effect.node) for value in effect.values]
            fetches += [effect.condition[0]] if effect.condition else []
        cuts = self._exchange.cuts + [entry.tensors[0] for entry in self._plan.common]
        taken = {tuple(effect.condition) for effect in effects if effect.condition}
        return self._cutter.piece(fetches, cuts, self._versions, taken)


class _Values:
    """What the pieces of one replica's step are fed with."""

    def __init__(self, job, replica, step, batch, variables):
        self._job, self._replica, self._step = job, replica, step
        self.batch = batch
        self.variables = variables
        self.crossings = {}
        self.needed = set()
        self._counts = collections.Counter()
        self._read = {}

    def read(self, variable, version):
        """A variable's value after `version` changes in this step."""
        if (variable, version) not in self._read:
            if version != self._counts[variable]:
                raise InputError(
                    "lift: {!r} is used after {} changes, and has {}".format(variable, version, self._counts[variable])
                )
            self._read[variable, version] = self.variables[variable].read_value()
        return self._read[variable, version]

    def before_change(self, variables):
        """Reads what somebody will still need of variables that are about to change."""
        for variable in variables:
            key = (variable, self._counts[variable])
            if key in self.needed:
                self.read(*key)
        self._counts.update(variables)

    def key(self, name, common):
        """int32 [2]: the key of the noise called `name` in this step, this replica's or one for all."""
        key = tf.constant(key_of(self._job.seed, None if common else self._replica, name), tf.int32)
        return tf.stack([key, tf.cast(self._step, tf.int32)])


class _Function:
    """A piece as something to call.

    Args:
      piece: `pieces.Piece`.
      inputs: {tensor: input's name}.
      noise: {random node: the noise's name}.
      common: whether it is computed once for all replicas, so that all draw the same noise.
    """

    def __init__(self, piece, inputs, noise, common):
        self._piece, self._inputs, self._noise, self._common = piece, inputs, noise, common
        self._wrapped = None

    @property
    def feeds(self):
        """What it is fed with: `pieces.Feed`s."""
        return self._piece.feeds

    def __call__(self, values):
        arguments = self.arguments(values)
        if self._wrapped is None:
            # Made once, and not by tf.function: its automatic control dependencies would tie a loop's frames together.
            with tf.init_scope():
                signature = [tf.TensorSpec(argument.shape, argument.dtype) for argument in arguments]
                self._wrapped = tf.compat.v1.wrap_function(self._import, signature)
        return self._wrapped(*arguments)

    def arguments(self, values):
        """What it is fed with, in order."""
        return [self._argument(feed, values) for feed in self._piece.feeds]

    def _import(self, *arguments):
        fed = {feed.placeholder + ":0": a for feed, a in zip(self._piece.feeds, arguments)}
        return tf.import_graph_def(self._piece.graph_def, input_map=fed, return_elements=self._piece.fetches, name="")

    def _argument(self, feed, values):
        if feed.kind == "read":
            return values.read(*feed.key)
        if feed.kind == "noise":
            return values.key(self._noise[feed.key], self._common)
        if feed.kind == "drawn":
            node, output = split(feed.key)
            return values.batch["noise/{}/{}".format(self._noise[node], output)]
        if feed.key in self._inputs:
            return values.batch[self._inputs[feed.key]]
        return values.crossings[feed.key]


def emit(effect, node, variables, arguments):
    """Adds the op that changes a replica's variables as `effect` changed the old ones."""
    name = effect.op
    if not name.startswith("Resource") and name not in TWINS.values():
        name = TWINS.get(name, "Resource" + name)
    op = getattr(tf.raw_ops, name, None)
    if op is None:
        raise InputError(
            "lift: {} ({}) changes variables in a way that has no resource twin".format(effect.node, effect.op)
        )
    names = list(inspect.signature(op).parameters)
    given = [variables[variable].handle for variable in effect.writes] + list(arguments)
    keywords = dict(zip(names, given))
    for attribute in names[len(given) :]:
        if attribute in node.attr and attribute not in ("use_locking", "name"):
            keywords[attribute] = _plain(node.attr[attribute])
    op(**keywords)


def _run_if(predicate, branch, run):
    """Runs an effect in one branch of a `cond`, as the old graph did."""

    def change():
        run()
        return tf.constant(True)

    def leave():
        return tf.constant(False)

    tf.cond(predicate, change if branch else leave, leave if branch else change)


def _plain(attribute):
    return getattr(attribute, attribute.WhichOneof("value"))
