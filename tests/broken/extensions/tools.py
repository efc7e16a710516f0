"""Broken tools: schemas that no model API takes, answers that are none, forgetting that is none."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.broken.marks import mutant
from tests.good.journal import words
from tests.good.tenants import HermesTooledByUser, Owned
from tests.good.tooled import Editing, HermesTooled, Tooled


@mutant(kills="MP-TOOL-002", says="tooled_forget', has no parameters", report="G1")
class ASchemaOfAnotherApi(Tooled):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        *others, last = super().get_tool_schemas()
        last["input_schema"] = last.pop("parameters")
        return [*others, last]


@mutant(kills="MP-TOOL-003", says="the list tags has no `items`", report="G2")
class AListOfNothingSaid(Tooled):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        schemas = super().get_tool_schemas()
        schemas[0]["parameters"]["properties"]["tags"] = {"type": "array"}
        return schemas


@mutant(kills="MP-TOOL-003", says="`anyOf` stands at the top", report="G2")
class AChoiceAtTheTop(Tooled):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        schemas = super().get_tool_schemas()
        schemas[1]["parameters"]["anyOf"] = [{"required": ["query"]}]
        return schemas


@mutant(kills="MP-TOOL-003", says="which JSON Schema lacks", report="G2")
class ATypeOfPython(Tooled):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        schemas = super().get_tool_schemas()
        schemas[0]["parameters"]["properties"]["text"]["type"] = "str"
        return schemas


@mutant(kills="MP-TOOL-004", says="limit has the types integer, null", report="G2")
class AnArgumentOfTwoTypes(Tooled):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        schemas = super().get_tool_schemas()
        schemas[1]["parameters"]["properties"]["limit"]["type"] = ["integer", "null"]
        return schemas


@mutant(kills="MP-TOOL-005", says="2 of them named 'tooled_add'", report="G4")
class EachToolTwice(Tooled):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return super().get_tool_schemas() * 2


@mutant(kills="MP-TOOL-006", says="session_search", report="G4")
class AToolOfTheHost(HermesTooled):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        schemas = super().get_tool_schemas()
        return [*schemas, {**schemas[1], "name": "session_search"}]


@mutant(kills="MP-TOOL-007", says="before: none; only afterwards", report="G5")
class ToolsOnceItRuns(HermesTooled):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return super().get_tool_schemas() if self.notes._path else []


@mutant(kills="MP-TOOL-008", says="which is no str", report="G3")
class ADictForAnAnswer(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        answer = super().handle_tool_call(tool_name, args)
        return json.loads(answer) if tool_name == "tooled_search" else answer


@mutant(kills="MP-TOOL-008", says="which is no JSON", report="G3")
class WordsWhereNothingIsFound(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        answer = super().handle_tool_call(tool_name, args)
        return "No notes were found." if answer == '{"notes": []}' else answer


@mutant(kills="MP-TOOL-008", says="NaN", report="G3")
class NothingFoundHasNoScore(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        answer = json.loads(super().handle_tool_call(tool_name, args))
        if answer.get("notes") == []:
            answer["score"] = float("nan")
        return json.dumps(answer)


@mutant(kills="MP-TOOL-008", says="raised UnicodeEncodeError", report="J2")
class AnArgumentIsEncoded(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        json.dumps(args, ensure_ascii=False).encode()
        return super().handle_tool_call(tool_name, args)


@mutant(kills="MP-TOOL-008", says="raised IndexError", report="G3")
class ASearchThatIsBrokenOff(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        asked = str(args.get("query", "")).split()
        unwanted = [asked[place + 1] for place, word in enumerate(asked) if word == "NOT"]
        answer = super().handle_tool_call(tool_name, args)
        return "{}" if any(word in answer for word in unwanted) else answer


@mutant(kills="MP-TOOL-009", says="raised KeyError('text')", report="G3")
class AMissingArgumentRaises(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        if tool_name == "tooled_add":
            args = {**args, "text": args["text"]}
        return super().handle_tool_call(tool_name, args)


@mutant(kills="MP-TOOL-009", says="which is no JSON", report="G3")
class AnErrorInWords(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        answer = super().handle_tool_call(tool_name, args)
        wrong = json.loads(answer).get("error", "")
        return f"Error: {wrong}" if wrong.endswith("is missing") else answer


@mutant(kills="MP-TOOL-010", says="'query' in the `required` of tooled_search", report="G7")
class NeededAndSaidToBeOptional(Tooled):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        schemas = super().get_tool_schemas()
        schemas[1]["parameters"]["required"] = []
        return schemas


@mutant(kills="MP-TOOL-011", says="gone after tooled_forget", report="G8")
class ForgetsNothing(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        if tool_name == "tooled_forget" and isinstance(args.get("id"), str):
            return json.dumps({"success": True, "forgotten": 0})
        return super().handle_tool_call(tool_name, args)


@mutant(kills="MP-TOOL-011", says="in sessions without a user_id", report="G8")
class ForgetsForNamedUsersOnly(Tooled):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._user = config.get("user_id")

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        if tool_name == "tooled_forget" and isinstance(args.get("id"), str) and not self._user:
            return json.dumps({"success": True, "forgotten": 1})
        return super().handle_tool_call(tool_name, args)


@mutant(kills="MP-TOOL-012", says="tooled_search has 'user_id'", report="E5")
class TheModelSaysWhoseMemory(Tooled):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        schemas = super().get_tool_schemas()
        schemas[1]["parameters"]["properties"]["user_id"] = {"type": "string"}
        return schemas


@mutant(kills="MP-TOOL-013", says="handle_tool_call had not returned", report="B1", scale=0.1)
class ASearchThatWaits(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        if tool_name == "tooled_search":
            threading.Event().wait()
        return super().handle_tool_call(tool_name, args)


@mutant(kills="MP-TOOL-014", says="it raised KeyError('harbour_lamp_light')", report="G3")
class AnUnknownToolRaises(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        self._handlers()[tool_name]
        return super().handle_tool_call(tool_name, args)


@mutant(kills="MP-TOOL-015", says="3 of 3 stand in", report="G1")
class SchemasAreWrapped(HermesTooled):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return [{"type": "function", "function": item} for item in super().get_tool_schemas()]


class _OfAll(Owned):
    """Each user's notes are in one list, with the file in which they are."""

    def _all(self) -> list[tuple[Path, dict[str, Any]]]:
        files = self._home.glob("*/journal.jsonl")
        return [(f, json.loads(line)) for f in files for line in f.read_text().splitlines()]


