"""What both sides share: the job, said once.

Here live the `Workload` (model, optimizer, schedule and every choice that changes the mathematics), the
`Scope` through which a model gets its variables, the numpy initial values and batches, the five models, and
`Program`/`StepRecord`: what running a workload shows.

Everything here runs under TensorFlow 1.15 on Python 3.7 and under current TensorFlow, and imports nothing of
`legacy`, `modern` or `parity`. No Keras, no session, no strategy, no flags outside `flags.py`.
"""


def get(name, size="small"):
    """The `Workload` called `name`; see `workloads.selection.registry.get`."""
    from workloads.selection import registry  # late: importing `workloads` must not import TensorFlow

    return registry.get(name, size)
