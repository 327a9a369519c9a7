"""Variables of the old program that a standalone program does not have: its checkpoints keep them as they were read."""

from __future__ import annotations

from legacy.source.standalone.saved_names import SAVE

#: Begins the part of the trainer behind the lines that read a checkpoint; see `text.trainer_text`.
_BEHIND_READING = "\n    def replica_step("
_READ = """\
        others = set(dict(tf.train.list_variables(checkpoint))) - set(self.variables) if checkpoint else ()
        self.others = {name: tf.Variable(tf.train.load_variable(checkpoint, name)) for name in others}
"""
_SAID = "Writes a checkpoint with the old names"


def with_kept_variables(text: str) -> str:
    """Returns a program that writes the variables of a checkpoint which it does not have as it has read them.

    Args:
      text: of the program.

    Returns:
      The text.
    """
    text = text.replace(_BEHIND_READING, _READ + _BEHIND_READING, 1)
    text = text.replace(f"{_SAID}.", f"{_SAID}, and with the rest of the one that was read as it was there.")
    return text.replace(f"{SAVE}saved)", f"{SAVE}{{**self.others, **saved}})")
