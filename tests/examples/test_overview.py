"""The overview of the examples names each of them."""

import pathlib

FOLDER = pathlib.Path(__file__).parents[2] / "examples"


def test_each_example_is_in_the_overview():
    overview = (FOLDER / "README.md").read_text(encoding="utf-8")
    names = {path.name for path in FOLDER.iterdir() if path.name not in ("README.md", "__pycache__")}
    assert {name for name in names if f"[{name}](" not in overview} == set() and len(names) >= 5
