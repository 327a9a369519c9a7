"""LSTM cells that are one op, whose gradient TensorFlow 1.x had in an add-on, beside plain ones."""

import pytest
import tensorflow as tf

from legacy.source.idioms import block_cells
from legacy.source.reasons import reason_text
from tests.legacy.source.test_orders_of_gradients import weight
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, split_batch, towers

v1 = tf.compat.v1
UNITS = 2


@tf.RegisterGradient("LSTMBlockCellOf1x")
def block_cell_gradient(op, *gradients):
    """The gradient of `tf.contrib.rnn.LSTMBlockCell`."""
    x, c, h, w, wci, wcf, wco, b = op.inputs
    i, cs, f, o, ci, co, _ = op.outputs
    found = tf.raw_ops.LSTMBlockCellGrad(
        x=x, cs_prev=c, h_prev=h, w=w, wci=wci, wcf=wcf, wco=wco, b=b, i=i, cs=cs, f=f, o=o, ci=ci, co=co,
        cs_grad=gradients[1], h_grad=gradients[6], use_peephole=False,
    )  # fmt: skip
    both = tf.matmul(found.dicfo, w, transpose_b=True)
    of_x, of_h = tf.slice(both, (0, 0), (-1, 3)), tf.slice(both, (0, 3), (-1, UNITS))
    of_w = tf.matmul(tf.concat([x, h], 1), found.dicfo, transpose_a=True)
    peepholes = (found.wci_grad, found.wcf_grad, found.wco_grad)
    return (of_x, found.cs_prev_grad, of_h, of_w, *peepholes, tf.raw_ops.BiasAddGrad(out_backprop=found.dicfo))


def peephole_gradient(exchanged):
    """The gradient of a cell with peepholes; that of 1.4 takes those of two gates for each other."""

    def gradient(op, *gradients):
        x, c, h, w, wci, wcf, wco, b = op.inputs
        i, cs, f, o, ci, co, _ = op.outputs
        peepholes = dict(wci=wci, wcf=wco, wco=wcf) if exchanged else dict(wci=wci, wcf=wcf, wco=wco)
        found = tf.raw_ops.LSTMBlockCellGrad(
            x=x, cs_prev=c, h_prev=h, w=w, **peepholes, b=b, i=i, cs=cs, f=f, o=o, ci=ci, co=co,
            cs_grad=gradients[1], h_grad=gradients[6], use_peephole=True,
        )  # fmt: skip
        both = tf.matmul(found.dicfo, w, transpose_b=True)
        of_x, of_h = tf.slice(both, (0, 0), (-1, 3)), tf.slice(both, (0, 3), (-1, UNITS))
        of_w = tf.matmul(tf.concat([x, h], 1), found.dicfo, transpose_a=True)
        of_peepholes = (found.wci_grad, found.wcf_grad, found.wco_grad)
        return (of_x, found.cs_prev_grad, of_h, of_w, *of_peepholes, tf.raw_ops.BiasAddGrad(out_backprop=found.dicfo))

    return gradient


tf.RegisterGradient("LSTMBlockCellWithPeepholes")(peephole_gradient(exchanged=False))
tf.RegisterGradient("LSTMBlockCellOf14")(peephole_gradient(exchanged=True))


def with_peepholes(gradient):
    def build():
        xs, w, b = split_batch(), weight("w", [3 + UNITS, 4 * UNITS]), weight("b", [1, 4 * UNITS])
        peepholes = [weight(name, [1, UNITS]) for name in ("of_i", "of_f", "of_o")]

        def gradients(tower):
            wci, wcf, wco = [tf.reshape(peephole, [-1]) for peephole in peepholes]
            c = h = tf.ones([BATCH, UNITS])
            with tf.compat.v1.get_default_graph().gradient_override_map({"LSTMBlockCell": gradient}):
                for _ in range(2):
                    made = tf.raw_ops.LSTMBlockCell(
                        x=xs[tower], cs_prev=c, h_prev=h, w=w, wci=wci, wcf=wcf, wco=wco, b=tf.reshape(b, [-1]),
                        forget_bias=1.0, cell_clip=-1.0, use_peephole=True,
                    )  # fmt: skip
                    c, h = made.cs, made.h
                return tf.gradients(tf.reduce_mean(h**2), [w, b, *peepholes])

        mean = [tf.add_n(parts) / TOWERS for parts in zip(*towers(gradients))]
        return v1.train.GradientDescentOptimizer(0.1).apply_gradients(zip(mean, [w, b, *peepholes]))

    return build


@pytest.mark.parametrize(
    "gradient, function",
    [
        ("LSTMBlockCellWithPeepholes", "lstm_block_cell_with_peepholes"),
        ("LSTMBlockCellOf14", "lstm_block_cell_with_exchanged_peepholes"),
    ],
)
def test_a_source_has_the_peepholes_with_the_gradient_of_the_release(gradient, function, tmp_path):
    setup = lifted(with_peepholes(gradient), tmp_path)
    source = source_of(setup, "workload")
    assert "\n".join(block_cells.FUNCTIONS[function]) in source.text
    assert source.text.count(f"{function}(") == 3 and source.text.count("_peepholes(") == 3
    assert "have the old graph's bits" in source.text and "Kept as raw ops" not in source.text
    assert_workload_verified(setup, tmp_path, source)


def cell(x, c, h, w, b, clip):
    none = tf.zeros([UNITS])
    with tf.compat.v1.get_default_graph().gradient_override_map({"LSTMBlockCell": "LSTMBlockCellOf1x"}):
        made = tf.raw_ops.LSTMBlockCell(
            x=x, cs_prev=c, h_prev=h, w=w, wci=none, wcf=none, wco=none, b=b, forget_bias=1.0, cell_clip=clip
        )
    return made


def two_steps(clip, result):
    def build():
        xs, w, b = split_batch(), weight("w", [3 + UNITS, 4 * UNITS]), weight("b", [1, 4 * UNITS])

        def gradient(tower):
            c = h = tf.zeros([BATCH, UNITS])
            for _ in range(2):
                made = cell(xs[tower], c, h, w, tf.reshape(b, [-1]), clip)
                c, h = made.cs, made.h
            return tf.gradients(tf.reduce_mean(result(made) ** 2), [w, b])

        (dw, db) = (tf.add_n(parts) / TOWERS for parts in zip(*towers(gradient)))
        return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(dw, w), (db, b)])

    return build


@pytest.mark.parametrize("clip", [-1.0, 0.1])
def test_a_source_has_the_cell_with_its_gradient(clip, tmp_path):
    setup = lifted(two_steps(clip, lambda made: made.h + made.cs), tmp_path)
    source = source_of(setup, "workload")
    assert f", 1.0, {clip})" in source.text and source.text.count("lstm_block_cell(") == 3
    assert "have the old graph's bits" in source.text and "Kept as raw ops" not in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_a_cell_of_which_a_gate_is_used_is_refused_by_name(tmp_path):
    with pytest.raises(Exception, match="no gradient of LSTMBlockCell"):
        source_of(lifted(two_steps(-1.0, lambda made: made.h + made.f), tmp_path), "workload")
    assert "LSTMBlockCell" in reason_text(LookupError("No gradient defined for operation 'x' (op type: LSTMBlockCell)"))
