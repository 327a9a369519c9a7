"""First lines of loops over weights in an update, which divide a list of weights between them."""

from types import SimpleNamespace

from legacy.source.update.wave_lines import Body, looped

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
