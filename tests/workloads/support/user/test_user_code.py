"""What an exception of the user's own code is reported as."""

import pickle

import numpy as np
import pytest
import tensorflow as tf

from workloads import schedules, scope
from workloads.support.errors import InputError, Lost, UserError
from workloads.support.user import user_code


def calling(error):
    """Raises `error` inside `user_code.calling`, from a function of this file."""

    def function():
        raise error

    with user_code.calling("net.loss", function, "a scalar"):
        function()


@pytest.mark.parametrize("error", [KeyError("a"), StopIteration(), SystemExit(0), RecursionError("deep")])
def test_what_the_user_raises_is_one_line_of_its_own_kind(error):
    with pytest.raises(UserError, match=r"test_user_code.py:\d+: net.loss raised .*; expected: a scalar") as caught:
        calling(error)
    assert type(error).__name__ in str(caught.value) and caught.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit(), Lost("gone"), UserError("mine.py:1: no")])
def test_what_is_not_the_users_passes(error):
    with pytest.raises(type(error)) as caught:
        calling(error)
    assert caught.value is error


def test_what_this_project_raises_without_the_user_passes():
    with pytest.raises(AttributeError), user_code.calling("learning_rate", schedules.Fixed(0.1)):
        schedules.Fixed.__call__(None, None, None)


def test_a_refusal_inside_the_users_code_gets_its_line_once():
    def loss():
        scope.model_checks.checked_shape("w", 3)

    with pytest.raises(InputError, match="^scope.get: shape of 'w'"), user_code.calling("net.loss", None):
        loss()  # this project calls nothing of the user's here

    placed = InputError("mine.py:1: no")
    placed.placed = True
    with pytest.raises(InputError) as caught, user_code.calling("net.loss", None):
        raise placed
    assert caught.value is placed


@pytest.mark.parametrize(
    "message, expected",
    [
        ("UserError: mine.py:3: net.examples raised OSError: no\nTraceback (most recent call last):\n", UserError),
        ("2 root error(s) found.\n  (0) UNKNOWN: InputError: net.examples: got 1, must be 2\n\t [[a]]", InputError),
    ],
)
def test_an_error_that_tensorflow_passed_on_as_text_is_recovered(message, expected):
    reported = user_code.reported_error(tf.errors.UnknownError(None, None, message))
    assert type(reported) is expected
    assert str(reported).startswith(("mine.py:3: ", "net.examples: ")) and "Traceback" not in str(reported)


def test_the_message_of_an_assertion_op_is_recovered_without_its_condition():
    message = "assertion failed: [InputError: --data: \\'x\\' has too few rows] [Condition x >= y did not hold]"
    reported = user_code.reported_error(tf.errors.InvalidArgumentError(None, None, message))
    assert type(reported) is InputError and str(reported) == "--data: 'x' has too few rows"


IN_USERS_GRAPH = (
    f'Detected at node a defined at:\n  File "{scope.__file__}", line 1, in f\n  File "/me/mine.py", line 7, in f\n'
)


def test_the_loss_of_a_peer_is_no_error_of_the_users():
    assert user_code.reported_error(tf.errors.UnavailableError(None, None, IN_USERS_GRAPH + "gone")) is None
    reported = user_code.reported_error(tf.errors.InvalidArgumentError(None, None, IN_USERS_GRAPH + "bad index"))
    assert str(reported) == "/me/mine.py:7: InvalidArgumentError: bad index"


def test_a_defect_is_not_reported():
    assert user_code.reported_error(ZeroDivisionError()) is None
    assert user_code.reported_error(tf.errors.InvalidArgumentError(None, None, "no stack")) is None


def users_function():
    """Makes ops."""


def test_an_error_of_an_op_without_a_stack_names_the_function_that_made_it():
    says = r"test_user_code.py:\d+: an op of net.loss raised InvalidArgumentError: bad"
    with pytest.raises(UserError, match=says), user_code.running("net.loss", users_function):
        raise tf.errors.InvalidArgumentError(None, None, "bad")
    with pytest.raises(tf.errors.InvalidArgumentError), user_code.running("net.loss", np.mean):  # no user's function
        raise tf.errors.InvalidArgumentError(None, None, "bad")


def test_what_the_input_failed_with_comes_before_what_followed():
    cause = InputError("net.examples: got 1")
    with pytest.raises(InputError) as caught, user_code.running("net.loss", users_function, cause=lambda: cause):
        raise tf.errors.OutOfRangeError(None, None, "End of sequence")
    assert caught.value is cause


def test_a_session_error_inside_a_function_finds_the_line_that_made_the_function():
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        with tf.control_dependencies([tf.debugging.assert_less(tf.compat.v1.placeholder_with_default(2, []), 1)]):
            result = tf.constant(1)
        with pytest.raises(UserError, match="test_user_code.py"), user_code.running("l", users_function, graph):
            session.run(result)


@pytest.mark.parametrize(
    "error, expected",
    [
        (ValueError("a\n  b"), "ValueError: a b"),
        (ValueError(), "ValueError"),
        (ValueError("x" * 1000), "ValueError: " + "x" * (user_code.LONGEST - 1) + "…"),
        (RuntimeError("\x1b[1mExit\x1b[0m called"), "RuntimeError: Exit called"),
        (ValueError('in user code:\n\n  File "a.py", line 1, in f  *\n    x = y\n\n  TypeError: no'), "TypeError: no"),
        (tf.errors.UnknownError(None, None, "{{function_node a}} bad [Op:Iterator]"), "UnknownError: bad"),
        (tf.errors.UnknownError(None, None, "2 root error(s) found.\n  (0) Unknown: ValueError: no"), "ValueError: no"),
    ],
)
def test_the_line_of_an_error_has_no_stacks(error, expected):
    assert user_code.error_line(error) == expected


def test_a_detached_error_keeps_its_traceback_as_text_and_can_be_sent():
    try:
        calling(KeyError("a"))
    except UserError as error:
        detached = user_code.detached_error(error)
    assert detached.__traceback__ is None and detached.__cause__ is None
    sent = pickle.loads(pickle.dumps(detached))
    assert str(sent) == str(detached) and "KeyError: 'a'" in user_code.traceback_text(sent)
    assert user_code.detached_error(ZeroDivisionError()) is None
