"""A gate that its subject cannot turn: the checkout, the parent, the network, the installed kit."""

import base64
import hashlib
import json
import os
import platform
import py_compile
import socket
import subprocess
import sys
import threading
from importlib import metadata
from pathlib import Path

import pytest

from memproto import __version__, errors
from memproto.testing import installation, integrity
from memproto.testing.processes import confinement, relay
from memproto.testing.settings import credentials
from tests.hostile import cheating
from tests.hostile.marks import load_all
from tests.kit_runs import ROOT, kit, outcomes, reported, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are a part of Linux")

#: Modules that the checkout of a stranger may hold, and a run must not import.
TRAPS = ("pytest", "conftest", "evil", "hypothesis", "psutil", "memproto", "json", "pip")


def judge(directory, *words, **environment):
    return subprocess.run(
        [sys.executable, "-P", "-m", "memproto.cli", "judge", *words],
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.once
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_checkout_full_of_traps_does_not_change_how_it_is_judged(tmp_path, workers):
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'a').write('x')")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p evil\n")
    words = ("--memproto=builtin", "--memproto-clause=MP-WRITE-001", *workers)
    done = judge(tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "kit 0.1.0" in done.stdout
    assert not (tmp_path / "sprung").exists()


def test_judge_without_a_target_says_how_to_name_one(tmp_path):
    done = judge(tmp_path)
    assert done.returncode == 4
    assert "memproto judge builtin" in done.stderr


LOOKS = """\
import json, os
from pathlib import Path
from tests.good.journal import Journal


class Looks(Journal):
    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        found, pid = [], os.getppid()
        while pid > 1:
            for name in ("environ", "mem", "fd/1"):
                try:
                    with open(f"/proc/{pid}/{name}", "rb" if name == "environ" else "r+b") as file:
                        if name != "environ":
                            found.append(name)
                        elif b"orchard-7731" in file.read():
                            found.append("the key in environ")
                except OSError:
                    pass
            try:
                status = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
            except OSError:
                break
            ours = "memproto.testing.judging.child" in Path(f"/proc/{pid}/cmdline").read_text()
            if ours:
                found = []
            pid = int(status.rpartition(")")[2].split()[1])
        found += [name for name, value in os.environ.items() if "orchard-7731" in value]
        Path(%r).write_text(json.dumps(found))
"""


def test_a_provider_finds_no_credential_in_the_processes_above_it(tmp_path):
    seen = tmp_path / "seen.json"
    write(tmp_path, looks__py=LOOKS % str(seen))
    keys = {"ACME_API_KEY": "orchard-7731-key", "ODD": "orchard-7731-odd"}
    done = kit(tmp_path, "--memproto=looks:Looks", "--memproto-clause=MP-ISO-008", **keys)
    assert json.loads(seen.read_text()) == [], done.stdout
    if confinement.confine.__module__ and "not confined" in done.stdout:
        pytest.fail("this machine allows no namespace, and the run said so")


LEAVES = """\
import contextlib, socket, subprocess, sys
from tests.good.journal import Journal

CALL = "import socket; socket.create_connection(('192.0.2.7', 80), 5)"


class Leaves(Journal):
    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        with contextlib.suppress(OSError):
            socket.create_connection(("192.0.2.1", 443), 5)
        subprocess.run([sys.executable, "-c", CALL], capture_output=True)
"""


@pytest.mark.once
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_who_connects_outward_is_refused_and_named(tmp_path, workers):
    write(tmp_path, leaves__py=LEAVES)
    clause = "--memproto-clause=MP-TURN-001"
    document = reported(tmp_path, "--memproto=leaves:Leaves", clause, *workers)
    network = document["reports"][0]["network"]
    named = {one["address"]: one["where"] for one in network["outward"]}
    assert network["confined"], network
    assert named["192.0.2.1:443"] == "leaves.py:11 in Leaves.initialize"
    assert any("python" in who for to, who in named.items() if to != "192.0.2.1:443")
    assert "a run sends to loopback only: 192.0.2.1:443" in document["run"].stdout


#: Read at the start of each interpreter: the kernel answers `unshare` with EPERM from then on, as
#: one does that allows no namespaces. Processes that are started afterwards inherit it.
REFUSES = """\
import ctypes, platform, struct

NUMBER = {"x86_64": 272, "aarch64": 97}[platform.machine()]
LOAD, IF_EQUAL, GIVE, EPERM, ALLOW = 0x20, 0x15, 0x06, 0x50001, 0x7FFF0000
STEPS = ((LOAD, 0, 0, 0), (IF_EQUAL, 0, 1, NUMBER), (GIVE, 0, 0, EPERM), (GIVE, 0, 0, ALLOW))
steps = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in STEPS))
given = ctypes.create_string_buffer(struct.pack("@HP", len(STEPS), ctypes.addressof(steps)))
system = ctypes.CDLL(None)
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2
assert system.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
assert system.prctl(SECCOMP, FILTER, ctypes.byref(given), 0, 0) == 0
"""


@pytest.mark.once
@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="the number of `unshare` is not known"
)
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_kernel_that_refuses_namespaces_is_told_of(tmp_path, workers):
    write(tmp_path, **{"start/sitecustomize.py": REFUSES})
    words = ("--memproto=builtin", "--memproto-clause=MP-WRITE-001", *workers)
    document = reported(tmp_path, *words, PYTHONPATH=str(tmp_path / "start"))
    reason = "EPERM: Operation not permitted"
    network = document["reports"][0]["network"]
    assert network == {"confined": False, "reason": reason, "outward": []}
    assert outcomes(document["reports"][0])["MP-WRITE-001"] == "pass"
    said = "network: not confined to loopback, the kernel allows no namespace"
    assert f"{said} ({reason})" in document["run"].stdout.splitlines()


