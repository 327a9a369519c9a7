"""Checkpoints of Savers that leave slots out, or give variables other names, in standalone programs."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.lifting import LiftOptions, lift_graph
from legacy.source.source import SourceOptions, source_of_analysis, write_source
from legacy.source.standalone.saved_names import with_saved_names
from modern.collectives.strategy import mirrored_strategy
from modern.options import ModernOptions
from tests.legacy.source import old_towers
from tests.legacy.variants.programs import TOWERS, split_batch, sum_of_squares, towers, weights

v1 = tf.compat.v1


def program(path, saved_as, style="standalone"):
    """The source of two towers with Adam, from a checkpoint that has the weight alone, as `saved_as`."""
    with tf.Graph().as_default(), v1.Session() as session:
        xs = split_batch()
        gradients = towers(lambda i: tf.gradients(sum_of_squares(xs[i]), [weights()])[0])
        train_op = v1.train.AdamOptimizer(0.125).apply_gradients([(tf.add_n(gradients) / TOWERS, weights())])
        saver = v1.train.Saver({saved_as: weights()})
        session.run(v1.global_variables_initializer())
        checkpoint = saver.save(session, str(path / "model.ckpt"))
        value = session.run(weights())
    made = []
    use = lambda *found: made.append(source_of_analysis(*found, SourceOptions({}, style)))  # noqa: E731
    lift_graph(checkpoint + ".meta", None, checkpoint, LiftOptions([train_op.name]), use=use)
    return made[0], checkpoint, value


@pytest.mark.parametrize("saved_as", ["net/w", "w"])
def test_a_checkpoint_of_the_weights_alone_is_read_by_the_names_that_its_saver_gave(saved_as, tmp_path):
    source, checkpoint, value = program(tmp_path, saved_as)
    assert ("SAVED_AS = " in source.text) == (saved_as == "w")
    write_source(str(tmp_path / "alone.py"), source)
    module = old_towers.load(tmp_path / "alone.py", f"alone_saved_{saved_as[0]}")
    strategy = mirrored_strategy(["CPU:0", "CPU:1"], ModernOptions(exact=True))
    variables = module.Trainer(strategy, checkpoint).variables
    assert np.array_equal(variables["net/w"].numpy(), value)
    assert not variables["net/w/Adam"].numpy().any()
    v1.train.Saver({"other": tf.Variable(1.0)}).save(None, str(tmp_path / "other"), write_meta_graph=False)
    with pytest.raises(tf.errors.NotFoundError, match=saved_as):
        module.Trainer(strategy, str(tmp_path / "other"))


def test_a_checkpoint_with_all_variables_is_read_as_before(tmp_path):
    text = program(tmp_path, "net/w")[0].text
    assert with_saved_names("x = 1\n", {"w": "v"}, (), True) == "x = 1\n"
    assert "old program's Saver left the others out" in text
    assert with_saved_names(text, {}, (), False) == text
