"""`Match`: what an idiom says about an op."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Optional, Tuple

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression


class Match(NamedTuple):
    """Result of an idiom: an expression for several ops, or the tensor that an op copies.

    Attributes:
      targets: the tensors that the expression computes; empty if the op is a copy of `alias`.
      expression: computes them.
      alias: the tensor that the op's output is a copy of.
    """

    targets: Tuple[str, ...]
    expression: Optional[Expression]
    alias: str = ""
