"""Texts and numbers that count the steps which the old program unrolled, as in `dropout`, `dropout_1`, `dropout_2`."""

from __future__ import annotations

import re
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from legacy.source.basics.expressions import Expression, Item, Literal, Name, Scoped, replace
from legacy.source.basics.rendering import expression_text

_NUMBER = re.compile(r"(\d+)")


class Series(NamedTuple):
    """A text in which numbers rise or fall from step to step.

    Attributes:
      parts: of the text; every second one is a number, that of the first step.
      strides: by which each number grows from step to step.
      omitted: place of the number that 1.x leaves out where it is 0, with the "_" before it; -1 if there is none.
    """

    parts: Tuple[str, ...]
    strides: Tuple[int, ...]
    omitted: int = -1

    def number(self, place: int, step: int) -> int:
        """Returns a number of a step."""
        return int(self.parts[2 * place + 1]) + step * self.strides[place]

    def at(self, step: int) -> str:
        """Returns the text of a step.

        >>> [Series(('"drop_', '0', '"'), (1,), 0).at(step) for step in range(3)]
        ['"drop"', '"drop_1"', '"drop_2"']
        """
        return self.text([str(self.number(place, step)) for place in range(len(self.strides))], "")

    def text(self, numbers: Sequence[str], suffix: str) -> str:
        """Returns the text with other texts for its numbers; `suffix` for one that is left out where it is 0."""
        texts = list(self.parts)
        for place, number in enumerate(numbers):
            texts[2 * place + 1] = number
            if place == self.omitted and (suffix or number == "0"):
                texts[2 * place], texts[2 * place + 1] = texts[2 * place][:-1], suffix
        return "".join(texts)

    def shifted(self, steps: int) -> Series:
        """Returns the series whose first step is another one."""
        numbers = [str(self.number(place, steps)) for place in range(len(self.strides))]
        parts = [numbers[place // 2] if place % 2 else part for place, part in enumerate(self.parts)]
        return self._replace(parts=tuple(parts))

    def before(self, text: str) -> Optional[Series]:
        """Returns the series that begins with another text, one step earlier; None if that text is not in it.

        >>> [Series(('"drop_', '1', '"'), (1,)).before(text).omitted for text in ('"drop"', '"drop_0"')]
        [0, -1]
        """
        if any(self.number(place, -1) < 0 for place in range(len(self.strides))):
            return None
        earlier = self.shifted(-1)
        leaves_out = [p for p in range(len(self.strides)) if earlier.number(p, 0) == 0 and self.strides[p]]
        forms = [
            earlier,
            *(earlier._replace(omitted=place) for place in leaves_out if self.parts[2 * place][-1:] == "_"),
        ]
        return next((form for form in forms if form.at(0) == text), None)


def series_between(first: str, second: str) -> Optional[Series]:
    """Returns the series that two texts begin; None if they differ by more than numbers.

    >>> series_between('"a/drop_1"', '"a/drop_3"')
    Series(parts=('"a/drop_', '1', '"'), strides=(2,), omitted=-1)
    >>> series_between('"cell_0/drop"', '"cell_0_1/drop"').omitted, series_between('"drop"', '"crop_1"')
    (1, None)
    """
    parts, others = _NUMBER.split(first), _NUMBER.split(second)
    if len(parts) == len(others) and parts[::2] == others[::2]:
        strides = tuple(int(after) - int(before) for before, after in zip(parts[1::2], others[1::2]))
        return Series(tuple(parts), strides)
    for place in range(len(others) // 2):  # which the first text may leave out
        start = others[: 2 * place + 1]
        numbers = [number if n != place else "0" for n, number in enumerate(others[1::2])]
        parts = [numbers[n // 2] if n % 2 else part for n, part in enumerate(others)]
        strides = tuple(int(number) if n == place else 0 for n, number in enumerate(others[1::2]))
        made = Series(tuple(parts), strides, place)
        if start[-1].endswith("_") and made.at(0) == first:
            return made
    return None


def counting_text(part: Expression) -> Optional[str]:
    """Returns the text of a part of an expression that may count steps; None of another part.

    >>> counting_text(Literal("a/drop_1")), counting_text(Literal(0.5)), counting_text(Item(Name("x"), ":, 3"))
    ('"a/drop_1"', None, ':, 3')
    """
    if isinstance(part, Item):
        return part.key
    if isinstance(part, Scoped) or isinstance(part, Literal) and (isinstance(part.value, str) or _is_whole(part.value)):
        return expression_text(part)
    return None


def counting_texts(expression: Expression) -> List[str]:
    """Returns the texts of an expression that may count steps, in order."""
    found: List[str] = []

    def record(part: Expression) -> None:
        text = counting_text(part)
        found.extend([text] if text is not None else [])

    replace(expression, record)
    return found


def with_text(part: Expression, text: str) -> Expression:
    """Returns a part of an expression with another text in place of one that may count steps."""
    return Item(part.base, text, part.bounds) if isinstance(part, Item) else Name(text)


def number_text(number: int, stride: int, step: str) -> str:
    """Returns the text of a number of a series in a loop.

    >>> [number_text(*one, "n") for one in ((0, 1), (2, 1), (1, 2), (5, -1), (7, 0), (0, 3))]
    ['n', 'n + 2', '2 * n + 1', '5 - n', '7', '3 * n']

    Args:
      number: of the first step.
      stride: by which it grows from step to step.
      step: text of the number of a step.

    Returns:
      The text.
    """
    if not stride:
        return str(number)
    times = step if abs(stride) == 1 else f"{abs(stride)} * {step}"
    if stride < 0:
        return f"{number} - {times}"
    return f"{times} + {number}" if number else times


def _is_whole(value: Any) -> bool:
    """Returns whether a value is a whole number, or a list of such."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_is_whole, value))
    return type(value) is int and value >= 0
