"""Flow of values between taps, as their numbers show it: a layer's input is the output of another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workloads.program import StepRecord
from workloads.taps import is_input

#: A reader hands back the whole of its gradient if its part is this near to 1.
WHOLE = 1e-3


def producer_of(name: str, taps: Sequence[str], record: StepRecord) -> str | None:
    """Returns the tap that a layer takes as its input; None if the input is no tap.

    Args:
      name: of the input.
      taps: names of all taps, in the order of the forward pass.
      record: of a step without fault.

    Returns:
      the nearest of the taps before it that has the same value on every replica and is no input itself.
    """
    before = [tap for tap in taps[: taps.index(name)] if not is_input(tap)]
    return next((tap for tap in reversed(before) if _have_one_value(tap, name, record)), None)


def readers_of(name: str, taps: Sequence[str], record: StepRecord) -> list[str]:
    """Returns the inputs with the value of a tap.

    Args:
      name: of the tap.
      taps: names of all taps, in the order of the forward pass.
      record: of a step without fault.

    Returns:
      names of the inputs, in order.
    """
    behind = [tap for tap in taps[taps.index(name) + 1 :] if is_input(tap)]
    return [tap for tap in behind if _have_one_value(name, tap, record)]


def withholding_readers(name: str, readers: Sequence[str], record: StepRecord) -> list[str]:
    """Returns the readers of a tap that pass only a part of their gradients to it.

    A tap's gradient is the sum of its readers'; the part of each is fitted.

    Args:
      name: of the tap.
      readers: as `readers_of` returns them.
      record: of the step with the fault.

    Returns:
      the readers whose part is not 1; all of them if none stands out.
    """
    if len(readers) < 2:
        return list(readers)
    columns = [_all_replicas(record.tap_gradients, reader) for reader in readers]
    parts = np.linalg.lstsq(np.stack(columns, axis=1), _all_replicas(record.tap_gradients, name), rcond=None)[0]
    found = [reader for reader, part in zip(readers, parts) if abs(part - 1) > WHOLE]
    return found or list(readers)


def _have_one_value(name: str, other: str, record: StepRecord) -> bool:
    return all(np.array_equal(taps[name], taps[other]) for taps in record.taps)


def _all_replicas(arrays: Sequence[dict[str, np.ndarray]], name: str) -> np.ndarray:
    return np.concatenate([np.ravel(replica[name]).astype(np.float64) for replica in arrays])
