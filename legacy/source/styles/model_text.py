"""Text of a model's functions, which all styles share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List, Sequence, Tuple

from legacy.source.basics.cut import example_sizes
from legacy.source.basics.expressions import Listing, calls
from legacy.source.lines.functions import function_lines
from legacy.source.lines.outlining import outline
from legacy.source.lines.words import words_of
from legacy.source.ops import cells, dropout, neural
from legacy.source.step.model import all_statements

if TYPE_CHECKING:
    from legacy.source.step.model import Model

_INDENT = "    "
#: Functions that the text has where something calls them.
_FUNCTIONS = {**cells.FUNCTIONS, **dropout.FUNCTIONS, **neural.FUNCTIONS}


def model_lines(model: Model) -> list[str]:
    """Returns the lines of the model's functions, which both styles share."""
    lines: List[str] = []
    for block in model_blocks(model):
        lines += ["", "", *block] if lines else block
    return lines


def model_blocks(model: Model, function: str = "tower_loss") -> List[List[str]]:
    """Returns the lines of each of the model's functions; the last one, of the given name, is that of the loss."""
    if not model.others:
        return _tower_blocks(model, function)
    blocks_of: List[Tuple[str, List[List[str]]]] = []
    names: Dict[str, str] = {}  # {text of a tower's functions: name of its loss}
    chosen = []
    for tower, one in enumerate([model, *model.others]):
        text = str(_tower_blocks(one, function))
        name = names.setdefault(text, f"{function}_of_tower_{tower}")
        blocks_of += [(name, _tower_blocks(one, name))] if name not in chosen else []
        chosen.append(name)
    choice = f"({', '.join(chosen)})[scope.replica]"
    doc = f'{_INDENT}"""{_doc(model, " by the function of its tower")}"""'
    line = f"{_INDENT}return {choice}(scope, batch)"
    return [*joined_blocks(blocks_of), [f"def {function}(scope, batch):", doc, line]]


def joined_blocks(blocks_of: Sequence[Tuple[str, List[List[str]]]]) -> List[List[str]]:
    """Returns the functions of several losses; those that are the same stand there once.

    Args:
      blocks_of: (name of the loss, the lines of each of its functions).

    Returns:
      The lines of each function; one whose name another one has too gets a name with that of its loss.
    """
    known: Dict[str, List[str]] = {}
    for loss, blocks in blocks_of:
        renamed: Dict[str, str] = {}
        for block in blocks:
            name = function_name(block)
            block = [_renamed(line, renamed) for line in block]
            if known.get(name, block) != block:
                renamed[name] = new = f"{name}_of_{loss}"
                block, name = [_renamed(line, {name: new}) for line in block], new
            known[name] = block
    return list(known.values())


def _renamed(line: str, names: Dict[str, str]) -> str:
    for old, new in names.items():
        line = re.sub(rf"(?<![\w.\"/]){old}(?=\()", new, line)
    return line


def _doc(model: Model, way: str = "") -> str:
    """Returns the docstring of the function of a loss."""
    doc = ("Returns the loss of one tower" if model.losses == 1 else "Returns the losses of one tower") + way
    result = model.statements[-1].expression
    gathered = isinstance(result, Listing) and len(result.items) > model.losses
    return doc + (", and further results of it that all replicas gather." if gathered else ".")


def _tower_blocks(model: Model, function: str) -> List[List[str]]:
    """Returns the lines of the functions of one tower, or of one for all towers; see `model_blocks`."""
    recovery = model.recovery

    def shape(tensor: str) -> List[int] | None:
        if not tensor.startswith("batch:"):
            return recovery.shape(tensor)
        entry = model.inputs[tensor[len("batch:") :]]
        return [model.batch, *example_sizes(entry)]

    outlined = outline(model.statements, shape, model.batch)
    parts = [part.function for statement in all_statements(model) for part in calls(statement.expression)]
    blocks = [list(text) for name, text in _FUNCTIONS.items() if name in parts]
    blocks += [list(loop.lines) for loop in recovery.loops.values()]
    for made in outlined.functions:
        signature = f"{made.name}({', '.join(made.parameters)})"
        doc = "Returns " + ", ".join(words_of(made.statements, made.scope)) + "."
        blocks.append(
            function_lines(signature, doc, made.statements, recovery.shape, made.tensors, made.batch_of, made.results)
        )
    first = f'batch["{next(iter(model.inputs), "")}"]'
    signature = f"{function}(scope, batch)"
    blocks.append(function_lines(signature, _doc(model), outlined.statements, recovery.shape, {}, first))
    return blocks


def function_name(block: Sequence[str]) -> str:
    """Returns the name of the function that some lines define."""
    return next(line for line in block if line.startswith("def ")).partition("(")[0][len("def ") :]
