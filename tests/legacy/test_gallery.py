"""The pages of `docs/gallery` are what `legacy.inspect` says today."""

import pytest

from tests import old_programs
from tests.legacy import gallery


@pytest.mark.parametrize("name", old_programs.NAMES)
def test_a_page_is_current(name):
    with open(gallery.page_path(name), encoding="utf-8") as file:
        written = file.read()
    assert written == gallery.page_text(name), "python -m tests.legacy.write_gallery writes the pages anew"


def test_no_line_of_a_page_is_wider_than_a_terminal():
    for name in old_programs.NAMES:
        with open(gallery.page_path(name), encoding="utf-8") as file:
            assert max(len(line.rstrip("\n")) for line in file) <= 120


def test_a_page_that_cannot_be_made_leaves_the_old_one(tmp_path, monkeypatch):
    def fails(name):
        raise ValueError(name)

    monkeypatch.setattr(gallery, "FOLDER", str(tmp_path))
    monkeypatch.setattr(gallery, "page_text", fails)
    old = tmp_path / f"{old_programs.NAMES[0]}.page.txt"
    old.write_text("old")
    with pytest.raises(ValueError):
        gallery.write_all()
    assert [path.name for path in tmp_path.iterdir()] == [old.name] and old.read_text() == "old"
