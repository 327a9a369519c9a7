"""Steps of a port with a step of its own, whose bound is changed with the old graph's."""

import dataclasses

import pytest
import tensorflow as tf

from parity.against.own_step import with_own_step
from parity.comparison.result import Verdict
from parity.verdict import compare_programs
from parity.verdict.compare_programs import ComparisonPlan
from tests.legacy.source import old_towers
from tests.legacy.source.trained import source_of
from tests.legacy.variants.programs import TOWERS, apply, lifted, split_batch, towers, weights
from workloads.job import Job
from workloads.steps.tracing import trace_step


def clipped():
    """A program whose mean gradient is longer than its bound in every state, by a norm that no named clipping has."""
    parts = split_batch()

    def gradient(tower):  # of a loss along a line: it is as long whatever the weights
        return tf.gradients(tf.reduce_sum(tf.matmul(parts[tower], weights())), weights())[0]

    mean = tf.add_n(towers(gradient)) / TOWERS
    norm = tf.sqrt(tf.multiply(tf.reduce_sum(tf.square(mean)), tf.constant(1.5), name="square"))
    return apply(mean * tf.minimum(0.0009765625 / norm, tf.constant(1.0), name="scale"))


def compared(tmp_path, changed):
    """The verification of the program and its source, which `changed(text)` changes first."""
    setup = lifted(clipped, tmp_path)
    path, text = tmp_path / "port.py", source_of(setup, "workload").text
    path.write_text(changed(text))
    port, lift = old_towers.load(path, "clipped_port").PORT, setup.job.workload
    job = Job(port, TOWERS, TOWERS * setup.job.per_replica_batch)
    work = with_own_step(lift, port, trace_step(port, job.per_replica_batch, TOWERS), {}, TOWERS)
    made = dataclasses.replace(setup, job=dataclasses.replace(job, workload=work))
    return compare_programs.compare_programs(made, None, ComparisonPlan(3)).verification, text


def test_a_bound_that_all_gradients_exceed_is_changed_in_the_port_too(tmp_path):
    found, text = compared(tmp_path, str)
    assert "StepWorkload" in text and "tf.minimum(" in text
    assert found.verdict is Verdict.PARITY, found.not_shown
    assert found.visits[-1].endswith(" on both sides")


@pytest.mark.parametrize("wrong", ["tf.maximum(-1.0, ", "tf.minimum(2.0, "])
def test_a_port_that_scales_shorter_gradients_differs_there_which_shows_nothing(wrong, tmp_path):
    """It has the old graph's bits wherever the bound is exceeded."""

    def changed(text):
        assert text.count("tf.minimum(") == 1
        return text.replace("tf.minimum(", "least(") + LEAST.replace("WRONG", wrong)

    found, _ = compared(tmp_path, changed)
    assert found.verdict is Verdict.NOT_SHOWN
    assert not any(name.endswith(" on both sides") for name in found.visits)


#: A function in the place of `tf.minimum(scale, 1.0)`.
LEAST = """

def least(scale, one):
    return WRONGscale)
"""
