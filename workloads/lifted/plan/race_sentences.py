"""Races of a step in words: one sentence for each variable, or for many of one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Tuple

from workloads.support.wording import FEW, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workloads.lifted.plan.records import Race

#: Of races of more variables, one sentence says what they have in common.
MOST_APART = 2


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
            for name in names:
                own = [race for race in alike if race.variable == name]
                yield from _of_reads(own, place) if place else _of_changes(own)
            continue
        first, which = alike[0], f"{len(names)} variables ({listed(names, FEW)})"
        if not place:
            ops = f"{first.variable} by {first.first} and {first.second}"
            yield f"{which} are each changed by several ops in any order, such as {ops}"
        else:
            read = f"{first.variable} by {first.reader} before or after {_update(first)}"
            yield f"{which} may be read before or after they are changed, such as {read}; taken {place}"


def _of_reads(races: Sequence[Race], place: Optional[str]) -> Iterator[str]:
    """Yields sentences on reads of one variable; those beside the same updates are one sentence.

    >>> from workloads.lifted.plan import Race
    >>> list(_of_reads([Race("step", f"rate_{n}", "train", f"rate_{n}") for n in range(9)], "before"))
    ['step: rate_0, rate_1, rate_2 and 6 more may use it before or after train; taken before']
    """
    updates_of: Dict[str, List[str]] = {}
    for race in races:
        updates_of.setdefault(str(race.reader), []).append(_update(race))
    readers_of: Dict[Tuple[str, ...], List[str]] = {}
    for reader, updates in updates_of.items():
        readers_of.setdefault(tuple(dict.fromkeys(updates)), []).append(reader)
    for beside, readers in readers_of.items():
        update = listed(beside, FEW) if len(beside) == 1 else f"each of {listed(beside, FEW)}"
        variable, which = races[0].variable, listed(readers, FEW)
        yield f"{variable}: {which} may use it before or after {update}; taken {place}"


def _of_changes(races: Sequence[Race]) -> Iterator[str]:
    """Yields sentences on changes of one variable; those that are in no order with the same one are one sentence.

    >>> from workloads.lifted.plan import Race
    >>> list(_of_changes([Race("w", "a", "train"), Race("w", "b", "train")]))
    ['w: changed by train and each of a, b in any order']
    """
    changes = list(dict.fromkeys(name for race in races for name in (race.first, race.second)))
    pairs = {frozenset((race.first, race.second)) for race in races}
    if len(changes) > 2 and len(pairs) == len(changes) * (len(changes) - 1) // 2:
        yield f"{races[0].variable}: changed by {listed(changes, FEW)} in any order"
        return
    common = [name for name in changes if all(name in pair for pair in pairs)]
    if len(pairs) > 1 and common:
        others = listed([name for name in changes if name != common[0]], FEW)
        yield f"{races[0].variable}: changed by {common[0]} and each of {others} in any order"
        return
    yield from dict.fromkeys(race.text for race in races)


def _update(race: Race) -> str:
    """The op of a race of a read that changes the variable."""
    return race.second if race.reader == race.first else race.first
