"""Words for functions of the program: their names, and what their docstrings say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Sequence, Set

from legacy.source.basics.expressions import calls

if TYPE_CHECKING:
    from legacy.source.lines.statements import Statement

#: Words for functions, by the calls that they make.
WORDS = {
    "tf.nn.conv2d": "conv",
    "tf.nn.depthwise_conv2d": "depthwise",
    "tf.nn.conv2d_transpose": "deconv",
    "tf.matmul": "dense",
    "tf.tensordot": "dense",
    "gru_cell": "gru",
    "tf.compat.v1.nn.fused_batch_norm": "norm",
    "fused_batch_norm": "norm",
    "tf.nn.batch_normalization": "norm",
    "tf.nn.embedding_lookup": "embed",
    "tf.nn.max_pool2d": "pool",
    "lstm_cell": "lstm",
    "lstm_state": "lstm",
    "tf.nn.local_response_normalization": "lrn",
}
#: The same in a sentence.
LONG = {
    "tf.nn.conv2d": "a convolution",
    "tf.nn.depthwise_conv2d": "a depthwise convolution",
    "tf.nn.conv2d_transpose": "a transposed convolution",
    "tf.matmul": "a dense layer",
    "tf.tensordot": "a dense layer",
    "gru_cell": "a GRU cell",
    "tf.compat.v1.nn.fused_batch_norm": "batch norm with its statistics",
    "fused_batch_norm": "batch norm with its statistics",
    "tf.nn.batch_normalization": "batch norm with its statistics",
    "tf.nn.embedding_lookup": "an embedding",
    "tf.nn.max_pool2d": "pooling",
    "lstm_cell": "an LSTM cell",
    "lstm_state": "an LSTM cell",
    "tf.nn.relu": "a rectifier",
    "tf.sigmoid": "a sigmoid",
    "tf.tanh": "a hyperbolic tangent",
    "tf.nn.l2_loss": "an L2 term",
}


def words_of(body: Sequence[Statement]) -> List[str]:
    """Returns what a function's calls do, in words, in their order: "convolution", "batch norm"."""
    found = [LONG.get(part.function) for statement in body for part in calls(statement.expression)]
    own = [part.function for statement in body for part in calls(statement.expression)]
    own = [name for name in own if "." not in name and name not in LONG]
    words = [word for word in found if word] + [f"`{name}`" for name in own]
    return list(dict.fromkeys(words)) or ["what several places compute alike"]


def function_name(body: Sequence[Statement], taken: Set[str]) -> str:
    """Returns a name that says what a function computes."""
    words: List[str] = []
    for statement in body:
        for part in calls(statement.expression):
            word = WORDS.get(part.function, "" if "." in part.function else "block")
            if word and word not in words:
                words.append(word)
    name = "block" if "block" in words else "lstm" if "lstm" in words else "_".join(words[:3]) or "step"
    free, number = name, 2
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free
