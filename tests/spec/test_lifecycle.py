"""The life of an instance: its data, the pictures made from it, and the machine that lives it."""

import random
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from memproto import operations, spec
from memproto.bindings import NATIVE
from memproto.conformance.provider import lifecycle
from memproto.errors import WriteRefused
from memproto.lifecycle import PICTURES, life
from memproto.recording import Recording
from memproto.testing import incidents, wording
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.needs import DependsOn
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookLate, HookRaised, Watch
from memproto.testing.scenarios.machine import Machine, vocabulary
from memproto.testing.scenarios.sequences import Search
from memproto.testing.wire import Wire
from memproto.tracing import read
from memproto.tracing.order import Told, seen
from tests.broken.provider.turns import LastTurnStaysInTheBatch
from tests.good.journal import Journal

pytestmark = pytest.mark.once

SPEC = Path(__file__).parents[2] / "spec" / "v1"
JOURNALS = {"stores": ["turns", "writes"], "mirrors": Journal().capabilities()["mirrors"]}


# -- the data --------------------------------------------------------------------------------------


def test_the_data_fit_their_schema() -> None:
    data = tomllib.loads((SPEC / "lifecycle.toml").read_text(encoding="utf-8"))
    jsonschema.validate(data, spec.schema("lifecycle"))
    assert spec.lifecycle() == data


def test_every_operation_has_its_place_in_a_life() -> None:
    called = {operation for state in life().states for operation in life().allows(state)}
    assert called == set(operations.OPERATIONS)


def test_every_state_is_reached_from_the_start_and_leads_to_the_end() -> None:
    edges = {(source, move.to) for move in life().moves for source in move.sources}
    forward = reached(life().start, edges)
    backward = reached(life().end, {(to, source) for source, to in edges})
    assert forward == backward == set(life().states)


def reached(start: str, edges: set[tuple[str, str]]) -> set[str]:
    found = {start}
    while more := {to for source, to in edges if source in found} - found:
        found |= more
    return found


def test_each_state_says_what_a_call_is_that_it_does_not_allow() -> None:
    named = [state for probe in life().probes for state in probe.states]
    assert sorted(named) == sorted(life().states)


def test_no_operation_is_in_two_lanes() -> None:
    named = [operation for lane in life().lanes for operation in lane.operations]
    assert len(named) == len(set(named))


def test_the_diagram_shows_every_move() -> None:
    diagram = PICTURES["diagram"]()
    for move in life().moves:
        assert all(
            f"{source} --> {move.to}: {move.operation}" in diagram for source in move.sources
        )


# -- the machine -----------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    with (tmp_path / "wire").open("wb") as file:

        def make(factory: Callable[[], Any] = Journal, **capabilities: Any) -> Run:
            declared = Context(capabilities={**JOURNALS, **capabilities}, routes=ROUTES)
            return Run(factory, NATIVE, tmp_path / "home", Watch(Wire(file.fileno())), declared)

        yield make


ROUTES = {"turns": "declared", "writes": "declared", "tools": "absent"}


class ServesAll(Journal):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return []

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        return "{}"

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        pass


def test_the_machine_takes_only_steps_that_the_life_of_a_session_allows(
    runs: Callable[..., Run],
) -> None:
    serving = runs(ServesAll, extensions=["tools", "prewarm"])
    steps = {step.operation for step in vocabulary(serving)}
    assert steps <= set(life().allows("session"))
    assert steps == {"recall", "record", "mirror", "compress", "call_tool", "prewarm", "close"}


def test_the_machine_leaves_out_what_the_provider_does_not_declare(
    runs: Callable[..., Run],
) -> None:
    steps = {step.operation for step in vocabulary(runs(ServesAll))}
    assert steps == {"recall", "record", "mirror", "compress", "close"}


def test_whatever_the_machine_does_is_in_order_and_loses_nothing_of_a_good_provider(
    runs: Callable[..., Run], tmp_path: Path
) -> None:
    file = tmp_path / "trace.jsonl"
    recording, numbers = Recording(file), iter(range(10_000))
    run = runs(lambda: recording.around(Journal()))
    steps = vocabulary(run)
    source = random.Random(7)
    for _ in range(30):
        machine = Machine(run, run.place(f"life-{next(numbers)}"))
        assert machine.live(tuple(source.choices(steps, k=12))) is None
    recording.close()
    (trace,), damages = read(file)
    assert not damages
    # A machine that asks what came back is a kit, which need not ask for availability.
    asked = [call.instance for call in trace.calls if call.operation == "available"]
    for number in asked:
        calls = [call for call in trace.calls if call.instance == number]
        assert [*seen(Told(trace.providers[number], calls, trace.ended_s, is_over=True))] == []
    assert len(asked) > 30


