"""The shelves of providers, importable behind the installed package; what several tests need."""

import dataclasses
import io
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# At the end of the path: `memproto` is to come from where it is installed, not from the checkout.
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from memproto import spec  # noqa: E402 - as below
from memproto.bindings import NATIVE  # noqa: E402 - as below
from memproto.testing.context import Context  # noqa: E402 - as below
from memproto.testing.provider.run import Run  # noqa: E402 - as below
from memproto.testing.provider.subject import Watch  # noqa: E402 - as below
from memproto.testing.wire import Wire  # noqa: E402 - as below
from tests import places  # noqa: E402 - needs the path above
from tests.scripted import scripted  # noqa: E402, F401 - needs the path above; is a fixture
from tests.virtual import REAL_LIMIT_S  # noqa: E402 - needs the path above

PART = os.environ.get("MEMPROTO_PART", "")

collect_ignore = places.left_out(PART)


def pytest_configure():
    """Hear of Ctrl+C and hang-ups: what a shell began in the background does not."""
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out the tests that another part runs; have each worker begin with long ones."""
    others = [item for item in items if not places.is_of(PART, item)]
    config.hook.pytest_deselected(items=others)
    own = [item for item in items if places.is_of(PART, item)]
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    items[:] = places.spread(own, workers)


@pytest.fixture(autouse=True)
def environment_stays():
    """A test leaves the variables of its process as it found them; a check need not."""
    before = dict(os.environ)
    yield
    for name in set(os.environ) - set(before):
        del os.environ[name]
    for name, value in before.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


@pytest.fixture
def no_thread_is_left():
    """Fails a test that leaves a thread behind which was not there before it."""
    before = set(threading.enumerate())
    yield
    # A worker that has told its caller of the end of a job may be on its way out still, and an end
    # of a registry does not wait for a thread inside a job. One that stays is a leak.
    for thread in set(threading.enumerate()) - before:
        thread.join(REAL_LIMIT_S)
    assert set(threading.enumerate()) - before == set()


@pytest.fixture
def imports_are_forgotten():
    """Modules that a test imports are imported anew by the next one; the project's own stay."""
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if name.partition(".")[0] not in ("memproto", "tests"):
            del sys.modules[name]


@pytest.fixture
def only_drafts(monkeypatch):
    """No requirement is stable or deprecated, whatever the catalogue says of it today."""
    drafts = {k: dataclasses.replace(v, status="draft") for k, v in spec.requirements().items()}
    monkeypatch.setattr(spec, "requirements", lambda: drafts)


@pytest.fixture
def drained():
    """The end of a pipe to write to; what is written there is read, so that nobody waits."""
    read, write = os.pipe()
    drain = threading.Thread(target=lambda: io.FileIO(read, closefd=False).readall())
    drain.start()
    yield write
    os.close(write)
    drain.join()
    os.close(read)


@pytest.fixture
def journal_run(tmp_path):
    """A function that gives a check's run of a kind of journal, each in a home of its own."""
    from tests.good.journal import Journal

    with (tmp_path / "wire").open("wb") as file:
        watch = Watch(Wire(file.fileno()))

        def build(factory, *stores):
            routes = dict.fromkeys(("turns", "writes", "tools"), "absent")
            routes |= dict.fromkeys(stores or ("turns", "writes"), "declared")
            told = Context(routes=routes, capabilities=Journal().capabilities())
            return Run(factory, NATIVE, tmp_path / factory.__name__ / "home", watch, told)

        yield build
