"""Named fields of a workload: optimizer, combining, schedule, clipping, moving average, initializers."""

from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.cut import Cut
from legacy.source.basics.expressions import Infix, Literal, Name, call
from legacy.source.basics.initial import find_initializers
from legacy.source.basics.rendering import expression_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.functions.function_lines import constant_line
from legacy.source.step.averages import Average, find_average
from legacy.source.step.clipping import measured_rule
from legacy.source.step.learning import Rule, combining, find_counter, find_counters
from legacy.source.step.schedules import STEP, exponential_decay, find_learning_rate
from legacy.source.styles import workload_style
from tests import old_programs
from tests.legacy.saved.graphs import traced
from tests.legacy.source.tiny import plan_of
from workloads.lifted.pieces.piece import Feed, Piece
from workloads.lifted.plan import Combine, Input, Phase, Variable
from workloads.lifted.workload import load_lift
from workloads.numerics.clip_rule import Clip

v1 = tf.compat.v1
SHAPES = [[2, 3], [4]]
GRAPH = mock.Mock(type=lambda node: "AddN")


def clip_of(build):
    with tf.Graph().as_default() as graph:
        holders = [v1.placeholder(tf.float32, shape, f"g{n}") for n, shape in enumerate(SHAPES)]
        fetches = [tensor.name for tensor in build(holders)]
    feeds = [Feed("cut", f"g{n}:0", f"g{n}") for n in range(2)]
    return measured_rule(
        Cut(Piece(graph.as_graph_def(), feeds, fetches), {}, fetches), ["g0:0", "g1:0"], SHAPES, "tower"
    )


def test_clipping_is_recognised_by_its_results():
    assert clip_of(lambda g: tf.clip_by_global_norm(g, 0.5)[0]) == Clip(0.5, "tower", "global_norm")
    assert clip_of(lambda g: [tf.clip_by_norm(t, 0.3) for t in g]) == Clip(0.3, "tower", "norm")
    assert clip_of(lambda g: [tf.clip_by_value(t, -0.1, 0.1) for t in g]) == Clip(0.1, "tower", "value")
    assert clip_of(lambda g: [tf.identity(t) for t in g]) is None
    with pytest.raises(Unwritten, match="those that are not finite are replaced"):
        clip_of(lambda g: [tf.where(tf.math.is_nan(t), tf.zeros_like(t), t) for t in g])


def test_what_is_no_clipping_is_refused():
    with pytest.raises(Unwritten, match="no clipping that is known"):
        clip_of(lambda g: [t * 0.5 for t in g])


def phase_of(**fields):
    empty = {"train_op": "train", "losses": [], "loss_scale": 1.0, "gradients": [{}], "crossings": [], "effects": []}
    empty.update(versions=[], control_dependencies=[], races=[], combine=[])
    return Phase(**{**empty, **fields})


def test_towers_are_combined_by_mean_or_sum_and_by_nothing_else():
    mean = Combine("w", "mean", "c:0", 1.0, [])
    assert combining(plan_of({}), GRAPH, phase_of(combine=[mean])) == "mean"
    for other in ({"kind": "concat"}, {"affine": True}, {"scale": 0.25}):
        changed = Combine(**{**vars(mean), **other})
        with pytest.raises(Unwritten, match="combining: gradients of 'w': .*in c:0 .AddN."):
            combining(plan_of({}), GRAPH, phase_of(combine=[changed]))
    with pytest.raises(Unwritten, match="combining: mean and sum"):
        combining(plan_of({}), GRAPH, phase_of(combine=[mean, Combine("v", "sum", "d:0", 1.0, [])]))


@pytest.mark.parametrize(
    "fields, text",
    [
        ({"kind": "sum", "scale": 0.005, "divided": True}, "gradients of 'w': mean, times 0.01, in"),
        ({"kind": "sum", "scale": 0.25}, "gradients of 'w': sum, times 0.25, in"),
        ({"kind": "sum", "affine": True}, "gradients of 'w': sum and something that no tower computes, in"),
        ({"kind": "concat", "weight": "w/Adam"}, "what changes 'w/Adam': concat, in"),
    ],
)
def test_another_combining_is_told_with_its_factor(fields, text):
    plan = plan_of({})
    plan.towers = 2
    plan.variables = [Variable("w", [2], "float32", "weight"), Variable("w/Adam", [2], "float32", "slot", of="w")]
    other = Combine(**{"weight": "w", "tensor": "c:0", "scale": 1.0, "parts": [], **fields})
    with pytest.raises(Unwritten) as raised:
        combining(plan, GRAPH, phase_of(combine=[other]))
    assert text in str(raised.value)


