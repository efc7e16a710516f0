"""WireProvider: what a host sees of a program, good or bad."""

import asyncio
import logging
import os
import signal
import sys
import threading
import time

import psutil
import pytest

from memproto import AsyncMemoryProviderRegistry, Deadlines, MemoryProviderRegistry, spec
from memproto.errors import DuplicateProvider, Misconfigured, Rejected
from memproto.wire import NotStarted, OutcomeUnknown, WireProvider
from memproto.wire.connection import Connection
from memproto.wire.program import Program
from memproto.wire.provider import ALLOWED, BUDGETS_S
from tests.kit_runs import ROOT
from tests.wire import servers

JOURNAL = (sys.executable, "-P", "-m", "memproto", "serve", "tests.good.journal:Journal")

CONFIG = {
    "protocol": {"version": "1.0", "host": "test", "hooks": [], "contexts": ["primary"]},
    "deadlines": {"enrich_s": 20.0, "compress_s": 120.0, "shutdown_s": 15.0},
    "limits": {},
    "platform": "cli",
}


@pytest.fixture
def started(tmp_path):
    """A provider of a server class in a session; shut down behind the test."""
    made = []

    def start(kind, **deadlines):
        provider = kind()
        made.append(provider)
        config = {
            **CONFIG,
            "home": str(tmp_path),
            "deadlines": {**CONFIG["deadlines"], **deadlines},
        }
        provider.initialize("s1", config)
        return provider

    yield start
    for provider in made:
        provider.shutdown()


def pid_of(provider):
    return provider._connection.program.pid


def is_gone(pid):
    try:
        psutil.Process(pid).wait(10)
    except psutil.NoSuchProcess:
        return True
    return not psutil.pid_exists(pid)


# -- a session -------------------------------------------------------------------------------------


def test_a_turn_that_was_recorded_is_recalled_by_the_next_process(started):
    first = started(servers.Wired)
    first.on_turn_complete("My boat is moored in Velbellogren \U0001f9ad.", "Noted.")
    first.shutdown()
    found = started(servers.Wired).enrich_turn("Where is my boat?", [])
    assert "Velbellogren \U0001f9ad" in found


def test_a_registry_takes_it_as_any_provider(tmp_path):
    registry = MemoryProviderRegistry(deadlines=Deadlines(enrich_s=20.0))
    registry.register(servers.Wired())
    registry.initialize_all("s1", {"home": str(tmp_path)})
    registry.on_turn_complete("My boat is moored in Velbellogren.", "Noted.")
    registry.shutdown_all()
    again = MemoryProviderRegistry(deadlines=Deadlines(enrich_s=20.0))
    again.register(servers.Wired())
    again.initialize_all("s2", {"home": str(tmp_path)})
    assert "Velbellogren" in str(again.enrich_turn("Where is my boat?", []))
    again.shutdown_all()


def test_a_registry_starts_a_program(tmp_path):
    registry = MemoryProviderRegistry(deadlines=Deadlines(enrich_s=20.0))
    registry.register_program(JOURNAL, cwd=ROOT, env=dict(os.environ))
    registry.initialize_all("s1", {"home": str(tmp_path)})
    registry.on_turn_complete("My boat is moored in Velbellogren.", "Noted.")
    assert registry.flush()
    assert "Velbellogren" in str(registry.enrich_turn("Where is my boat?", []))
    registry.shutdown_all()


def test_a_registry_on_a_loop_starts_a_program(tmp_path):
    async def session():
        async with AsyncMemoryProviderRegistry() as registry:
            await registry.register_program(JOURNAL, cwd=ROOT, env=dict(os.environ))
            await registry.initialize_all("s1", {"home": str(tmp_path)})
            return registry.providers

    assert asyncio.run(session()) == ("journal",)


def programs():
    """The servers that this process has started, as far as they run."""
    children = psutil.Process().children()
    return [child for child in children if "tests.good.journal:Journal" in child.cmdline()]


def test_a_program_that_a_registry_refuses_ends_at_once_and_an_unopened_one_with_it():
    registry = MemoryProviderRegistry()
    registry.register_program(JOURNAL, cwd=ROOT, env=dict(os.environ))
    (first,) = programs()
    with pytest.raises(DuplicateProvider):
        registry.register_program(JOURNAL, cwd=ROOT, env=dict(os.environ))
    assert programs() == [first]
    registry.shutdown_all()
    assert is_gone(first.pid)


