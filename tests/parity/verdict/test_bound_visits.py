"""Steps with another bound, which show what is behind one that is never reached."""

import dataclasses

import tensorflow as tf

import modern.factory
from parity.comparison.result import Verdict
from parity.verdict import compare_programs
from parity.verdict.compare_programs import ComparisonPlan
from tests.legacy.variants.programs import TOWERS, apply, gradient_of, lifted, split_batch, towers
from workloads.lifted.graph import Graph
from workloads.lifted.workload import as_lifted

v1 = tf.compat.v1


def clipped():
    """A program that clips the mean gradient at a norm which no gradient has."""
    parts = split_batch()
    mean = tf.add_n(towers(lambda tower: gradient_of(parts[tower]))) / TOWERS
    norm = tf.sqrt(tf.multiply(tf.reduce_sum(tf.square(mean)), tf.constant(1.5), name="square"))
    return apply(mean * tf.minimum(4096.0 / norm, tf.constant(1.0), name="scale"))


def compared(setup):
    return compare_programs.compare_programs(setup, None, ComparisonPlan(3))


def test_constants_behind_a_clipping_that_never_acts_are_seen_with_another_limit(tmp_path, monkeypatch):
    setup = lifted(clipped, tmp_path)
    comparison = compared(setup)
    assert comparison.verification.verdict is Verdict.PARITY, comparison.verification.not_shown
    assert comparison.verification.visits[-1].endswith(" on both sides")
    assert all(outcome.seen or outcome.harmless for outcome in comparison.coverage.outcomes)
    monkeypatch.setattr(compare_programs, "visit_bounds", lambda *given: None)
    without = compared(setup).verification
    assert without.verdict is Verdict.NOT_SHOWN and len(without.visits) == len(comparison.verification.visits) - 1


def test_a_port_that_never_clips_differs_there(tmp_path):
    """In all other states it has the old graph's bits."""

    def unclipped(setup):
        lift = as_lifted(setup.job.workload)
        graph_def = v1.GraphDef()
        graph_def.CopyFrom(lift.graph.graph_def)
        [scale] = [node for node in graph_def.node if node.op == "Minimum"]
        scale.op = "Maximum"
        for node in graph_def.node:
            if node.name == scale.input[0]:
                node.op = "Sub"  # less than 1, so that the maximum is 1
                node.input[0] = node.input[1]
        job = dataclasses.replace(setup.job, workload=dataclasses.replace(lift, graph=Graph(graph_def)))
        return modern.factory.modern_program(job, setup.make_source(job), setup.modern, setup.devices())

    result = compared(dataclasses.replace(lifted(clipped, tmp_path), port=unclipped)).verification
    assert result.verdict is Verdict.NO_PARITY and result.failed_visit.name.endswith(" on both sides")
    assert result.first.stage == "combined gradients"


def test_nothing_is_tried_where_every_constant_was_seen(tmp_path):
    def plain():
        parts = split_batch()
        return apply(tf.add_n(towers(lambda tower: gradient_of(parts[tower]))) / TOWERS)

    result = compared(lifted(plain, tmp_path)).verification
    assert result.verdict is Verdict.PARITY and not any("on both sides" in name for name in result.visits)
