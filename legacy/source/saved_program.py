"""The old program's checkpoints in a standalone program: it reads one, and writes one that the old `Saver` restores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Collection

from legacy.saved.graph.op_types import VARIABLES
from legacy.saved.graph.partitions import parts_of_variables, saved_names
from legacy.source.lines.naming import free_name
from legacy.source.standalone.kept_variables import with_kept_variables
from legacy.source.standalone.partitions import wholes_of, with_whole_variables
from legacy.source.standalone.saved_names import with_saved_names
from legacy.source.standalone.tower_copies import with_tower_copies

if TYPE_CHECKING:
    from legacy.saved.analysis.initial_values import StartValues
    from legacy.source.prepared import OldProgram

#: What a program has that counts its steps by itself; see `text.trainer_text`.
_COUNTS_BY_ITSELF = re.compile(r"name != STEP\b|name not in \(STEP\b")
_STEP = re.compile(r'^STEP = "(.*)"$', re.MULTILINE)


def as_saved(text: str, program: OldProgram, start: StartValues) -> str:
    """Returns a standalone program that reads and writes checkpoints with the names of the old program's.

    Args:
      text: of the program.
      program: the old program, as it was written.
      start: what its variables start from.

    Returns:
      The text.
    """
    own = {variable.name for variable in program.plan.variables}
    text = with_free_count(text, set(program.whole.nodes) - own)
    written = saved_names(program.whole)[-1]
    named = {name: start.renamed.get(name, name) for name in program.copies if name not in start.copied}
    copies = {saved: program.copies[name] for name, saved in named.items() if not written or saved in written}
    text = with_tower_copies(text, copies, own)
    renamed = {name: saved for name, saved in start.renamed.items() if name not in program.copies}
    text = with_saved_names(text, renamed, start.copied, bool(start.begun))
    # Copies of parts are not joined: without PARTS such a checkpoint is refused when it is read.
    parts = {} if program.copies else parts_of_variables(program.whole)
    wholes = wholes_of(parts, own - set(start.begun))
    text = with_whole_variables(text, wholes)
    variables = {name for name in program.whole.nodes if program.whole.type(name) in VARIABLES}
    kept = (written or variables) - own - {*start.renamed.values(), *copies, *wholes}
    return with_kept_variables(text) if kept else text


def with_free_count(text: str, others: Collection[str]) -> str:
    """Returns a program whose own count of steps, if it has one, is none of the old program's other variables.

    >>> with_free_count('STEP = "global_step"\\nif name != STEP:', ["global_step"])
    'STEP = "global_step_2"\\nif name != STEP:'

    Args:
      text: of the program.
      others: names that the old program has and the text has not.
    """
    found = _STEP.search(text)
    if found is None or not _COUNTS_BY_ITSELF.search(text) or found[1] not in others:
        return text
    name = free_name(found[1], others)
    text = re.sub(rf'(?<=[ {{])"{re.escape(found[1])}": \(\(\), 0, tf.int64\)', f'"{name}": ((), 0, tf.int64)', text)
    return _STEP.sub(f'STEP = "{name}"', text)
