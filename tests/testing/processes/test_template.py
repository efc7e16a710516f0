"""Kit children are copies of a template, and nothing tells them from processes of their own."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from memproto.testing import patience
from memproto.testing.messages import Loaded
from memproto.testing.processes import copy as copied
from memproto.testing.processes import sandbox, template, vitals
from memproto.testing.processes.commands import Load, Nothing
from memproto.testing.processes.process import ChildProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a template on Linux only")

ROOT = Path(__file__).parents[3]

#: An environment other than that of the template: such a child is a fresh interpreter.
ITS_OWN = {"MEMPROTO_OTHER": "1"}

#: Descriptors of a template: the streams, the socket to its parent, the pipe that wakes it.
OF_THE_TEMPLATE = 6

JOURNAL = "\nfrom tests.good.journal import Journal as Mine\n"


@pytest.fixture
def no_template():
    """The test begins and ends without a template."""
    template.end()
    yield
    template.end()


@pytest.fixture
def child(tmp_path):
    """A function that starts a child below a directory of its own, and ends what it started."""
    started = []

    def start(name="one", **extra):
        root = tmp_path / name
        started.append(ChildProcess(root, sandbox.environment(root / "load", extra)))
        return started[-1]

    yield start
    for one in started:
        one.kill()


def load(one, directory, source, **env):
    """Load a module of that source in a child, and return the answer."""
    directory.mkdir(exist_ok=True)
    (directory / "mine.py").write_text(textwrap.dedent(source) + JOURNAL, encoding="utf-8")
    command = Load(
        target="mine:Mine",
        root=str(directory / "load"),
        env=env,
        directory=str(directory),
        path=[str(directory), str(ROOT)],
    )
    return one.ask(command, 60.0)


def said(one, directory, source, **env):
    """The value that a module left in the variable `said`."""
    path = directory / "said.json"
    source = textwrap.dedent(source) + f"\nimport json; json.dump(said, open({str(path)!r}, 'w'))\n"
    assert isinstance(load(one, directory, source, **env).reply, Loaded)
    return json.loads(path.read_text("utf-8"))


def template_of(one):
    return psutil.Process(one._process.pid).parent()


# -- a copy looks like a process of its own --------------------------------------------------------

LOOKS = """
import asyncio, faulthandler, locale, logging, os, resource, signal, site, stat, sys, threading
import warnings
def kind(number):
    try: return stat.S_IFMT(os.fstat(number).st_mode)
    except OSError: return None
main = sys.modules["__main__"]
frame, stack = sys._getframe(), []
while frame:
    stack.append(f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_code.co_name}")
    frame = frame.f_back
