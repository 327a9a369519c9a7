"""Train ops that minimize several losses, each by weights of its own, as generator and discriminator have them."""

import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.derivatives import with_derivatives
from legacy.source.step.losses_of_weights import (
    differentiated_together,
    losses_of_gradients,
    losses_of_weights,
    with_minimized_losses,
)
from tests.legacy.saved.graphs import graph_of
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, plain, split_batch, towers

v1 = tf.compat.v1


def weight(name, shape):
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)


def generated(x):
    return tf.tanh(tf.matmul(x, weight("gen", [3, 3])))


def judged(x, updates=None):
    """A critic's value of each example; the batch's mean is kept if `updates` is a list."""
    if updates is not None:
        with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
            mean = plain("mean", [3])
        updates.append(v1.assign_sub(mean, (mean - tf.reduce_mean(x, 0)) * 0.25))
    return tf.matmul(x, weight("disc", [3, 1]))


def noise(depth):
    """Random numbers behind some steps, each of which uses the one before twice."""
    x = tf.random.normal([BATCH // TOWERS, 3])
    for _ in range(depth):
        x = x * 0.5 + tf.tanh(x)
    return x


def adversarial(updates=None, depth=0):
    """One train op for both: the critic's loss by its weights, the generator's by its own, of data or of noise."""
    xs = split_batch()

    def gradients(tower):
        made = generated(noise(depth) if depth else xs[tower] * 0.5)
        real, fake = judged(xs[tower], updates), judged(made, updates)
        of_critic = tf.reduce_mean(tf.nn.softplus(-real)) + tf.reduce_mean(tf.nn.softplus(fake))
        of_generator = tf.reduce_mean(tf.nn.softplus(-fake))
        found = tf.gradients(of_generator, [weight("gen", [3, 3])]) + tf.gradients(of_critic, [weight("disc", [3, 1])])
        return found

    means = [tf.add_n(list(pair)) / TOWERS for pair in zip(*towers(gradients))]
    pairs = zip(means, [weight("gen", [3, 3]), weight("disc", [3, 1])])
    return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(pairs)


def adversarial_with_statistics():
    """The critic's statistic is changed by real and by generated examples, of each tower."""
    updates = []
    step = adversarial(updates)
    return tf.group(step, *updates)


def adversarial_with_the_last_towers_statistics():
    """Of all towers' changes, the update runs those of the last tower, one of real and one of generated examples."""
    updates = []
    step = adversarial(updates)
    return tf.group(step, *updates[-2:])


def adversarial_with_the_first_towers_statistics():
    """The first tower's changes: it uses the statistic before the step, and what its first change has left."""
    updates = []
    step = adversarial(updates)
    return tf.group(step, *updates[:2])


def adversarial_of_noise():
    """A tower changes the statistic by what follows from its random numbers alone, too."""
    updates = []
    step = adversarial(updates, depth=24)
    return tf.group(step, *updates)


@pytest.mark.parametrize(
    "program",
    [
        adversarial,
        adversarial_with_statistics,
        adversarial_with_the_last_towers_statistics,
        adversarial_with_the_first_towers_statistics,
        adversarial_of_noise,
    ],
)
def test_each_loss_is_differentiated_by_its_own_weights(program, tmp_path):
    setup = lifted(program, tmp_path)
    source = source_of(setup, "workload")
    assert "several are minimized; a workload has one" in source.text
    assert "    loss, loss2 = tower_loss(scope, batch)\n" in source.text
    assert "    gradients += scope.gradients(loss2, WEIGHTS_OF_LOSS2)\n" in source.text
    again = program is not adversarial
    assert ("later_updates" in source.text) == again
    assert source.text.count('scope.get("net/mean"') == again and source.text.count("scope.update(") == 2 * again
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path, source_of(setup))


def minimized(rate, loss, of):
    optimizer = v1.train.MomentumOptimizer(rate, 0.5)
    return optimizer.minimize(loss, var_list=[of], colocate_gradients_with_ops=True)


def means_of_all_towers(of_second):
    """One run of two optimizers, each of which minimizes a loss of all towers; `of_second` makes the critic's."""

    def build():
        xs = split_batch()

        def losses(tower):
            made = generated(xs[tower] * 0.5)
            real, fake = judged(xs[tower]), judged(made)
            of_critic = tf.reduce_mean(tf.nn.softplus(-real)) + tf.reduce_mean(tf.nn.softplus(fake))
            return tf.reduce_mean(tf.nn.softplus(-fake)) + tf.reduce_mean(tf.abs(made)), of_critic

        first, second = zip(*towers(losses))
        step = minimized(0.125, tf.add_n(list(first)) / TOWERS, weight("gen", [3, 3]))
        with tf.control_dependencies([step]):
            return minimized(0.25, of_second(list(second)), weight("disc", [3, 1]))

    return build


@pytest.mark.parametrize(
    "of_second, scales",
    [(lambda losses: tf.add_n(losses) * 0.5, [0.5]), (lambda losses: tf.add_n(losses) * 0.25, [0.25])],
)
def test_each_loss_of_all_towers_is_differentiated_by_its_own_weights(of_second, scales, tmp_path):
    setup = lifted(means_of_all_towers(of_second), tmp_path)
    (phase,) = setup.job.workload.plan.phases
    assert (phase.loss_scale, phase.scales_of_others) == (0.5, scales)
    source = source_of(setup, "workload")
    assert "    loss, loss2 = tower_loss(scope, batch)\n" in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path, source_of(setup))


