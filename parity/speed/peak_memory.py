"""Peak memory of each side: a child process trains a few steps and reports its largest resident size."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from parity.processes import child_command


def measure_peak_memory(side: str, flags: Sequence[str], steps: int) -> int | None:
    """Returns the peak resident size of `python -m <side>.train`.

    Args:
      side: "legacy" or "modern".
      flags: command-line flags of the job.
      steps: number of steps to train.

    Returns:
      bytes; None if the process failed.
    """
    command = child_command.module_command(sys.executable, side + ".train")
    command += [f"--steps={steps}", "--json_lines", *flags]
    process = subprocess.run(command, capture_output=True, text=True, env=child_command.child_environment())
    return json.loads(process.stdout.splitlines()[-1])["peak_bytes"] if process.returncode == 0 else None
