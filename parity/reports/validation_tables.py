"""Tables of `python -m parity.predict --validate`: predicted and measured steps on this CPU, errors and orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table

from parity.prediction.this_machine.validation import (
    LEAST_DIFFERENCE,
    PORTS,
    TOWERS,
    ValidatedJob,
    median_error,
    predicted_order,
)


def validation_parts(jobs: Sequence[ValidatedJob]) -> Iterator[RenderableType]:
    """Yields the table of all steps and the lines that sum it up."""
    table = Table(title="a step on logical devices of this CPU, ms", title_justify="left")
    for heading in ("workload", "replicas", "alternative", "predicted", "measured", "error"):
        table.add_column(heading, justify="left" if heading in ("workload", "alternative") else "right")
    for job in jobs:
        for number, step in enumerate(job.steps):
            first = (job.workload, str(job.replicas)) if number == 0 else ("", "")
            cells = (f"{1e3 * step.predicted:.3f}", f"{1e3 * step.measured:.3f}", f"{step.error:+.0%}")
            table.add_row(*first, step.name, *cells)
    yield table
    order = predicted_order(jobs)
    share = f" ({order.right / order.pairs:.0%})" if order.pairs else ""
    yield f"median error of the defaults of both sides: {median_error(jobs):.0%}"
    yield f"median error of all alternatives: {median_error(jobs, (*TOWERS, *PORTS)):.0%}"
    yield (
        f"order of two alternatives whose measured difference is above {LEAST_DIFFERENCE:.0%}: "
        f"right in {order.right} of {order.pairs}{share}"
    )
