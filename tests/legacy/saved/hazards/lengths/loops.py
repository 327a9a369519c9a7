"""Recurrent loops with and without lengths, as `dynamic_rnn` makes them."""

import tensorflow as tf

from tests.legacy.saved.hazards.minimized import fed, variable

v1 = tf.compat.v1
TIMES, UNITS = 6, 3


def loop(name, ends=None, batch_major=True, examples=2, mask=None, trains_inputs=False):
    """(outputs [batch, time, 3] of a loop, which writes 0 behind each length if there are lengths; final state).

    With a mask [batch, time], the state stays as it is where the mask is 0. Inputs may be those of a layer that is
    trained, too, as of an embedding.
    """
    w = variable(f"{name}_w", UNITS, UNITS)
    times = tf.transpose(fed(f"{name}_x", examples, TIMES, UNITS), [1, 0, 2])
    if trains_inputs:
        times *= variable(f"{name}_scale", UNITS)
    inputs = v1.TensorArray(tf.float32, TIMES).unstack(times)

    if mask is not None:
        masks = v1.TensorArray(tf.float32, TIMES).unstack(tf.transpose(mask, [1, 0]))

    def step(time, state, outputs):
        new = tf.tanh(tf.matmul(state + inputs.read(time), w))
        if mask is not None:
            now = tf.expand_dims(masks.read(time), 1)
            new = now * new + (1.0 - now) * state
        kept = new if ends is None else v1.where(time >= ends, tf.zeros([examples, UNITS]), new)
        return time + 1, new, outputs.write(time, kept)

    start = (0, tf.zeros([examples, UNITS]), v1.TensorArray(tf.float32, TIMES))
    _, state, outputs = tf.while_loop(lambda time, *_: time < TIMES, step, start, name=name)
    stacked = outputs.stack()
    return (tf.transpose(stacked, [1, 0, 2]) if batch_major else stacked), state
