"""Variables in parts, of which the old program's checkpoints have the whole, in a standalone program."""

from __future__ import annotations

from typing import Collection, Dict, List, Mapping, Tuple

from legacy.saved.graph.partitions import Part
from legacy.source.basics.rendering import literal_text
from legacy.source.replica_step.tables import table_lines
from legacy.source.standalone.saved_names import SAVE, with_constants

#: {whole variable: (the dimension along which it is divided, its parts in their order)}.
Wholes = Dict[str, Tuple[int, List[str]]]
_COMMENT = "tensors of checkpoints: the dimension along which they are divided, and the variables"
#: Begins the loop that takes the variables' values from a checkpoint; see `text.trainer_text`.
_RESTORE = "        for name, variable in self.variables.items() if checkpoint else ():\n"
_RESTORE_PARTS = """\
        parts = {}
        for whole, (axis, names) in PARTS.items() if checkpoint else ():
            sizes = [self.variables[name].shape[axis] for name in names]
            parts.update(zip(names, tf.split(tf.train.load_variable(checkpoint, whole), sizes, axis)))
        for name, value in parts.items():
            self.variables[name].assign(value)
"""
_SKIP = """\
            if name in parts:
                continue
"""
_JOIN = """\
        for whole, (axis, names) in PARTS.items():
            saved[whole] = tf.Variable(tf.concat([saved.pop(name) for name in names], axis))
"""


def wholes_of(parts: Mapping[str, Part], variables: Collection[str]) -> Wholes:
    """Returns the whole variables whose parts, along one dimension, are all among a program's variables.

    >>> halves = {f"w/part_{n}": Part("w", (4, 2), (slice(2 * n, 2 * n + 2), slice(None))) for n in range(2)}
    >>> wholes_of(halves, ["w/part_0", "w/part_1"]), wholes_of(halves, ["w/part_1"])
    ({'w': (0, ['w/part_0', 'w/part_1'])}, {})

    Args:
      parts: {variable: its place in a checkpoint}.
      variables: of the program.
    """
    found: Wholes = {}
    for whole in sorted({part.tensor for part in parts.values()}):
        places = {name: part for name, part in parts.items() if part.tensor == whole}
        shape = next(iter(places.values())).shape
        bounds = {name: [cut.indices(n)[:2] for cut, n in zip(p.slices, shape)] for name, p in places.items()}
        divided = [axis for axis, n in enumerate(shape) if any(own[axis] != (0, n) for own in bounds.values())]
        if len(divided) == 1 and set(places) <= set(variables):
            (axis,) = divided
            names = sorted(places, key=lambda name: bounds[name][axis])
            ends = [bounds[name][axis] for name in names]
            if [0, *(end for _, end in ends)] == [*(begin for begin, _ in ends), shape[axis]]:
                found[whole] = (axis, names)
    return found


def with_whole_variables(text: str, wholes: Wholes) -> str:
    """Returns a program that reads parts from, and writes them to, the tensors that the old program's checkpoints have.

    Args:
      text: of the program.
      wholes: see `wholes_of`.

    Returns:
      The text; the same without such variables.
    """
    if not wholes:
        return text
    table = {whole: literal_text(value) for whole, value in wholes.items()}
    text = with_constants(text, table_lines("PARTS", table, _COMMENT))
    return text.replace(_RESTORE, _RESTORE_PARTS + _RESTORE + _SKIP).replace(SAVE, _JOIN + SAVE)
