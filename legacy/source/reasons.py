"""Reasons why a source is not written, in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tensorflow as tf

from legacy.source.basics.unwritten import Unwritten
from workloads.support.errors import InputError, is_about_sizes
from workloads.support.user.user_code import error_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workloads.lifted.plan import Plan
    from workloads.program import Arrays

#: What TensorFlow says of an op whose gradient a package outside of it has registered.
_NO_GRADIENT = re.compile(r"No gradient defined for operation.*\(op type: (\w+)\)")


def with_both(first: Exception, second: Exception) -> Unwritten:
    """Returns the reasons of two errors, each once."""
    return Unwritten("\n".join(dict.fromkeys([*reason_text(first).splitlines(), *reason_text(second).splitlines()])))


def refusal(name: str, error: Exception) -> InputError:
    """Returns the error that says in one line why the source of a program is not written: the reasons of all parts."""
    return InputError(f"--source: {name} cannot be written: " + "; ".join(reason_text(error).splitlines()))


def reason_text(error: Exception) -> str:
    """Returns the reason why a source is not written; of an error that was not foreseen, its kind too."""
    if isinstance(error, Unwritten):
        return str(error)
    if isinstance(error, tf.errors.OpError):
        hint = "; lift the graph with --layout=NHWC" if "NHWC" in str(error.message) else ""
        data = "--data proves it on the program's own data"
        return f"proof: an op does not run on these numbers: {error_line(error)}{hint}; {data}"
    missing = _NO_GRADIENT.search(str(error))
    if missing:
        return f"loss: this TensorFlow has no gradient of {missing.group(1)}, which old add-ons brought along"
    if isinstance(error, InputError) and is_about_sizes(str(error)):
        sizes = "--data takes the sizes from the program's own data, such as the folder of a recording"
        return f"proof: made-up sizes of the inputs do not fit each other: {str(error).splitlines()[0]}; {sizes}"
    return f"the graph has a form that is not known here ({type(error).__name__}: {str(error).splitlines()[:1]})"


def require_float32_losses(plan: Plan) -> None:
    """Raises `InputError` for a loss that is not float32, as that of a workload is; a standalone file may have any.

    Where the weights are of another type too, no style writes them, and the model's own reason says so.
    """
    if any(variable.role == "weight" and variable.dtype != "float32" for variable in plan.variables):
        return
    for name in [name for phase in plan.phases for name in phase.losses if name in plan.tensors]:
        if plan.tensors[name].dtype != "float32":
            reason = f"loss: it is {plan.tensors[name].dtype}, and a workload's is float32"
            raise refusal(plan.name, Unwritten(f"{reason}; --style=standalone may write it"))


def unequal_rows(plan: Plan, examples: Sequence[Arrays]) -> str:
    """Returns why the towers' own batches are no proof of a source, where their inputs have unequal numbers of rows.

    A source has one number of examples, as the rows of nodes and of edges of graphs are not.

    Args:
      plan: of the lift.
      examples: each tower's batch; () for made-up numbers.

    Returns:
      The reason; "" where the numbers are equal.
    """
    own = [entry for entry in plan.inputs if entry.kind == "batch" and not entry.sparse]
    for batch in examples:
        rows = {entry.name: len(batch[entry.name]) for entry in own}
        if len(set(rows.values())) > 1:
            least, most = (choose(rows, key=lambda name: rows[name]) for choose in (min, max))
            return (
                f"inputs: a batch has {rows[least]} rows of {least!r} and {rows[most]} of {most!r}, and the sizes in a "
                "source are those of one number of examples"
            )
    return ""
