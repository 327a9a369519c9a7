"""Writes recordings of `tests.small_lift`'s graph, as `legacy.recorder` would have."""

from __future__ import annotations

import io
import json
import pathlib
import zipfile
from collections.abc import Sequence

import numpy as np

from workloads.lifted.checkpoint import write_by_name
from workloads.program import Arrays


def small_steps(count: int = 2) -> list[Arrays]:
    """Returns the arrays of the first steps from w = 2, with the batches of `CountingSource`."""
    steps, weight = [], np.float32(2)
    for step in range(count):
        x0, x1 = np.split(np.arange(4 * step + 1, 4 * step + 5, dtype=np.float32), 2)
        after = np.float32(weight - 0.25 * (x0.sum() + x1.sum()) / 2)
        steps.append(
            {
                "tensors/x0:0": x0,
                "tensors/x1:0": x1,
                "tensors/loss0:0": weight * x0.sum(),
                "tensors/loss1:0": weight * x1.sum(),
                "tensors/g0:0": x0.sum(),
                "tensors/g1:0": x1.sum(),
                "tensors/mean:0": (x0.sum() + x1.sum()) / np.float32(2),
                "after/w": after,
            }
        )
        weight = after
    return steps


def write_recording(folder: pathlib.Path, steps: Sequence[Arrays], targets: Sequence[str] = ("update",)) -> str:
    """Writes a recording whose every step ran `targets`; returns its folder."""
    folder.mkdir()
    about = {"format": 1, "tensorflow": "0.12.1", "python": "2.7.18", "steps": [list(targets)] * len(steps)}
    (folder / "recording.json").write_text(json.dumps(about))
    with zipfile.ZipFile(folder / "steps.zip", "w") as archive:
        for number, arrays in enumerate(steps):
            content = io.BytesIO()
            np.savez(content, **arrays)
            archive.writestr(f"{number:05d}.npz", content.getvalue())
    write_by_name(str(folder / "model.ckpt"), {"w": np.float32(2)})
    return str(folder)
