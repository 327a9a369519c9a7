"""Taps: names of the tensors inside a model that are recorded, each replica's value and the loss's gradient to it.

A tap is named after its place: "stage0_block0/conv1/conv.output" is the output of the convolution in the scope
"stage0_block0/conv1", which is the layer that a report names. They are off unless a command is given `--taps`.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import tensorflow as tf

#: Patterns that every name matches.
ALL = ("*",)

#: End of the name of a tap that is a layer's input.
INPUT = "input"


def is_tapped(name: str, patterns: Sequence[str]) -> bool:
    """Returns whether one of the patterns names a tap, or the layer that it is in.

    >>> [is_tapped("stem/conv.output", patterns) for patterns in (["stem"], ["*conv*"], ["logits"], [])]
    [True, True, False, False]
    """
    return any(fnmatch.fnmatchcase(name, form) or name.startswith(form + "/") for form in patterns)


def unused_name(name: str, known: Mapping[str, Any]) -> str:
    """Returns a name that is not known: the name itself, or with a number behind it.

    >>> unused_name("relu", {}), unused_name("relu", {"relu": 0, "relu:2": 0})
    ('relu', 'relu:3')
    """
    number = 1
    found = name
    while found in known:
        number += 1
        found = f"{name}:{number}"
    return found


def is_input(name: str) -> bool:
    """Returns whether a tap is a layer's input.

    >>> is_input("stem/conv.input"), is_input("stem/conv.output")
    (True, False)
    """
    return name.endswith("." + INPUT)


def layer_of_tap(name: str) -> str:
    """Returns the layer that a tap is in: its scope, or the tap itself if it is in none.

    >>> layer_of_tap("stem/conv.output"), layer_of_tap("features")
    ('stem', 'features')
    """
    return name.rpartition("/")[0] or name


def layer_of_variable(name: str, layers: Iterable[str]) -> Optional[str]:
    """Returns the innermost of the layers that a variable's name begins with; None if there is none.

    >>> layer_of_variable("Layer.0.weight", ["Layer.0", "Layer.1"]), layer_of_variable("a/b/w", ["a", "a/b", "a/c"])
    ('Layer.0', 'a/b')
    """
    owners = [layer for layer in layers if name.startswith((layer + "/", layer + ".")) or name == layer]
    return max(owners, key=len, default=None)


def differentiable(taps: Mapping[str, tf.Tensor]) -> Tuple[List[str], List[tf.Tensor]]:
    """Returns names and tensors of the taps that a loss can have a gradient to."""
    found = {name: tensor for name, tensor in taps.items() if tensor.dtype.is_floating}
    return list(found), list(found.values())


def filled_gradients(taps: Mapping[str, tf.Tensor], gradients: Mapping[str, Any]) -> Dict[str, tf.Tensor]:
    """Returns the gradient of each tap, zero where the loss does not depend on it.

    Args:
      taps: {name: tensor}.
      gradients: {name: dense gradient, rows of one, or None}.

    Returns:
      {name: tensor of the tap's shape}, in the order of the taps.
    """
    import tensorflow as tf  # here: command lines, which TensorFlow must not start before, read the names above

    filled = {}
    for name, tensor in taps.items():
        gradient = gradients.get(name)
        filled[name] = tf.zeros_like(tensor) if gradient is None else tf.convert_to_tensor(gradient)
    return filled
