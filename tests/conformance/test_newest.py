"""A recall that shows the newest entries alone says nothing of those behind many others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider.extensions import items, record
from memproto.testing.context import Context
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import Wire
from tests.good.private import Private

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
def run(tmp_path: Path) -> Iterator[Run]:
    with (tmp_path / "wire").open("wb") as file:
        context = Context(
            routes=dict.fromkeys(("turns", "writes"), "declared"),
            capabilities=Private().capabilities(),
        )
        watch = Watch(Wire(file.fileno()))
        yield Run(Newest, NATIVE, tmp_path / "homes" / "home", watch, context)


def test_a_turn_that_is_told_again_is_judged_before_many_others_are_told(run):
    record.a_turn_id_is_stored_once(run)


def test_ids_are_compared_before_many_others_are_stored(run, monkeypatch):
    monkeypatch.setattr(items, "_ids_in_another_process", lambda run, facts: dict.fromkeys(facts))
    items.an_id_names_one_item(run)
