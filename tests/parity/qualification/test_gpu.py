"""The checks of a machine with GPUs, on made-up machines and results."""

import json

import pytest

from parity.processes.json_command import CommandEnd
from parity.qualification import gpu_checks, gpu_page
from parity.qualification.gpu_checks import CheckResult, GpuCheck, GpuMachine
from tests.own_flags import own_flags, set_flags
from workloads.support.errors import InputError

with own_flags():
    from parity.qualification import gpu

CPU, ONE, FOUR = GpuMachine(0, 2), GpuMachine(1, 2), GpuMachine(4, 4)


def planned(machine, workloads=("regression",)):
    return list(gpu_checks.plan_checks(machine, workloads, 5, "small"))


def parts(machine):
    return [(check.part, check.replicas) for check in planned(machine)]


def test_a_cpu_has_neither_tensor_float_32_nor_nccl():
    assert parts(CPU) == [
        (gpu_checks.TOPOLOGY, 0),
        (gpu_checks.DETERMINISTIC_PARITY, 2),
        (gpu_checks.SPEED, 1),
        (gpu_checks.SPEED, 2),
        (gpu_checks.PROFILE, 2),
    ]


def test_two_cards_have_nccl_and_one_has_not():
    assert (gpu_checks.NCCL, 4) in parts(FOUR) and gpu_checks.NCCL not in dict(parts(ONE))
    assert (gpu_checks.TF32_PARITY, 2) in parts(ONE)


def test_one_card_is_divided_among_the_replicas_and_only_for_several():
    flags = {(check.part, check.replicas): check.arguments for check in planned(ONE)}
    assert "--logical_gpus=2" in flags[gpu_checks.SPEED, 2] and "--logical_gpus=1" in flags[gpu_checks.SPEED, 1]
    assert all("--logical_gpus=1" in check.arguments for check in planned(FOUR)[1:])
    assert GpuMachine(2, 5).logical_gpus == 3


def test_deterministic_kernels_are_asked_for_and_compared_bit_by_bit():
    exact, tf32 = planned(ONE)[1:3]
    assert dict(exact.variables) == gpu_checks.DETERMINISTIC and "--tolerance=exact" in exact.arguments
    assert tf32.variables == () and "--tolerance=auto" in tf32.arguments


def test_updates_are_compared_bit_by_bit_where_both_sides_run_them_on_the_gpu():
    asked = {check.part: gpu_checks.ON_GPU in check.arguments for check in planned(ONE)}
    assert asked[gpu_checks.DETERMINISTIC_PARITY] and asked[gpu_checks.SPEED] and not asked[gpu_checks.TF32_PARITY]
    assert not any(gpu_checks.ON_GPU in check.arguments for check in planned(CPU))


def test_a_check_is_a_command_with_its_variables(monkeypatch):
    def run(module, arguments, variables):
        return CommandEnd(3, [module, *arguments, variables], "last words")

    monkeypatch.setattr(gpu_checks, "run_json_command", run)
    done = gpu_checks.run_check(GpuCheck("part", "", 0, "made_up", ("--flag",), (("NAME", "value"),)))
    assert (done.status, done.error) == (3, "last words") and json.dumps(done.to_json())
    assert done.result == ["made_up", "--flag", {"NAME": "value"}]


def flags_of_run(path, **more):
    return set_flags(gpu.FLAGS, json=str(path), workloads=["regression"], steps=5, size="small", **more)


