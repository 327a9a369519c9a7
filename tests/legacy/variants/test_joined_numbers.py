"""Numbers that a program computes of its towers' parts, joined, as the sum of all masks that divides the losses."""

import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, assert_same, lifted, towers, weights
from workloads.lifted.replication import replica_counts
from workloads.support.errors import InputError

v1 = tf.compat.v1


def mask(labels):
    return tf.cast(tf.not_equal(labels, 0), tf.float32)


def program(total, masks_before=False):
    """A program whose towers divide by `total` of all parts of the labels; masks may be made before the towers."""

    def build():
        x, labels = v1.placeholder(tf.float32, [None, 3], "x"), v1.placeholder(tf.int32, [None], "labels")
        xs, parts = tf.split(x, TOWERS), tf.split(labels, TOWERS)
        number, masks = total(parts), [mask(part) for part in parts] if masks_before else None

        def gradient(tower):
            of_lines = tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], weights())) ** 2, 1)
            own = masks[tower] * tf.cast(parts[tower], tf.float32) if masks else mask(parts[tower])
            return tf.gradients(tf.reduce_sum(of_lines * own) / number, [weights()])[0]

        return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients([(tf.add_n(towers(gradient)) / 2.0, weights())])

    return build


def joined(parts):
    return tf.maximum(1.0, tf.reduce_sum(tf.concat([mask(part) for part in parts], 0)))


def added(parts):
    return tf.add_n([tf.reduce_sum(mask(part)) for part in parts]) + 1.0


def of_a_table(parts):
    """Numbers of classes, of which there are three: larger labels are no data of this program."""
    return tf.reduce_sum(tf.concat([tf.gather(tf.constant([0.5, 1.0, 2.0]), part % 3) for part in parts], 0))


def largest(parts):
    """Depends on which tower has an example."""
    return tf.add_n([tf.cast(tf.reduce_max(part), tf.float32) for part in parts]) + 1.0


def of_first(parts):
    return tf.reduce_sum(mask(parts[0])) + 1.0


def kinds_of(setup):
    plan = setup.job.workload.plan
    return {entry.name: entry.kind for entry in plan.inputs + plan.common}


@pytest.mark.parametrize("total", [joined, added, of_a_table])
def test_a_number_of_all_towers_parts_follows_from_the_batch(total, tmp_path):
    setup = lifted(program(total), tmp_path)
    assert kinds_of(setup) == {"x": "batch", "labels": "batch", "labels:0": "same"}
    assert replica_counts(setup.job.workload.plan) == "any number"
    assert_same(setup)
    source = source_of(setup, "workload")
    assert source.text.count('scope.of_all(batch["labels"])') == 1
    for replicas in (1, TOWERS, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)
    own = lambda text: text.replace('scope.of_all(batch["labels"])', 'batch["labels"]')  # noqa: E731
    assert not assert_port_verified(setup, tmp_path, source, changed=own).passed


@pytest.mark.parametrize("total", [largest, of_first])
def test_a_number_that_depends_on_the_division_stays_a_setting_without_a_source(total, tmp_path):
    setup = lifted(program(total), tmp_path)
    assert list(kinds_of(setup).values()) == ["batch", "batch", "setting"]
    with pytest.raises(InputError, match="is made of each batch before the towers"):
        source_of(setup, "workload")


def test_a_batch_of_which_towers_take_several_parts_has_no_such_number(tmp_path):
    """Masks that are made before the towers are data of their own, which need not agree with the labels."""
    kinds = kinds_of(lifted(program(joined, masks_before=True), tmp_path))
    assert list(kinds.values()).count("batch") == 3 and kinds["Maximum"] == "setting"
