"""Reading of a checkpoint whose Saver left variables out, or wrote them under other names, in a standalone program."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from legacy.source.basics.rendering import literal_text
from legacy.source.replica_step.tables import table_lines

#: Begins the line that writes a checkpoint; see `text.trainer_text`.
SAVE = "        tf.compat.v1.train.Saver("
#: The lines that take the variables' values from a checkpoint.
_RESTORE = re.compile(r"( +)for name, variable in self\.variables\.items\(\) if checkpoint else \(\):\n(?:\1 +.*\n)+")
#: The same, of a checkpoint of the old program that lacks what its Saver left out.
_RESTORE_SAVED = """\
        saved = tf.train.load_checkpoint(checkpoint) if checkpoint else None
        for name, variable in self.variables.items() if checkpoint else ():
            old = name if saved.has_tensor(name) else {names}.get(name, name)
            if variable.trainable or saved.has_tensor(old):  # the old program's Saver left the others out
                variable.assign(tf.cast(saved.get_tensor(old), variable.dtype))
"""
#: Writes variables by the names that the old Saver gave them, too.
_RENAME = """\
        saved.update((old, tf.Variable(saved[name])) for name, old in SAVED_AS.items() if old not in saved)
"""


def with_saved_names(text: str, renamed: Mapping[str, str], copied: Collection[str], left_out: bool) -> str:
    """Returns a standalone program that reads the old program's checkpoint by the names that its Saver gave.

    Args:
      text: of the program.
      renamed: {variable: its name in the checkpoint} of those that have another there.
      copied: those of them that the checkpoint lacks, and that begin with the value of the variable which it has so.
      left_out: whether the checkpoint lacks slots or averages, which begin as in the old program after a restart.

    Returns:
      The text; the same where the checkpoint has all variables by their names.
    """
    found = _RESTORE.search(text)
    if found is None or not (renamed or left_out):
        return text
    own = {name: literal_text(other) for name, other in sorted(renamed.items()) if name not in copied}
    begun = {name: literal_text(other) for name, other in sorted(renamed.items()) if name in copied}
    tables = [table for table, values in (("SAVED_AS", own), ("BEGUN_AS", begun)) if values]
    names = tables[0] if len(tables) == 1 else "{**SAVED_AS, **BEGUN_AS}"
    restore = _RESTORE_SAVED.format(names=names)
    if not renamed:
        restore = re.sub(r" +old = .*\n", "", restore).replace("(old)", "(name)")
    text = text[: found.start()] + restore + text[found.end() :]
    if own:
        text = text.replace(SAVE, _RENAME + SAVE)
        text = with_constants(text, table_lines("SAVED_AS", own, "names in the old program's checkpoints"))
    if begun:
        text = with_constants(text, table_lines("BEGUN_AS", begun, "variables of checkpoints that others begin with"))
    return text


def with_constants(text: str, lines: Sequence[str]) -> str:
    """Returns a program with further constants behind its own.

    Args:
      text: of the program.
      lines: of the constants.
    """
    constants, functions, rest = text.partition("\n\n\n")
    return "\n".join([constants, *lines]) + functions + rest