def test_a_registry_tells_why_a_program_gives_no_server():
    with pytest.raises(NotStarted, match="no program 'no-such-program' is on PATH"):
        MemoryProviderRegistry().register_program(["no-such-program"])


def test_the_hooks_of_extensions_are_those_that_the_server_answers():
    provider = servers.Wired()
    assert callable(provider.enrich_turn)
    assert not hasattr(provider, "get_tool_schemas")
    assert not hasattr(provider, "no_hook_at_all")
    provider.shutdown()


def test_building_one_starts_nothing_and_an_instance_that_was_not_started_ends():
    provider = WireProvider(["no-such-program"])
    provider.shutdown()
    assert provider.enrich_turn("Where?", []) is None


def test_the_budgets_are_those_of_the_catalogue():
    hooks = {name: row.budget_s for name, row in spec.hooks().items()}
    known = {name: hooks[name] for name in BUDGETS_S if name in hooks}
    assert known == {name: BUDGETS_S[name] for name in known}
    assert set(BUDGETS_S) - set(known) == {"post_setup"}


# -- bad commands ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["no-such-program"], "no program 'no-such-program' is on PATH"),
        (["/no/such/file"], "there is no such file"),
        ([__file__], "it is not executable"),
        ([sys.executable, "-c", "print('usage: acme [-h]')"], "'usage: acme [-h]'"),
        (
            [sys.executable, "-c", "raise SystemExit('a terminal is needed')"],
            "a terminal is needed",
        ),
        (["cat"], "it answers with a request"),
    ],
    ids=["absent", "no-file", "not-executable", "help", "exits", "echo"],
)
def test_a_command_that_gives_no_server_is_told_once_and_not_tried_again(command, said):
    provider = WireProvider(command)
    with pytest.raises(NotStarted, match=None) as first:
        _ = provider.name
    assert command[0] in str(first.value)
    assert said in str(first.value)
    assert isinstance(first.value, Misconfigured)
    with pytest.raises(NotStarted) as second:
        provider.initialize("s1", {})
    assert second.value is first.value
    assert provider.is_available() is False
    assert provider.enrich_turn("Where?", []) is None


def test_the_exit_status_and_the_last_lines_are_in_the_message():
    words = "import sys; sys.stderr.write('one\\ntwo\\n'); sys.exit(9)"
    with pytest.raises(NotStarted, match=r"exit status 9; .*one \| two") as told:
        WireProvider([sys.executable, "-c", words]).start()
    assert (told.value.status, told.value.said) == (9, "one | two")


class _WrittenTooLate(Program):
    """It has ended before anything is written to it."""

    def write(self, line: bytes) -> None:
        assert self.wait(20.0)
        super().write(line)


class _ReadTooLate(_WrittenTooLate):
    """Nobody reads it before that either."""

    def _stand_by(self) -> None:
        assert self.wait(20.0)
        super()._stand_by()


@pytest.mark.parametrize("program", [_WrittenTooLate, _ReadTooLate])
def test_the_words_of_a_program_that_ends_before_it_is_greeted_are_told(monkeypatch, program):
    monkeypatch.setattr(Connection, "_PROGRAM", program)
    command = [sys.executable, "-c", "print('usage: acme [-h]')"]
    with pytest.raises(NotStarted, match=r"'usage: acme \[-h\]', which is no message"):
        WireProvider(command).start()


@pytest.mark.parametrize("command", ["", [], [""], [3], "unclosed '"])
def test_what_is_no_command_is_refused_at_once(command):
    with pytest.raises(ValueError, match=r"command|quotation"):
        WireProvider(command)


# -- bad servers -----------------------------------------------------------------------------------


def test_a_flood_on_the_standard_error_blocks_nobody(started):
    provider = started(servers.FloodsItsErrors)
    assert provider.enrich_turn("Where?", []) is None
    assert len(provider._connection.program._kept.text()) <= 65536


