"""`Check`: one thing that was looked at, whether it works, and what to do where it does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

#: Characters of the column of names.
NAME_WIDTH = 20


@dataclasses.dataclass(frozen=True)
class Check:
    """One line of the doctor's page.

    Attributes:
      subject: the section it belongs to.
      name: of what was looked at.
      works: whether it works, or is there.
      detail: a version, a number, a reason.
      needed: whether the project needs it; what is not needed only adds something.
      remedy: what to do where it does not work; empty if there is nothing to do.
    """

    subject: str
    name: str
    works: bool
    detail: str
    needed: bool = True
    remedy: str = ""

    @property
    def state(self) -> str:
        """ "ok", "FAILS" for something needed that does not work, or "-" for an addition that is not there."""
        return "ok" if self.works else "FAILS" if self.needed else "-"


def first_failure(checks: Sequence[Check]) -> Check | None:
    """Returns the first check of something needed that does not work, or None."""
    return next((check for check in checks if check.needed and not check.works), None)


def table_lines(checks: Iterable[Check]) -> Iterator[str]:
    """Yields the checks as lines of text, under the headings of their subjects."""
    subject = None
    for check in checks:
        if check.subject != subject:
            if subject is not None:
                yield ""
            subject = check.subject
            yield subject.upper()
        remedy = f" ({check.remedy})" if check.remedy and not check.works else ""
        yield f"  {check.state:5}  {check.name:{NAME_WIDTH}}  {check.detail}{remedy}".rstrip()
