"""The text of a source that imports its update: functions of the losses, and the lift that they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Sequence

from legacy.source.basics.rendering import literal_text
from legacy.source.styles.model_text import lines_of_losses, model_blocks
from legacy.source.styles.workload_style import constant_lines

if TYPE_CHECKING:
    from legacy.source.step.imported_step import ImportedStep, WrittenLoss


def module_text(step: ImportedStep, docstring: Sequence[str], folder: str) -> str:
    """Returns the text of the module.

    Args:
      step: the losses.
      docstring: lines of the module's docstring.
      folder: of the lift, relative to the module's.

    Returns:
      The text.
    """
    lines = ['"""' + docstring[0], *docstring[1:], '"""', "", "from __future__ import annotations", ""]
    lines += ["import pathlib", "", "import tensorflow as tf", ""]
    lines += ["from workloads.lifted.workload import lift_with_losses", ""]
    lines += ["#: Folder that `legacy.lift` wrote: its graph has the part of the step that is not written here."]
    lines.append(f"LIFTED = pathlib.Path(__file__).parent / {literal_text(folder)}")
    constants = [line for loss in step.losses for line in constant_lines(loss.model, {})]
    lines += [*dict.fromkeys(constants), "", "", *losses_lines(step), "", ""]
    named = [f"{literal_text(loss.phase.train_op)}: {loss.function}" for loss in step.losses]
    return "\n".join([*lines, "PORT = lift_with_losses(LIFTED, {" + ", ".join(named) + "})"]) + "\n"


def losses_lines(step: ImportedStep) -> List[str]:
    """Returns the lines of the functions of all losses; functions of two losses that are the same stand there once."""
    more = {loss.function: [[*loss.of_all, *loss.with_others]] for loss in step.losses if loss.function_of_all}
    return lines_of_losses([(loss.function, loss.model) for loss in step.losses], more)


def with_equal_losses(losses: Sequence[WrittenLoss]) -> List[WrittenLoss]:
    """Returns the losses, of which those that compute the same by the same lines have one function."""
    found: List[WrittenLoss] = []
    for loss in losses:
        equal = [other for other in found if model_blocks(loss.model, other.function) == _blocks(other)]
        found.append(loss._replace(function=equal[0].function) if equal else loss)
    return found


def _blocks(loss: WrittenLoss) -> List[List[str]]:
    return model_blocks(loss.model, loss.function)
