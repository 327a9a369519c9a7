"""Partners of variables: those that have their names but for the first folders, as a target network's weights have."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, List, Sequence, Tuple

from legacy.source.basics.rendering import literal_text
from legacy.source.update.changes.groups import text_of_group

if TYPE_CHECKING:
    from collections.abc import Mapping

#: A partner's name in the lines of a loop, and its folders: the owner's, and the partner's.
_PARTNER = re.compile(r'name\.replace\("([^"]*)", "([^"]*)", 1\)')
_OWNER = "[name]"


def partner_text(owner: str, other: str) -> str:
    """Returns the text that makes another variable's name of `name`, the owner's; "" if they share no ending.

    >>> partner_text("target/fc/w", "online/fc/w"), partner_text("target/w", "online/b")
    ('name.replace("target/", "online/", 1)', '')
    """
    ending = os.path.commonprefix([owner[::-1], other[::-1]])[::-1]
    _, slash, rest = ending.partition("/")
    first = [name[: len(name) - len(rest)] for name in (owner, other)] if slash else ["", ""]
    return "name.replace({}, {}, 1)".format(*map(literal_text, first)) if all(len(one) > 1 for one in first) else ""


def of_listed_partners(
    lines: Sequence[str], owners: Sequence[str], groups: Mapping[str, Sequence[str]]
) -> Tuple[List[str], Tuple[str, ...]]:
    """Returns the lines of a loop over owners, or over their partners where a list of the text has these.

    >>> groups = {"WEIGHTS": ["q/w", "q/b"]}
    >>> of_listed_partners(['a[name].assign(b[name.replace("t/", "q/", 1)])'], ("t/w", "t/b"), groups)
    (['a[name.replace("q/", "t/", 1)].assign(b[name])'], ('q/w', 'q/b'))

    Args:
      lines: of the loop's body.
      owners: the variables.
      groups: {name of a list in the text: the weights in it}.

    Returns:
      The lines, and the variables that the loop is over.
    """
    found = {match.groups() for line in lines for match in _PARTNER.finditer(line)}
    uses = sum(len(re.findall(r"\bname\b", line)) for line in lines)
    known = sum(line.count(_OWNER) + len(_PARTNER.findall(line)) for line in lines)
    if len(found) != 1 or uses != known or text_of_group(owners, groups):
        return list(lines), tuple(owners)
    ((own, other),) = found
    partners = tuple(owner.replace(own, other, 1) for owner in owners)
    if not text_of_group(partners, groups):
        return list(lines), tuple(owners)
    parts = [line.split(_OWNER) for line in lines]
    back = f"[name.replace({literal_text(other)}, {literal_text(own)}, 1)]"
    return [back.join(_PARTNER.sub("name", part) for part in line) for line in parts], partners
