"""Builds the tower program of some traits."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from legacy.saved.graph.graph_file import SavedGraph, read_graph_file
from tests.legacy.random_programs.forward import accuracy_of, logits_of, loss_of
from tests.legacy.random_programs.inputs import Examples, examples_of_towers
from tests.legacy.random_programs.learning import OPTIMIZERS, RATES
from tests.legacy.random_programs.models import sharing
from tests.legacy.random_programs.traits import Traits

v1 = tf.compat.v1
#: Bounds of clipping; the weight of a penalty; decay of the moving average.
VALUE, NORM, GLOBAL_NORM, PENALTY, DECAY = 0.5, 2.0, 5.0, 1e-3, 0.99


def graph_of_traits(traits: Traits) -> SavedGraph:
    """Returns the graph of a program, read from a file as its Saver would write it."""
    was_v2 = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    try:
        with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
            build_program(traits)
            v1.train.export_meta_graph(f"{folder}/graph.meta")
            return read_graph_file(f"{folder}/graph.meta")
    finally:
        if was_v2:
            v1.enable_control_flow_v2()


def build_program(traits: Traits) -> None:
    """Makes a program's ops in the default graph; its train op is called "train"."""
    with v1.variable_scope(v1.get_variable_scope(), custom_getter=_placed(traits)):
        _build(traits)


def _placed(traits: Traits) -> Callable[..., tf.Variable]:
    """Returns a getter that makes the variables on their devices."""
    made: dict[str, int] = {}

    def placed(getter: Callable[..., tf.Variable], name: str, *arguments: Any, **keywords: Any) -> tf.Variable:
        number = made.setdefault(name, len(made))
        in_turn = f"/gpu:{number % traits.towers}"
        device = {"/cpu:0": "/cpu:0", "towers in turn": in_turn}.get(traits.place)
        with tf.device(device):
            return getter(name, *arguments, **keywords)

    return placed


def _build(traits: Traits) -> None:
    step = v1.get_variable("global_step", [], tf.int64, v1.zeros_initializer(), trainable=False, use_resource=False)
    rate = _rate(traits, step)
    examples = examples_of_towers(traits)
    towers = [_tower(traits, tower, examples, rate) for tower in range(traits.towers)]
    trained = v1.trainable_variables()
    loss = tf.add_n([tower.loss for tower in towers]) / traits.towers
    reported = towers[-1].loss if traits.fault == "last loss reported" else loss
    accuracy = tf.add_n([tower.accuracy for tower in towers]) / traits.towers
    _report(traits.report, {"mean loss": reported, "rate": rate, "mean accuracy": accuracy}, trained)
    kept = {"batch norm of first": towers[:1], "batch norm of each": towers}.get(traits.model, [])
    moved = [op for tower in kept for op in tower.updates if traits.fault != "updates never run"]
    early = _averages(traits.average, trained, step) if traits.fault == "average before update" else []
    with tf.control_dependencies(moved + early):
        applied = _applied(traits, towers, loss, rate)
    with tf.control_dependencies([applied]):
        rises = traits.towers if traits.fault == "step of every tower" else 1
        counted = tf.group(*[v1.assign_add(step, 1) for _ in range(rises)])
    beside = traits.average == "beside"
    with tf.control_dependencies([] if beside else [counted]):
        late = _averages(traits.average, trained, step) if not early else []
    tf.group(counted, *late, name="train")


def _rate(traits: Traits, step: tf.Variable) -> Any:
    rate = RATES[traits.rate].build(step)
    if traits.fault == "schedule unused":
        return 0.05
    return rate * traits.towers if traits.fault == "rate times towers" else rate


class _Tower(NamedTuple):
    """What a tower makes: loss, accuracy, (gradient, variable) pairs, updates of statistics, an update of weights."""

    loss: tf.Tensor
    accuracy: tf.Tensor
    pairs: list[Any]
    updates: list[tf.Operation]
    applied: tf.Operation | None


def _tower(traits: Traits, tower: int, examples: Callable[[int], Examples], rate: Any) -> _Tower:
    device = f"/gpu:{0 if traits.fault == 'one device' else tower}"
    if traits.fault == "tower on the CPU" and tower == traits.towers - 1:
        device = "/cpu:0"
    named = v1.name_scope(traits.scope % tower) if traits.scope else contextlib.nullcontext()
    own = f"own{tower}" if traits.fault == "variables of each tower" else ""
    before = len(v1.get_collection("update_ops"))
    with tf.device(device), named, sharing(own):
        x, y = examples(tower)
        logits = logits_of(traits, x)
        loss, accuracy = loss_of(traits, logits, y), accuracy_of(logits, y)
        penalty = _penalty(traits.penalty, own)
        if traits.fault != "penalty not minimized" and (traits.fault != "penalty of the first tower" or tower == 0):
            loss += penalty
        updates = v1.get_collection("update_ops")[before:]
        if traits.combine == "one loss":
            return _Tower(loss, accuracy, [], updates, None)
        divided = traits.combine == "losses / towers" or traits.fault == "divided twice"
        pairs = _gradients(loss / traits.towers if divided else loss, own)
        gradients = _clipped_in_tower(traits.clip, [gradient for gradient, _ in pairs])
        pairs = list(zip(gradients, [variable for _, variable in pairs]))
        alone = traits.fault == "towers update alone"
        applied = OPTIMIZERS[traits.optimizer].apply(pairs, rate) if alone else None
        return _Tower(loss, accuracy, pairs, updates, applied)