HOME = os.environ["HOME"]
said = {
    "arguments": (len(sys.argv), sys.argv[0], len(sys.orig_argv)),
    "main": (main.__spec__.name, main.__file__, sorted(vars(main))),
    "stack": stack,
    "threads": (threading.current_thread() is threading.main_thread(), threading.active_count(),
                threading.main_thread().ident == threading.get_ident(),
                threading.main_thread().native_id == os.getpid()),
    "session": (os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()),
    "streams": [(kind(n), os.isatty(n)) for n in range(3)],
    "objects": [(type(s).__name__, s.encoding, s.errors, s.line_buffering, s.seekable())
                for s in (sys.stdin, sys.stdout, sys.stderr)],
    "descriptors": sorted(str(kind(n)) for n in range(64) if kind(n)),
    "inherited": [n for n in range(64) if kind(n) and os.get_inheritable(n)],
    "signals": {n: str(signal.getsignal(n)).partition(" at ")[0] for n in signal.valid_signals()},
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    "faults": faulthandler.is_enabled(),
    "warnings": [str(item) for item in warnings.filters],
    "logging": (logging.root.level, len(logging.root.handlers), logging.root.manager.disable),
    "policy": type(asyncio.get_event_loop_policy()).__name__,
    "locale": locale.setlocale(locale.LC_ALL),
    "limits": [resource.getrlimit(vars(resource)[n]) for n in dir(resource) if n[:7] == "RLIMIT_"],
    "flags": str(sys.flags), "prefix": sys.prefix, "executable": sys.executable,
    "hooks": (sys.excepthook is sys.__excepthook__, sys.gettrace(), sys.getprofile()),
    "recursion": sys.getrecursionlimit(), "switch": sys.getswitchinterval(),
    "environment": {k: v.replace(HOME.rsplit("/", 2)[0], "") for k, v in os.environ.items()
                    if k != "MEMPROTO_OTHER"},
    "base": os.path.relpath(site.USER_BASE, HOME),
    "umask": (mask := os.umask(0), os.umask(mask))[0],
    "cwd": os.path.relpath(os.getcwd(), HOME),
    "path": [entry for entry in sys.path if "pytest-" not in entry],
}
"""


def test_a_copy_looks_like_a_fresh_interpreter(child, tmp_path):
    copied = said(child("one"), tmp_path / "one", LOOKS)
    fresh = said(child("two", **ITS_OWN), tmp_path / "two", LOOKS)
    for key, value in fresh.items():
        assert (key, copied[key]) == (key, value)


def test_what_other_processes_read_of_a_copys_environment_is_its_own(child, tmp_path):
    one, two = child("one"), child("two")
    for name, process in (("one", one), ("two", two)):
        found = psutil.Process(process._process.pid).environ()
        assert found == sandbox.environment(tmp_path / name / "load", {})


def test_copies_draw_different_random_numbers(child, tmp_path):
    source = "import random, uuid, tempfile\nsaid = [random.random(), str(uuid.uuid4())]\n"
    first, second = (said(child(name), tmp_path / name, source) for name in ("one", "two"))
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_a_copy_has_used_no_processor_time_before_it_began(child, tmp_path):
    one = child()
    spent = sum(template_of(one).cpu_times()[:2])
    times = said(one, tmp_path, "import time\nsaid = time.process_time()\n")
    assert times < spent
    assert sum(psutil.Process(one._process.pid).cpu_times()[:2]) < spent


def test_a_copy_has_none_of_the_templates_descriptors_nor_the_template_those_of_its_copies(
    child, tmp_path
):
    one = child("one")
    own = template_of(one)
    count = "import os\nsaid = len(os.listdir('/proc/self/fd'))\n"
    first = said(one, tmp_path / "one", count)
    two = child("two")
    assert said(two, tmp_path / "two", count) == first

    def holds_a_pipe_for_each():
        return own.num_fds() == OF_THE_TEMPLATE + len(own.children())

    # The pipe on which each end is told. The template closes what it was sent once it has started
    # a copy, and the pipe once it has told the end: nothing waits for either.
    assert patience.happens(holds_a_pipe_for_each, patience.HAPPENS_S)
    ended = two._process.pid
    two.kill()
    assert patience.happens(
        lambda: ended not in {copy.pid for copy in own.children()} and holds_a_pipe_for_each(),
        patience.HAPPENS_S,
    )


def test_a_zone_is_that_of_a_copy_alone(child, tmp_path):
    source = """
        import datetime, time
        said = [time.timezone, time.tzname[0], str(datetime.datetime.now().astimezone().tzinfo)]
    """
    one, other = child("one", TZ="MEM-5:45"), child("other")
    assert template_of(one) == template_of(other)
    assert said(one, tmp_path / "one", source, TZ="MEM-5:45") == [-20700, "MEM", "MEM"]
    assert said(other, tmp_path / "other", source)[1] != "MEM"
    fresh = {"TZ": "MEM-5:45", **ITS_OWN}
    assert said(child("own", **fresh), tmp_path / "own", source, **fresh) == [-20700, "MEM", "MEM"]


def test_another_environment_gets_a_fresh_interpreter_with_the_same_parent(child, tmp_path):
    one, other = child("one"), child("two", **ITS_OWN)
    environment = said(other, tmp_path, "import os\nsaid = dict(os.environ)\n", **ITS_OWN)
    assert environment.items() >= ITS_OWN.items()
    assert template_of(one) == template_of(other)
    words, copied = (psutil.Process(item._process.pid).cmdline() for item in (other, one))
    # Three descriptors in place of one, and why it is not confined.
    assert len(words) == len(copied) + 3


def test_a_fresh_interpreter_hashes_in_its_own_way(child, tmp_path):
    given = sandbox.environment(tmp_path / "any", {}).get("PYTHONHASHSEED")
    seed = {"PYTHONHASHSEED": "4" if given != "4" else "5"}
    first = said(child("one"), tmp_path / "one", "said = hash('a text')\n")
    assert said(child("two", **seed), tmp_path / "two", "said = hash('a text')\n", **seed) != first


# -- ends ------------------------------------------------------------------------------------------


def test_a_target_that_kills_its_parent_ends_only_the_template(child, tmp_path):
    one = child("one")
    lost = template_of(one)
    kill = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    assert load(one, tmp_path / "one", kill).fate == "answered"
    assert one.ask(Nothing(), 60).fate == "answered"
    two = child("two")
    assert template_of(two) != lost
    assert load(two, tmp_path / "two", "").fate == "answered"
    one.kill()
    assert not one.alive
    assert one.ending.startswith("unseen")


def test_a_target_that_kills_its_parent_and_itself_died(child, tmp_path):
    kill = "import os\nos.kill(os.getppid(), 9)\nos.kill(os.getpid(), 9)\n"
    answer = load(child(), tmp_path, kill)
    assert (answer.fate, answer.operation) == ("died", "load")
    assert answer.ending in {
        "signal SIGKILL",
        "unseen, since the process that had started it was killed",
    }


def test_a_target_that_stops_its_parent_is_no_hindrance(child, tmp_path, monkeypatch):
    monkeypatch.setattr(copied, "_TOLD_S", 0.2)
    one = child("one")
    stop = "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n"
    assert load(one, tmp_path / "one", stop).fate == "answered"
    assert load(child("two"), tmp_path / "two", "").fate == "answered"
    one.kill()
    assert not one.alive


def test_an_end_is_told_though_the_template_is_stopped(child, tmp_path, monkeypatch):
    monkeypatch.setattr(copied, "_TOLD_S", 0.2)
    one = child()
    stop = "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n"
    assert load(one, tmp_path, stop).fate == "answered"
    one.kill()
    assert one.ending.startswith("unseen")


def test_without_a_template_each_child_is_a_fresh_interpreter(
    child, no_template, tmp_path, monkeypatch
):
    monkeypatch.setattr(template, "Template", failing)
    one = child()
    assert isinstance(one._process, subprocess.Popen)
    assert load(one, tmp_path, "").fate == "answered"


def failing(*_):
    raise OSError("too many processes")


def test_a_template_that_ends_before_its_first_copy_is_not_started_again(
    child, no_template, tmp_path
):
    environment = sandbox.environment(tmp_path, {})
    words = [sandbox.interpreter(), "-c", "print('no template')"]
    template._current[""] = template._begun(words, environment)
    wanted = template.Start(words, environment, str(tmp_path), "provider", 1, ())
    for _ in range(2):
        template.start(wanted).wait()
    (known,) = template._current.values()
    assert not known.has_served


def test_two_threads_start_children_at_the_same_time(child, tmp_path):
    names = [f"child-{number}" for number in range(6)]
    with ThreadPoolExecutor(3) as pool:
        started = list(pool.map(child, names))
        answers = pool.map(lambda one, name: load(one, tmp_path / name, ""), started, names)
    assert {answer.fate for answer in answers} == {"answered"}
    assert len({template_of(one) for one in started}) == 1


def test_the_template_ends_with_its_parent(tmp_path):
    source = f"""
    import os, signal
    from pathlib import Path
    from memproto.testing.processes import sandbox, template
    from memproto.testing.processes.process import ChildProcess
    root = Path({str(tmp_path)!r})
    one = ChildProcess(root, sandbox.environment(root, {{}}))
    print(one._process.pid, template._current['']._process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    """
    words = [sys.executable, "-P", "-c", textwrap.dedent(source)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    left = [psutil.Process(int(n)) for n in done.stdout.split() if psutil.pid_exists(int(n))]
    assert not psutil.wait_procs(left, timeout=30)[1]


def test_a_child_that_holds_the_interpreter_ends_with_the_process_that_asked_for_it(tmp_path):
    source = f"""
    import os, signal, threading, time
    from pathlib import Path
    from memproto.testing.processes import sandbox
    from memproto.testing.processes.commands import Load
    from memproto.testing.processes.process import ChildProcess
    root = Path({str(tmp_path)!r})
    (root / "mine.py").write_text(
        "import re; open({str(tmp_path / "begun")!r}, 'x').close(); "
        "re.match('(a+)+$', 'a' * 64 + 'b')"
    )
    one = ChildProcess(root, sandbox.environment(root, {{}}))
    places = dict(root=str(root), directory=str(root), path=[str(root)])
    load = Load(target="mine:Mine", env={{}}, **places)
    threading.Thread(target=one.ask, args=(load, 600.0), daemon=True).start()
    while not (root / "begun").exists():
        time.sleep(0.01)
    print(one._process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    """
    words = [sys.executable, "-P", "-c", textwrap.dedent(source)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False, timeout=120)
    left = [psutil.Process(int(n)) for n in done.stdout.split() if psutil.pid_exists(int(n))]
    assert (done.returncode, len(done.stdout.split())) == (-signal.SIGKILL, 1)
    still_there = psutil.wait_procs(left, timeout=30)[1]
    for one in still_there:
        one.kill()
    assert not still_there


def test_a_copy_of_a_copy_that_was_disowned_is_found_by_its_places(child, tmp_path):
    source = f"""
    import os, signal
    if os.fork() == 0:
        os.setsid()
        os.chdir("/")
        open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
        os.closerange(0, 4096)
        signal.pause()
    while not os.path.exists({str(tmp_path / "pid")!r}): pass
    os._exit(0)
    """
    assert load(child(), tmp_path, source).fate == "died"
    left = psutil.Process(int((tmp_path / "pid").read_text("ascii")))
    vitals.end_strays(tmp_path / "one")
    psutil.wait_procs([left], timeout=30)
    assert not left.is_running()


def test_strays_of_a_run_are_ended_and_the_template_is_not(child, tmp_path):
    one = child()
    vitals.end_strays(tmp_path)
    assert one._process.wait(30) == -signal.SIGKILL
    assert template._current[""].alive


def test_a_message_that_lacks_descriptors_costs_the_template_none():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    read, write = os.pipe()
    program = "import sys\n"
    program += "from memproto.testing.processes.copy_process import from_descriptor as copier\n"
    program += "copier(int(sys.argv[1]), 2, print).serve()"
    words = [sys.executable, "-P", "-c", program, str(theirs.fileno())]
    with subprocess.Popen(words, pass_fds=[theirs.fileno()]) as serving, ours, theirs:
        socket.send_fds(ours, [b"{}"], [write])
        os.close(write)
        assert select.select([read], [], [], 30.0)[0], "it has the descriptor still"
        os.close(read)
        theirs.close()
        ours.close()
        assert serving.wait(30.0) == 0
