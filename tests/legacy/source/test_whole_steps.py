"""Steps that no named fields describe, as workloads: the text of one class, and the bits of the old graph."""

import pytest
import tensorflow as tf

from legacy.saved.lifting import LiftOptions, lift_graph
from legacy.source.source import source_of_analysis
from legacy.source.styles import step_style
from parity.comparison import stages
from tests import old_programs
from tests.legacy.gallery import source
from tests.legacy.source.trained import assert_port_verified, source_of
from tests.legacy.variants.programs import (
    BATCH,
    TOWERS,
    apply,
    lifted,
    setup_of,
    split_batch,
    sum_of_squares,
    towers,
    weights,
)
from tests.marks import slow_after
from workloads.support.errors import InputError

v1 = tf.compat.v1
#: {recorded program: a line of its source}.
PROGRAMS = {
    "l_gan": "        return [d_train, g_train]",
    "m_carried_state": '    scope.update(("state_0/c", "state_1/c")[scope.replica % 2], c)',
    "g_embedding_adagrad": "    for name in rows:  # those of all replicas, one after another",
    "i_odd_combine": "    losses = gather(context, loss)",
    "k_mean_of_losses": "        combined[name] = tf.add_n(gradients[name])",
}


@pytest.mark.parametrize("name", slow_after(2, PROGRAMS))
def test_a_recorded_programs_step_is_written_and_has_its_bits(name, tmp_path):
    made = source(name)
    assert PROGRAMS[name] in made.text.splitlines()
    assert "(StepWorkload):" in made.text and "lifted" not in made.text
    assert_port_verified(setup_of(old_programs.lifted(name)), tmp_path, made)


def test_the_class_says_what_the_update_needs():
    text = source("m_carried_state").text
    assert "    replicas: int = 2\n" in text and "    def owners(self):\n        return OWNERS\n" in text
    assert '    counter: str = "global_step"\n' in source("k_mean_of_losses").text
    assert "from workloads.steps.workload import StepWorkload\n" in text and callable(step_style.module_text)


def gradients_of(loss, variables=None):
    """Each tower's gradient of `loss(tower)`."""
    return towers(lambda tower: tf.gradients(loss(tower), variables or [weights()])[0])


def two_train_ops():
    """A second loss with an optimizer of its own, as of a GAN."""
    xs = split_batch()
    losses = (sum_of_squares, lambda x: tf.reduce_sum(tf.abs(tf.matmul(x, weights()))))
    pairs = towers(lambda tower: [tf.gradients(loss(xs[tower]), [weights()])[0] for loss in losses])
    return [apply(tf.add_n(list(gradients)) / TOWERS) for gradients in zip(*pairs)]


def state_of_each_tower():
    """A vector that each tower adds to what it computes and sets to its mean."""
    xs, changes = split_batch(), []

    def loss(tower):
        with v1.variable_scope(f"own_{tower}", reuse=v1.AUTO_REUSE):
            state = v1.get_variable(
                "mean", [2], initializer=v1.zeros_initializer(), trainable=False, use_resource=False
            )
        hidden = tf.matmul(xs[tower], weights()) + state
        changes.append(v1.assign(state, tf.reduce_mean(hidden, 0)).op)
        return tf.reduce_sum(hidden**2)

    train = apply(tf.add_n(gradients_of(loss)) / TOWERS)
    return [v1.group(train, *changes)]


def data_of_each_tower():
    """Data that the program loaded into variables of each tower, as RLlib does; nothing enters a step."""

    def loss(tower):
        with v1.variable_scope(f"loaded_{tower}"):
            loaded = {"initializer": v1.random_uniform_initializer(seed=tower), "trainable": False}
            data = v1.get_variable("data", [BATCH, 3], use_resource=False, **loaded)
        return sum_of_squares(data)

    return [apply(tf.add_n(gradients_of(loss)) / TOWERS)]


def data_of_the_graph():
    """Data that Python made while it built the graph."""
    data = tf.constant([[1.0, -2.0, 0.5], [0.25, 1.0, -1.0]])
    return [apply(tf.add_n(gradients_of(lambda tower: sum_of_squares(data * (tower + 1.0)))) / TOWERS)]


def factors_of_all_towers():
    """A vector that all towers are fed whole, beside the batch that they share out."""
    xs, factors = split_batch(), v1.placeholder(tf.float32, [3], name="factors")
    gradients = gradients_of(lambda tower: sum_of_squares(xs[tower] * factors))
    return [apply(tf.reduce_max(tf.stack(gradients), 0))]


