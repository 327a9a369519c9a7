"""Beginnings of loops over unrolled steps: what they go through, and how texts and items count the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Tuple

from legacy.source.functions.step_series import number_text
from legacy.source.lines.naming import numbered

if TYPE_CHECKING:
    from legacy.source.functions.step_bodies import Unrolled

#: {name of a list: name of its items}.
_OF_LISTS = {"steps": "step", "parts": "part", "outputs": "output", "losses": "loss"}


def without_item(name: str) -> str:
    """Returns a name without the number of an item."""
    return name.partition("[")[0]


class Header(NamedTuple):
    """The beginning of a loop.

    Attributes:
      text: the line that begins it.
      lines: at the beginning of its body.
      items: {name of an item in the body: text}.
      series: {name of a text that counts the steps: text}.
    """

    text: str
    lines: List[str]
    items: Dict[str, str]
    series: Dict[str, str]


def header_of_steps(run: Unrolled, names: Dict[str, str], taken: set[str]) -> Header:
    """Returns the beginning of a loop.

    Args:
      run: the steps.
      names: {tensor: name} as without a loop.
      taken: names that its items and numbers must not have.

    Returns:
      The beginning.
    """
    lists = [_listed(run, names, *one) for one in run.items.values()]
    if lists and all(one is not None and (len(lists) == 1 or one.is_whole) for one in lists):
        items: Dict[str, str] = {}
        for text, one in zip(run.items, lists):
            items[text] = numbered(
                _OF_LISTS.get(one.name.rstrip("0123456789"), "item") if one else "item", {*taken, *items.values()}
            )
        sources = [one.text for one in lists if one is not None]
        target, source = ", ".join(items.values()), sources[0] if len(sources) == 1 else f"zip({', '.join(sources)})"
        if not run.series:
            return Header(f"for {target} in {source}:", [], items, {})
        if len(sources) == 1:
            number = numbered("number", {*taken, target})
            lines, series = _texts_of_series(run, number, {*taken, target, number})
            return Header(f"for {number}, {target} in enumerate({source}):", lines, items, series)
    turn = numbered("step", taken)
    items = {text: _item_text(run, names, turn, *one) for text, one in run.items.items()}
    lines, series = _texts_of_series(run, turn, {*taken, turn})
    is_used = items or series
    return Header(f"for {turn if is_used else '_'} in range({run.turns}):", lines, items, series)


class _List(NamedTuple):
    """A list that a loop goes through: its name, its text, which may be a part of it, and whether it is no part."""

    name: str
    text: str
    is_whole: bool


def _listed(run: Unrolled, names: Dict[str, str], first: str, number: int) -> Optional[_List]:
    """Returns the list that a loop goes through; None if it takes a part from the end on.

    Args:
      run: the steps.
      names: {tensor: name}.
      first: tensor of the list.
      number: of the item that the first step takes.

    Returns:
      The list.
    """
    name, end = without_item(names[first]), number + run.turns
    size = len({one for one in names.values() if one.startswith(f"{name}[")})
    direction = run.direction * (-1 if _is_turned(names[first]) else 1)
    if run.turns == size:
        return _List(name, name if direction > 0 else f"{name}[::-1]", True)
    if direction < 0 or run.direction < 0:
        return None
    return _List(name, f"{name}[{number or ''}:{'' if end == size else end}]", False)


def _is_turned(name: str) -> bool:
    """Returns whether the first item of a list has the name of the last one, as its loop makes them from the end on."""
    return "[" in name and not name.endswith("[0]")


def _item_text(run: Unrolled, names: Dict[str, str], turn: str, first: str, number: int) -> str:
    """Returns the text of an item that a loop takes by the number of its step; see `_listed`."""
    direction = run.direction
    if _is_turned(names[first]):
        number, direction = int(names[first].partition("[")[2][:-1]) - number, -direction
    return f"{without_item(names[first])}[{number_text(number, direction, turn)}]"


def _texts_of_series(run: Unrolled, number: str, taken: set[str]) -> Tuple[List[str], Dict[str, str]]:
    """Returns lines that give the endings of names which 1.x numbers from the second one on, and the texts of series.

    Args:
      run: the steps.
      number: name of the number of a step.
      taken: names that no ending must have.

    Returns:
      The lines, and {name of a series in the body: text}.
    """
    endings: Dict[int, str] = {}
    texts: Dict[str, str] = {}
    for key, one in run.series.items():
        is_text = one.parts[-1].endswith('"')
        numbers = [number_text(one.number(place, 0), stride, number) for place, stride in enumerate(one.strides)]
        numbers = [
            f"{{{text}}}" if is_text and stride else one.parts[2 * place + 1] if not stride else text
            for place, (text, stride) in enumerate(zip(numbers, one.strides))
        ]
        suffix = ""
        if one.omitted >= 0:
            stride = one.strides[one.omitted]
            suffix = "{" + endings.setdefault(stride, numbered("suffix", {*taken, *endings.values()})) + "}"
        text = one.text(numbers, suffix)
        texts[key] = f"f{text}" if is_text and not text.startswith("f") else text
    lines = [
        f'{name} = f"_{{{number_text(0, stride, number)}}}" if {number} else ""' for stride, name in endings.items()
    ]
    return lines, texts