@pytest.mark.parametrize("read, expected", [("global_step", "global_step"), (None, "average/local_step")])
def test_the_counter_is_one_that_the_learning_rate_reads(read, expected):
    """The average of a loss of TensorFlow 0.12 counts its own updates, in floats as the program counts its steps."""
    counters = ["average/local_step", "global_step"]
    with tf.Graph().as_default() as graph:
        steps = {name: v1.placeholder(tf.float32, [], name) for name in counters}
        rate = tf.multiply(0.1, steps[read] / 800.0 if read else 1.0, name="rate")
    adds = [mock.Mock(op="AssignAdd", writes=[name], values=["one:0"], condition=None) for name in counters]
    for add in adds:
        add.learning_rate = rate.name if add is adds[-1] else None
    plan = mock.Mock(phases=[phase_of(effects=adds)], variables=[], aliases={f"{name}:0": name for name in counters})
    assert find_counter(plan, mock.Mock(tf_graph=graph, constant=lambda *tensor: np.float32(1.0))) == expected


@pytest.mark.parametrize("times, expected", [(1, ["step"]), (2, [])])
def test_a_variable_that_two_ops_raise_counts_no_steps(times, expected):
    adds = [mock.Mock(op="AssignAdd", writes=["step"], values=["one:0"], condition=None) for _ in range(times)]
    assert find_counters(phase_of(effects=adds), mock.Mock(constant=lambda *tensor: np.float32(1.0))) == expected


def test_an_optimizer_has_its_constants():
    assert Rule("Adam", {"beta1": np.float32(0.9)}).text() == "optimizers.Adam(beta1=0.9)"


def test_exponential_decay_is_recognised():
    ratio = Infix("/", call("tf.cast", STEP, Name("tf.float32")), Literal(np.float32(6.0)))
    decay = Infix("*", Literal(np.float32(0.1)), Infix("**", Literal(np.float32(0.5)), call("tf.floor", ratio)))
    assert expression_text(exponential_decay(decay)) == "schedules.ExponentialDecay(0.1, 6, 0.5, staircase=True)"
    assert exponential_decay(Infix("+", Literal(1.0), decay)) is None


def test_a_schedule_by_pieces_is_found_in_branches():
    lift = load_lift(old_programs.lifted("j_dataset_resource"))
    (phase,) = lift.plan.phases
    tensor = next(effect.learning_rate for effect in phase.effects if effect.learning_rate)
    found = find_learning_rate(lift.plan, lift.graph, phase, tensor, ["global_step"])
    assert found.text == "schedules.PiecewiseConstant((6, 12), (0.1, 0.05, 0.01))"


def test_a_moving_average_has_decay_warm_up_and_the_count_that_it_sees():
    lift = load_lift(old_programs.lifted("c_queue_ema"))
    (phase,) = lift.plan.phases
    assert find_average(lift.plan, lift.graph, phase, ["global_step"]) == Average(0.99, True, False)
    with pytest.raises(Unwritten, match="moving averages"):
        find_average(lift.plan, lift.graph, phase, [])


def test_initializers_are_recognised_in_the_graph():
    def build():
        v1.get_variable("a", [3], initializer=v1.constant_initializer(0.5), use_resource=False)
        v1.get_variable("b", [3, 4], initializer=v1.truncated_normal_initializer(stddev=0.3), use_resource=False)
        v1.get_variable("c", [3, 4], initializer=v1.glorot_uniform_initializer(), use_resource=False)
        v1.get_variable("d", [3, 4], initializer=v1.random_uniform_initializer(-1, 1), use_resource=False)
        v1.get_variable("e", [3, 4], initializer=v1.random_normal_initializer(), use_resource=False)
        v1.get_variable("f", [3, 4], initializer=v1.random_normal_initializer(1.0, 0.5), use_resource=False)
        v1.get_variable("g", [3, 4], initializer=v1.orthogonal_initializer(), use_resource=False)
        v1.get_variable("h", [3, 4], initializer=v1.orthogonal_initializer(0.5), use_resource=False)
        v1.get_variable("i", [3, 4], initializer=v1.truncated_normal_initializer(mean=1.0), use_resource=False)

    shapes = {"a": [3], **{name: [3, 4] for name in "bcdefghi"}}
    variables = [Variable(name, shape, "float32", "weight") for name, shape in shapes.items()]
    texts, unknown = find_initializers(traced(build), variables)
    assert texts == {
        "a": "initializers.Constant(0.5)",
        "b": "initializers.TruncatedNormal(0.3)",
        "c": "",
        "d": "initializers.Uniform(-1.0, 1.0)",
        "e": "initializers.Normal(1.0)",
        "f": "initializers.Normal(0.5, mean=1.0)",
        "g": "initializers.Orthogonal()",
        "h": "initializers.Orthogonal(0.5)",
        "i": "",
    }
    assert unknown == ["i"]


def test_the_text_of_a_module_has_names_that_python_takes():
    assert workload_style.class_name("2-tower net") == "Port2TowerNet"
    classes = Input("y", "int64", [None], "batch", 5, [], "")
    assert workload_style.spec_text(classes, None) == 'InputSpec((), "int", classes=5)'
    lengths = Input("n", "int32", [None], "batch", 0, [], "", low=1)  # one of them alone would exercise no padding
    assert workload_style.spec_text(lengths, None) == 'InputSpec((), "int", classes=3)'
    assert constant_line("RATE", 0.5, "fed") == "RATE = 0.5  # fed"