def noise_of_all_towers():
    """Noise that is drawn once, unless it is fed, for each tower's batch beside the batch that they share out."""
    xs = split_batch()
    noise = v1.placeholder_with_default(v1.random_normal([BATCH, 3], seed=1), [BATCH, 3], name="noise")
    gradients = gradients_of(lambda tower: sum_of_squares(xs[tower]) + sum_of_squares(tf.tanh(noise)))
    return [apply(tf.reduce_max(tf.stack(gradients), 0))]


def table_of_each_tower():
    """A table of any number of rows that each tower is fed whole, beside a batch that looks rows of it up."""

    def loss(tower):
        table, ids = v1.placeholder(tf.float32, [None, 3], name="table"), v1.placeholder(tf.int32, [BATCH], name="ids")
        return sum_of_squares(tf.gather(table, ids))

    return [apply(tf.reduce_max(tf.stack(gradients_of(loss)), 0))]


def lengths_of_each_tower():
    """A vector that each tower takes from a queue beside its batch, and that is no batch."""
    queue = v1.FIFOQueue(4, [tf.float32, tf.float32], [[BATCH, 3], [3]])

    def loss(tower):
        x, scales = queue.dequeue()
        return sum_of_squares(x * scales)

    return [apply(tf.reduce_max(tf.stack(gradients_of(loss)), 0))]


def weights_of_each_tower():
    """Towers with weights of their own beside shared ones; only the last one's are trained, as a loop leaves them."""
    xs, own, gradients = split_batch(), [], []
    for tower in range(TOWERS):
        with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
            own.append(v1.get_variable(f"own_{tower}", [2, 2], initializer=v1.ones_initializer(), use_resource=False))
            loss = tf.reduce_sum(tf.tanh(tf.matmul(tf.matmul(xs[tower], weights()), own[tower])) ** 2)
            gradients.append(tf.gradients(loss, [weights(), own[tower]]))
    mean = tf.add_n([shared for shared, _ in gradients]) / TOWERS
    return [v1.train.GradientDescentOptimizer(0.1).apply_gradients([(mean, weights()), (gradients[-1][1], own[-1])])]


WEIGHTS_OF_TOWERS = '("own_0", "own_1")[scope.replica % 2], (2, 2), ONES, trainable=(False, True)[scope.replica % 2]'
DATA_OF_EACH_TOWER = '("loaded_0/data", "loaded_1/data")[scope.replica % 2]'


def rows_of_an_embedding():
    """Rows of all towers that reach the optimizer."""
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        table = v1.get_variable("table", [5, 2], use_resource=False)
    ids = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH], name="ids"), TOWERS)
    rows = gradients_of(lambda tower: tf.reduce_sum(tf.nn.embedding_lookup(table, ids[tower]) ** 2), [table])
    values = tf.concat([one.values for one in rows], 0) / TOWERS
    joined = tf.IndexedSlices(values, tf.concat([one.indices for one in rows], 0))
    return [v1.train.AdagradOptimizer(0.1).apply_gradients([(joined, table)])]


def largest_gradient():
    """A combining of one's own: the largest entry of all towers."""
    xs = split_batch()
    return [apply(tf.reduce_max(tf.stack(gradients_of(lambda tower: sum_of_squares(xs[tower]))), 0))]


def decay_after_combining():
    """A penalty's gradient that is added to the mean of the towers' gradients."""
    xs = split_batch()
    return [apply(tf.add_n(gradients_of(lambda tower: sum_of_squares(xs[tower]))) / TOWERS + 0.01 * weights())]


@pytest.mark.parametrize(
    "build, line",
    [
        (two_train_ops, "_loss(scope, batch):"),
        (state_of_each_tower, 'scope.update(("own_0/mean", "own_1/mean")[scope.replica % 2], tf.reduce_mean('),
        (
            data_of_each_tower,
            f"{DATA_OF_EACH_TOWER}, (4, 3), initializers.Uniform(0.0, 1.0), trainable=False\n",
        ),
        (weights_of_each_tower, f"scope.get({WEIGHTS_OF_TOWERS})"),
        (data_of_the_graph, "        return {}"),
        (factors_of_all_towers, 'batch["factors"][0]'),
        (noise_of_all_towers, 'batch["noise"][0]'),
        (lengths_of_each_tower, "[0]"),
        (table_of_each_tower, 'tf.gather(batch["table"][0], batch["ids"])'),
        (rows_of_an_embedding, 'rows = ["net/table"]'),
        (largest_gradient, 'tf.reduce_max(tf.stack(gradients["net/w"]), axis=0)'),
        (decay_after_combining, 'gradient = gradients["net/w"] + 0.01 * values["net/w"]'),
    ],
)
def test_each_kind_of_update_that_no_named_fields_describe_is_written(build, line, tmp_path):
    setup, made = written(build, tmp_path)
    assert line in made.text and "(StepWorkload):" in made.text
    assert_port_verified(setup, tmp_path, made)


