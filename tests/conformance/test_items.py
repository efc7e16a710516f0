"""Grounds of the checks of items and exports: fitting answers, looking tools, parts of a text."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider.extensions import items, record
from memproto.errors import Rejected, Unavailable
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.facts import Fact
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Watch
from memproto.testing.scenarios import entries
from memproto.testing.wire import Wire
from tests.good.private import Private

FACT = Fact("I meet my coach at the cafe Oridane.", "Where do I meet my coach?", "Oridane")


def tool(name: str, properties: list[str], required: list[str]) -> dict:
    parameters = {"properties": {key: {} for key in properties}, "required": required}
    return {"name": name, "parameters": parameters}


def test_an_answer_that_json_cannot_hold_does_not_fit():
    answer = {"items": [], "x_at": dt.datetime.now(dt.UTC)}
    assert "cannot be written as JSON" in entries.misfit(answer, "export")


def test_an_answer_without_a_key_does_not_fit_and_the_fault_says_where():
    assert entries.misfit({"removed": 1}, "forget-result").startswith("$: 'pending'")


def test_an_answer_as_in_the_schema_fits():
    assert entries.misfit({"items": [], "status": "ok"}, "recall-items") == ""


def test_none_is_a_violation_of_the_rule_on_the_form_of_the_answer():
    with pytest.raises(Violation) as caught:
        entries.fitting(None, "forget-result")
    assert caught.value.requirement == "MP-PRIV-002"


def test_a_tool_that_looks_up_with_a_question_alone_is_asked():
    schemas = [tool("notes_search", ["query", "limit"], ["query"])]
    assert entries.looking_tools(schemas) == [("notes_search", "query")]


def test_a_tool_that_needs_more_than_a_question_or_that_stores_is_not_asked():
    schemas = [tool("notes_search", ["query", "day"], ["query", "day"]), tool("add", ["text"], [])]
    assert entries.looking_tools(schemas) == []


def test_items_of_a_fact_are_those_that_hold_its_name():
    found = [{"text": "The cafe ORIDANE."}, {"text": "The cafe Velora."}]
    assert entries.of_fact(found, FACT) == found[:1]


@pytest.mark.parametrize("text", ["I meet my", "I meet my…", "I meet my ..."])
def test_the_beginning_of_an_item_is_a_part_of_it(text):
    assert items._is_part(text, [FACT.text])


@pytest.mark.parametrize("text", [FACT.text, "", "The lamps are lit."])
def test_a_whole_item_an_empty_one_and_another_one_are_no_parts(text):
    assert not items._is_part(text, [FACT.text])


def test_every_turn_has_an_id_of_its_own_and_times_with_an_offset():
    one, other = entries.turn("s", "a"), entries.turn("s", "a")
    assert one["turn_id"] != other["turn_id"]
    assert entries.instant(one["started_at"]).utcoffset() is not None
    assert entries.misfit(one, "recorded-turn") == ""


def test_a_backend_that_is_away_proves_nothing_and_a_scope_that_is_refused_does():
    def away():
        raise HookRaised("export", Unavailable("starting"))

    def refuses():
        raise HookRaised("export", Rejected("no such scope"))

    with pytest.raises(Untestable, match="does not answer"):
        entries.unless_refused(away)
    assert entries.unless_refused(refuses) is entries.REFUSED


# -- a recall that shows the newest entries alone says nothing of those behind many others ---------

_MOST = 40


class Newest(Private):
    """Recalls the newest entries whatever is asked; all are stored, and in the export."""

    def _newest(self) -> list[dict[str, Any]]:
        self._look_again()
        return self._entries[: -_MOST - 1 : -1]

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return "\n".join(entry["text"] for entry in self._newest()) or None

    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"items": [self._item(entry) for entry in self._newest()], "status": "ok"}


@pytest.fixture
def newest(tmp_path: Path) -> Iterator[Run]:
    with (tmp_path / "wire").open("wb") as file:
        context = Context(
            routes=dict.fromkeys(("turns", "writes"), "declared"),
            capabilities=Private().capabilities(),
        )
        watch = Watch(Wire(file.fileno()))
        yield Run(Newest, NATIVE, tmp_path / "homes" / "home", watch, context)


def test_a_turn_that_is_told_again_is_judged_before_many_others_are_told(newest):
    record.a_turn_id_is_stored_once(newest)


def test_ids_are_compared_before_many_others_are_stored(newest, monkeypatch):
    monkeypatch.setattr(items, "_ids_in_another_process", lambda run, facts: dict.fromkeys(facts))
    items.an_id_names_one_item(newest)
