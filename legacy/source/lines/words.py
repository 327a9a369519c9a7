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


#: Products of matrices: attention has one of queries and keys, and one of the weights that a softmax makes and values.
PRODUCTS = ("tf.matmul", "tf.einsum")
#: Functions between the dense layers that follow the attention in a transformer block.
ACTIVATIONS = ("tf.nn.relu", "tf.nn.gelu", "tf.math.erf", "tf.tanh")


def words_of(body: Sequence[Statement]) -> List[str]:
    """Returns what a function's calls do, in words, in their order: "convolution", "batch norm"."""
    functions = _functions(body)
    found = ["attention"] if _has_attention(functions) else []
    found += [LONG[name] for name in functions if name in LONG]
    words = found + [f"`{name}`" for name in functions if "." not in name and name not in LONG]
    return list(dict.fromkeys(words)) or ["what several places compute alike"]


def function_name(body: Sequence[Statement], taken: Set[str]) -> str:
    """Returns a name that says what a function computes."""
    functions = _functions(body)
    words = [WORDS.get(name, "" if "." in name else "block") for name in functions]
    words = list(dict.fromkeys(filter(None, words)))
    if _has_attention(functions):
        words = ["transformer_block" if any(name in ACTIVATIONS for name in functions) else "attention"]
    name = "block" if "block" in words else "lstm" if "lstm" in words else "_".join(words[:3]) or "step"
    free, number = name, 2
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def _functions(body: Sequence[Statement]) -> List[str]:
    """Returns the functions that statements call, each as often as they do."""
    return [part.function for statement in body for part in calls(statement.expression)]


def _has_attention(functions: Sequence[str]) -> bool:
    """Returns whether functions are those of attention, or one of them is a function that was named so."""
    weighs = "tf.nn.softmax" in functions and sum(name in PRODUCTS for name in functions) > 1
    return weighs or any(name.startswith("attention") for name in functions)