def test_losses_of_all_towers_whose_weights_are_not_known_are_not_put_side_by_side(tmp_path):
    divisor = lambda: v1.placeholder_with_default(2.0, [], "divisor")  # noqa: E731
    setup = lifted(means_of_all_towers(lambda losses: tf.add_n(losses) / divisor()), tmp_path)
    (phase,) = setup.job.workload.plan.phases
    assert phase.other_losses == []


def test_a_gradient_of_the_wrong_loss_is_seen(tmp_path):
    setup = lifted(adversarial, tmp_path)
    source = source_of(setup, "workload")
    other = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace("(loss2, W", "(loss, W"))
    assert not other.passed and other.first.stage == "gradients"


def test_changes_of_a_statistic_in_another_order_are_seen(tmp_path):
    setup = lifted(adversarial_with_statistics, tmp_path)

    def swapped(text):
        return text.replace(
            "[*scope.updates.items(), *scope", "[*scope.later_updates, *scope.updates.items()] or [*scope"
        )

    other = assert_port_verified(setup, tmp_path, source_of(setup, "workload"), changed=swapped)
    assert not other.passed and other.first.stage == "statistics"


def test_a_loss_that_is_only_looked_at_is_left_out(tmp_path):
    def build():
        xs = split_batch()

        def gradient(tower):
            (looked_at,) = tf.gradients(tf.reduce_mean(xs[tower] ** 2), [xs[tower]])
            made = tf.reduce_mean(generated(xs[tower]) ** 2)
            return tf.gradients(made, [weight("gen", [3, 3])])[0], tf.reduce_sum(looked_at)

        found = towers(gradient)
        kept = v1.assign(plain("seen", []), found[0][1])
        step = v1.train.GradientDescentOptimizer(0.5).apply_gradients(
            [(tf.add_n([own[0] for own in found]) / TOWERS, weight("gen", [3, 3]))]
        )
        return tf.group(step, kept)

    lift = lifted(build, tmp_path).job.workload
    plan = with_derivatives(lift.plan, lift.graph)
    (phase,) = with_minimized_losses(plan, lift.graph).phases
    assert set(losses_of_weights(plan, lift.graph, phase, 0)) == {"net/gen"}
    assert not phase.other_losses


def differentiated_at_once(losses, wanted):
    return tf.gradients(losses, wanted)


def differentiated_apart(losses, wanted):
    """The gradients of each loss, added by the program; the last weight is in the first loss only."""
    data, penalty = tf.gradients(losses[0], wanted), tf.gradients(losses[1], wanted[:-1])
    return [*(tf.convert_to_tensor(one) + other for one, other in zip(data, penalty)), data[-1]]


def recommended(differentiate):
    """The loss of looked-up rows, and a penalty on them beside it, as recommenders have them."""

    def build():
        ids = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH], name="user"), TOWERS)
        rates = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH], name="rate"), TOWERS)
        wanted = [weight("users", [7, 3]), weight("out", [3, 1])]

        def gradients(tower):
            rows = tf.nn.embedding_lookup(wanted[0], ids[tower])
            data = tf.reduce_mean((tf.squeeze(tf.matmul(rows, wanted[1]), 1) - rates[tower]) ** 2)
            found = differentiate([data, 0.25 * tf.nn.l2_loss(rows)], wanted)
            return [tf.convert_to_tensor(one) for one in found]

        means = [tf.add_n(pair) / TOWERS for pair in zip(*towers(gradients))]
        return v1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(means, wanted))

    return build