class RecallTakesThePendingTurns(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._pending: list[tuple[str, str]] = []

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._pending.append((user_message, assistant_response))

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        self._pending.clear()
        return super().enrich_turn(user_message, messages)

    def shutdown(self) -> None:
        while self._pending:
            super().on_turn_complete(*self._pending.pop(0))


def test_the_shortest_sequence_is_told_call_by_call(runs: Callable[..., Run]) -> None:
    with pytest.raises(Violation) as caught:
        lifecycle.no_order_of_calls_loses_what_was_accepted(runs(RecallTakesThePendingTurns))
    told = wording.observed(caught.value.evidence).partition(" after: ")[2]
    assert told == "initialize, on_turn_complete(A), enrich_turn, shutdown"


def test_a_loss_that_needs_one_operation_only_is_left_to_its_own_rule(
    runs: Callable[..., Run],
) -> None:
    with pytest.raises(Untestable, match="no mixture") as found:
        lifecycle.no_order_of_calls_loses_what_was_accepted(runs(LastTurnStaysInTheBatch))
    assert DependsOn("MP-TURN-003") in found.value.needs


def test_a_loss_that_does_not_come_again_is_told_as_intermittent(runs: Callable[..., Run]) -> None:
    left = iter([True])

    class OnceOnly(RecallTakesThePendingTurns):
        def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
            if self._pending and next(left, False):
                self._pending.clear()
            return Journal.enrich_turn(self, user_message, messages)

    with pytest.raises(Violation) as caught:
        lifecycle.no_order_of_calls_loses_what_was_accepted(runs(OnceOnly))
    assert "intermittent" in wording.observed(caught.value.evidence)


class RefusesEverything(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        raise WriteRefused("full")

    def on_memory_write(self, *args: Any) -> None:
        raise WriteRefused("full")


def test_what_is_refused_is_not_owed(runs: Callable[..., Run]) -> None:
    with pytest.raises(Untestable, match="every plain text was refused"):
        lifecycle.no_order_of_calls_loses_what_was_accepted(runs(RefusesEverything))


class CountsCalls(Journal):
    compressions = 0

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        type(self).compressions += 1
        self._act()

    def _act(self) -> None:
        raise KeyError("summary")


def test_what_a_hook_raises_ends_the_search_at_once(runs: Callable[..., Run]) -> None:
    CountsCalls.compressions = 0
    with pytest.raises(HookRaised, match="summary"):
        Search(runs(CountsCalls)).shortest()
    assert CountsCalls.compressions == 1


class Late(CountsCalls):
    compressions = 0

    def _act(self) -> None:
        threading.Event().wait(0.2)


def test_a_hook_that_is_late_ends_the_search_at_once(
    runs: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(incidents.BUDGETS_S, "compress", 0.05)
    Late.compressions = 0
    with pytest.raises(HookLate):
        Search(runs(Late)).shortest()
    assert Late.compressions == 1


class DrawsItsIds(Journal):
    drawn: list[float] = []  # noqa: RUF012 - what all instances drew, as a store would hold it

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self.drawn.append(random.random())
        super().on_turn_complete(user_message, assistant_response)


def test_no_provider_draws_the_same_random_numbers_in_two_sequences(
    runs: Callable[..., Run],
) -> None:
    DrawsItsIds.drawn.clear()
    assert Search(runs(DrawsItsIds)).shortest() is None
    assert len(DrawsItsIds.drawn) > 10
    assert len(set(DrawsItsIds.drawn)) == len(DrawsItsIds.drawn)


def test_where_calls_cost_money_few_sequences_are_tried(runs: Callable[..., Run]) -> None:
    free, metered = runs(), runs()
    metered.watch.calls_left = 10_000
    for run in (free, metered):
        assert Search(run).shortest() is None
    assert metered.watch.hooks["open"][0] < free.watch.hooks["open"][0] / 2
