"""
The memory as one JSON document: for a backup, or a move to another host.

`{"format": "memproto.builtin/1", "targets": {"memory": [{"content": ..., "added_at": ...}]}}`,
with `added_at` null for an entry that was made by hand. JSON cannot tell some texts apart: two
lone surrogates that spell a character side by side arrive as that character.
"""

import json
from collections.abc import Mapping
from typing import Any

from memproto.errors import ProviderError, Rejected, WriteRefused

from . import edits
from .edits import Entries, Outcome
from .entries import Entry, is_date
from .store import Store
from .tool import TARGETS

FORMAT = "memproto.builtin/1"


def export_document(stores: Mapping[str, Store]) -> str:
    """
    The entries of every target as JSON, in ASCII: any text survives any channel.

    Raises:
        Unavailable: A file cannot be read. A backup that leaves a file out is none.

    """
    targets = {name: [_row(entry) for entry in store.read()] for name, store in stores.items()}
    return json.dumps({"format": FORMAT, "targets": targets}, indent=2)


def import_document(stores: Mapping[str, Store], document: str | bytes) -> dict[str, int]:
    """
    Add the entries of `document` that are not there yet, dates kept; how many, by target.

    Everything is tried before anything is written: a document that is refused changes no file.

    Raises:
        Rejected: It is no such document, or names a target that there is not.
        WriteRefused: A target is switched off, or does not hold all of it.
        TooLarge: An entry alone is over the limit.
        Unavailable: The file system refuses.

    """
    wanted = _parsed(document)
    for name in wanted:
        if name not in stores:
            raise WriteRefused(f"the target {name} is switched off in the configuration")
    for name, entries in wanted.items():
        _merged(stores[name].read(), entries, stores[name], name)
    return {name: _import_into(stores[name], entries, name) for name, entries in wanted.items()}


def _import_into(store: Store, entries: Entries, name: str) -> int:
    counts: list[int] = []

    def merge(before: Entries) -> Outcome:
        after = _merged(before, entries, store, name)
        counts.append(len(after) - len(before))
        return Outcome(after, "Imported.")

    store.change(merge)
    return counts[-1]


def _merged(before: Entries, entries: Entries, store: Store, name: str) -> Entries:
    after = before
    try:
        for entry in entries:
            after = edits.add(after, entry, store.limit).entries
    except ProviderError as refusal:
        raise type(refusal)(f"target {name}: {refusal}") from refusal
    return after


def _parsed(document: str | bytes) -> dict[str, Entries]:
    try:
        data = json.loads(document)
    except (ValueError, TypeError, RecursionError) as error:
        raise Rejected(f"the document is not JSON: {type(error).__name__}") from error
    targets = data.get("targets") if isinstance(data, dict) else None
    if not isinstance(targets, dict) or data.get("format") != FORMAT:
        raise Rejected(f"the document is no export of this provider: format is not {FORMAT}")
    if not set(targets) <= set(TARGETS):
        raise Rejected(f"the document has a target that is not one of {', '.join(TARGETS)}")
    return {name: _entries(name, rows) for name, rows in targets.items()}


def _entries(name: str, rows: Any) -> Entries:
    if not isinstance(rows, list):
        raise Rejected(f"target {name}: not a list of entries")
    return tuple(_entry(f"target {name}, entry {place}", row) for place, row in enumerate(rows))


def _entry(where: str, row: Any) -> Entry:
    if not isinstance(row, dict) or not isinstance(row.get("content"), str):
        raise Rejected(f"{where}: content is not text")
    added_at = row.get("added_at")
    if added_at is None:
        return Entry(row["content"])
    if not isinstance(added_at, str) or not is_date(added_at):
        raise Rejected(f"{where}: added_at is not an ISO 8601 date")
    return Entry(row["content"], added_at)


def _row(entry: Entry) -> dict[str, str | None]:
    return {"content": entry.content, "added_at": entry.added_at or None}