def test_a_loss_and_a_penalty_on_its_rows_are_differentiated_together(tmp_path):
    setup = lifted(recommended(differentiated_at_once), tmp_path)
    source = source_of(setup, "workload")
    assert "scope.gradients([loss, loss2], WEIGHTS)" in source.text
    assert "have the old graph's bits" in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_gradients_that_the_program_added_itself_may_differ_by_rounding(tmp_path):
    source = source_of(lifted(recommended(differentiated_apart), tmp_path), "workload")
    assert "scope.gradients([loss, loss2], WEIGHTS)" in source.text
    assert "differs by rounding" in source.text or "differ by rounding" in source.text


def test_a_penalty_that_is_left_out_is_seen(tmp_path):
    setup = lifted(recommended(differentiated_at_once), tmp_path)
    source = source_of(setup, "workload")
    other = assert_port_verified(
        setup, tmp_path, source, changed=lambda text: text.replace("gradients([loss, loss2]", "gradients([loss]")
    )
    assert not other.passed and other.first.stage == "gradients"


def test_a_loss_that_does_not_depend_on_a_weight_is_differentiated_with_the_others():
    graph = graph_of(
        """
        w = VariableV2()
        rows = VariableV2()
        data = Mul(w, rows)
        penalty = Square(rows)
        """
    )
    together = {"w": (0, 1), "rows": (0, 1)}
    assert differentiated_together(graph, ["data:0", "penalty:0"], {"w": (0,), "rows": (0, 1)}) == together
    apart = {"w": (0, 1), "rows": (1,)}
    assert differentiated_together(graph, ["data:0", "penalty:0"], apart) == apart


def stages(total):
    """One loss of all towers' stages, as pose networks have it: `total` of what each stage of each tower is off."""

    def build():
        xs, w, w2 = split_batch(), weight("w", [3, 3]), weight("w2", [3, 3])
        losses = []

        def tower(number):
            first = tf.tanh(tf.matmul(xs[number], w))
            second = tf.matmul(first, w2)
            losses.append([tf.nn.l2_loss(stage - xs[number]) for stage in (first, second)])

        towers(tower)
        return v1.train.AdamOptimizer(0.125).minimize(total(*zip(*losses)), var_list=[w, w2])

    return build


def mean_of_stages(first, second):
    return tf.reduce_sum([first, second]) / (TOWERS * BATCH)


def weighted_stages(first, second):
    return tf.add_n(first) / 8.0 + 0.3 * (tf.add_n(second) / 8.0)


@pytest.mark.parametrize("style", ["workload", "standalone"])
def test_terms_of_different_weights_are_differentiated_with_their_weights(style, tmp_path):
    setup = lifted(stages(weighted_stages), tmp_path)
    (phase,) = setup.job.workload.plan.phases
    assert phase.loss_scale == 0.125 and np.allclose(phase.other_scales, [0.0375])
    source = source_of(setup, style)
    assert "    seeds = [tf.constant(0.125), tf.constant(0.0375)]\n" in source.text
    if style == "workload":
        assert_port_verified(setup, tmp_path, source)
        other = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace("0.0375", "0.0376"))
        assert not other.passed
    else:
        assert_trains_alike(setup, tmp_path, source)


@pytest.mark.parametrize("style", ["workload", "standalone"])
def test_the_terms_of_one_loss_of_all_towers_are_each_towers_losses(style, tmp_path):
    setup = lifted(stages(mean_of_stages), tmp_path)
    (phase,) = setup.job.workload.plan.phases
    assert [phase.losses, *phase.other_losses] == [
        [f"tower_{t}/{loss}:0" for t in (0, 1)] for loss in ("L2Loss", "L2Loss_1")
    ]
    assert phase.shared_loss and phase.loss_scale == 1 / (TOWERS * BATCH)
    source = source_of(setup, style)
    assert "    loss, loss2 = tower_loss(scope, batch)\n    seed = tf.constant(0.125)\n" in source.text
    assert "([loss, loss2], " in source.text and ", [seed] * 2" in source.text and "WEIGHTS = [" in source.text
    if style == "workload":
        assert_port_verified(setup, tmp_path, source)
    else:
        assert_trains_alike(setup, tmp_path, source)