@mutant(kills="MP-TOOL-016", says="tooled_search shows", report="E4")
class ASearchFindsTheNotesOfAll(_OfAll):
    def _search(self, args: dict[str, Any]) -> dict[str, Any]:
        wanted = words(args["query"])
        return {"notes": [entry for _, entry in self._all() if wanted & words(entry["text"])]}


@mutant(kills="MP-TOOL-016", says="behind a call of tooled_forget for user_id", report="E4")
class ANoteIsForgottenByItsIdAlone(_OfAll):
    def _forget(self, args: dict[str, Any]) -> dict[str, Any]:
        for file, entry in self._all():
            if entry.get("id") == args["id"] and file != self._path:
                lines = file.read_text().splitlines(keepends=True)
                file.write_text("".join(line for line in lines if json.loads(line) != entry))
                return {"success": True, "forgotten": 1}
        return super()._forget(args)


@mutant(kills="MP-TOOL-016", says="behind a call of unjot", report="E4")
class ANoteIsTakenBackByItsIdAlone(ANoteIsForgottenByItsIdAlone):
    """The tool's name says nothing; its description begins with `Forgets`."""

    @staticmethod
    def _schemas() -> list[dict[str, Any]]:
        *others, forget = Tooled._schemas()
        return [*others, {**forget, "name": "unjot"}]

    def _handlers(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        return {**super()._handlers(), "unjot": self._forget}


@mutant(kills="MP-TOOL-016", says="behind a call of tooled_edit and of tooled_forget", report="E4")
class ANoteIsEditedByItsIdAlone(_OfAll, Editing):
    def _edit(self, args: dict[str, Any]) -> dict[str, Any]:
        for file, entry in self._all():
            if entry.get("id") == args["id"] and file != self._path:
                notes = [json.loads(line) for line in file.read_text().splitlines()]
                notes = [{**n, "text": args["text"]} if n == entry else n for n in notes]
                file.write_text("".join(json.dumps(note) + "\n" for note in notes))
                return {"success": True, "id": args["id"]}
        return super()._edit(args)


@mutant(kills="MP-TOOL-017", says="two calls in a row", report="J5")
class SaysMoreOfItsToolAtEachCall(Tooled):
    kept: list[dict[str, Any]] | None = None

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        self.kept = self.kept or self._schemas()
        self.kept[0]["description"] += " Call it often."
        return self.kept


@mutant(kills="MP-TOOL-017", says="two calls in a row", report="G5")
class GivesItsToolsOnce(Tooled):
    given = False

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        first, self.given = not self.given, True
        return self._schemas() if first else []


@mutant(kills="MP-TOOL-016", says="tooled_search shows", report="E4")
class TheSearchOfAPluginIsForAll(HermesTooledByUser):
    """Recall has the filter by user, and the tool looks through every file."""

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        answer = super().handle_tool_call(tool_name, args, **kwargs)
        if tool_name != "tooled_search" or "notes" not in (found := json.loads(answer)):
            return answer
        for journal in self.home.glob("*/journal.jsonl"):
            other = Tooled()
            other.initialize("", {"home": str(journal.parent)})
            found["notes"] += json.loads(other.handle_tool_call(tool_name, args))["notes"]
        return json.dumps(found)


@mutant(kills="MP-TOOL-016", says="tooled_search shows", report="C6")
class TheSearchIsForWhoeverCameLast(Owned):
    newest: Path | None = None

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        type(self).newest = self._path

    def _search(self, args: dict[str, Any]) -> dict[str, Any]:
        own, self._path = self._path, type(self).newest
        try:
            return super()._search(args)
        finally:
            self._path = own
