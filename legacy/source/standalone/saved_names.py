"""Reading of a checkpoint whose Saver left variables out, or wrote them under other names, in a standalone program."""

from __future__ import annotations

import re
from collections.abc import Mapping

from legacy.source.basics.rendering import literal_text
from legacy.source.replica_step.tables import table_lines

#: The lines that take the variables' values from a checkpoint; see `text.trainer_text`.
_RESTORE = re.compile(r"( +)for name, variable in self\.variables\.items\(\) if checkpoint else \(\):\n(?:\1 +.*\n)+")
#: The same, of a checkpoint of the old program that lacks what its Saver left out.
_RESTORE_SAVED = """\
        saved = tf.train.load_checkpoint(checkpoint) if checkpoint else None
        for name, variable in self.variables.items() if checkpoint else ():
            old = {old}
            if variable.trainable or saved.has_tensor(old):  # the old program's Saver left the others out
                variable.assign(tf.cast(saved.get_tensor(old), variable.dtype))
"""
_OTHER_NAME = "name if saved.has_tensor(name) else SAVED_AS.get(name, name)"


def with_saved_names(text: str, renamed: Mapping[str, str], left_out: bool) -> str:
    """Returns a standalone program that reads the old program's checkpoint by the names that its Saver gave.

    Args:
      text: of the program.
      renamed: {variable: its name in the checkpoint} of those that have another there.
      left_out: whether the checkpoint lacks slots or averages, which begin as in the old program after a restart.

    Returns:
      The text; the same where the checkpoint has all variables by their names.
    """
    found = _RESTORE.search(text)
    if found is None or not (renamed or left_out):
        return text
    restore = _RESTORE_SAVED.format(old=_OTHER_NAME if renamed else "name")
    if not renamed:
        restore = restore.replace("            old = name\n", "").replace("(old)", "(name)")
    text = text[: found.start()] + restore + text[found.end() :]
    constants, functions, rest = text.partition("\n\n\n")
    names = {name: literal_text(other) for name, other in sorted(renamed.items())}
    lines = table_lines("SAVED_AS", names, "names in the old program's checkpoints") if renamed else []
    return "\n".join([constants, *lines]) + functions + rest