def test_data_of_another_tower_are_noticed(tmp_path):
    setup, made = written(data_of_each_tower, tmp_path)
    other = DATA_OF_EACH_TOWER.replace("replica %", "replica + 1) %").replace("[scope", "[(scope")
    result = assert_port_verified(setup, tmp_path, made, changed=lambda text: text.replace(DATA_OF_EACH_TOWER, other))
    assert not result.passed and result.first.stage == stages.LOSS


def test_weights_of_another_tower_are_noticed(tmp_path):
    setup, made = written(weights_of_each_tower, tmp_path)
    other = lambda text: text.replace('gradients["own_1"][1]', 'gradients["own_1"][0]')  # noqa: E731
    assert other(made.text) != made.text
    assert not assert_port_verified(setup, tmp_path, made, changed=other).passed


@pytest.mark.parametrize("build, name", [(factors_of_all_towers, "factors"), (noise_of_all_towers, "noise")])
def test_a_vector_of_all_towers_that_is_left_out_is_noticed(build, name, tmp_path):
    setup, made = written(build, tmp_path)
    assert f"each example has a copy: {name}" in " ".join(made.text.split())
    changed = lambda text: text.replace(f'batch["{name}"][0]', f'tf.ones_like(batch["{name}"][0])')  # noqa: E731
    result = assert_port_verified(setup, tmp_path, made, changed=changed)
    assert not result.passed and result.first.stage == stages.LOSS


def test_a_table_of_any_number_of_rows_has_more_than_its_words(tmp_path):
    _, made = written(table_of_each_tower, tmp_path)
    assert '"table": InputSpec((6, 3)), "ids": InputSpec((), "int", classes=2)' in made.text


def vector_as_long_as_the_batch():
    """A vector that all towers are fed whole and that is as long as their batch, so that it may hold examples."""
    x, scales = v1.placeholder(tf.float32, [TOWERS * BATCH, 3], name="x"), v1.placeholder(tf.float32, [TOWERS * BATCH])
    xs = tf.split(x, TOWERS)
    losses = lambda tower: sum_of_squares(xs[tower] * tf.reduce_sum(scales))  # noqa: E731
    return [apply(tf.reduce_max(tf.stack(gradients_of(losses)), 0))]


def test_a_vector_that_may_hold_examples_is_refused(tmp_path):
    with pytest.raises(InputError, match="is as long as a batch, and used whole, not shared out to towers"):
        written(vector_as_long_as_the_batch, tmp_path)


def written(build, tmp_path):
    """`Setup` of a program that `build` makes, and its source."""
    path, made = str(tmp_path / "graph.meta"), []
    with tf.Graph().as_default() as graph:
        graph.seed = 1
        names = [op.name for op in build()]
        v1.train.export_meta_graph(path)
    out = str(tmp_path / "lifted")
    lift_graph(path, out, options=LiftOptions(names), use=lambda *found: made.append(source_of_analysis(*found)))
    return setup_of(out), made[0]


@pytest.mark.parametrize("clips, words", [(True, "before they become dense"), (False, "reach the optimizer")])
def test_a_reason_says_where_rows_go(clips, words, tmp_path):
    """As of a language model, whose towers clip all gradients by their norm, and average dense ones."""

    def build():
        table = v1.get_variable("table", [6, 2], initializer=v1.glorot_uniform_initializer(seed=1))
        words = tf.split(v1.placeholder(tf.int32, [8], name="words"), 2)
        found = towers(lambda n: tf.gradients(tf.reduce_sum(tf.gather(table, words[n]) ** 2), table)[0])
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        if clips:
            dense = [tf.convert_to_tensor(tf.clip_by_global_norm([one], 1.0)[0][0]) for one in found]
            return optimizer.apply_gradients([(tf.add_n(dense) / 2, table)])
        rows = tf.IndexedSlices(*(tf.concat([getattr(g, p) for g in found], 0) for p in ("values", "indices")))
        return optimizer.apply_gradients([(rows, table)])

    assert words in source_of(lifted(build, tmp_path), "workload").text
