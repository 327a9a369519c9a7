"""How the replicas of a lifted program exchange what leaves their towers: as the old graph wrote it, or reduced."""

from __future__ import annotations

import tensorflow as tf

from modern.collectives import exchange
from workloads.support.errors import InputError, require


def make(job, phase, all_reduce):
    """The exchange for a phase: `AsWritten` where bits must be the old graph's, else `Reduced`.

    Raises:
      InputError: the graph combines its towers in a way that only works as written, for its own number of towers.
    """
    towers, written = job.workload.plan.towers, [c.weight for c in phase.combine if c.kind == "kept as written"]
    if job.replicas == towers and (all_reduce == "tower_order" or written):
        return AsWritten(phase, towers)
    if written:
        raise InputError(
            "--replicas: got {}, this graph combines gradients in a way that is not recognised ({}), and only works "
            "for its own {} towers".format(job.replicas, ", ".join(written[:4]), towers)
        )
    require(
        not phase.returns,
        "--replicas" if job.replicas != towers else "--all_reduce",
        job.replicas if job.replicas != towers else all_reduce,
        f"each tower's gradients depend on all towers' results; only --replicas={towers} --all_reduce=tower_order",
    )
    return Reduced(job, phase)


class AsWritten:
    """Every replica gets all that left the towers, and runs the old graph's own combining on it."""

    about = "as written, on every replica"

    def __init__(self, phase, towers):
        self._phase, self._towers = phase, towers
        #: Names of the tensors that the update's pieces are cut at.
        self.cuts = [name for row in phase.crossings for name in row if name is not None]

    def tower(self, replica):
        """Which tower's graph a replica runs: its own."""
        return replica

    def skips(self, effect, tower):
        """Whether a replica that runs `tower` leaves an effect out: never."""
        return False

    def __call__(self, context, tower, crossings, needed):
        """{name: value} of all towers' crossings, on this replica.

        Args:
          crossings: {name: value} of this replica's.
          needed: names that the update's pieces are fed with.
        """
        return self.gather(context, tower, crossings, self._phase.crossings, needed)

    @staticmethod
    def gather(context, tower, crossings, rows, needed):
        """{name: value} of the tensors in `rows` that are in `needed`, of all towers."""
        rows = [row for row in rows if any(name in needed for name in row)]
        slots = [crossings.get(row[tower], tf.zeros([])) for row in rows]
        found = {}
        for row, values in zip(rows, exchange.gather(context, slots)):
            found.update((name, value) for name, value in zip(row, values) if name is not None)
        return found