def test_a_run_goes_on_from_the_results_it_wrote(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(gpu, "run_check", lambda check: ran.append(check.part) or CheckResult(check, 0, {}, ""))
    path = tmp_path / "gpu.json"
    with flags_of_run(path, parts=["topology", "tf32"]):
        gpu.run_checks(ONE, gpu.read_results(str(path)))
    assert ran == [gpu_checks.TOPOLOGY, gpu_checks.TF32_PARITY]
    known = gpu.read_results(str(path))
    failed = known[1]._replace(result=None, status=2)
    with flags_of_run(path, parts=["deterministic", "tf32"]):
        found = gpu.run_checks(ONE, [known[0], failed])
    assert ran[2:] == [gpu_checks.DETERMINISTIC_PARITY, gpu_checks.TF32_PARITY]
    assert [result.check.part for result in found] == [gpu_checks.TOPOLOGY, *ran[2:]]


@pytest.mark.parametrize("content", ["[]", "{", '{"checks": [{"part": "other"}]}', '{"checks": [3]}'])
def test_a_file_of_other_results_is_refused(tmp_path, content):
    path = tmp_path / "gpu.json"
    path.write_text(content)
    with pytest.raises(InputError, match="--resume: cannot read the checks in"):
        gpu.read_results(str(path))


STAGE = {"max_rel": 0.0, "max_ulp": 0}
VERIFIED = {"steps": 5, "verdict": "parity", "stages": {"loss": STAGE, "weights": {"max_rel": 1e-6, "max_ulp": 12}}}
RATIO = {"median": 1.25, "low": 1.2, "high": 1.3, "outliers": 0}
TIMED = {"verdict": "faster", "ratio": RATIO, "examples_per_second": {"legacy": 1000.4, "modern": 1250.0}}
SIDE = {
    "seconds": 0.016,
    "products_share": 0.5,
    "devices": [{"computing": 0.5, "dispatch": 0.25}, {"computing": 1.0, "dispatch": 0.0}],
    "times_floor": RATIO,
}
TOPOLOGY = {
    "devices": [{"name": "/gpu:0", "details": {"memory": "80 GiB"}}],
    "links": [{"first": 0, "second": 1, "peer": True, "nvlinks": 4, "ancestor": "one CPU"}],
    "note": None,
}
RESULTS = {
    gpu_checks.TOPOLOGY: TOPOLOGY,
    gpu_checks.DETERMINISTIC_PARITY: VERIFIED,
    gpu_checks.TF32_PARITY: VERIFIED,
    gpu_checks.SPEED: TIMED,
    gpu_checks.NCCL: {"verdict": "no parity"},
    gpu_checks.PROFILE: {"sides": {"legacy": SIDE, "modern": {**SIDE, "times_floor": None}}},
}


def results(machine):
    return [CheckResult(check, 0, RESULTS[check.part], "") for check in planned(machine)]


def page(machine, found=None):
    return "\n".join(gpu_page.page_lines(found or results(machine), machine, {"tensorflow": "2.21.0"}))


def test_the_page_has_a_row_for_each_result():
    text = page(FOUR)
    assert text.startswith("# On GPUs\n\ntensorflow: 2.21.0.")
    assert "| /gpu:0 | memory 80 GiB |" in text and "| 0 - 1 | True | 4 | one CPU |" in text
    assert text.count("| regression | 4 | 5 | parity | 0.0e+00 (0 ulp) | - | 1.0e-06 (12 ulp) |") == 2
    assert "| regression | 1 | 1,000 | 1,250 | 1.25 [1.20, 1.30] | faster |" in text
    assert "| regression | 4 | - | - | - | no parity |" in text
    assert "| regression | legacy | 16.000 | 50% of kernels | 75% | 12% | 1.25 [1.20, 1.30] |" in text
    assert "| regression | modern | 16.000 | 50% of kernels | 75% | 12% | - |" in text


def test_the_page_says_what_it_did_not_run_on():
    assert "has no GPU" in page(CPU) and gpu_checks.TF32_PARITY not in page(CPU)
    assert "2 replicas on 1 GPU: each is divided into 2." in page(ONE) and "divided" not in page(FOUR)


def test_a_check_that_failed_is_on_the_page_and_in_the_status():
    found = results(CPU)
    assert gpu.exit_status(found) == 0
    found[1] = found[1]._replace(status=2, result=None, error="error: --replicas: got 2")
    assert "ended with status 2: error: --replicas: got 2" in page(CPU, found)
    assert gpu.exit_status(found) == 1
    assert gpu.exit_status([found[0]._replace(status=3)]) == 0


def test_what_cannot_be_used_is_refused(tmp_path):
    with set_flags(gpu.FLAGS, markdown=str(tmp_path / "no" / "page.md")), pytest.raises(InputError, match="--markdown"):
        gpu.check_flags()
    with set_flags(gpu.FLAGS, resume=True), pytest.raises(InputError, match="--resume: got True, needs --json"):
        gpu.check_flags()
    with set_flags(gpu.FLAGS, parts=["other"]), pytest.raises(InputError, match="--parts: got 'other'"):
        gpu.check_flags()
    with set_flags(gpu.FLAGS, workloads=["other"]), pytest.raises(InputError, match="--workloads: got 'other'"):
        gpu.check_flags()
