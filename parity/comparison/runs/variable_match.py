"""Match of two programs' variables, without which no number of theirs can be compared."""

from __future__ import annotations

from collections.abc import Sequence

from parity.comparison.result import Verification
from workloads.program import Program
from workloads.variable_spec import VariableSpec


def match_variables(result: Verification, left: Program, right: Program) -> bool:
    """Enters the differences between two programs' variables into a result, which they end.

    Args:
      result: to fill.
      left, right: the programs.

    Returns:
      whether the variables match.
    """
    result.mismatched = mismatches(left.variables(), right.variables())
    result.passed = not result.mismatched
    return result.passed


def mismatches(left: Sequence[VariableSpec], right: Sequence[VariableSpec]) -> list[str]:
    """Returns lines about variables that the two sides do not share by name, shape, dtype and trainability."""
    first, second = ({spec.name: spec for spec in specs} for specs in (left, right))
    lines = [f"{name}: only on the left" for name in first if name not in second]
    lines += [f"{name}: only on the right" for name in second if name not in first]
    for name in first:
        if name in second:
            for field in ("shape", "dtype", "trainable"):
                a, b = getattr(first[name], field), getattr(second[name], field)
                if str(a) != str(b):
                    lines.append(f"{name}: {field} {a} against {b}")
    return lines
