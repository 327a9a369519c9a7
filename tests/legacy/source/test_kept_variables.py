"""Variables of an old checkpoint that a standalone program keeps as it has read them."""

from legacy.source.standalone.kept_variables import with_kept_variables
from legacy.source.standalone.text import trainer_text

TEXT = trainer_text("", "", counted=True)


def test_what_a_program_lacks_is_read_behind_its_variables_and_written_before_them():
    text = with_kept_variables(TEXT)
    read, step = text.index("self.others = {"), text.index("def replica_step")
    assert text.index("for name, variable in self.variables.items()") < read < step
    assert "Saver({**self.others, **saved}).save(" in text and "Saver(saved)" not in text
    assert "with the rest of the one that was read" in text


def test_only_the_lines_on_other_variables_are_added():
    kept = [line for line in with_kept_variables(TEXT).splitlines() if line in TEXT.splitlines()]
    assert len(TEXT.splitlines()) - len(kept) == 2  # the docstring of `save`, and the Saver
