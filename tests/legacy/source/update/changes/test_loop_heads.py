"""First lines of loops over weights in an update, which divide a list of weights between them."""

from types import SimpleNamespace

from legacy.source.update.changes.weight_loops import Body, looped

WEIGHTS = ["conv/w", "conv/b", "norm/g", "fc/w", "fc/b"]
PLACE = SimpleNamespace(groups={"WEIGHTS": WEIGHTS}, indent="    ")


def heads(*loops):
    """The lines of loops over some weights each, without their bodies."""
    bodies = [Body(name, (f"        f{n}(name)",), []) for n, names in enumerate(loops) for name in names]
    return [line for line in looped(PLACE, bodies) if "(name)" not in line]


def test_a_loop_over_the_weights_that_another_one_leaves_out_names_none():
    assert heads(["conv/w", "fc/w"], ["conv/b", "norm/g", "fc/b"]) == [
        '    names = ["conv/w", "fc/w"]',
        "    for name in names:",
        "    for name in [name for name in WEIGHTS if name not in names]:",
    ]


def test_loops_over_all_weights_or_neighbours_and_over_some_only_stay():
    assert heads(WEIGHTS) == ["    for name in WEIGHTS:"]
    assert heads(["conv/w", "conv/b"], ["norm/g", "fc/w", "fc/b"])[1] == "    for name in WEIGHTS[2:]:"
    some = heads(["conv/w", "fc/w"], ["conv/b", "fc/b"])
    assert some == ['    for name in ("conv/w", "fc/w"):', '    for name in ("conv/b", "fc/b"):']


def test_a_loop_over_very_many_weights_tells_them_by_an_ending():
    layers = [f"network/block_with_a_long_name_{number}" for number in range(6)]
    kernels, biases = [f"{one}/dw_kernel" for one in layers], [f"{one}/bias" for one in layers]
    weights = [name for pair in zip(kernels, biases) for name in pair]
    place = SimpleNamespace(groups={"WEIGHTS": ["scale", *weights]}, indent="    ")

    def first_lines(*loops):
        bodies = [Body(name, (f"        f{n}(name)",), []) for n, names in enumerate(loops) for name in names]
        return [line for line in looped(place, bodies) if line.startswith("    for")]

    assert first_lines(kernels, [*biases, "scale"]) == [
        '    for name in [name for name in WEIGHTS if name.endswith("/dw_kernel")]:',
        '    for name in [name for name in WEIGHTS if not name.endswith("/dw_kernel")]:',
    ]
    assert first_lines([*kernels[::2], *biases[1::2]]) == ["    for name in ("], "no ending tells them"
