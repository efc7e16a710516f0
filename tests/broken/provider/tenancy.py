"""Providers that mix users, sessions or profiles."""

import contextlib
import fnmatch
import json
import re
import threading
import time
import unicodedata
from pathlib import Path
from typing import Any, ClassVar

from tests.broken.marks import mutant
from tests.good.choosy import Choosy
from tests.good.journal import Journal, words
from tests.good.private import Private
from tests.good.tenants import Owned, Tenants, digest
from tests.good.worded import Apart


@mutant(kills="MP-TENANT-001", says="enrich_turn gives", report="E4")
class RecallForgetsTheUser(Tenants):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with self._lock:
            self._entries = []
            for file in self._home.glob(f"*/{self._session}/journal.jsonl"):
                self._entries += map(json.loads, file.read_text("ascii").splitlines())
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-TENANT-001", says="system_prompt_block gives", report="E4")
class OnePromptBlockForAllUsers(Tenants):
    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["prompt"]}

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        files = sorted(self._home.glob(f"*/{self._session}/journal.jsonl"))
        self._block = "".join(file.read_text("ascii") for file in files)[-20_000:]

    def system_prompt_block(self) -> str:
        return self._block


@mutant(kills="MP-TENANT-001", says="enrich_turn gives", report="D4")
class AnAnswerIsKeptForWhoeverAsks(Private):
    """The answers of a process are kept by home and question until something is stored."""

    _answers: ClassVar[dict[Any, str | None]] = {}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        files = [file.stat() for file in sorted(self._home.glob("*/journal.jsonl"))]
        stored = tuple((file.st_ino, file.st_size, file.st_mtime_ns) for file in files)
        key = self._home, user_message, stored
        if key not in self._answers:
            self._answers[key] = super().enrich_turn(user_message, messages)
        return self._answers[key]

    def _save(self) -> None:
        super()._save()
        self._answers.clear()


@mutant(kills="MP-TENANT-002", says="session key", report="A9")
class RecallForgetsTheSession(Tenants):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with self._lock:
            self._entries = []
            for file in self._home.glob(f"{self._user}/*/journal.jsonl"):
                self._entries += map(json.loads, file.read_text("ascii").splitlines())
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-TENANT-003", says="while both are open", report="C6")
class OneCurrentHomeForAll(Journal):
    current: Path | None = None

    @property
    def _path(self) -> Path | None:
        return self.current

    @_path.setter
    def _path(self, path: Path | None) -> None:
        type(self).current = path


@mutant(kills="MP-TENANT-003", says="did not come back", report="C6")
class OneCurrentUserForAll(Tenants):
    current = ""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        type(self).current = self._user

    def _save(self) -> None:
        own, self._path = self._path, self._home / self.current / self._session / "journal.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        super()._save()
        self._path = own


# The last instance wins: a fact is in the other home, or is overwritten.
@mutant(kills="MP-TENANT-003", says="stored for home", report="C6")
class OneDriverIsSwappedForEachCall(Tenants):
    driver: Path | None = None
    gate = threading.Lock()

    def _save(self) -> None:
        type(self).driver = self._path
        time.sleep(0.01)  # The round trip to the backend.
        with self.gate:
            own, self._path = self._path, self.driver
            super()._save()
            self._path = own


@mutant(kills="MP-TENANT-007", says="platform 'telegram'", report="E8")
class AUserForEachPlatform(Tenants):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        principal = f"{config['platform']}:{config.get('user_id')!a}"
        super().initialize(session_key, {**config, "user_id": principal})


