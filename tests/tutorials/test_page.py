"""The runner of the tutorials, on pages written for it: it fails where a page shows something else than happens."""

import pytest

from tests.tutorials.page import Block, blocks, commands, failure_of, first_missing

PAGE = """# Title

```python title="mine.py"
print("loss", 1 / 3)
```

Then, in a list:

* ```shell
  python mine.py
  ```

```text
loss 0.25
```
"""


def test_blocks_have_their_language_title_and_line():
    script, shell, text = blocks(PAGE)
    assert script == Block("python", "mine.py", 'print("loss", 1 / 3)\n', 3)
    assert shell == Block("shell", "", "python mine.py\n", 9)
    assert (text.language, text.line) == ("text", 13)


def test_a_line_names_the_exit_status_that_it_is_to_have():
    assert list(commands("a \\\n  b\n\nfalse  # exit status 1\n")) == [("a    b", 0), ("false  # exit status 1", 1)]


@pytest.mark.parametrize(
    "shown, output",
    [
        ("a\nc", "a\nb\nc\n"),
        ("a\n...\nc", "a\nb\nc\n"),
        ("step  3 loss 2.30", "step 3   loss 1.7e-05"),
        ("in .../lifted: 2 towers", "in /tmp/lifted: 2 towers"),
    ],
)
def test_what_may_differ(shown, output):
    assert first_missing(shown, output) is None


@pytest.mark.parametrize(
    "shown, output, missing",
    [
        ("a\nb", "b\na\n", "b"),  # in another order
        ("PARITY", "NO PARITY\n", "PARITY"),  # a part of a line
        ("2 towers", "4 towers\n", "2 towers"),  # another whole number
        ("a\na", "a\n", "a"),  # each shown line is a line of its own
    ],
)
def test_what_may_not(shown, output, missing):
    assert first_missing(shown, output) == missing


def _written(folder, text):
    page = folder / "page.md"
    page.write_text(text)
    (folder / "run").mkdir()
    return page, folder / "run"


def test_a_page_runs_in_its_folder(tmp_path):
    page, folder = _written(tmp_path, PAGE)
    assert failure_of(page, folder) is None
    assert [path.name for path in folder.iterdir()] == ["mine.py"]


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("loss 0.25", "mean 0.25", "page.md:13: not printed: mean 0.25"),
        ("python mine.py", "python yours.py", "page.md:9: python yours.py: exit status 2"),
        (' title="mine.py"', "", "page.md:3: in no Python file"),
        ("```text", "```console", "page.md:13: a block of 'console'"),
    ],
)
def test_a_page_that_shows_something_else_fails(tmp_path, old, new, message):
    page, folder = _written(tmp_path, PAGE.replace(old, new))
    failure = failure_of(page, folder)
    assert failure is not None and failure.startswith(message)
