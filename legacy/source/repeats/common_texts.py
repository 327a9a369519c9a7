"""Common parts of texts, such as names of layers; a function has the rest as a parameter."""

from __future__ import annotations

import re
from typing import Sequence, Tuple

#: What is left of a word at the end of a common beginning, and at the beginning of a common end.
_TORN_START, _TORN_END = re.compile("[A-Za-z]{2,}$"), re.compile("^[A-Za-z]+")


def common_and_own(texts: Sequence[str]) -> Tuple[Tuple[str, str], Tuple[str, ...]]:
    """Returns the common beginning and end of some texts, and what each has between them: whole words, and folders.

    >>> common_and_own(["conv/w_c1", "conv/w_c3a"]), common_and_own(["net/encoder_w", "net/decoder_w"])
    ((('conv/w_c', ''), ('1', '3a')), (('net/', '_w'), ('encoder', 'decoder')))
    >>> common_and_own(["net/layer_0/out/w", "net/layer_1/output/w"])
    (('net/', '/w'), ('layer_0/out', 'layer_1/output'))
    """
    start, end = common_ends(texts)
    middles = [text[len(start) : len(text) - len(end)] for text in texts]
    if any("/" in middle for middle in middles):
        start, end = start[: start.rfind("/") + 1], end[end.find("/") :] if "/" in end else ""
    if all(middle[:2].isalpha() and len(middle) > 1 for middle in middles):
        start = _TORN_START.sub("", start)
    if all(middle[-1:].isalpha() for middle in middles):
        end = _TORN_END.sub("", end)
    return (start, end), tuple(text[len(start) : len(text) - len(end)] for text in texts)


def common_ends(texts: Sequence[str]) -> Tuple[str, str]:
    """Returns the longest common beginning, and the longest common end of the rest; digits are not torn apart."""
    least, most = min(texts), max(texts)
    start = 0
    while start < min(len(least), len(most)) and least[start] == most[start]:
        start += 1
    while start and least[start - 1].isdigit():
        start -= 1
    end = 0
    shortest = min(len(text) for text in texts) - start
    while end < shortest and len({text[len(text) - end - 1] for text in texts}) == 1:
        end += 1
    while end and texts[0][len(texts[0]) - end].isdigit():
        end -= 1
    return texts[0][:start], texts[0][len(texts[0]) - end :]
