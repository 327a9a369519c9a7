"""Steps with another bound, which show what is behind one that is never reached."""

import dataclasses

import pytest
import tensorflow as tf

import modern.factory
from parity.against.against_setup import old_graph_of
from parity.comparison.result import Verdict
from parity.coverage.graph.mutants import MutatedTowers
from parity.verdict import compare_programs
from parity.verdict.compare_programs import ComparisonPlan
from tests.legacy.variants.programs import TOWERS, apply, gradient_of, lifted, split_batch, towers, weights
from tests.parity.against.exact_setup import exact_setup_against
from workloads import initializers, optimizers, schedules
from workloads.job import Job
from workloads.lifted.graph import Graph
from workloads.lifted.workload import as_lifted
from workloads.support.errors import InputError, OpFailed
from workloads.workload import Clip, InputSpec, Workload

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


@pytest.mark.parametrize("error", [OpFailed, InputError])
def test_a_bound_with_which_no_step_runs_is_left_out(error, tmp_path, monkeypatch):
    """As minus the number of values that a window keeps; an error of another kind is told."""
    own, tried = MutatedTowers.step_from, []

    def step_from(towers, state):
        tried.append(state)
        if len(tried) == 1:
            raise error("Expected size[0] in [0, 20], but got -20")
        return own(towers, state)

    monkeypatch.setattr(MutatedTowers, "step_from", step_from)
    if error is InputError:
        with pytest.raises(InputError):
            compared(lifted(clipped, tmp_path))
        return
    found = compared(lifted(clipped, tmp_path)).verification
    assert found.verdict is Verdict.PARITY and found.visits[-1].endswith(" on both sides")


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


@dataclasses.dataclass(frozen=True)
class Port(Workload):
    """A port of `globally_clipped`."""

    name: str = "port"
    global_batch: int = 8
    optimizer: optimizers.Optimizer = optimizers.GradientDescent()
    learning_rate: schedules.Schedule = schedules.Fixed(0.1)
    clip: Clip = Clip(4096.0, "combined")

    def inputs(self):
        return {"x": InputSpec((3,))}

    def loss(self, scope, batch):
        bias = scope.get("net/b", (2,), initializers.Constant(0.5))
        return tf.reduce_sum(tf.tanh(tf.matmul(batch["x"], scope.get("net/w", (3, 2))) + bias) ** 2)


def two_means():
    """The mean gradients of two weights, and these."""
    parts = split_batch()

    def gradients(tower):
        with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
            bias = v1.get_variable("b", [2], initializer=v1.constant_initializer(0.5), use_resource=False)
        loss = tf.reduce_sum(tf.tanh(tf.matmul(parts[tower], weights()) + bias) ** 2)
        return tf.gradients(loss, [weights(), bias]), bias

    (first, bias), (second, _) = towers(gradients)
    return [tf.add_n(pair) / TOWERS for pair in zip(first, second)], [weights(), bias]


def globally_clipped():
    means, variables = two_means()
    limited, _ = tf.clip_by_global_norm(means, 4096.0)
    return v1.train.GradientDescentOptimizer(0.1).apply_gradients(list(zip(limited, variables)))


def each_clipped():
    """A program that clips the gradients of two weights, each alone, at the same norm."""
    means, variables = two_means()
    limited = []
    for mean in means:
        norm = tf.sqrt(tf.multiply(tf.reduce_sum(tf.square(mean)), tf.constant(1.5)))
        limited.append(mean * tf.minimum(tf.constant(4096.0) / norm, tf.constant(1.0)))
    return v1.train.GradientDescentOptimizer(0.1).apply_gradients(list(zip(limited, variables)))


@pytest.mark.parametrize("clip, verdict", [(Clip(4096.0, "combined"), "PARITY"), (Clip(4096.0, "tower"), "NOT_SHOWN")])
def test_a_port_whose_clipping_never_acts_is_compared_with_another_limit(clip, verdict, tmp_path):
    """One that clips each tower's gradient differs there, which shows nothing: the limit there may be another one."""
    lift = as_lifted(lifted(globally_clipped, tmp_path).job.workload)
    job = Job(Port(clip=clip), 2, 8)
    result = compared(exact_setup_against(job, old_graph_of(lift, job, {}))).verification
    assert result.verdict is Verdict[verdict], result.not_shown
    shown = [name for name in result.visits if name.startswith("clip.limit 4096 -> ")]
    assert bool(shown) == (verdict == "PARITY")


def test_another_limit_needs_a_constant_of_the_old_graph(tmp_path):
    lift = as_lifted(lifted(globally_clipped, tmp_path).job.workload)
    job = Job(Port(), 2, 8)
    setup = exact_setup_against(job, old_graph_of(lift, job, {}))
    assert setup.with_clip(0.5).job.workload.clip == Clip(0.5, "combined")
    other = Job(Port(clip=Clip(2048.0, "combined")), 2, 8)
    assert exact_setup_against(other, old_graph_of(lift, other, {})).with_clip(0.5) is None
    plain = Job(Port(clip=None), 2, 8)
    assert exact_setup_against(plain, old_graph_of(lift, plain, {})).with_clip(0.5) is None


def always_clipped():
    means, variables = two_means()
    limited, _ = tf.clip_by_global_norm(means, 2.0**-16)
    return v1.train.GradientDescentOptimizer(0.1).apply_gradients(list(zip(limited, variables)))


@pytest.mark.parametrize("combine, verdict", [("mean", "PARITY"), ("sum", "NOT_SHOWN")])
def test_a_mean_that_clipping_hides_in_every_state_is_compared_with_another_limit(combine, verdict, tmp_path):
    """A sum of gradients has the same bits where all are clipped; it differs at a limit that none reaches."""
    lift = as_lifted(lifted(always_clipped, tmp_path).job.workload)
    job = Job(Port(clip=Clip(2.0**-16, "combined"), combine=combine), 2, 8)
    result = compared(exact_setup_against(job, old_graph_of(lift, job, {}))).verification
    assert result.verdict is Verdict[verdict], result.not_shown
    shown = [name for name in result.visits if name.startswith("clip.limit ")]
    assert bool(shown) == (verdict == "PARITY")
    assert any(reason.startswith("combine (") for reason in result.not_shown) == (verdict == "NOT_SHOWN")


def clipped_by_value():
    means, variables = two_means()
    limited = [tf.minimum(tf.maximum(mean, -1000.0), 1000.0) for mean in means]
    return v1.train.GradientDescentOptimizer(0.1).apply_gradients(list(zip(limited, variables)))


def test_both_bounds_of_values_are_reached(tmp_path):
    """All gradients have one sign."""
    result = compared(lifted(clipped_by_value, tmp_path)).verification
    assert result.verdict is Verdict.PARITY, result.not_shown


def test_bounds_of_one_value_are_changed_together(tmp_path):
    result = compared(lifted(each_clipped, tmp_path)).verification
    assert result.verdict is Verdict.PARITY, result.not_shown
    assert len([name for name in result.visits if name.endswith(" on both sides")]) == 1
