"""The catalogue as a page of Markdown, docs/causes.md."""

from __future__ import annotations

from collections.abc import Sequence

from parity.causes.basics.cause import Cause

INTRODUCTION = """# Causes

`parity.verify` and `parity.diagnose` name these causes when a port does not train as its towers did. Each has its
signature (how it looks in numbers), its usual reason and its fix. The page is generated: `python -m parity.causes >
docs/causes.md`. The criterion that recognizes a cause, and the faults that inject it to prove the criterion, stand side
by side in `parity/causes/`.

**Symbols**: N is the number of replicas, b the per-replica batch and B = N b the global batch; l is a rate of weight
decay, w a weight; g is a gradient, g_i that of replica i's own mean loss; n is a number of examples or updates.

**Stage** is the part of a training step in which the cause appears first. **Pitfall** numbers are explained in the
[list at the end](#pitfall-numbers).

**Confidence** of a report: *high*, the cause was confirmed: a clean port into which it is built, with its fitted
constants, reproduces every stage of the user's run up to rounding (see [diagnose.md](diagnose.md)); *medium*, a clean
fit that is not confirmed, or that another cause (which the report names) produces too; *low*, the numbers only resemble
those of this cause. Where the job cannot be run again, a clean fit that no other cause in the catalogue produces is
*high*. If no criterion is met, no cause is named.
"""

#: Pitfalls that occur only on several GPUs, so that no criterion recognizes them from recorded numbers.
WITHOUT_CAUSE = {
    "R37": "every replica has a GPU of its own, but the all-reduce does not use NCCL and is slow: check that the "
    "devices are physical ones, and the strategy's cross_device_ops",
    "R38": "NCCL hangs: no step ends while all GPUs show full load; check IOMMU, shared memory and peer-to-peer access",
}


def causes_page(causes: Sequence[Cause]) -> str:
    """Returns the page of `causes`, in their order, followed by the list of pitfall numbers."""
    sections = [_section(cause) for cause in causes]
    return "\n".join([INTRODUCTION, *sections, pitfall_list(causes)])


def pitfall_list(causes: Sequence[Cause]) -> str:
    """Returns the section that maps each pitfall number to the causes that recognize it."""
    rows: dict[str, list[str]] = {}
    for cause in causes:
        if cause.pitfall:
            rows.setdefault(cause.pitfall, []).append(f"{cause.title} ([{cause.id}](#{cause.id.lower()}))")
    for number, text in WITHOUT_CAUSE.items():
        rows.setdefault(number, []).append(f"{text} (no cause in this catalogue: needs several GPUs)")
    lines = [f"* **{number}**: {'; '.join(rows[number])}." for number in sorted(rows)]
    introduction = "The known pitfalls of moving tower code to tf.distribute, and the causes above that name them."
    return "\n".join(["## Pitfall numbers", "", introduction, "", *lines, ""])


def _section(cause: Cause) -> str:
    title = cause.title[0].upper() + cause.title[1:]
    bug = "" if cause.bug else " (no bug)"
    pitfall = f" Pitfall {cause.pitfall}." if cause.pitfall else ""
    lines = [
        f"## {cause.id}\n",
        f"{title}{bug}. Stage: {cause.stage}.{pitfall}\n",
        f"* **Signature**: {cause.signature.rstrip('.')}.",
        f"* **Why**: {cause.why}",
        f"* **Fix**: {cause.fix}",
    ]
    if cause.faults:
        lines.append("* **Injected as**: " + ", ".join(f"`{fault.name}`" for fault in cause.faults))
    return "\n".join(lines) + "\n"
