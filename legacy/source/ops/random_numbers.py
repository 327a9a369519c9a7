"""Writers of random ops that are functions of a seed which the graph computes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict

from legacy.source.basics.expressions import OMIT, Name, call
from workloads.frame import CATEGORICAL, NOISE_OPS

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView

_DRAWS = re.compile(rf"\bscope\.(?:common\.)?({'|'.join([*NOISE_OPS, CATEGORICAL])})\(")
#: {op type: function of a shape and a seed, with the same numbers}.
FUNCTIONS = {
    "StatelessRandomNormal": "tf.random.stateless_normal",
    "StatelessRandomUniform": "tf.random.stateless_uniform",
    "StatelessTruncatedNormal": "tf.random.stateless_truncated_normal",
}


def write_stateless(op: OpView) -> Expression | None:
    """Writes random numbers of a shape and a seed."""
    shape = op.output_sizes()
    if shape is None:
        shape = op.argument(0)
    dtype = op.operation.outputs[0].dtype.name
    return call(FUNCTIONS[op.type], shape, op.argument(1), dtype=OMIT if dtype == "float32" else Name("tf." + dtype))


def draws_noise(text: str) -> bool:
    """Returns whether a text draws random numbers from its scope.

    >>> draws_noise('x * scope.uniform("drop", [2])'), draws_noise("scope.get('w', ())")
    (True, False)
    """
    return bool(_DRAWS.search(text))


WRITERS: Dict[str, Callable[[OpView], Expression | None]] = {name: write_stateless for name in FUNCTIONS}