class Reduced:
    """Gradients are all-reduced as the graph's combining means them; the rest is taken from the tower's replica.

    Where towers differ (a regularizer on the first one only), the first replica runs the first tower's graph, the last
    one the last's, and those between take what is left. Each replica keeps the state of its own tower.
    """

    def __init__(self, job, phase):
        self._phase = phase
        self._plan = job.workload.plan
        self._replicas = job.replicas
        self._shapes = {v.name: v.shape for v in self._plan.variables}
        self._tower_of_state = {v.name: v.tower for v in self._plan.variables if v.role == "state"}
        affine = [name for c in phase.combine if c.affine for tower in c.parts for name in tower]
        plain = [c.tensor for c in phase.combine if not c.affine]
        self.cuts = plain + [n for row in phase.crossings for n in row if n is not None and n not in affine] + affine
        self.about = "all-reduce of " + ", ".join(sorted({c.kind for c in phase.combine}))

    def tower(self, replica):
        """Which tower's graph a replica runs."""
        if self._replicas == self._plan.towers:
            return replica
        if not self._plan.differences or replica == 0:
            return 0
        if replica == self._replicas - 1:
            return self._plan.towers - 1
        return min(replica, max(1, self._plan.towers - 2), self._plan.towers - 1)

    def skips(self, effect, tower):
        """Whether a replica that runs `tower` leaves an effect out: one on another tower's state."""
        if self._replicas == self._plan.towers:
            return False
        owners = {self._tower_of_state.get(name) for name in effect.writes} - {None}
        return bool(owners) and tower not in owners

    def __call__(self, context, tower, crossings, needed):
        """See `AsWritten`; also {combined tensor: value}."""
        found = self._combine(context, tower, crossings)
        own = set(self._state_names(tower)) if self._replicas != self._plan.towers else set()
        others = [name for name in needed if name not in found and name not in own]
        found.update((name, crossings[name]) for name in own if name in crossings)
        mine = [self._mine(tower, name, crossings) for name in others]
        for name, values in zip(others, exchange.gather(context, mine)):
            found[name] = values[self._replica_of(name)]
        return found

    def _combine(self, context, tower, crossings):
        found, joined = {}, []
        reduced = {"mean": [], "sum": []}
        for combine in self._phase.combine:
            if combine.kind == "concat":
                joined.append(combine)
            else:
                reduced[combine.kind].append(combine)
        for kind, how in (("mean", tf.distribute.ReduceOp.MEAN), ("sum", tf.distribute.ReduceOp.SUM)):
            values = [self._part(combine, tower, crossings) for combine in reduced[kind]]
            values = exchange.all_reduce(context, how, values) if values else []
            for combine, value in zip(reduced[kind], values):
                self._place(found, combine, value)
        values = [crossings[combine.parts[tower][0]] for combine in joined]
        for combine, value in zip(joined, exchange.concat(context, values)):
            found[combine.tensor] = self._scaled(combine, value)
        return found

    def _part(self, combine, tower, crossings):
        parts = [crossings[name] for name in combine.parts[tower]]
        value = tf.add_n(parts) if len(parts) > 1 else parts[0]
        return tf.ensure_shape(value, self._static(combine.parts[tower][0], combine))

    def _place(self, found, combine, value):
        """Puts a reduced gradient where the update reads it."""
        if not combine.affine:
            found[combine.tensor] = tf.reshape(self._scaled(combine, value), self._static(combine.tensor, combine))
            return
        # What the graph adds besides stays in: all of the gradient goes in by the first tower, nothing by the others.
        total = value * tf.cast(
            self._factor(combine) * (self._plan.towers if combine.kind == "mean" else 1), value.dtype
        )
        for i, name in enumerate(name for tower in combine.parts for name in tower):
            found[name] = total if i == 0 else tf.zeros_like(value)

    def _static(self, tensor, combine):
        """A gradient's shape; its variable's, where the graph leaves it open (what comes out of a loop)."""
        shape = self._plan.tensors[tensor][1]
        return shape if shape is not None and None not in shape else self._shapes[combine.weight]

    def _scaled(self, combine, value):
        factor = self._factor(combine) * (combine.scale if combine.kind != "mean" else 1.0)
        if factor == 1.0 or not value.dtype.is_floating:
            return value
        return value * tf.cast(factor, value.dtype)

    def _factor(self, combine):
        """Makes a sum of losses over N, or of rows over N, one over the replicas that there are."""
        towers = self._plan.towers
        of_loss = abs(self._phase.loss_scale * towers - 1) < 1e-6 and combine.kind in ("sum", "concat")
        of_rows = combine.kind == "concat" and abs(combine.scale * towers - 1) < 1e-6
        return towers / self._replicas if (of_loss or of_rows) and towers > 1 else 1.0

    def _state_names(self, tower):
        """Crossings that only set this tower's own state."""
        effects = [e for e in self._phase.effects if e.writes and self._tower_of_state.get(e.writes[0]) == tower]
        nodes = {effect.node for effect in effects}
        return [name for name, node in self._phase.state_crossings.items() if node in nodes]

    def _mine(self, tower, name, crossings):
        """This replica's tensor that is what `name` is in its own tower."""
        if name in crossings:
            return crossings[name]
        for row in self._phase.crossings:
            if name in row and row[tower] is not None:
                return crossings[row[tower]]
        twin = self._phase.twins.get(name)
        if twin in crossings:
            return crossings[twin]
        return tf.zeros([])  # another replica runs the tower that has it

    def _replica_of(self, name):
        towers = [tower for row in self._phase.crossings for tower, other in enumerate(row) if other == name]
        tower = towers[0]
        if tower == self._plan.towers - 1:
            return self._replicas - 1
        return min(tower, self._replicas - 1)