#: Read at the start of each interpreter: a process that judges tells at its end if it is dumpable.
TELLS_IF_DUMPABLE = """\
import atexit, ctypes, os, sys

PARTS = {
    "outer": "memproto.pytest_plugin.outer",
    "inner": "memproto.pytest_plugin.inner",
    "measure": "memproto.report.measured.command",
}


def tell():
    is_dumpable = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
    parts = [part for part, module in PARTS.items() if module in sys.modules]
    if parts:
        part = os.environ.get("PYTEST_XDIST_WORKER") or parts[-1]
        with open(os.environ["TOLD_TO"], "a") as file:
            file.write(f"{part} {is_dumpable}\\n")


atexit.register(tell)
"""


@pytest.mark.once
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_no_process_that_judges_is_dumpable(tmp_path, workers):
    write(tmp_path, **{"start/sitecustomize.py": TELLS_IF_DUMPABLE})
    told = tmp_path / "told"
    words = ("--memproto=builtin", "--memproto-clause=MP-WRITE-001", *workers)
    done = kit(tmp_path, *words, PYTHONPATH=str(tmp_path / "start"), TOLD_TO=str(told))
    assert done.returncode == 0, done.stdout + done.stderr
    also = ["gw0 0", "gw1 0"] if workers else []
    assert sorted(told.read_text().splitlines()) == [*also, "inner 0", "outer 0"]


