"""Peak memory of each side: a process of its own trains a few steps and says how much it had at most."""

from __future__ import annotations

import json
import subprocess
import sys

from parity.processes import interpreter


def peak(side, flags, steps):
    """Peak resident bytes of `python -m <side>.train` over `steps` steps.

    Args:
      side: "legacy" or "modern".
      flags: command-line flags of the job.

    Returns:
      bytes, or None if the process failed.
    """
    command = interpreter.module_command(sys.executable, side + ".train") + [f"--steps={steps}", "--json_lines"] + flags
    run = subprocess.run(command, capture_output=True, text=True, env=interpreter.environment())
    return json.loads(run.stdout.splitlines()[-1])["peak_bytes"] if run.returncode == 0 else None
