"""Derivatives that TensorFlow up to 1.4 computed wrongly: of LSTM cells with peepholes, and second ones.

Second ones are those of elu, and of batch normalization by one op.
"""

from __future__ import annotations

import re

from workloads.lifted.graph import ENTERS, Graph, TensorId

#: Types of the derivative of batch normalization by one op, whose own derivative once was a `tf.gradients` of its own.
_OF_NORMALIZATION = ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
#: The scope of such a `tf.gradients`, inside of that of the op that it is the derivative of.
_INNER_GRADIENTS = re.compile(r"_grad/gradients(?:_\d+)?/")


def exchanges_peepholes(graph: Graph, cell: str, derivative: str) -> bool:
    """Returns whether the derivative of an LSTM cell takes the peepholes of two gates for each other.

    `tf.contrib.rnn.LSTMBlockCell` did so in TensorFlow 1.4: its gradient named them in another order than the op.

    Args:
      graph: the graph.
      cell: an op.
      derivative: an op of its gradient.

    Returns:
      Whether it does.
    """
    if (graph.type(cell), graph.type(derivative)) != ("LSTMBlockCell", "LSTMBlockCellGrad"):
        return False
    if not graph.nodes[cell].attr["use_peephole"].b:
        return False
    own, taken = ([_entering(graph, tensor) for tensor in graph.inputs(name)[5:7]] for name in (cell, derivative))
    return own == taken[::-1] != taken


def is_wrong_derivative_of_elu(graph: Graph, name: str) -> bool:
    """Returns whether an op is a second derivative of `tf.nn.elu` that is taken at the first one, not at elu itself."""
    return graph.type(name) == "EluGrad" and graph.type(graph.origin(graph.inputs(name)[1]).node) == "EluGrad"


def normalizations_derived_wrongly(graph: Graph) -> list[str]:
    """Returns the derivatives of batch normalization whose own derivatives count a path twice.

    TensorFlow 1.4 differentiated grad_x by [grad_y, x, scale] with `tf.gradients`. Where grad_y is made of x, as behind
    an activation, the derivative by x then has the path through grad_y too, which the outer `tf.gradients` follows once
    more. In that case the inner one has derivatives of ops outside of its own scope.
    """
    derivatives = graph.of_types(*_OF_NORMALIZATION)
    known = set(derivatives)
    found: dict[str, None] = {}
    for name in graph.nodes if known else ():
        for scope in _INNER_GRADIENTS.finditer(name):
            op = _differentiated(name[: scope.start()], known)
            own, rest = name[: scope.start()] + "_grad/", name[scope.end() :]
            others = [rest[: end.start()] for end in re.finditer(r"_grad(?:_\d+)?/", rest)]
            if op and any(other in graph.nodes and not other.startswith(own) for other in others):
                found[op] = None
    return list(found)


def _differentiated(path: str, ops: set[str]) -> str:
    """Returns the op whose derivative has the scope `path` + "_grad"; "" if it is none of `ops`.

    >>> _differentiated("gradients_1/gradients/norm_grad/Grad", {"gradients/norm_grad/Grad"})
    'gradients/norm_grad/Grad'
    """
    parts = path.split("/")
    names = ("/".join(parts[start:]) for start in range(len(parts)))
    return next((name for name in names if name in ops), "")


def _entering(graph: Graph, tensor: TensorId) -> TensorId:
    """Returns the tensor outside of loops that a tensor is a copy of."""
    while graph.type(tensor.node) in ("Identity", *ENTERS):
        tensor = graph.inputs(tensor.node)[0]
    return tensor
