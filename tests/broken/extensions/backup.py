"""Backups that lack data, need a session, or take everything along."""

import json
from pathlib import Path
from typing import Any

from tests.broken.marks import mutant
from tests.good.configured import Configured
from tests.good.journal import Journal
from tests.good.tenants import digest


@mutant(kills="MP-BACKUP-001", says="AttributeError", report="K5")
class ThePathsAreKnownInASessionOnly(Configured):
    def backup_paths(self) -> list[str]:
        return [str(self._path.parent.parent)]  # type: ignore[union-attr] - the bug


@mutant(kills="MP-BACKUP-001", says="created listed.txt", report="K5")
class ListingWritesAFile(Configured):
    def backup_paths(self) -> list[str]:
        found = super().backup_paths()
        self._archive().mkdir(parents=True, exist_ok=True)
        (self._archive() / "listed.txt").write_text("\n".join(found), "utf-8")
        return found


@mutant(kills="MP-BACKUP-002", says="'~/.configured'", report="K5")
class ThePathsNameTheHomeByATilde(Configured):
    def backup_paths(self) -> list[str]:
        return ["~/.configured"]


@mutant(kills="MP-BACKUP-003", says="copied to the directory where the home was", report="K5")
class TheStoreHoldsThePathOfTheHome(Configured):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        pointer = Path(config["home"], "store.txt")
        if not pointer.exists():
            pointer.parent.mkdir(parents=True, exist_ok=True)
            pointer.write_text(str(pointer.parent / "store"), "utf-8")
        Journal.initialize(self, session_key, {**config, "home": pointer.read_text("utf-8")})
        self._label = ""


@mutant(
    kills="MP-BACKUP-003",
    says="stored through turns, did not come back",
    report="hermes#50325",
    also={
        "MP-ISO-005": "what lies outside of the home is not listed, which is what it asks for",
    },
)
class NothingIsListed(Configured):
    def backup_paths(self) -> list[str]:
        return []


@mutant(kills="MP-BACKUP-003", says="stored through turns, did not come back", report="K5")
class NothingIsListedBeforeASession(Configured):
    def backup_paths(self) -> list[str]:
        return super().backup_paths() if self._path is not None else []


@mutant(kills="MP-BACKUP-004", says="the user's home directory is listed", report="K5")
class TheWholeHomeIsListed(Configured):
    def backup_paths(self) -> list[str]:
        return [*super().backup_paths(), str(Path.home())]


@mutant(kills="MP-BACKUP-003", says="in a text of", report="K5")
class LongTextsAreKeptByTheirPath(Journal):
    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["backup"]}

    def backup_paths(self) -> list[str]:
        return []

    def _save(self) -> None:
        for entry in self._entries:
            if len(text := entry["text"]) > 4_000:
                kept = Path(str(self._path)).with_name(digest(text))
                kept.write_text(json.dumps(text), "ascii")
                entry["text"] = f"in a file\0{kept}"
        super()._save()
        self._entries = self._load()

    def _load(self) -> list[dict[str, str]]:
        found = super()._load()
        for entry in found:
            _, is_long, kept = entry["text"].partition("\0/")
            if is_long and (path := Path(f"/{kept}")).exists():
                entry["text"] = json.loads(path.read_text("ascii"))
        return found
