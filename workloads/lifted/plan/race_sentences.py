"""Races of a step in words: each by itself, or many of one kind as one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Tuple

from workloads.support.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workloads.lifted.plan.records import Race

#: Of races of more variables, one sentence says what they have in common.
MOST_APART = 2
#: Variables that a sentence names.
MOST_NAMED = 3
#: So many reads of one variable beside one update have a sentence each.
MOST_READS = 6


def race_sentences(races: Sequence[Race]) -> Iterator[str]:
    """Yields sentences on races; those of one kind, such as of a network's batch norms, are one sentence.

    >>> from workloads.lifted.plan import Race
    >>> races = [Race(name, f"{name}/first", f"{name}/second") for name in ("a", "b", "c")]
    >>> list(race_sentences(races[:1]))
    ['a: changed by a/first and a/second in any order']
    >>> list(race_sentences(races))
    ['3 variables (a, b, c) are each changed by several ops in any order, such as a by a/first and a/second']
    """
    kinds: Dict[Optional[str], List[Race]] = {}
    for race in races:
        kinds.setdefault(race.read_is, []).append(race)
    for place, alike in kinds.items():
        names = list(dict.fromkeys(race.variable for race in alike))
        if len(names) <= MOST_APART:
            yield from _of_few_variables(alike, place)
            continue
        first, which = alike[0], f"{len(names)} variables ({listed(names, MOST_NAMED)})"
        if not place:
            ops = f"{first.variable} by {first.first} and {first.second}"
            yield f"{which} are each changed by several ops in any order, such as {ops}"
        else:
            update = first.second if first.reader == first.first else first.first
            read = f"{first.variable} by {first.reader} before or after {update}"
            yield f"{which} may be read before or after they are changed, such as {read}; taken {place}"


def _of_few_variables(races: Sequence[Race], place: Optional[str]) -> Iterator[str]:
    """Yields sentences on races of one kind; many reads of one variable beside one update are one sentence.

    >>> from workloads.lifted.plan import Race
    >>> list(_of_few_variables([Race("step", f"rate_{n}", "train", f"rate_{n}") for n in range(9)], "before"))
    ['step: rate_0, rate_1, rate_2 and 6 more may use it before or after train; taken before']
    """
    together: Dict[Tuple[str, str], List[Race]] = {}
    for race in races:
        together.setdefault((race.variable, race.second if race.reader == race.first else race.first), []).append(race)
    for (variable, update), own in together.items():
        if not place or len(own) <= MOST_READS:
            yield from (race.text for race in own)
        else:
            readers = listed([str(race.reader) for race in own], MOST_NAMED)
            yield f"{variable}: {readers} may use it before or after {update}; taken {place}"
