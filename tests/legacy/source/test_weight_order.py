"""A norm of all gradients adds them in the order of the weights: a source asks for its weights in the old graph's."""

import pytest
import tensorflow as tf

from legacy.source import source as sources
from legacy.source.basics.expressions import Value, Variable, call
from legacy.source.basics.unwritten import Unwritten
from legacy.source.lines.statements import Statement
from legacy.source.step.model import Model
from legacy.source.step.weight_order import in_clipped_order, require_clipped_order
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import TOWERS, lifted, split_batch, towers
from workloads.numerics.clip_rule import Clip

v1 = tf.compat.v1
SIZES = (3, 5, 4, 6, 2)


def layer(number):
    initializer = v1.glorot_uniform_initializer(seed=number)
    return v1.get_variable(f"layer_{number}/w", SIZES[number : number + 2], initializer=initializer, use_resource=False)


def clipped_chain(where):
    """Layers whose weights were made before them: the last two first, then the others. Their gradients are clipped."""

    def build():
        xs = split_batch()
        made = {n: layer(n) for n in (3, 2, 0, 1)}

        def gradients(tower):
            hidden = xs[tower]
            for n in range(len(made)):
                hidden = tf.tanh(tf.matmul(hidden, made[n]))
            found = tf.gradients(tf.reduce_sum(hidden**2) * 40.0, list(made.values()))
            return tf.clip_by_global_norm(found, 0.25)[0] if where == "tower" else found

        mean = [tf.add_n(pair) / TOWERS for pair in zip(*towers(gradients))]
        if where == "combined":
            mean, _ = tf.clip_by_global_norm(mean, 0.25)
        return v1.train.MomentumOptimizer(0.5, 0.5).apply_gradients(zip(mean, made.values()))

    return build


@pytest.mark.parametrize("where", ("tower", "combined"))
def test_weights_that_the_old_program_made_first_are_asked_for_first(where, tmp_path):
    setup = lifted(clipped_chain(where), tmp_path)
    source = source_of(setup, "workload")
    lines = [line.strip() for line in source.text.splitlines() if "scope.get(" in line]
    assert lines[0].endswith('scope.get("layer_3/w", (6, 2))') and lines[1].endswith('scope.get("layer_2/w", (4, 6))')
    assert len(lines) == len(SIZES) - 1 and f'where="{where}"' in source.text
    assert_trains_alike(setup, tmp_path)
    assert_workload_verified(setup, tmp_path, source)


def test_only_weights_that_would_be_asked_for_too_late_have_a_line_before():
    a, b, c, d = (Variable(name, (2, 2)) for name in "abcd")
    lines = [Statement(("x:0",), call("f", a)), Statement(("y:0",), call("g", Value("x:0"), c))]
    lines += [Statement(("b:0",), b), Statement((), call("h", Value("y:0"), d, Value("b:0")))]
    model = Model(lines, *[None] * 7)
    assert in_clipped_order(model, ["a", "b", "c", "d"], Clip(1.0)).statements == [
        lines[0],
        lines[2],
        lines[1],
        lines[3],
    ]
    early = in_clipped_order(model, ["a", "d", "c", "b"], Clip(1.0)).statements
    assert early[1] == Statement(("!d",), d) and early[-1] == Statement(
        (), call("h", Value("y:0"), Value("!d"), Value("b:0"))
    )
    assert in_clipped_order(model, ["a", "c", "b", "d"], Clip(1.0)).statements == lines


def test_a_source_that_asks_for_them_in_another_order_has_no_clipping_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr("legacy.source.step.training_step.in_clipped_order", lambda model, *_: model)
    source = sources.source_text(sources.OldProgram(*_lift(tmp_path)))
    assert "(StepWorkload):" in source.text
    assert any("asks for them in another order" in note for note in source.notes)


def test_only_a_norm_of_all_gradients_has_an_order():
    for rule in (None, Clip(1.0, "tower", "norm"), Clip(1.0, "tower", "value")):
        require_clipped_order(rule, ["a", "b"], ["b", "a"])
    require_clipped_order(Clip(1.0), ["a", "b"], ["a", "frozen", "b"])
    with pytest.raises(Unwritten, match="'a' before that of 'b'"):
        require_clipped_order(Clip(1.0), ["a", "b"], ["b", "a"])


def _lift(tmp_path):
    lift = lifted(clipped_chain("combined"), tmp_path).job.workload
    return lift.plan, lift.graph, lift.graph, lift.values()


def clipped_as_in_1_4(gradient):
    """Clips a gradient by its norm, with the ops of TensorFlow 1.4."""
    inverse = tf.math.rsqrt(tf.reduce_sum(gradient * gradient, [0, 1], keepdims=True))
    return gradient * 2.0 * tf.minimum(inverse, 0.5)


def test_gradients_that_towers_clip_by_ops_of_their_own_have_the_sizes_of_their_weights(tmp_path):
    def build():
        xs, made = split_batch(), [layer(0), layer(1)]

        def gradients(tower):
            hidden = tf.tanh(tf.matmul(tf.matmul(xs[tower], made[0]), made[1]))
            return [clipped_as_in_1_4(one) for one in tf.gradients(tf.reduce_sum(hidden**2) * 40.0, made)]

        mean = [tf.add_n(pair) / TOWERS for pair in zip(*towers(gradients))]
        return v1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(mean, made))

    setup = lifted(build, tmp_path)
    source = source_of(setup, "workload")
    assert "no clipping that is known" in source.text and "imported from" not in source.text
    assert_trains_alike(setup, tmp_path)
