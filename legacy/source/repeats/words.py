"""Words for functions of the program: their names, and what their docstrings say of them."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, List, Sequence, Set

from legacy.source.basics.expressions import Call, Literal, Variable, calls, children, leaves
from legacy.source.lines.identifiers import identifier, variable_text
from legacy.source.lines.naming import common_folder, folder_below, numbered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from legacy.source.basics.expressions import Expression
    from legacy.source.lines.statements import Statement

#: Words for functions, by the calls that they make.
WORDS = {
    "tf.nn.conv2d": "conv",
    "tf.nn.conv3d": "conv",
    "tf.nn.depthwise_conv2d": "depthwise",
    "tf.nn.conv2d_transpose": "deconv",
    "tf.matmul": "dense",
    "tf.tensordot": "dense",
    "gru_cell": "gru",
    "old_gru_cell": "gru",
    "tf.compat.v1.nn.fused_batch_norm": "norm",
    "fused_batch_norm": "norm",
    "tf.nn.batch_normalization": "norm",
    "tf.nn.embedding_lookup": "embed",
    "tf.nn.max_pool2d": "pool",
    "tf.nn.max_pool3d": "pool",
    "lstm_cell": "lstm",
    "old_lstm_cell": "lstm",
    "lstm_state": "lstm",
    "dropout_by_keep_prob": "dropout",
    "dropout_by_rate": "dropout",
    "tf.nn.local_response_normalization": "lrn",
}
#: What is said of a function of which the calls say nothing.
_ALIKE = "what several places compute alike"
#: Parts of the names of functions that are named after their calls.
_KNOWN = {*WORDS.values(), "bias"}
#: The most functions of the program, and the most words, that a function is named after.
MOST_OWN, MOST_WORDS = 2, 3
#: Name of a function whose calls give it none.
_UNKNOWN = "step"
#: {name of a function by its variables: what it returns}.
_BY_VARIABLES = {"normalize": "a normalization with scale and offset", "prelu": "a parametric rectifier"}
_BY_VARIABLES["moving_average"] = "the next value of a moving average"
#: The function that normalizes by given moments, those of a batch or of each example.
_NORMALIZES = "tf.nn.batch_normalization"
#: The same in a sentence.
LONG = {
    "tf.nn.conv2d": "a convolution",
    "tf.nn.conv3d": "a convolution",
    "tf.nn.depthwise_conv2d": "a depthwise convolution",
    "tf.nn.conv2d_transpose": "a transposed convolution",
    "tf.matmul": "a dense layer",
    "tf.tensordot": "a dense layer",
    "gru_cell": "a GRU cell",
    "old_gru_cell": "a GRU cell",
    "tf.compat.v1.nn.fused_batch_norm": "batch norm with its statistics",
    "fused_batch_norm": "batch norm with its statistics",
    _NORMALIZES: "batch norm with its statistics",
    "tf.nn.embedding_lookup": "an embedding",
    "tf.nn.max_pool2d": "pooling",
    "tf.nn.max_pool3d": "pooling",
    "lstm_cell": "an LSTM cell",
    "old_lstm_cell": "an LSTM cell",
    "lstm_state": "an LSTM cell",
    "dropout_by_keep_prob": "dropout",
    "dropout_by_rate": "dropout",
    "tf.nn.relu": "a rectifier",
    "tf.sigmoid": "a sigmoid",
    "tf.tanh": "a hyperbolic tangent",
    "tf.nn.l2_loss": "an L2 term",
}


#: The same of functions of the program, which are named after what they call.
_OWN = {WORDS[name]: LONG[name] for name in reversed(list(LONG)) if name in WORDS}
_OWN.update({"norm": "a normalization", "normalize": "a normalization", "attention": "attention"})
#: Cells whose state an attention may read.
_CELLS = ("lstm", "gru")

#: Products of matrices: attention has one of queries and keys, and one of the weights that a softmax makes and values.
PRODUCTS = ("tf.matmul", "tf.einsum")
#: Functions between the dense layers that follow the attention in a transformer block.
ACTIVATIONS = ("tf.nn.relu", "tf.nn.gelu", "tf.math.erf", "tf.tanh")
_ACTIVATION_WORDS = {name: name.rpartition(".")[2] for name in (*ACTIVATIONS, "tf.sigmoid", "tf.nn.elu", "tf.nn.selu")}
_ACTIVATION_WORDS["tf.nn.leaky_relu"] = "leaky"
#: Parts of words that name no function of a model, since other functions of the program have such names.
_TAKEN_PARTS = re.compile("loss|main|scope|gather|train|step|update|gradient|optimi|value|name|index|size|units")


def words_of(body: Sequence[Statement], scope: str = "") -> List[str]:
    """Returns what a function's calls do, in words, in their order: "a convolution", "batch norm".

    Args:
      body: of the function.
      scope: the name scope of the old graph that it is named after, or "".

    Returns:
      The words.
    """
    if scope:
        found = [word for word in words_of(body) if word != _ALIKE]
        does = ": " + ", ".join(found) if found and len(found) <= MOST_WORDS else ""
        return [f"what name scope `{scope}` of the old graph computes{does}"]
    functions = _functions(body)
    found = ["attention"] if _has_attention(functions) else []
    long = {**LONG, **dict.fromkeys([_NORMALIZES] if _is_of_each_example(body) else [], "layer norm")}
    by_variables = _name_by_variables(body)
    if by_variables and not functions:
        return [_BY_VARIABLES[by_variables]]
    if by_variables and "norm" not in _plain_name(functions):
        long = dict.fromkeys(functions[:1], _BY_VARIABLES[by_variables])
    found += [
        long.get(name) or _own_word(name) for name in functions if name in long or "." not in name and name not in LONG
    ]
    if found and all(word.startswith("`") for word in found):
        return ["the result of " + ", ".join(dict.fromkeys(found))]
    own = {_own_word(name) for name in functions if "." not in name}
    return [_plural(word) if word in own and found.count(word) > 1 else word for word in dict.fromkeys(found)] or [
        _ALIKE
    ]


def _own_word(name: str) -> str:
    """Returns what a function of the program is in a sentence: the layer that it is named after, or else its name.

    >>> _own_word("conv2"), _own_word("conv_norm")
    ('a convolution', '`conv_norm`')
    """
    return _OWN.get(re.sub(r"\d+$", "", name)) or f"`{name}`"


def _plural(word: str) -> str:
    """Returns the plural of what a sentence calls a layer; what has no article stays.

    >>> _plural("a dense layer"), _plural("pooling")
    ('dense layers', 'pooling')
    """
    article, _, noun = word.partition(" ")
    return f"{noun}s" if article in ("a", "an") else word


def function_name(body: Sequence[Statement], scope: str, taken: Set[str]) -> str:
    """Returns a name that says what a function computes.

    Args:
      body: of the function.
      scope: the name scope that it is named after, see `telling_scope`, or "".
      taken: names of other functions.

    Returns:
      The name.
    """
    functions = _functions(body)
    name = identifier(scope) if scope else _plain_name(functions)
    if name in taken and not scope:
        name = _with_activation(name, functions)
    if name == _UNKNOWN:
        asks = any(isinstance(leaf, Variable) for statement in body for leaf in leaves(statement.expression))
        name = _name_by_variables(body) or ("layer" if asks else "transform")
    return numbered(name, taken)


def _with_activation(name: str, functions: Sequence[str]) -> str:
    """Returns a name with that of the activation before or after what it is named after.

    >>> _with_activation("conv_norm", ["tf.nn.relu", "conv_norm"]), _with_activation("dense", ["tf.matmul", "tf.tanh"])
    ('relu_conv_norm', 'dense_tanh')
    """
    places = [place for place, function in enumerate(functions) if function in _ACTIVATION_WORDS]
    if not places:
        return name
    word = _ACTIVATION_WORDS[functions[places[0]]]
    return f"{word}_{name}" if places[0] == 0 else f"{name}_{word}"


def _name_by_variables(body: Sequence[Statement]) -> str:
    """Returns the name of a function by what its variables are called; "" if that says nothing."""
    found = [leaf for statement in body for leaf in leaves(statement.expression) if isinstance(leaf, Variable)]
    names = {variable_text(variable.name).rpartition("/")[2] for variable in found}
    if found and all(variable.trainable is False for variable in found) and len(body) == 1:
        return "moving_average"
    by_moments = {"tf.nn.moments", "tf.math.rsqrt"}.issubset(_functions(body)) and len(found) > 1
    if by_moments or names in ({"gamma", "beta"}, {"scale", "offset"}):
        return "normalize"
    return "prelu" if names == {"alpha"} and "tf.nn.relu" in _functions(body) else ""


def network_name(weights_of_uses: Sequence[Sequence[str]]) -> str:
    """Returns the name of a network by the folder of its weights: the end that those of all uses share, or their
    beginning.

    >>> network_name([["gan/discriminator/w1", "gan/discriminator/w2"]])
    'discriminator'
    >>> network_name([["q_func/w1", "q_func/w2"], ["target_q_func/w1", "target_q_func/w2"]])
    'q_func'
    >>> network_name([["generator_ab/w1", "generator_ab/w2"], ["generator_ba/w1", "generator_ba/w2"]])
    'generator'
    >>> network_name([["w1", "w2"]])
    'network'

    Args:
      weights_of_uses: the names of the weights of each use.

    Returns:
      The name.
    """
    words = [identifier(common_folder(weights)).split("_") for weights in weights_of_uses if common_folder(weights)]
    if len(words) < len(weights_of_uses):
        return "network"
    end = itertools.takewhile(lambda row: len(set(row)) == 1, zip(*map(reversed, words)))
    beginning = itertools.takewhile(lambda row: len(set(row)) == 1, zip(*words))
    name = "_".join(reversed([row[0] for row in end])) or "_".join(row[0] for row in beginning)
    return name if name and not _TAKEN_PARTS.search(name) else "network"


def _plain_name(functions: Sequence[str]) -> str:
    """Returns the name for the functions that are called, whatever others have that name."""
    if _has_attention(functions):
        cell = next((WORDS[name] for name in functions if WORDS.get(name) in _CELLS), "")
        if cell:
            return f"attention_{cell}"
        return "transformer_block" if any(name in ACTIVATIONS for name in functions) else "attention"
    own = [re.sub(r"\d+$", "", name) for name in functions if "." not in name and name not in WORDS]
    if own and (len(own) > MOST_OWN or len(set(own)) < len(own) or not _KNOWN.issuperset("_".join(own).split("_"))):
        return "block"
    words = [WORDS.get(name, "" if "." in name else re.sub(r"\d+$", "", name)) for name in functions]
    words = list(dict.fromkeys(word for name in filter(None, words) for word in name.split("_")))
    layers = [name for name in functions if name in WORDS]
    if own and len(words) == 1 and "tf.nn.bias_add" in functions and not layers:  # what it calls, and a bias
        words = ["bias", *words]
    elif own and len(words) == 1:
        return "block"
    return "lstm" if "lstm" in words else "_".join(words[:MOST_WORDS]) or _UNKNOWN


def telling_scope(blocks: Sequence[Sequence[Statement]], whole: str) -> str:
    """Returns the name scope of the old graph that a function is named after, where its calls give it no name.

    Args:
      blocks: the statements of each place that the function is for.
      whole: the name scope of all statements, which says nothing about these.

    Returns:
      The last part of the name of the innermost scope that each block is in, without a number; "" if that differs, if
      there is none below `whole`, or if the calls say what the function computes.
    """
    if _plain_name(_functions(blocks[0])) not in ("block", _UNKNOWN):
        return ""
    folders = [common_folder(target for statement in block for target in statement.targets) for block in blocks]
    scopes = {re.sub(r"(_v)?_?\d+$", "", folder_below(folder + "/", whole).rpartition("/")[2]) for folder in folders}
    scope = scopes.pop()
    return scope if not scopes and scope.strip("_") and not _TAKEN_PARTS.search(scope.lower()) else ""


def _functions(body: Sequence[Statement]) -> List[str]:
    """Returns the functions that statements call, each as often as they do, in the order in which they run."""
    return [function for statement in body for function in _in_order_of_evaluation(statement.expression)]


def _in_order_of_evaluation(expression: Expression) -> Iterator[str]:
    """Yields the functions that an expression calls; those of its arguments come first."""
    for part in children(expression):
        yield from _in_order_of_evaluation(part)
    if isinstance(expression, Call):
        yield expression.function


def _is_of_each_example(body: Sequence[Statement]) -> bool:
    """Returns whether all moments that statements take are of one example, so that the batch does not matter."""
    taken = [part for statement in body for part in calls(statement.expression) if part.function == "tf.nn.moments"]
    axes = [part.arguments[1].value for part in taken]
    return bool(axes) and all(isinstance(own, Literal) and 0 not in own.value for own in axes)


def _has_attention(functions: Sequence[str]) -> bool:
    """Returns whether functions are those of attention, or one of them is a function that was named so."""
    weighs = "tf.nn.softmax" in functions and sum(name in PRODUCTS for name in functions) > 1
    return weighs or any(name.startswith("attention") for name in functions)