def _applied(traits: Traits, towers: Sequence[_Tower], loss: tf.Tensor, rate: Any) -> tf.Operation:
    """The update of the weights."""
    apply = OPTIMIZERS[traits.optimizer].apply
    if traits.fault == "towers update alone":
        return tf.group(*[tower.applied for tower in towers])
    if traits.combine == "one loss":
        pairs = _gradients(loss, "", colocate_gradients_with_ops=traits.fault != "backward on one device")
    elif traits.fault == "last tower's gradients":
        pairs = towers[-1].pairs
    elif traits.fault == "variables of each tower":
        return tf.group(*[apply(tower.pairs, rate) for tower in towers])
    else:
        pairs = [_combined(traits, row) for row in zip(*[tower.pairs for tower in towers])]
    clipped = _clipped(traits.clip, [gradient for gradient, _ in pairs])
    pairs = list(zip(clipped, [variable for _, variable in pairs]))
    if traits.rates == "one":
        return apply(pairs, rate)
    biases = [pair for pair in pairs if pair[1].shape.rank == 1]
    return tf.group(apply([pair for pair in pairs if pair[1].shape.rank > 1], rate), apply(biases, rate * 2.0))


def _gradients(loss: tf.Tensor, scope: str, **keywords: Any) -> list[Any]:
    """Pairs as an optimizer computes them: all gradients are there before a weight changes."""
    optimizer = v1.train.GradientDescentOptimizer(1.0)
    return optimizer.compute_gradients(loss, v1.get_collection("trainable_variables", scope or None), **keywords)


def _penalty(penalty: str, scope: str) -> Any:
    if penalty == "none":
        return 0.0
    trained = v1.get_collection("trainable_variables", scope or None)
    chosen = [w for w in trained if penalty == "all" or w.shape.rank > 1]
    norm = {"absolute": lambda w: tf.reduce_sum(tf.abs(w))}.get(penalty, tf.nn.l2_loss)
    return PENALTY * tf.add_n([norm(w) for w in chosen])


def _clipped_in_tower(clip: str, gradients: Sequence[Any]) -> list[Any]:
    return (
        _clipped(clip[: -len(" in towers")] + " after", gradients) if clip.endswith(" in towers") else list(gradients)
    )


def _clipped(clip: str, gradients: Sequence[Any]) -> list[Any]:
    if clip == "global norm after":
        return tf.clip_by_global_norm(list(gradients), GLOBAL_NORM)[0]
    if clip == "global norm by hand after":
        norm = tf.sqrt(tf.add_n([tf.reduce_sum(tf.square(tf.convert_to_tensor(g))) for g in gradients]))
        factor = GLOBAL_NORM / tf.maximum(norm, GLOBAL_NORM)
        return [tf.convert_to_tensor(gradient) * factor for gradient in gradients]
    if clip == "norm after":
        return [tf.clip_by_norm(tf.convert_to_tensor(gradient), NORM) for gradient in gradients]
    if clip == "value after":
        return [tf.clip_by_value(tf.convert_to_tensor(gradient), -VALUE, VALUE) for gradient in gradients]
    return list(gradients)


def _combined(traits: Traits, row: Sequence[Any]) -> Any:
    """One (gradient, variable) of the towers' ones; rows of a table are joined, as old programs did."""
    gradients, variable = [gradient for gradient, _ in row], row[0][1]
    combine = "sum" if traits.fault == "biases summed" and variable.shape.rank == 1 else traits.combine
    count = len(row) + (traits.fault == "another count")
    if all(isinstance(gradient, tf.IndexedSlices) for gradient in gradients):
        scale = 1 if combine in ("sum", "losses / towers") else count
        values, indices = tf.concat([g.values for g in gradients], 0), tf.concat([g.indices for g in gradients], 0)
        return tf.IndexedSlices(values / scale if scale > 1 else values, indices, gradients[0].dense_shape), variable
    if combine == "stack":
        return tf.reduce_mean(tf.concat([tf.expand_dims(gradient, 0) for gradient in gradients], 0), 0), variable
    if combine == "add_n":
        return tf.add_n(gradients) / count, variable
    if combine == "pairs":
        while len(gradients) > 1:
            gradients = [tf.add_n(gradients[i : i + 2]) for i in range(0, len(gradients), 2)]
        return gradients[0] / count, variable
    if combine == "accumulate_n":
        return tf.math.accumulate_n([tf.convert_to_tensor(gradient) for gradient in gradients]) / count, variable
    if combine == "flat":
        rows = tf.stack([tf.reshape(gradient, [-1]) for gradient in gradients])
        return tf.reshape(tf.reduce_sum(rows, 0) / count, variable.shape), variable
    if combine == "python sum":
        return sum(gradients[1:], gradients[0]) * (1.0 / count), variable
    return tf.add_n(gradients), variable


def _report(report: str, scalars: Mapping[str, Any], trained: Sequence[tf.Variable]) -> None:
    if report in scalars:
        v1.summary.scalar(report.replace(" ", "_"), scalars[report])
    elif report == "histograms":
        for variable in trained:
            v1.summary.histogram(variable.op.name, variable)


def _averages(average: str, trained: Sequence[tf.Variable], step: tf.Variable) -> list[Any]:
    if average == "none":
        return []
    if average == "by hand":
        return [_average_by_hand(variable) for variable in trained]
    averages = v1.train.ExponentialMovingAverage(DECAY, step if average == "of steps" else None)
    return [averages.apply(trained)]


def _average_by_hand(variable: tf.Variable) -> tf.Operation:
    name = variable.op.name + "/average"
    begin = variable.initialized_value()
    kept = v1.get_variable(name, initializer=begin, trainable=False, use_resource=False)
    return v1.assign(kept, DECAY * kept + (1.0 - DECAY) * variable).op
