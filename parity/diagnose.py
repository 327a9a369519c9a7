"""`python -m parity.diagnose --left=a.npz --right=b.npz`: why do these two runs differ?

Two recordings, wherever they were made (`legacy.record`, or `workloads/records/writer.py` from any training loop), legacy's on
the left. Names causes from the numbers alone, each with the fitted figures, the fix, and how sure it is. Exit status
0: nothing differs but rounding, or in other terms only; 1: something does; 2: input that cannot be used.
"""

from __future__ import annotations

from absl import flags

from parity import flags as parity_flags  # noqa: F401  --json
from workloads.support import command, environment
from workloads.support.errors import require

flags.DEFINE_string("left", None, "The reference: a recording (.npz).")
flags.DEFINE_string("right", None, "The run to explain: a recording (.npz).")
flags.DEFINE_integer("steps", 0, "Steps to read; 0 for all that both hold.", lower_bound=0)

FLAGS = flags.FLAGS


def main():
    for name in ("left", "right"):
        require(FLAGS[name].value, "--" + name, FLAGS[name].value, "name a recording (.npz)")
    environment.prepare(exact=False)
    from parity.causes import catalogue
    from parity.diagnosis import collect
    from parity.reports import causes, tables
    from workloads.records.reader import Recording

    with Recording(FLAGS.left, "--left") as left, Recording(FLAGS.right, "--right") as right:
        evidence = collect.evidence_of_recordings(left, right, FLAGS.steps)
        told = list(causes.told_differences(left.manifest, right.manifest))
    recognized = catalogue.recognize_causes(evidence)
    differs = causes.differs(evidence)
    console = tables.console()
    for line in list(causes.lines(recognized, evidence, differs)) + told:
        console.print(line, highlight=False, markup=False)
    command.write_json(causes.to_json(recognized, evidence))
    return 1 if differs and (not recognized or any(entry.cause.bug for entry in recognized)) else 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
