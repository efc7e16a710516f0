"""Exceptions that the author's code caught and told nobody, as the kit hears of them."""

import gc
import importlib.util
import sys
import textwrap
import threading
import weakref

import pytest

from memproto.testing.instruments import catching, swallowed

CODE = """
import contextlib
import json
import threading


def fail(text):
    raise ValueError(text)


def passes():
    try:
        fail("passed over")
    except Exception:
        pass


def suppresses():
    with contextlib.suppress(Exception):
        fail("suppressed")


def expects():
    try:
        fail("expected")
    except ValueError:
        pass


def expects_beneath():
    try:
        try:
            fail("expected beneath")
        except KeyError:
            pass
    except (OSError, ValueError):
        return None


def raises_another():
    try:
        try:
            fail("first")
        except Exception as error:
            raise RuntimeError("second") from error
    except RuntimeError:
        pass


def raises_again():
    try:
        try:
            fail("again")
        except BaseException:
            print("seen", end="")
            raise
    except ValueError:
        pass


def cleans_up():
    try:
        try:
            fail("through finally")
        finally:
            len("clean")
    except ValueError:
        pass


def reads():
    try:
        json.loads("{")
    except Exception:
        return {}
    return {}


def loops():
    for item in (1, 2):
        try:
            fail(str(item))
        except:
            continue


def answers():
    try:
        fail("answered")
    except Exception as error:
        return {"error": len(str(error))}


def then_passes():
    answers()
    passes()


def generates():
    try:
        fail("in a generator")
    except Exception:
        pass
    yield 1
    yield 2


def of_generator():
    return list(generates())


def in_thread():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def work():
    while True:
        try:
            fail("in a thread")
        except Exception:
            pass
        return


def fails_by(error):
    try:
        raise error
    except Exception:
        pass


class Odd(Exception):
    def __repr__(self):
        raise AssertionError("no text")


def odd():
    try:
        raise Odd
    except Exception:
        pass
"""

#: Each Python hears by one way alone.
KINDS = ["heard"] if swallowed.IS_CHEAP else ["traced"]


@pytest.fixture(params=KINDS)
def hears(request, monkeypatch):
    """A listener, off again at the end."""
    if request.param == "traced":
        # As a coverage tool or a debugger of whoever runs this would have it.
        kept = sys.gettrace()
        sys.settrace(None)
        found = swallowed.traced()
    else:
        monkeypatch.setattr(swallowed, "_TOOL", 3)
        found = swallowed.heard()
    yield found
    found.begin(is_on=False)
    if request.param == "traced":
        sys.settrace(kept)
    else:
        sys.monitoring.free_tool_id(3)


@pytest.fixture
def code(tmp_path):
    path = tmp_path / "acme_code.py"
    path.write_text(CODE, "utf-8")
    made = importlib.util.spec_from_file_location("acme_code", path)
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


def line(text, nth=1):
    """The number of the nth line of the code that holds a text."""
    found = [number for number, one in enumerate(CODE.splitlines(), 1) if text in one]
    return found[nth - 1]


def heard_in(hears, call):
    hears.begin()
    call()
    found = hears.found()
    hears.begin(is_on=False)
    return found


@pytest.mark.parametrize(
    ("name", "shown", "function"),
    [
        ("passes", "ValueError('passed over')", "passes"),
        ("suppresses", "ValueError('suppressed')", "suppresses"),
        ("answers", "ValueError('answered')", "answers"),
        ("loops", "ValueError('1')", "loops"),
        ("in_thread", "ValueError('in a thread')", "work"),
        ("of_generator", "ValueError('in a generator')", "generates"),
        ("odd", "<Odd whose repr raises AssertionError>", "odd"),
    ],
)
def test_an_exception_behind_a_clause_for_every_one_is_found(hears, code, name, shown, function):
    told, raised, at = heard_in(hears, getattr(code, name))
    assert told == shown
    assert raised.endswith(
        " in odd" if name == "odd" else f"code.py:{line('raise ValueError')} in fail"
    )
    assert at.endswith(f" in {function}")


def test_the_line_of_the_clause_is_told(hears, code):
    (_, _, at) = heard_in(hears, code.passes)
    assert f"acme_code.py:{line('except Exception:')} in passes" in at


