"""A command that is forked from a process with TensorFlow finds what one in a new interpreter finds."""

import os
import signal

import pytest

from tests import commands, fork_server

#: Prints what a process finds at its beginning, and after it has prepared TensorFlow.
FINDINGS = """
import importlib.util, os, sys
if __name__ == "__main__":
    print(sys.argv[1:], os.path.basename(sys.argv[0]), __spec__.name, sys.path[0], os.getcwd(), sys.path[1:3])
    print(sorted(name for name in os.environ if not name.startswith("LC_")), sys.stdin.read())
    print([name for name in sys.modules if name.partition(".")[0] in ("workloads", "parity", "tests")])
    print("tensorflow" in sys.modules, importlib.util.find_spec("tensorflow") is not None)
    import absl.flags
    from workloads.support.machine import environment
    environment.prepare(exact=True)
    import tensorflow as tf, tensorflow.compat.v1 as v1
    print(tf.__spec__.origin, tf.__path__, v1.__name__, "tensorflow" in sys.modules, "keras" in sys.modules)
    print(float(tf.reduce_sum(tf.ones([3]))), environment.describe()["oneDNN"])
    print("warned", file=sys.stderr)
    sys.exit(5)
"""


@pytest.fixture
def run(tmp_path):
    """Function (text of a module, exact) to its finished process in the fork server, in a folder of its own."""

    def run_module(text, *arguments, exact=True, environment=None):
        (tmp_path / "mine.py").write_text(text)
        server = fork_server.of(exact)
        return server.run(["mine", *arguments], tmp_path, environment or commands.environment())

    return run_module


def test_it_finds_what_a_new_interpreter_finds(run, tmp_path):
    forked = run(FINDINGS, "--a", "b")
    anew = commands.run_anew("mine", "--a", "b", cwd=tmp_path)
    assert forked.stdout.splitlines() == anew.stdout.splitlines() and len(anew.stdout.splitlines()) == 6
    assert (forked.returncode, forked.stderr) == (anew.returncode, anew.stderr) == (5, "warned\n")


def test_a_process_leaves_nothing_to_the_next(run, tmp_path):
    change = "import os, tensorflow as tf\nos.environ['LEFT'] = '1'\ntf.left = True\nos.chdir('/')\n"
    assert run("import os\nos.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'\n" + change).returncode == 0
    look = "import os, sys\nprint('LEFT' in os.environ, os.getcwd())\n"
    look += "os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'\nimport tensorflow as tf\nprint(hasattr(tf, 'left'))\n"
    assert run(look).stdout == f"False {tmp_path}\nFalse\n"


@pytest.mark.parametrize(
    "end, status, last",
    [
        ("", 0, ""),
        ("sys.exit('a reason')", 1, ""),
        ("os._exit(7)", 7, ""),
        ("raise ValueError('x')", 1, "ValueError: x"),
        (f"os.kill(os.getpid(), {int(signal.SIGKILL)})", -signal.SIGKILL, ""),
    ],
)
def test_each_end_has_its_status(end, status, last, run):
    process = run(f"import os, sys\n{end}\n")
    assert process.returncode == status
    assert process.stderr.strip().rpartition("\n")[2] == last


def test_long_output_and_an_environment_of_its_own(run):
    process = run("import os\nprint(os.environ['MINE'] * 100000)\n", environment={"MINE": "äb"})
    assert process.stdout == "äb" * 100000 + "\n"


@pytest.mark.parametrize("exact", [True, False])
def test_tensorflow_that_was_imported_for_other_runs_is_not_given(exact, run):
    prepare = f"from workloads.support.machine import environment\nenvironment.prepare({not exact})\n"
    process = run(prepare, exact=exact)
    assert process.returncode == 1 and "TF_ENABLE_ONEDNN_OPTS is " in process.stderr


def test_a_server_that_has_ended_is_reported():
    server = fork_server.ForkServer(exact=True)
    os.kill(server._process.pid, signal.SIGKILL)
    server._process.wait()
    with pytest.raises((RuntimeError, OSError)):
        server.run(["mine"], ".", {})
