"""`--names` of the commands that read recordings."""

from __future__ import annotations

import pytest
from absl import flags

from workloads.selection.name_flags import check_names, define_names
from workloads.support.errors import InputError


def test_a_file_that_exists_or_can_be_written_is_taken(tmp_path):
    values = flags.FlagValues()
    define_names(values)
    values(["command"])
    check_names(values)
    values(["command", f"--names={tmp_path / 'names.json'}"])
    check_names(values)
    values(["command", f"--names={tmp_path / 'none' / 'names.json'}"])
    with pytest.raises(InputError, match="--names: "):
        check_names(values)
