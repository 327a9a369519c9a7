"""Checkpoints that standalone programs write, restored by the old program's `Saver` in its own graph."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.lifting import LiftOptions, lift_graph
from legacy.source.saved_program import with_free_count
from legacy.source.source import SourceOptions, source_of_analysis, write_source
from legacy.source.standalone.tower_copies import with_tower_copies
from modern.collectives.strategy import mirrored_strategy
from modern.options import ModernOptions
from tests.legacy.source import old_towers
from tests.legacy.source.test_model_copies import replicated, with_statistics
from tests.legacy.variants.programs import mean_of, split_batch, sum_of_squares, towers, weights

v1 = tf.compat.v1
DTYPES = [tf.int32, tf.int64]


def all_variables():
    """{name in a checkpoint: variable} of a graph, as its `Saver` has them by default."""
    return {variable.op.name: variable for variable in v1.global_variables()}


def with_others(dtype):
    """Builds two towers with averages of their losses, and with a count, which no step changes."""

    def build():
        xs = split_batch()
        v1.get_variable("global_step", [], dtype, v1.constant_initializer(7), trainable=False, use_resource=False)
        losses = towers(lambda i: sum_of_squares(xs[i]))
        v1.train.ExponentialMovingAverage(0.75).apply(losses)
        return mean_of([tf.gradients(loss, [weights()])[0] for loss in losses])

    return build


def trained(build, path, names=all_variables):
    """The old values, the module, and what the old `Saver` restores after a step of the standalone program, by names.

    The restoring `Saver` is that of the graph; its checkpoint is `trained` in the folder.
    """
    with tf.Graph().as_default() as graph, soft_session() as session:
        train_op = build()
        saver = v1.train.Saver(names())
        session.run(v1.global_variables_initializer())
        checkpoint = saver.save(session, str(path / "model.ckpt"))
        old = session.run(all_variables())
        made = []
        use = lambda *found: made.append(source_of_analysis(*found, SourceOptions({}, "standalone")))  # noqa: E731
        with tf.Graph().as_default():
            lift_graph(checkpoint + ".meta", None, checkpoint, LiftOptions([train_op.name]), use=use)
    write_source(str(path / "alone.py"), made[0])
    module = old_towers.load(path / "alone.py", "alone_saved_program")
    with tf.init_scope():
        strategy = mirrored_strategy(["CPU:0", "CPU:1"], ModernOptions(exact=True))
        trainer = module.Trainer(strategy, checkpoint)
        examples = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
        batch = strategy.experimental_distribute_values_from_function(lambda _: {"x": tf.constant(examples)})
        trainer.step(batch)
        trainer.save(str(path / "trained"))
    with graph.as_default(), soft_session() as session:
        session.run(v1.global_variables_initializer())
        saver.restore(session, str(path / "trained"))
        return old, module, trainer, session.run(all_variables())


def soft_session():
    return v1.Session(config=v1.ConfigProto(allow_soft_placement=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_variables_that_no_step_changes_are_as_they_were_read(dtype, tmp_path):
    old, module, trainer, restored = trained(with_others(dtype), tmp_path)
    assert np.array_equal(restored["net/w"], trainer.variables["net/w"].numpy())
    assert not np.array_equal(restored["net/w"], old["net/w"])
    others = set(old) - {"net/w"}
    assert others == set(trainer.others) and len(others) == 3
    assert all(restored[name] == old[name] and restored[name].dtype == old[name].dtype for name in others)
    assert trainer.variables[module.STEP].numpy().max() == 1 and module.STEP not in old
    trainer.others.clear()
    trainer.save(str(tmp_path / "without"))
    with tf.Graph().as_default(), soft_session() as session:
        with_others(dtype)()
        with pytest.raises(tf.errors.NotFoundError, match="ExponentialMovingAverage|global_step"):
            v1.train.Saver().restore(session, str(tmp_path / "without"))


@pytest.mark.parametrize("build, slot", [(replicated(), "w/Momentum"), (with_statistics(), "mean")])
def test_copies_have_the_trained_values(build, slot, tmp_path):
    old, module, trainer, restored = trained(build, tmp_path)
    assert module.COPIES == {"replicated_1": "replicated_0"}
    for name in ("w", slot):
        value = trainer.variables[f"replicated_0/{name}"].numpy()
        assert np.array_equal(restored[f"replicated_1/{name}"], value), name
        assert not np.array_equal(old[f"replicated_1/{name}"], value), name


def test_copies_of_renamed_variables_have_no_names_to_be_read_by(tmp_path):
    short = lambda: {name.replace("replicated_", "v"): value for name, value in all_variables().items()}  # noqa: E731
    _, module, trainer, restored = trained(replicated(), tmp_path, short)
    names = ["b", "b/Momentum", "w", "w/Momentum"]
    expected = {f"replicated_0/{name}": f"v0/{name}" for name in names}
    assert expected == module.SAVED_AS
    assert module.COPIES == {"v1": "replicated_0"}
    for name in names:
        value = trainer.variables[f"replicated_0/{name}"].numpy()
        assert all(np.array_equal(restored[f"replicated_{tower}/{name}"], value) for tower in range(2)), name


def test_a_weight_that_begins_as_another_is_not_written_for_it(tmp_path):
    def build():
        xs = split_batch()
        begun = v1.get_variable("begun", [3, 2], initializer=v1.zeros_initializer(), use_resource=False)
        v1.assign(begun, weights(), name="begin")

        def tower(number):
            loss = sum_of_squares(xs[number]) + tf.reduce_mean(tf.matmul(xs[number], begun) ** 2)
            return tf.gradients(loss, [weights(), begun])

        means = [tf.add_n(list(parts)) / 2 for parts in zip(*towers(tower))]
        return v1.train.GradientDescentOptimizer(0.125).apply_gradients(zip(means, [weights(), begun]))

    _, module, trainer, restored = trained(build, tmp_path, lambda: {"w": weights()})
    assert (module.SAVED_AS, module.BEGUN_AS) == ({"net/w": "w"}, {"begun": "w"})
    weight, begun = (trainer.variables[name].numpy() for name in ("net/w", "begun"))
    assert np.array_equal(restored["net/w"], weight) and not np.array_equal(weight, begun)
    saved = tf.train.load_checkpoint(str(tmp_path / "trained"))
    assert np.array_equal(saved.get_tensor("begun"), begun)


def test_a_copy_is_named_where_its_scope_has_other_variables():
    text = "x = 1\n\n\n        tf.compat.v1.train.Saver({**saved})\n"
    copies = {"tower_1/w": "tower_0/w"}
    by_name = with_tower_copies(text, copies, ["tower_0/w", "tower_0/b"])
    assert 'COPIES = {"tower_1/w": "tower_0/w"}' in by_name and "if name == first" in by_name
    by_scope = with_tower_copies(text, copies, ["tower_0/w", "tower_2/b"])
    assert 'COPIES = {"tower_1": "tower_0"}' in by_scope and "startswith" in by_scope
    assert with_tower_copies(text, {}, ["tower_0/w"]) == text


def test_a_count_of_the_old_program_keeps_its_name():
    counted = 'STEP = "global_step"\nvariable.assign(0)'
    assert with_free_count(counted, ["global_step"]) == counted
    own = 'OTHERS = {"step": ((), 0, tf.int64)}\nSTEP = "step"\nif name != STEP:'
    assert with_free_count(own, ["steps"]) == own
    assert with_free_count(own, ["step"]) == own.replace('"step"', '"step_2"')


def in_parts():
    """Two towers with a weight in two parts, which the `Saver` writes as slices of one tensor."""
    xs = split_batch()
    with v1.variable_scope("net", partitioner=v1.fixed_size_partitioner(2), use_resource=False):
        parts = list(v1.get_variable("parts", [3, 2], initializer=v1.glorot_uniform_initializer(seed=1)))

    def gradients(tower):
        return tf.gradients(tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], tf.concat(parts, 0))) ** 2), parts)

    means = [tf.add_n(list(pair)) / 2 for pair in zip(*towers(gradients))]
    return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(zip(means, parts))


def test_parts_of_a_variable_are_read_and_written_as_the_whole(tmp_path):
    old, module, trainer, restored = trained(in_parts, tmp_path, v1.global_variables)
    names = [f"net/parts/part_{number}" for number in range(2)]
    assert module.PARTS["net/parts"] == (0, names)
    begun = module.Trainer(trainer.strategy, str(tmp_path / "model.ckpt")).variables
    assert all(np.array_equal(begun[name].numpy(), value) for name, value in old.items())
    assert set(old) == set(restored) and len(old) == 4
    for name, value in restored.items():
        assert np.array_equal(value, trainer.variables[name].numpy()), name
        assert not np.array_equal(value, old[name]), name
    again = module.Trainer(trainer.strategy, str(tmp_path / "trained"))
    assert all(np.array_equal(again.variables[name].numpy(), restored[name]) for name in restored)
