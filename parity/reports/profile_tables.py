"""Tables of `python -m parity.profile`: kernels by kind, each device's time, and the distance to the floor."""

from __future__ import annotations

from collections.abc import Iterator

from rich.bar import Bar
from rich.console import RenderableType
from rich.table import Table

from parity.profiling.op_kinds import KINDS, PRODUCTS
from parity.profiling.side_profiles import SideProfile, SideProfiles
from parity.speed.ratio import interval_text

#: Columns of the longest bar.
BAR = 24

#: Headings of a device's shares of time, in the order of `DeviceTime`.
_SHARES = ("computing", "waits for input", "waits for other devices", "waits for transfers", "launch and dispatch")


def profile_tables(profiles: SideProfiles, title: str) -> Iterator[RenderableType]:
    """Yields the tables and lines about both sides' profiles."""
    yield kinds_table(profiles, title)
    yield devices_table(profiles)
    yield from floor_lines(profiles)


def kinds_table(profiles: SideProfiles, title: str) -> Table:
    """Returns a table with a row for each kind of op: its time in a step on each side, as numbers and bars."""
    table = Table(title=title + ": kernels of one step, summed over devices", title_justify="left")
    table.add_column("kind of op")
    for side in profiles.sides:
        for heading in (f"{side}, ms", "share", ""):
            table.add_column(heading, justify="left" if not heading else "right")
    longest = max(max(side.profile.kinds.values(), default=0.0) for side in profiles.sides.values())
    for kind in KINDS:
        if any(side.profile.kinds.get(kind) for side in profiles.sides.values()):
            cells = [cell for side in profiles.sides.values() for cell in _kind_cells(side, kind, longest)]
            table.add_row(kind, *cells)
    return table


def _kind_cells(side: SideProfile, kind: str, longest: float) -> list[RenderableType]:
    seconds = side.profile.kinds.get(kind, 0.0)
    bar = Bar(longest, 0.0, seconds, width=BAR)
    return [f"{1e3 * seconds:.3f}", f"{side.profile.kernel_share(kind):.0%}", bar]


def devices_table(profiles: SideProfiles) -> Table:
    """Returns a table with a row for each side's devices: the shares of the time that they compute and wait."""
    table = Table(title="each device's time", title_justify="left")
    for heading in ("side", "device", *_SHARES):
        table.add_column(heading, justify="left" if heading in ("side", "device") else "right")
    for name, side in profiles.sides.items():
        for device, *shares in side.profile.devices:
            table.add_row(name, str(device), *[f"{share:.0%}" for share in shares])
    return table


def floor_lines(profiles: SideProfiles) -> Iterator[str]:
    """Yields a line about the floor, and one about each side's distance to it."""
    if profiles.floor is None:
        yield f"floor: unknown: {profiles.no_floor}"
    else:
        yield f"floor: {1e3 * profiles.floor:.3f} ms: the step's {profiles.products} {PRODUCTS} alone, back to back"
    for name, side in profiles.sides.items():
        ratio = side.above_floor
        above = ""
        if ratio is not None:
            above = f", {100 * (ratio.median - 1):+.0f} % over the floor, 95 % {interval_text(ratio)} times it"
        yield f"{name}: {1e3 * side.seconds:.3f} ms a step{above}"