@pytest.mark.parametrize(
    "name", ["expects", "expects_beneath", "raises_another", "raises_again", "cleans_up"]
)
def test_what_is_expected_or_raised_on_is_not_swallowed(hears, code, name):
    assert heard_in(hears, getattr(code, name)) == ()


def test_a_library_that_raises_is_told_with_the_line_that_called_it(hears, code):
    (told, raised, at) = heard_in(hears, code.reads)
    assert told.startswith("JSONDecodeError(")
    assert raised.endswith(f"code.py:{line('json.loads')} in reads")
    assert at.endswith(" in reads")


def test_a_clause_that_does_nothing_comes_before_one_that_answers(hears, code):
    assert heard_in(hears, code.then_passes)[0] == "ValueError('passed over')"


def test_nothing_is_heard_before_and_after(hears, code):
    code.passes()
    assert hears.found() == ()
    hears.begin()
    hears.begin(is_on=False)
    code.passes()
    assert hears.found() == ()


def test_no_exception_of_a_target_lives_on(hears, code):
    class Own(Exception):
        pass

    gone = []

    def own():
        error = Own()
        gone.append(weakref.ref(error))
        code.fails_by(error)

    heard_in(hears, own)
    gc.collect()
    assert gone[0]() is None


def test_an_exception_that_gets_the_identity_of_a_former_one_is_another(hears, code):
    hears.begin()
    for _ in range(50):
        code.passes()
        code.expects()
    assert hears.found()[0] == "ValueError('passed over')"


def test_what_is_kept_is_bounded(hears, code, monkeypatch):
    monkeypatch.setattr(swallowed, "_MOST", 2)
    hears.begin()
    for name in ("passes", "suppresses", "answers", "reads"):
        getattr(code, name)()
    assert len(hears._seen) == 2


@pytest.mark.parametrize("tool", ["a debugger", "a profiler"])
def test_a_process_that_is_watched_already_is_let_be(tool, monkeypatch):
    if tool == "a debugger":
        monkeypatch.setattr(sys, "gettrace", lambda: print)
        found = swallowed.traced()
    elif sys.version_info >= (3, 12):
        monkeypatch.setattr(swallowed, "_TOOL", 3)
        sys.monitoring.use_tool_id(3, "another")
        try:
            found = swallowed.heard()
        finally:
            sys.monitoring.free_tool_id(3)
    else:
        found = swallowed.heard()
    before = threading.gettrace()
    found.begin()
    assert found.found() == ()
    assert threading.gettrace() is before


@pytest.mark.parametrize(
    ("source", "names", "found"),
    [
        ("try:\n    X\nexcept Exception as e:\n    log(e)", ("E", "Exception"), (3, False)),
        ("try:\n    X\nexcept E:\n    pass\nexcept Exception:\n    pass", ("E", "Exception"), None),
        ("try:\n    X\nexcept F:\n    pass\nexcept:\n    pass", ("E", "BaseException"), (5, True)),
        ("try:\n    X\nexcept (F, Exception):\n    ...", ("E", "Exception"), (3, True)),
        ("try:\n    X\nexcept make():\n    pass", ("E", "Exception"), None),
        ("try:\n    pass\nexcept Exception:\n    X", ("E", "Exception"), None),
        ("try:\n    X\nexcept Exception as e:\n    if e:\n        raise", ("Exception",), None),
        ("with suppress(OSError):\n    X", ("OSError", "Exception"), None),
        ("with c.suppress(OSError, Exception):\n    X", ("E", "Exception"), (1, True)),
        ("with open(f) as a, suppress(Exception):\n    X", ("E", "Exception"), (1, True)),
        ("with lock:\n    X", ("E", "Exception"), None),
        ("def f(:\n    X", ("E", "Exception"), None),
    ],
)
def test_the_clause_is_the_one_that_the_interpreter_would_choose(tmp_path, source, names, found):
    path = tmp_path / "one.py"
    path.write_text(textwrap.dedent(source).replace("X", "call()"), "utf-8")
    number = [*range(1, 9)][["X" in one for one in source.splitlines()].index(True)]
    assert catching.clause(str(path), number, names) == found


def test_a_clause_around_a_function_catches_nothing_of_its_calls(tmp_path):
    path = tmp_path / "one.py"
    path.write_text("try:\n    def f():\n        call()\nexcept Exception:\n    pass\n", "utf-8")
    assert catching.clause(str(path), 3, ("E", "Exception")) is None
