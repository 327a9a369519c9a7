"""What is being written is removed if it does not become complete."""

import os

import pytest

from workloads.support.files import unfinished


def test_what_is_renamed_stays_and_a_rest_goes(tmp_path):
    with unfinished.removed_unless_complete(str(tmp_path / "part")) as part:
        with open(part, "w") as file:
            file.write("all")
        os.replace(part, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt), unfinished.removed_unless_complete(str(tmp_path / "folder")) as part:
        os.makedirs(os.path.join(part, "below"))
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["whole"]


def test_a_process_that_ends_in_the_middle_removes_all(tmp_path):
    (tmp_path / "other").write_text("")
    with unfinished.removed_unless_complete(str(tmp_path / "part")) as part:
        with open(part, "w"):
            unfinished.remove_all()
        assert os.listdir(tmp_path) == ["other"]
    unfinished.remove_all()  # nothing is registered any more
    assert os.listdir(tmp_path) == ["other"]