def test_the_terms_of_one_loss_are_found_where_the_train_op_waits_for_no_update():
    """As one that raises a step counter by a constant, which alone waited for the updates, and is now another's."""
    graph = graph_of(
        """
        x = Placeholder()
        w = VariableV2()
        first = Mul(x, w)
        second = Square(w)
        total = Sum(first, second)
        gradients/Fill = Const()
        gradients/total_grad/Tile = Tile(gradients/Fill)
        gradients/first_grad/Mul = Mul(gradients/total_grad/Tile, x)
        step = VariableV2()
        one = Const()
        train = AssignAdd(step, one)
        """
    )
    phase = types.SimpleNamespace(train_op="train", losses=["first:0"], other_losses=[["second:0"]], minimized=[])
    assert losses_of_gradients(graph, phase, 0, {"w": "gradients/first_grad/Mul:0"}) == {"w": (0, 1)}
    with pytest.raises(Unwritten, match="the graph does not tell of which loss the gradient of 'w' is"):
        losses_of_gradients(graph, phase, 0, {"w": "first:0"})


def layer(x, name, units, updates=None):
    """A dense layer, with a batch norm if `updates` is a list, which gets the changes of its statistics."""
    x = tf.matmul(x, weight(name + "/w", [int(x.shape[-1]), units]))
    if updates is None:
        return x + weight(name + "/b", [1, units])
    mean, variance = tf.nn.moments(x, [0])
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        statistics = [plain(f"{name}/{kind}", [units]) for kind in ("mean", "variance")]
    for old, new in zip(statistics, (mean, variance)):
        updates.append(v1.assign_sub(old, (old - new) * 0.25))
    return tf.nn.batch_normalization(x, mean, variance, weight(name + "/beta", [1, units]), None, 0.25)


def adversarial_with_batch_norm():
    """Both networks have batch norms; the first tower's changes are run, of real and of generated examples."""
    xs, changes = split_batch(), []

    def gradients(tower):
        updates = changes if tower == 0 else []
        with tf.name_scope("generator"):
            hidden = tf.nn.relu(layer(xs[tower] * 0.5, "generator/g1", 5, updates))
            made = tf.tanh(layer(hidden, "generator/g2", 3))

        def judge(x):
            hidden = tf.nn.leaky_relu(layer(x, "critic/c1", 5, updates))
            return layer(hidden, "critic/c2", 1)

        real, fake = judge(xs[tower]), judge(made)
        of_critic = tf.reduce_mean(tf.nn.softplus(-real)) + tf.reduce_mean(tf.nn.softplus(fake))
        of_generator = tf.reduce_mean(tf.nn.softplus(-fake))
        trained = v1.trainable_variables()
        names = ("generator", "critic")
        own = [[one for one in trained if one.name.startswith("net/" + name)] for name in names]
        found = [tf.gradients(loss, ones) for loss, ones in zip((of_generator, of_critic), own)]
        return sum(found, [])

    means = [tf.add_n(list(pair)) / TOWERS for pair in zip(*towers(gradients))]
    step = v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(
        [(mean, one) for mean, one in zip(means, sorted_by_network(v1.trainable_variables()))]
    )
    return tf.group(step, *changes)


def sorted_by_network(variables):
    return sorted(variables, key=lambda variable: not variable.name.startswith("net/generator"))


def test_networks_with_batch_norms_are_functions_also_of_a_generator_that_is_used_once(tmp_path):
    """The changes of different statistics have no order; those of one, by real and by generated examples, do."""
    setup = lifted(adversarial_with_batch_norm, tmp_path)
    source = source_of(setup, "workload")
    assert "\ndef critic(scope, x):\n" in source.text and "\ndef generator(scope, x):\n" in source.text
    loss = source.text.partition("\ndef tower_loss(")[2].partition("\ndef ")[0]
    assert loss.count("critic(scope, ") == 2 and loss.count("generator(scope, ") == 1 and "scope.get(" not in loss
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path, source_of(setup))


def test_the_other_order_of_real_and_generated_examples_is_seen(tmp_path):
    setup = lifted(adversarial_with_batch_norm, tmp_path)

    def swapped(text):
        changes = "changes = [*scope.updates.items(), *scope.later_updates]"
        assert changes in text
        return text.replace(changes, "changes = [*scope.later_updates, *scope.updates.items()]")

    other = assert_port_verified(setup, tmp_path, source_of(setup, "workload"), changed=swapped)
    assert not other.passed and other.first.stage == "statistics"