@pytest.mark.once
def test_a_server_that_does_not_read_blocks_no_call(started):
    provider = started(servers.StopsReading, enrich_s=0.3)
    provider._connection.notify("stop", {})
    long = "a" * 2_000_000
    began = time.monotonic()
    for _ in range(30):
        assert provider.enrich_turn(long, []) is None
    assert time.monotonic() - began < 30 * 0.3 + 30


def test_a_write_in_which_the_server_ended_is_unknown_and_nothing_starts_again(started):
    provider = started(servers.EndsInAWrite)
    pid = pid_of(provider)
    with pytest.raises(OutcomeUnknown, match=r"exit status 7; it said: .*no space left"):
        provider.on_turn_complete("My boat is in Velbellogren.", "Noted.")
    with pytest.raises(Exception, match="has ended"):
        provider.on_turn_complete("A second one.", "Noted.")
    assert provider.enrich_turn("Where?", []) is None
    assert pid_of(provider) == pid


def test_a_write_that_is_given_up_is_unknown(started, monkeypatch):
    monkeypatch.setitem(BUDGETS_S, "record", 0.5)
    provider = started(servers.HoldsAWrite)
    with pytest.raises(OutcomeUnknown, match="it may be stored or not"):
        provider.on_turn_complete("My boat is in Velbellogren.", "Noted.")
    # It answers nothing else's call, and is ended with its write.
    assert provider.ping()
    pid = pid_of(provider)
    os.killpg(pid, signal.SIGKILL)
    provider.shutdown()
    assert is_gone(pid)


def test_a_late_answer_is_discarded_by_its_id(started):
    provider = started(servers.AnswersLate, enrich_s=0.2)
    assert provider.enrich_turn("Where is the first?", []) is None
    assert provider.ping()
    provider._deadlines = {"enrich_s": 20.0}
    assert provider.enrich_turn("Where is the second?", []) != "old"
    assert provider._connection.faults == []


def test_the_end_leaves_nothing_of_the_group_behind(started):
    provider = started(servers.StartsAHelper)
    helper = int(provider.enrich_turn("Where?", []))
    pid = pid_of(provider)
    provider.shutdown()
    assert is_gone(pid)
    assert is_gone(helper)


def test_a_host_that_is_dropped_leaves_no_process(started):
    provider = servers.Wired()
    provider.start()
    process = psutil.Process(pid_of(provider))  # before it may have ended
    del provider
    assert process.wait(20) in (0, None)


def test_only_allowed_variables_go_over(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_SECRET", "hush")
    words = [sys.executable, "-m", "tests.good.wired", "tests.wire.servers", "ShowsItsEnvironment"]
    provider = WireProvider(words, cwd=ROOT, env={"MINE": "1"})
    provider.initialize("s1", {**CONFIG, "home": str(tmp_path)})
    shown = set(provider.enrich_turn("Which?", []).split())
    provider.shutdown()
    assert "MINE" in shown
    assert "ACME_SECRET" not in shown
    assert shown <= {*ALLOWED, "MINE", "LC_CTYPE", "HERMES_HOME"}


def test_what_no_message_can_hold_is_refused_before_it_is_sent(started):
    provider = started(servers.Wired)
    with pytest.raises(Rejected, match="beyond"):
        provider.on_memory_write("add", "memory", "one", 2**60)
    provider.on_turn_complete("Half a pair: \ud83d end", "Noted.")
    assert "\ufffd" in str(provider.enrich_turn("Half a pair", []))


def test_many_calls_beside_each_other_get_their_own_answers(started):
    provider = started(servers.Wired)
    for number in range(8):
        provider.on_turn_complete(f"Key {number} is in Dorrim{number}.", "Noted.")
    found = {}

    def ask(number):
        found[number] = provider.enrich_turn(f"Where is Key {number}?", [])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f"Dorrim{number}" in found[number] for number in found)
    assert len(found) == 8


def test_a_stray_line_is_told_to_the_log_and_skipped(started, caplog):
    from tests.broken.provider.wire import WritesABanner

    with caplog.at_level(logging.WARNING, "memproto.wire"):
        provider = started(WritesABanner)
        provider.on_turn_complete("My boat is in Velbellogren.", "Noted.")
    assert "Acme memory 1.0, ready" in caplog.text
