"""Text of a model's functions, which all styles share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List, Mapping, Optional, Sequence, Tuple

from legacy.source.basics.cut import example_sizes
from legacy.source.basics.expressions import Listing, calls
from legacy.source.functions.function_lines import function_lines
from legacy.source.idioms import block_cells, cells, dropout, normalization, softmax
from legacy.source.lines import means
from legacy.source.ops import arithmetic, neural, sinusoids
from legacy.source.overrides import writing
from legacy.source.repeats.outlining import outline
from legacy.source.repeats.sizes import OVERHEAD
from legacy.source.repeats.words import words_of
from legacy.source.step.model import all_statements
from legacy.source.styles.shared_networks import share_networks
from legacy.source.update.changes import adam_of_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.lines.statements import Statement
    from legacy.source.repeats.abstraction import Function
    from legacy.source.step.model import Model

_INDENT = "    "
#: Functions that the text has where something calls them.
_FUNCTIONS = {**cells.FUNCTIONS, **block_cells.FUNCTIONS, **dropout.FUNCTIONS, **neural.FUNCTIONS}
_FUNCTIONS.update({**normalization.FUNCTIONS, **softmax.FUNCTIONS, **arithmetic.OLD_FUNCTIONS, **writing.FUNCTIONS})
_FUNCTIONS.update({**adam_of_rows.FUNCTIONS, **means.FUNCTIONS, **sinusoids.FUNCTIONS})


def model_lines(model: Model) -> list[str]:
    """Returns the lines of the model's functions, which both styles share."""
    return lines_of_losses([("tower_loss", model)])


def lines_of_losses(
    losses: Sequence[Tuple[str, Model]], more: Mapping[str, List[List[str]]] | None = None
) -> List[str]:
    """Returns the lines of the functions of losses; a network that is used several times is a function, if that pays.

    Args:
      losses: (name of the function, the loss).
      more: {name of the function: lines of a function of the losses that comes after it}.

    Returns:
      The lines; functions of two losses that are the same stand there once.
    """
    apart = joined_blocks([(name, [*model_blocks(model, name), *(more or {}).get(name, ())]) for name, model in losses])
    shared = blocks_with_networks(losses)
    shared += [block for name, _ in losses for block in (more or {}).get(name, ())] if shared else []
    most = sum(map(len, apart)) + OVERHEAD * len(_called_once(shared))  # which no function can save lines for
    best = shared if shared and sum(map(len, shared)) < most else apart
    lines: List[str] = []
    for block in _functions_missing_in(best) + best:
        lines += ["", "", *block] if lines else block
    return lines


def _functions_missing_in(blocks: Sequence[Sequence[str]]) -> List[List[str]]:
    """Returns the lines of the known functions that some blocks call and do not define, as functions of losses may."""
    text = "\n".join(line for block in blocks for line in block)
    called = [name for name in _FUNCTIONS if re.search(rf"(?<![\w.]){name}\(", text)]
    return [list(_FUNCTIONS[name]) for name in called if f"def {name}(" not in text]


def with_missing_functions(functions: str, updates: Sequence[str]) -> str:
    """Returns the text of a model's functions, with those known ones before it that only its updates call."""
    missing = _functions_missing_in([functions.splitlines(), *(text.splitlines() for text in updates)])
    return "\n\n\n".join(["\n".join(block) for block in missing] + [functions])


def _called_once(blocks: Sequence[Sequence[str]]) -> List[str]:
    """Returns the names of the functions that only one line of some functions calls."""
    text = "\n".join(line for block in blocks for line in block)
    names = [function_name(block) for block in blocks]
    return [name for name in names if len(re.findall(rf"(?<![\w.]){name}\(", text)) == 2]  # one is its definition


def blocks_with_networks(losses: Sequence[Tuple[str, Model]]) -> List[List[str]]:
    """Returns the lines of each function of some losses, with functions of networks that are used several times.

    Args:
      losses: (name of the function, the loss).

    Returns:
      The lines; none if there is no such network.
    """
    losses = list(dict(losses).items())
    models = [model for _, model in losses]
    made = share_networks(models)
    if made is None:
        return []
    blocks = known_functions(models)
    names = [function_name(block) for block in joined_blocks([("", blocks)])]
    if len(names) < len({str(block) for block in blocks}):  # two loops of one name
        return []
    blocks += [function_text(function, made.shape) for function in made.functions]
    blocks += [loss_text(model, name, part, made.shape) for (name, model), part in zip(losses, made.statements)]
    return joined_blocks([("", blocks)])


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
    if model.has_data_terms:
        doc = "Returns the loss of one tower" + way + ", and its terms that depend on data"
    result = model.statements[-1].expression
    gathered = isinstance(result, Listing) and len(result.items) > model.losses
    return doc + (", and further results of it that the update uses." if gathered else ".")


def _tower_blocks(model: Model, function: str) -> List[List[str]]:
    """Returns the lines of the functions of one tower, or of one for all towers; see `model_blocks`."""
    recovery = model.recovery

    def shape(tensor: str) -> List[int] | None:
        if not tensor.startswith("batch:"):
            return recovery.shape(tensor)
        entry = model.inputs[tensor[len("batch:") :]]
        return [model.batch, *example_sizes(entry)]

    outlined = outline(model.statements, shape, model.batch)
    return [
        *known_functions([model]),
        *(function_text(made, recovery.shape) for made in outlined.functions),
        loss_text(model, function, outlined.statements, recovery.shape),
    ]


def known_functions(models: Sequence[Model]) -> List[List[str]]:
    """Returns the lines of the functions that models call and that are none of their own, and those of loops."""
    called = {part.function for model in models for one in all_statements(model) for part in calls(one.expression)}
    blocks = [list(text) for name, text in _FUNCTIONS.items() if name in called]
    return blocks + [list(loop.lines) for model in models for loop in model.recovery.loops.values()]


def function_text(made: Function, shape: Callable[[str], Optional[List[int]]]) -> List[str]:
    """Returns the lines of a function of a model."""
    signature = f"{made.name}({', '.join(made.parameters)})"
    does = ", ".join(words_of(made.statements, "" if made.is_network else made.scope))
    doc = f"Returns {does}."
    if made.is_network:
        doc = f"Returns the output of network `{made.name}`: {does}."
    return function_lines(signature, doc, made.statements, shape, made.tensors, made.batch_of, made.results)


def loss_text(
    model: Model, function: str, statements: Sequence[Statement], shape: Callable[[str], Optional[List[int]]]
) -> List[str]:
    """Returns the lines of the function of a loss.

    Args:
      model: the loss.
      function: its name.
      statements: of it.
      shape: returns a tensor's static shape, or None.

    Returns:
      The lines.
    """
    first = f'batch["{next(iter(model.inputs), "")}"]'
    return function_lines(f"{function}(scope, batch)", _doc(model), statements, shape, {}, first)


def function_name(block: Sequence[str]) -> str:
    """Returns the name of the function that some lines define."""
    return next(line for line in block if line.startswith("def ")).partition("(")[0][len("def ") :]
