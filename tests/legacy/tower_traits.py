"""A small tower program in the style of 1.x with traits to choose from: right ones and wrong ones of the same kind."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from legacy.saved.graph.graph_file import SavedGraph
from workloads.lifted.graph import Graph

v1 = tf.compat.v1
TOWERS, BATCH = 2, 8


def tower_graph(**traits: Any) -> SavedGraph:
    """Returns the graph of a tower program, correct by default.

    Args:
      **traits: see `_Program`.
    """
    was_v2 = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            _Program(**traits).build()
            graph_def = graph.as_graph_def()
            collections = {
                "trainable_variables": [variable.op.name for variable in v1.trainable_variables()],
                "update_ops": [op.name for op in v1.get_collection("update_ops")],
                "losses": [loss.op.name for loss in v1.get_collection("losses")],
            }
    finally:
        (v1.enable_control_flow_v2 if was_v2 else v1.disable_control_flow_v2)()
    return SavedGraph(Graph(graph_def), collections, "made for a test", "made-for-a-test.meta")


class _Program:
    """Builder of one program.

    Args:
      optimizer: "sgd", "momentum by hand" (slots and assignments), "sgd by hand", "two" (one for the weights, one for
        the bias, each counts the step), "sgd and clip", "sgd and clip twice" or "sgd, then clip" (the weights' values),
        or "none".
      combine: "mean", "sum", "sum / 4", or "mean, but bias" whose gradients are summed.
      embedding: None, "sum", "mean" or "sum times batch": a sparse gradient that is concatenated, and perhaps divided
        or multiplied; "scatter" updates the rows by hand.
      penalty: "none", "each", "first", "first, undivided", "each, undivided", "growing", "growing, times 0", "lost",
        "norm", "displayed".
      rate: "constant", "decay", "decay unused", "set by hand" or "fed".
      labels: "split", "same", "unused" or "first part".
      images: "split" or "same".
      loss: "mean", "mean / towers" (of magnitudes), "half of squares", "0.5 of magnitudes", "mean of two",
        "growing" (with all losses before), "sum / batch", "sum / global", "sum / elements", "pixels" or "zero".
      summaries: "none", "each", "last", "rate" or "mean and last".
      statistics: "none", "each", "each, ordered", "first", "never run" or "with the loss".
      keep: share that dropout keeps, the name of a placeholder, or None.
      forward: devices of the towers' forward passes.
      backward: a device for all backward passes, or None.
    """

    def __init__(
        self,
        optimizer: str = "sgd",
        combine: str = "mean",
        embedding: str | None = None,
        penalty: str = "none",
        rate: str = "constant",
        labels: str = "split",
        images: str = "split",
        loss: str = "mean",
        summaries: str = "none",
        statistics: str = "none",
        keep: float | str | None = None,
        forward: tuple[str, str] = ("/gpu:0", "/gpu:1"),
        backward: str | None = None,
    ) -> None:
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    def build(self) -> None:
        self.step = v1.train.get_or_create_global_step()
        self.losses: list[tf.Tensor] = []
        self.parts = self._inputs()
        self.learning_rate = self._rate()
        results = [self._tower(number) for number in range(TOWERS)]
        gradients = [result[0] for result in results]
        self._summaries([result[1] for result in results])
        updates = self._updates(gradients)
        updates += self._statistics([result[2] for result in results])
        tf.group(*updates, name="train")

    def _inputs(self) -> list[tuple[tf.Tensor, tf.Tensor, tf.Tensor]]:
        x = v1.placeholder(tf.float32, [BATCH if self.images == "same" else BATCH * TOWERS, 4], "images")
        whole = self.labels == "same" or self.images == "same" and self.labels == "same"
        y = v1.placeholder(tf.float32, [BATCH if whole else BATCH * TOWERS, 3], "labels")
        words = v1.placeholder(tf.int32, [BATCH * TOWERS], "words")
        xs = [x] * TOWERS if self.images == "same" else tf.split(x, TOWERS, name="image_split")
        ys = [y] * TOWERS if whole else tf.split(y, TOWERS, name="label_split")
        if self.labels == "first part":
            ys = [ys[0]] * TOWERS
        return list(zip(xs, ys, tf.split(words, TOWERS)))

    def _rate(self) -> Any:
        if self.rate.startswith("decay"):
            decayed = v1.train.exponential_decay(0.1, self.step, 10, 0.5)
            return decayed if self.rate == "decay" else 0.1
        if self.rate == "set by hand":
            rate = v1.get_variable("learning_rate", initializer=0.1, trainable=False)
            v1.assign(rate, v1.train.exponential_decay(rate, self.step, 10, 0.5))
            return rate
        return v1.placeholder(tf.float32, [], "rate") if self.rate == "fed" else 0.1

    def _tower(self, number: int) -> tuple[list[tuple[Any, tf.Variable]], tf.Tensor, tf.Tensor]:
        x, y, words = self.parts[number]
        with v1.name_scope(f"tower_{number}"), v1.variable_scope("", reuse=number > 0):
            with tf.device(self.forward[number]):
                w = v1.get_variable("w", [4, 3], use_resource=False)
                b = v1.get_variable("b", [3], use_resource=False)
                hidden = tf.matmul(self._dropped(tf.tanh(x)), w)
                if self.embedding:
                    hidden += tf.gather(v1.get_variable("table", [9, 3], use_resource=False), words)
                hidden = hidden + b
                loss = self._loss(hidden, tf.zeros_like(y) if self.labels == "unused" else y)
                mean = tf.reduce_mean(hidden, 0)
                if self.statistics == "with the loss":
                    with tf.control_dependencies([self._moved(mean)]):
                        loss = tf.identity(loss)
                loss = self._penalized(loss, w, number)
                self.losses.append(loss)
                loss = tf.add_n(self.losses) if self.loss == "growing" else loss
            if self.summaries in ("each", "mean and last") or (self.summaries == "last" and number == TOWERS - 1):
                v1.summary.scalar("loss", loss)
            if self.summaries == "rate" and number == TOWERS - 1:
                v1.summary.scalar("rate", tf.identity(self.learning_rate))
            with tf.device(self.backward or self.forward[number]):
                variables = v1.trainable_variables()
                gradients = v1.gradients(loss, variables, colocate_gradients_with_ops=self.backward is None)
        return list(zip(gradients, variables)), loss, mean

    def _dropped(self, x: tf.Tensor) -> tf.Tensor:
        if self.keep is None:
            return x
        keep = v1.placeholder(tf.float32, [], self.keep) if isinstance(self.keep, str) else tf.constant(self.keep)
        with v1.name_scope("dropout"):
            return x / keep * tf.floor(keep + v1.random_uniform(tf.shape(x)))

    def _loss(self, hidden: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        square = tf.square(hidden - y)
        total = tf.reduce_sum(square)
        return {
            "mean": lambda: tf.reduce_mean(square),
            "growing": lambda: tf.reduce_mean(square),
            "mean / towers": lambda: tf.reduce_mean(tf.abs(hidden - y)) / float(TOWERS),
            "0.5 of magnitudes": lambda: 0.5 * tf.reduce_mean(tf.abs(hidden - y)),
            "half of squares": lambda: tf.reduce_mean(square) / 2.0,
            "mean of two": lambda: (tf.reduce_mean(tf.abs(hidden - y)) + tf.reduce_mean(tf.nn.relu(hidden))) / 2.0,
            "sum / batch": lambda: total / float(BATCH),
            "sum / global": lambda: total / float(BATCH * TOWERS),
            "sum / elements": lambda: total / float(BATCH * 3),
            "sum / other": lambda: total / 50.0,
            "pixels": lambda: tf.reduce_mean(tf.reduce_sum(square, 1) / 50.0),
            "zero": lambda: tf.reduce_mean(square) * 0.0,
        }[self.loss]()

    def _penalized(self, loss: tf.Tensor, w: tf.Variable, number: int) -> tf.Tensor:
        if self.penalty == "norm":
            v1.summary.scalar("norm", tf.nn.l2_loss(w))
            return loss
        if self.penalty == "displayed":
            v1.summary.scalar("total", loss + 0.01 * tf.add_n([tf.nn.l2_loss(w), tf.nn.l2_loss(w)]))
            return loss
        if self.penalty == "none":
            return loss
        first = self.penalty.startswith("first")
        scale = 0.0 if self.penalty.endswith("times 0") else 0.01
        if not first or number == 0:
            v1.add_to_collection("losses", tf.multiply(scale, tf.nn.l2_loss(w), name="weight_loss"))
        if self.penalty.endswith("undivided"):
            loss = loss / TOWERS
        terms = v1.get_collection("losses") if "growing" in self.penalty else v1.get_collection("losses")[-1:]
        if self.penalty == "lost" or (first and number):
            return loss
        return tf.add_n([loss, *terms], name="total_loss")

    def _updates(self, towers: list[list[tuple[Any, tf.Variable]]]) -> list[tf.Operation]:
        combined = [(self._combined([g for g, _ in pairs], pairs[0][1]), pairs[0][1]) for pairs in zip(*towers)]
        if self.optimizer == "sgd by hand":
            return [v1.assign_sub(v, 0.1 * g) for g, v in combined] + [v1.assign_add(self.step, 1)]
        if self.optimizer == "momentum by hand":
            updates = []
            for g, v in combined:
                slot = v1.get_variable(v.op.name + "/slot", v.shape, trainable=False, use_resource=False)
                moved = v1.assign(slot, 0.9 * slot + g)
                updates += [moved, v1.assign(v, v - 0.1 * moved)]
            return updates
        if self.optimizer == "none":
            return [tf.group(*[g for g, _ in combined if not isinstance(g, tf.IndexedSlices)])]
        make = v1.train.GradientDescentOptimizer
        if self.embedding == "scatter":
            rows = [(g, v) for g, v in combined if isinstance(g, tf.IndexedSlices)]
            scatters = [v1.scatter_sub(v, g.indices, 0.1 * g.values) for g, v in rows]
            dense = [(g, v) for g, v in combined if not isinstance(g, tf.IndexedSlices)]
            return [*scatters, make(self.learning_rate).apply_gradients(dense, self.step)]
        if self.optimizer in ("sgd and clip", "sgd and clip twice", "sgd, then clip"):
            applied = make(self.learning_rate).apply_gradients(combined, self.step)
            with tf.control_dependencies([applied] if self.optimizer == "sgd, then clip" else []):
                w = combined[0][1]
                clips = [v1.assign(w, tf.clip_by_value(w.read_value(), -1.0, 1.0))]
                if self.optimizer == "sgd and clip twice":  # as each tower does
                    clips.append(v1.assign(w, tf.clip_by_value(w.read_value(), -2.0, 2.0)))
                return [applied, *clips]
        if self.optimizer == "two":
            each = [[pair for pair in combined if (pair[1].op.name == "b") == bias] for bias in (False, True)]
            return [make(0.1, name=f"opt{i}").apply_gradients(p, self.step) for i, p in enumerate(each)]
        return [make(self.learning_rate).apply_gradients(combined, self.step)]

    def _combined(self, values: list[Any], variable: tf.Variable) -> Any:
        if isinstance(values[0], tf.IndexedSlices):
            joined = tf.concat([g.values for g in values], 0)
            joined = joined / float(TOWERS) if self.embedding in ("mean", "scatter") else joined
            joined = joined * float(BATCH) if self.embedding == "sum times batch" else joined
            return tf.IndexedSlices(joined, tf.concat([g.indices for g in values], 0), values[0].dense_shape)
        total = tf.add_n(values) / (4.0 if self.combine == "sum / 4" else 1.0)
        is_mean = self.combine == "mean" or (self.combine == "mean, but bias" and variable.op.name != "b")
        return total / float(TOWERS) if is_mean else total

    def _summaries(self, losses: list[tf.Tensor]) -> None:
        if self.summaries == "mean and last":
            v1.summary.scalar("mean", tf.add_n(losses) / float(TOWERS))
        if self.summaries != "none":
            v1.summary.merge_all()

    def _statistics(self, means: list[tf.Tensor]) -> list[tf.Operation]:
        if self.statistics in ("none", "with the loss"):
            return []
        updates: list[tf.Operation] = []
        for mean in means[:1] if self.statistics in ("first", "never run") else means:
            with tf.control_dependencies(updates if self.statistics == "each, ordered" else []):
                updates.append(self._moved(mean))
        return [] if self.statistics == "never run" else updates

    def _moved(self, mean: tf.Tensor) -> tf.Operation:
        with v1.variable_scope("", reuse=v1.AUTO_REUSE):
            moving = v1.get_variable("moving_mean", [3], trainable=False, initializer=v1.zeros_initializer())
        update = v1.assign_sub(moving, 0.1 * (moving - mean), name="AssignMovingAvg").op
        v1.add_to_collection("update_ops", update)
        return update