@mutant(kills="MP-TENANT-007", says="user_name 'Ida B.'", report="E8")
class TheDisplayNameIsTheUser(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        peer = digest(config.get("user_name") or config.get("user_id"))
        super().initialize(session_key, {**config, "home": f"{config['home']}/{peer}"})


@mutant(kills="MP-TENANT-008", says="without user_id", report="E7")
class TwoDefaultsForOneKey(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        home = Path(config["home"])
        read, write = (home / digest(config.get("user_id", name)) for name in ("root", "default"))
        super().initialize(session_key, {**config, "home": str(read)})
        write.mkdir(exist_ok=True)
        self._written = write / "journal.jsonl"

    def _save(self) -> None:
        own, self._path = self._path, self._written
        super()._save()
        self._path = own


@mutant(kills="MP-TENANT-009", says="a session without user_id", report="E1")
class NobodySeesEverybody(Tenants):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        users = "*" if self._user == digest(None) else self._user
        with self._lock:
            self._entries = []
            for file in self._home.glob(f"{users}/{self._session}/journal.jsonl"):
                self._entries += map(json.loads, file.read_text("ascii").splitlines())
        return super().enrich_turn(user_message, messages)


class _OfEveryUser(Tenants):
    """Recall reads the files of all users."""

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with self._lock:
            self._entries = []
            for file in self._home.glob(f"*/{self._session}/journal.jsonl"):
                self._entries += map(json.loads, file.read_text("ascii").splitlines())
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-TENANT-001", says="enrich_turn gives", report="E4")
class SearchesTheWordsOfEveryUser(_OfEveryUser, Apart):
    pass


@mutant(kills="MP-TENANT-001", says="enrich_turn gives", report="E4")
class ChoosesForEveryUser(_OfEveryUser, Choosy):
    pass


# -- ids -------------------------------------------------------------------------------------------

# Providers that use ids as they are, or make two ids one.


@mutant(kills="MP-TENANT-004", says="UnicodeEncodeError", report="E6")
class TheSessionKeyIsEncoded(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._key = session_key.encode()


@mutant(kills="MP-TENANT-004", says="as user_id", report="E6")
class AUserIdIsAFileName(Tenants):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        (self._home / f"{self._user}.owner").write_text(str(config.get("user_id")))


@mutant(kills="MP-TENANT-004", says="was stored did not come back", report="E6")
class LongIdsAreNotStored(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._is_known = len(session_key) <= 500

    def _save(self) -> None:
        if self._is_known:
            super()._save()


@mutant(
    kills="MP-TENANT-005", says="the session key '../../stray' it is in ../stray.txt", report="E6"
)
class ASessionKeyIsAPath(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._copy = Path(config["home"]) / "sessions" / f"{session_key}.txt"

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        super().on_turn_complete(user_message, assistant_response)
        with contextlib.suppress(OSError, ValueError):
            self._copy.parent.mkdir(parents=True, exist_ok=True)
            self._copy.write_text(user_message, "utf-8")


@mutant(kills="MP-TENANT-006", says="kept apart, as user_id", report="E6")
class UserIdsAreCleaned(Tenants):
    @staticmethod
    def name_of_user(user_id: str | None) -> str:
        cleaned = re.sub(r"[^A-Za-z0-9]+", "-", user_id) if user_id else user_id
        return digest(cleaned)


@mutant(kills="MP-TENANT-006", says="kept apart, as session key", report="E6")
class SessionKeysAreCut(Tenants):
    @staticmethod
    def name_of_session(session_key: str) -> str:
        return digest(session_key[:255])


@mutant(kills="MP-TENANT-006", says="does not come back for it", report="E6")
class ASessionReplacesItsNamesake(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._row = {"row": session_key[:100], "of": session_key}

    def _save(self) -> None:
        row, key = self._row["row"], self._row["of"]
        stored = [{**self._row, **entry} for entry in self._entries]
        self._entries = [e for e in stored if e["row"] != row or e["of"] == key]
        super()._save()


@mutant(kills="MP-TENANT-006", says="kept apart, as user_id", report="E6")
class AUserIdLosesItsSign(Tenants):
    @staticmethod
    def name_of_user(user_id: str | None) -> str:
        return digest(user_id.lstrip("+-") if user_id else user_id)


@mutant(kills="MP-TENANT-006", says="has stored as well", report="E7")
class OneTextIsStoredForOneUser(Tenants):
    """The hash of a text is its primary key, whoever says it."""

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        with self._changing():
            known = self._home / f"{digest(user_message)}.known"
            owner = known.read_text() if known.exists() else self._user
            known.write_text(owner)
        if owner == self._user:
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-TENANT-006", says="kept apart, as user_id", report="E6")
class ANumberIsANumber(Tenants):
    @staticmethod
    def name_of_user(user_id: str | None) -> str:
        is_number = user_id is not None and user_id.isdecimal()
        return digest(str(int(user_id)) if user_id and is_number else user_id)


@mutant(kills="MP-TENANT-006", says="kept apart, as session key", report="E6")
class KeysAreCutInFront(Tenants):
    @staticmethod
    def name_of_session(session_key: str) -> str:
        return digest(session_key[-128:])


@mutant(kills="MP-TENANT-001", says="which on_compress stored", report="E4")
class CompressionsAreOfNobody(Owned):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        with (self._home / "compressed.txt").open("a", encoding="utf-8") as file:
            file.writelines(f"{message['content']!a}\n" for message in messages)

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        shared = self._home / "compressed.txt"
        found = shared.read_text("utf-8").splitlines() if shared.exists() else []
        wanted = words(user_message)
        told = [line for line in found if len(wanted & words(line)) > 1]
        own = super().enrich_turn(user_message, messages)
        return "\n".join(filter(None, [own, *told])) or None


@mutant(kills="MP-TENANT-003", says="recall_items for", report="C6")
class ItemsAreThoseOfTheNewestSession(Private):
    newest: ClassVar[Private]

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        type(self).newest = self

    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        newest = self.newest if self.newest._home == self._home else self
        newest._entries = newest._load()
        return Private.recall_items(newest, request)


@mutant(kills="MP-TENANT-009", says="whose user_name is", report="E1")
class ANameStandsInForTheId(Private):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        user = config.get("user_id") or config.get("user_name")
        super().initialize(session_key, {**config, "user_id": user})


@mutant(kills="MP-TENANT-006", says="kept apart, as session key", report="E6")
class KeysLoseTheirMiddle(Tenants):
    @staticmethod
    def name_of_session(session_key: str) -> str:
        is_long = len(session_key) > 200
        return digest(session_key[:100] + session_key[-100:] if is_long else session_key)


@mutant(kills="MP-TENANT-006", says="kept apart, as user_id", report="E6")
class AUserIdIsAPattern(Tenants):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._called = json.dumps(config.get("user_id"))
        self._place = self._home / self._user
        self._place.mkdir(parents=True, exist_ok=True)
        (self._place / "user").write_text(self._called, "ascii")

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        found = {named.parent: named.read_text() for named in self._home.glob("*/user")}
        like = {place for place, who in found.items() if fnmatch.fnmatchcase(who, self._called)}
        files = [place / self._session / "journal.jsonl" for place in like | {self._place}]
        texts = [file.read_text("ascii") for file in files if file.exists()]
        with self._lock:
            self._entries = [json.loads(line) for text in texts for line in text.splitlines()]
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-TENANT-009", says="stored for user_id 'None'", report="E1")
class NobodyIsWrittenOut(Tenants):
    @staticmethod
    def name_of_user(user_id: str | None) -> str:
        return digest(f"{user_id}")


@mutant(kills="MP-TENANT-003", says="which began later", report="C6")
class AStartReadsForItsUserAlone(Owned):
    """The index of the process is built anew with each start, of what its user has."""

    _index: ClassVar[set[str]] = set()

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._index.clear()
        self._index.update(entry["text"] for entry in self._entries)

    def _save(self) -> None:
        super()._save()
        self._index.update(entry["text"] for entry in self._entries)

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        self._entries = [entry for entry in self._load() if entry["text"] in self._index]
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-TENANT-006", says="kept apart, as user_id", report="E6")
class UserIdsLoseWhatIsNotShown(Tenants):
    @staticmethod
    def name_of_user(user_id: str | None) -> str:
        unseen = ("Cc", "Cf")
        letters = [one for one in user_id or "" if unicodedata.category(one) not in unseen]
        return digest(None if user_id is None else "".join(letters))


@mutant(kills="MP-TENANT-006", says="kept apart, as user_id", report="E6")
class AUserIdIsFolded(Tenants):
    @staticmethod
    def name_of_user(user_id: str | None) -> str:
        return digest(user_id and user_id.casefold())


@mutant(kills="MP-TENANT-006", says="kept apart, as user_id", report="E6")
class AUserIdIsComposed(Tenants):
    @staticmethod
    def name_of_user(user_id: str | None) -> str:
        return digest(user_id and unicodedata.normalize("NFC", user_id))


@mutant(kills="MP-TENANT-006", says="as two plain ids of each kind", report="E4")
class AKeyIsTheUserAndTheSession(Tenants):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._home, user = Path(config["home"]), config.get("user_id")
        self._user = self.name_of_user(session_key if user is None else f"{user}:{session_key}")
        self._session = digest(user is None)
        place = self._home / self._user / self._session
        Journal.initialize(self, session_key, {**config, "home": str(place)})
