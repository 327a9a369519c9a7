"""`python -m parity.benchmark --workload=regression --steps_per_call=10`: is the port faster than the towers?

Both programs in one process, timed in interleaved blocks A B B A, each ended by reading the last loss. Parity of
the very programs that are timed is checked first; without it no speed is shown. Exit status 0: measured; 1: no
parity; 2: input that cannot be used.
"""

from __future__ import annotations

from absl import flags

from legacy import flags as legacy_flags
from modern import flags as modern_flags
from parity import flags as parity_flags
from workloads.selection import flags as job_flags
from workloads.support import command, environment
from workloads.support.errors import require

flags.DEFINE_integer("warmup", 20, "Steps of each side before the clock starts.", lower_bound=1)
flags.DEFINE_integer("blocks", 20, "Blocks a side, at least ten; an even number.", lower_bound=10)
flags.DEFINE_integer("most_blocks", 64, "Blocks a side at most, while the verdict is undecided.", lower_bound=10)
flags.DEFINE_float("block_seconds", 0.25, "Length of a block, about.", lower_bound=0.01)
flags.DEFINE_integer("parity_steps", 5, "Steps compared before the clock starts.", lower_bound=1)
flags.DEFINE_boolean(
    "stream",
    False,
    "New batches every step, by tf.data and by legacy's fastest way (or "
    "--legacy_input); default: the first batch, resident on the devices.",
)
flags.DEFINE_boolean("memory", True, "Measure each side's peak memory, in a process of its own.")

FLAGS = flags.FLAGS


def setup_from_flags(workload_name=None):
    """(`pair.Setup`, `speed.Plan`): batches resident unless they come from files or `--stream` is given."""
    from parity.speed.measurement import Plan

    require(FLAGS.most_blocks >= FLAGS.blocks, "--most_blocks", FLAGS.most_blocks, "must not be below --blocks")
    streams = FLAGS.stream or FLAGS.data_dir is not None or FLAGS.data is not None
    setup = parity_flags.setup_from_flags(exact=False, workload_name=workload_name, resident=not streams)
    lifted = setup.job.workload.is_lifted  # whose old graph is fed, and nothing else
    tune_input = streams and not lifted and not FLAGS["legacy_input"].present
    plan = Plan(FLAGS.warmup, FLAGS.blocks, FLAGS.most_blocks, FLAGS.block_seconds, FLAGS.parity_steps, tune_input)
    return setup, plan


def run(setup, plan):
    """The `SpeedResult` of `setup` under `plan`."""
    from parity.reports.progress import Progress
    from parity.speed import measurement

    progress = Progress("benchmark " + setup.job.workload.name)
    result = measurement.run(setup, plan, lambda text, done, total: progress.update(done, total, text))
    progress.done()
    return result


def peaks(result, workload_name):
    """{side: peak bytes of a process of its own that trains a few steps}; see `memory`."""
    from parity.processes import interpreter
    from parity.speed import memory

    job = interpreter.same_flags(FLAGS, [job_flags.__name__], without=("workload", "resident"))
    job += ["--workload=" + workload_name, "--resident={}".format(str(result.setup.job.data == "resident").lower())]
    towers = interpreter.same_flags(FLAGS, [legacy_flags.__name__], without=("legacy_input",))
    towers.append("--legacy_input=" + result.setup.legacy.input)
    port = interpreter.same_flags(FLAGS, [modern_flags.__name__])
    steps = 2 * FLAGS.steps_per_call
    return {"legacy": memory.peak("legacy", job + towers, steps), "modern": memory.peak("modern", job + port, steps)}


def lines(result, peak_bytes):
    """The result for people, line by line."""
    job = result.setup.job
    if result.ratio is None:
        from parity.reports import tables

        yield tables.verdict_line(result.verification) + ": no speed is shown for programs that are not equal"
        return
    rates = result.examples_per_second(job.global_batch)
    for side, key in (("legacy", "left"), ("modern", "right")):
        rate, spread = rates[key]
        peak = f"  peak {peak_bytes[side] / 2**20:.0f} MiB" if peak_bytes.get(side) else ""
        yield (
            f"{side:7} replicas={job.replicas} batch={job.global_batch} ({job.per_replica_batch} a replica) "
            f"warmup={FLAGS.warmup} steps, {result.startup[key]:.1f} s "
            f"blocks={len(result.blocks.left)}x{result.blocks.steps}  {rate:.1f} examples/s  "
            f"median, MAD {100 * spread:.1f} %{peak}"
        )
    seen, (left, right) = result.ratio, (result.settings["left"], result.settings["right"])
    yield (
        f"modern/legacy {seen.median:.3f}  95 % [{seen.low:.3f}, {seen.high:.3f}]  {result.verdict} "
        f"(margin 5 %, higher is better); input: {left['input']}, {right['input']}; reduction: {right['reduction']}"
    )


def to_json(result, peak_bytes):
    """Everything there is to know about the benchmark."""
    import dataclasses

    content = {
        "workload": result.setup.job.workload.name,
        "job": result.setup.job.describe(),
        "job_digest": result.setup.job.digest(),
        "verdict": result.verdict,
        "parity": result.verification.to_json(),
        "settings": {"legacy": result.settings["left"], "modern": result.settings["right"]},
        "environment": environment.describe(),
        "legacy_input_trials_seconds": result.input_trials,
        "flags": {name: flag.value for name, flag in FLAGS.__flags.items() if flag.present},
    }
    if result.ratio is not None:
        rates = result.examples_per_second(result.setup.job.global_batch)
        content.update(
            ratio=dataclasses.asdict(result.ratio),
            examples_per_second={"legacy": rates["left"][0], "modern": rates["right"][0]},
            steps_per_block=result.blocks.steps,
            block_seconds={"legacy": result.blocks.left, "modern": result.blocks.right},
            warmup_steps=FLAGS.warmup,
            warmup_seconds={"legacy": result.startup["left"], "modern": result.startup["right"]},
            peak_bytes=peak_bytes,
            traces_in_timed_blocks=0,
        )
    return content


def main():
    environment.prepare(exact=False)

    result = run(*setup_from_flags())
    peak_bytes = peaks(result, FLAGS.workload) if FLAGS.memory and result.ratio is not None else {}
    print(f"{result.setup.job.workload.name}: job {result.setup.job.digest()}")
    for line in lines(result, peak_bytes):
        print(line)
    command.write_json(to_json(result, peak_bytes))
    return 0 if result.ratio is not None else 1


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
