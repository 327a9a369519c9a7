import os

from workloads.support.machine.memory import total_bytes


def test_a_container_may_have_less_than_the_machine(tmp_path):
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for name, text in (("less", "1048576\n"), ("none", "max\n"), ("more", f"{machine * 2}\n")):
        (tmp_path / name).write_text(text)
    less, none, more = (str(tmp_path / name) for name in ("less", "none", "more"))
    assert total_bytes((less, none, more)) == 1 << 20
    assert total_bytes((none, more, str(tmp_path / "missing"))) == machine
    assert 0 < total_bytes() <= machine