@pytest.mark.once
def test_a_process_that_measures_is_not_dumpable(tmp_path):
    write(tmp_path, **{"start/sitecustomize.py": TELLS_IF_DUMPABLE})
    told = tmp_path / "told"
    # This test may run in a worker of pytest-xdist, which the measuring process is not.
    own = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "memproto.cli", "measure", "nowhere_to_be_found"],
        cwd=tmp_path,
        env={**own, "PYTHONPATH": str(tmp_path / "start"), "TOLD_TO": str(told)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert told.read_text() == "measure 0\n", done.stdout + done.stderr


SERVED = """\
import socket
from tests.good.journal import Journal


class Asks(Journal):
    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        for host in ("127.0.0.1", "localhost"):
            with socket.create_connection((host, %d), 5) as link:
                assert link.recv(5) == b"hello"
"""


def test_a_server_of_the_machine_is_reached_on_loopback(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            while True:
                try:
                    link, _ = server.accept()
                except OSError:
                    return
                with link:
                    link.sendall(b"hello")

        threading.Thread(target=serve, daemon=True).start()
        port = server.getsockname()[1]
        assert ("127.0.0.1", port) in relay.servers()
        write(tmp_path, asks__py=SERVED % port)
        document = reported(tmp_path, "--memproto=asks:Asks", "--memproto-clause=MP-INIT-00")
    assert document["reports"][0]["verdict"] == "INCOMPLETE", document["run"].stdout
    assert outcomes(document["reports"][0])["MP-INIT-001"] == "pass"


def test_credentials_leave_the_environment_and_are_still_known(monkeypatch):
    monkeypatch.setattr(credentials, "_taken", {})
    monkeypatch.setattr(credentials, "_named", set())
    monkeypatch.setenv("ACME_TOKEN", "t0ken-value")
    monkeypatch.setenv("ODD", "odd-value")
    assert credentials.asked("ODD") == "odd-value"
    assert credentials.asked("MISSING_THING") is None
    credentials.take()
    assert "ACME_TOKEN" not in os.environ
    assert "ODD" not in os.environ
    assert credentials.asked("ODD") == "odd-value"
    assert credentials.environment()["ACME_TOKEN"] == "t0ken-value"


def test_a_changed_file_of_the_kit_is_seen(tmp_path, monkeypatch):
    (tmp_path / "memproto").mkdir()
    file = tmp_path / "memproto" / "a.py"
    file.write_text("x = 1\n")
    monkeypatch.setattr(installation, "_ROOT", tmp_path / "memproto")
    before = installation.stamps()
    assert installation.changed(before) == []
    info = file.stat()
    file.write_text("x = 2\n")
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    (tmp_path / "memproto" / "b.py").write_text("")
    assert installation.changed(before) == ["memproto/a.py", "memproto/b.py"]


@pytest.mark.parametrize("is_older", [False, True])
def test_compiled_code_of_a_source_that_was_edited_before_the_run_is_written_anew(
    tmp_path, monkeypatch, is_older
):
    source = tmp_path / "memproto" / "a.py"
    source.parent.mkdir()
    source.write_text("x = 1\n")
    compiled = Path(py_compile.compile(str(source)))
    moved_s = -60 if is_older else 60
    stamp_ns = source.stat().st_mtime_ns + moved_s * 10**9
    os.utime(compiled, ns=(stamp_ns, stamp_ns))
    monkeypatch.setattr(installation, "_ROOT", tmp_path / "memproto")
    before = installation.stamps()
    py_compile.compile(str(source))
    place = str(compiled.relative_to(tmp_path))
    assert installation.changed(before) == ([] if is_older else [place])


@pytest.mark.once
@pytest.mark.parametrize("is_changed", [False, True])
def test_a_run_on_a_changed_file_of_an_installed_wheel_does_not_begin(tmp_path, is_changed):
    """The kit is found in a directory as a wheel leaves it, with the digests of its files."""
    place = tmp_path / "site"
    record = place / f"memproto-{__version__}.dist-info"
    record.mkdir(parents=True)
    package = Path(errors.__file__).parent
    (place / "memproto").symlink_to(package)
    head = f"Metadata-Version: 2.1\nName: memproto\nVersion: {__version__}\n"
    (record / "METADATA").write_text(head, "utf-8")
    points = metadata.distribution("memproto").read_text("entry_points.txt")
    (record / "entry_points.txt").write_text(points, "utf-8")
    brought = Path(errors.__file__).read_bytes() + (b"# as it was" if is_changed else b"")
    digest = base64.urlsafe_b64encode(hashlib.sha256(brought).digest()).rstrip(b"=").decode()
    (record / "RECORD").write_text(f"memproto/errors.py,sha256={digest},{len(brought)}\n")
    words = ("--memproto=builtin", "--memproto-clause=MP-NAME-001")
    done = kit(tmp_path, *words, PYTHONPATH=str(place))
    told = done.stdout + done.stderr
    assert done.returncode == (4 if is_changed else 0), told
    said = "the installed kit: memproto/errors.py: is not the file that was installed"
    assert (said in told) == is_changed, told
    assert ("pip install --force-reinstall memproto" in told) == is_changed
    assert "Traceback" not in told


@pytest.mark.parametrize("links", [("other",), ("cache", "other")])
def test_a_file_that_gets_or_loses_another_name_is_not_changed(tmp_path, monkeypatch, links):
    """An installer that links out of a cache does so whenever it makes another environment."""
    kit, cache = tmp_path / "memproto", tmp_path / "cache"
    kit.mkdir()
    cache.write_text("x = 1\n")
    file = kit / "a.py"
    file.hardlink_to(cache)
    monkeypatch.setattr(installation, "_ROOT", kit)
    before = installation.stamps()
    (tmp_path / "other").hardlink_to(cache)
    assert file.stat().st_ctime_ns != before["memproto/a.py"].changed_ns
    assert installation.changed(before) == []
    for name in links:
        (tmp_path / name).unlink()
    assert installation.changed(before) == []
    info = file.stat()
    file.write_text("x = 2\n")
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert installation.changed(before) == ["memproto/a.py"]


def test_a_replaced_name_and_a_replaced_code_object_are_seen(monkeypatch):
    from memproto.testing import wire

    changed = integrity.watcher()
    assert changed() == []
    monkeypatch.setattr(wire, "show", lambda *_: "")
    assert changed() == ["memproto.testing.wire.show"]
    monkeypatch.undo()
    code = wire.shorten.__code__
    try:
        wire.shorten.__code__ = (lambda *_: "").__code__
        assert "memproto.testing.wire.shorten" in changed()
    finally:
        wire.shorten.__code__ = code
    assert changed() == []


def test_a_message_without_its_seal_is_told_as_forged(tmp_path):
    from memproto.testing import messages, wire

    seal = integrity.sealer(b"k" * 16)
    read, write_end = os.pipe()
    message = json.dumps({"kind": "done", "pid": 1, "reply": {"kind": "obeyed"}}).encode()
    os.write(write_end, seal(message) + message + b"\n" + b"0" * 16 + message + b"\n")
    os.write(write_end, message + b"\n" + b"noise\n")
    os.close(write_end)
    told = wire.lines(read, bytearray(), lambda given, text, _: seal(text) == given)
    forged = (None, messages.Forged())
    assert list(told) == [(1, messages.Done(messages.Obeyed())), forged, forged]
    os.close(read)


CHEATS = (
    ("ReplacesTheJudgeInTheChild", "MP-ISO-010"),
    ("ReplacesTheCodeOfTheJudge", "MP-ISO-010"),
    ("ReplacesWhatIsSent", "MP-ISO-010"),
    ("WritesItsOwnVerdict", "MP-ISO-010"),
    ("StoresWhileTheKitIsLoaded", "MP-ISO-011"),
)


@pytest.mark.parametrize(("name", "rule"), CHEATS)
def test_a_cheat_is_told_by_its_rule(tmp_path, name, rule):
    target = f"tests.hostile.cheating:{name}"
    document = reported(tmp_path, f"--memproto={target}", "--memproto-clause=MP-ISO-01")
    report = document["reports"][0]
    assert outcomes(report)[rule] == "fail", document["run"].stdout
    assert report["verdict"] == "NON-CONFORMANT"
    assert document["run"].returncode == 1


# -- targets of one run ----------------------------------------------------------------------------

#: A provider that looks for what another one was given, in its own processes and in all others,
#: and leaves a process that goes on looking while the others are judged.
THIEF = """\
import contextlib, os, re, sys, time
from pathlib import Path
from tests.good.journal import Journal

LOOKED_FOR = re.compile(rb"victim[-][0-9]{12}")


def look():
    found = set(LOOKED_FOR.findall(repr(dict(os.environ)).encode()))
    for place in Path("/proc").glob("[0-9]*"):
        for name in ("environ", "cmdline"):
            with contextlib.suppress(OSError):
                found.update(LOOKED_FOR.findall((place / name).read_bytes()))
    return found


def memory(pid):
    found = set()
    with contextlib.suppress(OSError):
        ranges = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
        with open(f"/proc/{pid}/mem", "rb", 0) as file:
            for place, rights, *_ in ranges:
                if not rights.startswith("rw"):
                    continue
                begin, end = (int(part, 16) for part in place.split("-"))
                with contextlib.suppress(OSError, ValueError, OverflowError):
                    file.seek(begin)
                    found.update(LOOKED_FOR.findall(file.read(end - begin)))
    return found


def tell(found):
    with open("@FOUND@", "ab") as file:
        file.write(b"looked " + b" ".join(sorted(found)) + b"\\n")


def stay():
    try:
        os.close(os.open("@FOUND@.once", os.O_CREAT | os.O_EXCL))
    except OSError:
        return
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    os.closerange(0, 64)
    until = time.monotonic() + 60
    while not os.path.exists("@STOP@") and time.monotonic() < until:
        found = look()
        for place in Path("/proc").glob("[0-9]*"):
            found |= memory(place.name)
        tell(found)
    os._exit(0)


class Thief(Journal):
    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        tell(look() | memory("self") | memory(os.getppid()))
        stay()
"""

VICTIM = """\
import os
from tests.good.journal import Journal


class Victim(Journal):
    def initialize(self, session_key, config):
        assert os.environ["VICTIMS_KEY"] != config["api_key"]
        super().initialize(session_key, config)
"""

KEYS = """\
[target."victim:Victim"]
config = {api_key = "victim-222222222222"}
env = {VICTIMS_KEY = {from_env = "OPERATORS_KEY"}}
"""


#: So that both have settings.
ITS_OWN = """\
[target."thief:Thief"]
env = {ITS_OWN = "something"}
"""


@pytest.mark.once
@pytest.mark.parametrize(
    ("order", "also"),
    [(("thief:Thief", "victim:Victim"), ""), (("victim:Victim", "thief:Thief"), ITS_OWN)],
)
def test_no_target_of_a_run_sees_what_another_one_was_given(tmp_path, order, also):
    found, stop = tmp_path / "found", tmp_path / "stop"
    source = THIEF.replace("@FOUND@", str(found)).replace("@STOP@", str(stop))
    write(tmp_path, thief__py=source, victim__py=VICTIM, memproto__toml=KEYS + also)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    words = [f"--memproto={target}" for target in order]
    clauses = ["--memproto-clause=MP-TURN-001", "--memproto-clause=MP-ISO-011"]
    try:
        report = tmp_path / "report.json"
        done = judge(
            tmp_path,
            *(*words, *clauses, f"--memproto-report={report}"),
            OPERATORS_KEY="victim-111111111111",
        )
    finally:
        stop.touch()
    reports = {one["target"]: one for one in json.loads(report.read_text("utf-8"))["reports"]}
    assert outcomes(reports["victim:Victim"])["MP-TURN-001"] == "pass", done.stdout
    assert b"looked" in found.read_bytes()
    assert b"victim-" not in found.read_bytes()


def test_the_page_shows_what_became_of_each_cheat():
    rows = [line.strip("| ").split(" | ") for line in cheating.shown()]
    assert [says for says, *_ in rows] == [cheating.says(item) for item in cheating.cheats()]
    assert {verdict for _, verdict, _ in rows} == {"NON-CONFORMANT"}
    for cheat, (_, _, told) in zip(cheating.cheats(), rows, strict=True):
        known = load_all().get(f"tests.hostile.cheating:{cheat.__name__}")
        assert told.partition(":")[0] in (known.rules if known else ("MP-ISO-010",))


def test_the_gallery_looks_for_what_the_page_shows():
    """A row that is cut off may hold it behind its end."""
    gallery, compared = load_all(), 0
    for cheat, line in zip(cheating.cheats(), cheating.shown(), strict=True):
        known = gallery.get(f"tests.hostile.cheating:{cheat.__name__}")
        told = line.removesuffix(" |").rpartition(" | ")[2].partition(": ")[2]
        if known is not None and (len(told) < cheating.CUT or len(known.rules) > 1):
            assert any(word in told for word in known.says), (cheat, told)
            compared += 1
    assert compared > len(cheating.cheats()) // 2


def test_a_result_is_no_object_while_code_of_the_provider_runs_after_it(tmp_path):
    target = "tests.hostile.cheating:ChangesResultsThatItFinds"
    document = reported(tmp_path, f"--memproto={target}", "--memproto-clause=MP-TURN-001")
    assert outcomes(document["reports"][0])["MP-TURN-001"] == "fail", document["run"].stdout
