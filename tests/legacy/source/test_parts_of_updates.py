"""Parts of updates, found in the plans of programs of their time."""

import pytest
import tensorflow as tf

from legacy.source.basics.expressions import Name
from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.derivatives import raw_gradients, weight_gradients, with_derivatives
from legacy.source.step.known_statistics import find_known
from legacy.source.update.paths import find_path
from legacy.source.update.shared import Reduced, find_shared_factor, with_results
from tests.legacy.source import test_trained_updates as programs
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import apply, lifted, plain, split_batch, sum_of_squares, towers, weights
from workloads.lifted.plan import indices_label

v1 = tf.compat.v1


def lift_of(build, tmp_path):
    return lifted(build, tmp_path).job.workload


def test_rows_that_reach_an_optimizers_slots_are_those_of_the_weight(tmp_path):
    lift = lift_of(programs.rows_of_adam, tmp_path)
    (phase,) = lift.plan.phases
    assert indices_label("net/emb") not in raw_gradients(lift.graph, phase, 0)
    found = weight_gradients(with_derivatives(lift.plan, lift.graph), lift.graph, phase, 0)
    assert set(found) == {"net/emb", indices_label("net/emb"), "net/w"}


def sums_that_no_name_tells():
    """Two weights of one shape, whose gradients are added up in variables that are named by numbers."""
    xs = split_batch()
    other = v1.get_variable("net/other", [3, 2], initializer=v1.ones_initializer(), use_resource=False)

    def gradients(tower):
        loss = sum_of_squares(xs[tower]) + tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], other)))
        return tf.gradients(loss, [other, weights()])

    means = [tf.add_n(parts) / 2.0 for parts in zip(*towers(gradients))]
    zeros = {"initializer": v1.zeros_initializer(), "trainable": False, "use_resource": False}
    sums = [v1.get_variable(f"sum_{number}", [3, 2], **zeros) for number in range(2)]
    tf.group(*[v1.assign_add(*pair) for pair in zip(sums, means)], name="add")
    clipped, _ = tf.clip_by_global_norm([total.value() for total in sums], 2.0)
    return v1.train.GradientDescentOptimizer(0.1).apply_gradients(zip(clipped, [other, weights()]), name="train")


def test_sums_of_gradients_belong_to_the_weights_whose_updates_take_them(tmp_path):
    lift = lifted(sums_that_no_name_tells, tmp_path, train_op=["add", "train"]).job.workload
    found = with_derivatives(lift.plan, lift.graph)
    assert {v.name: v.of for v in found.variables if v.role != "weight"} == {"sum_0": "net/other", "sum_1": "net/w"}
    effects = [effect for phase in lift.plan.phases for effect in phase.effects]
    for effect in effects:
        effect.gradient = None  # as of an optimizer that was written by hand, which assigns the weights
    assert with_derivatives(lift.plan, lift.graph).variables == found.variables
    for effect in effects:
        effect.values = []
    with pytest.raises(Unwritten, match="'sum_0' accumulates those of a weight that neither updates nor names tell"):
        with_derivatives(lift.plan, lift.graph)


def test_rows_before_they_were_clipped_and_made_dense_are_found(tmp_path):
    lift = lift_of(programs.rows_clipped_and_made_dense, tmp_path)
    found = raw_gradients(lift.graph, lift.plan.phases[0], 1)
    assert set(found) == {"net/emb", indices_label("net/emb"), "net/w"}
    assert not any("clip" in tensor for tensor in found.values())


def test_a_statistic_that_follows_from_another_one_is_left_to_the_update(tmp_path):
    lift = lift_of(programs.with_statistics(programs.average_of_a_statistic), tmp_path)
    known = find_known(lift.plan, lift.graph, lift.plan.phases[0], [])
    assert [proposal.variable for proposal in known.proposals[0]] == ["mean"] and known.proposals[1] == []


def test_the_factor_on_all_towers_losses_is_made_of_their_parts(tmp_path):
    lift = lift_of(programs.words_of_all_towers, tmp_path)
    (phase,) = lift.plan.phases
    factor = find_shared_factor(lift.plan, lift.graph, phase)
    assert factor.parts == ["part"] and set(factor.tensors.values()) == {Name("parts[0]"), Name("parts[1]")}
    assert factor.lines == ["    factor = 1.0 / tf.maximum(1.0, part)"]
    assert factor.reduced == [Reduced("part", "part", "sum")] and factor.needed_of_all == []
    assert factor.gathering(["    total = tf.reduce_max(parts)"]).needed_of_all == ["part"]
    phase.returns[1].append(phase.returns[1][0])
    with pytest.raises(Unwritten, match="by more than a factor"):
        find_shared_factor(lift.plan, lift.graph, phase)
    phase.returns = []
    alone = find_shared_factor(lift.plan, lift.graph, phase)
    assert alone.lines == [] and alone.parts == ["part"]


def test_an_update_needs_results_of_towers_that_follow_from_no_gradient(tmp_path):
    lift = lift_of(programs.mean_of_the_inputs, tmp_path)
    (phase,) = lift.plan.phases
    tensors = find_path(lift.plan, lift.graph, phase).tensors
    ((one, other),) = with_results(lift.plan, lift.graph, phase, phase.effects, tensors).early
    assert one.startswith("tower_0/Mean") and other.startswith("tower_1/Mean")
    assert with_results(lift.plan, lift.graph, phase, phase.effects, [*tensors, one, other]).early == []


def test_a_train_op_of_one_tower_is_refused_by_its_name(tmp_path):
    """Each tower has an optimizer of its own, as asynchronous workers that meet a central model between their steps."""

    def build():
        xs = split_batch()
        updates = towers(lambda i: apply(tf.gradients(sum_of_squares(xs[i]), [weights()])[0]))
        return [tf.group(update, name=name) for update, name in zip(updates, ("first", "second"))][0]

    lift = lifted(build, tmp_path, train_op=["first", "second"]).job.workload
    with pytest.raises(Unwritten, match="loss: first differentiates the loss of tower 0 alone"):
        find_path(lift.plan, lift.graph, lift.plan.phases[0])


def counted_by_each_tower():
    """Each tower counts its own examples, and adds them up, in variables of its own."""
    xs, counts = split_batch(), []

    def gradient(tower):
        loss = sum_of_squares(xs[tower])
        seen, total = (plain(f"{name}_{tower}", []) for name in ("seen", "total"))
        counts.append(v1.assign_add(seen, tf.cast(tf.shape(xs[tower])[0], tf.float32)))
        counts.append(v1.assign_add(total, tf.reduce_sum(xs[tower])))
        return tf.gradients(loss, [weights()])[0]

    made = towers(gradient)
    with tf.control_dependencies(counts):
        return apply(tf.add_n(made) / 2.0)


def test_what_a_tower_adds_to_a_variable_of_its_own_is_a_result_of_each(tmp_path):
    setup = lifted(counted_by_each_tower, tmp_path)
    (phase,) = setup.job.workload.plan.phases
    assert any(None in row for row in phase.crossings)
    source = source_of(setup, "workload")
    assert 'variables["total_1"].assign_add(parts[1])' in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_other_counts_than_a_towers_own_are_seen(tmp_path):
    setup = lifted(counted_by_each_tower, tmp_path)
    source = source_of(setup, "workload")
    other = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace("parts[1]", "parts[0]"))
    assert not other.passed and other.first.stage == "statistics"
