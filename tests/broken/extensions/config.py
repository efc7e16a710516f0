"""Set-up that asks what cannot be answered, loses answers, or breaks on them."""

import json
import uuid
from pathlib import Path
from typing import Any, ClassVar

from tests.broken.marks import mutant
from tests.good.configured import Configured


@mutant(kills="MP-CONF-001", says="'description' is a required property", report="K4")
class AFieldHasAPromptInsteadOfADescription(Configured):
    def get_config_schema(self) -> list[dict[str, Any]]:
        first, *rest = super().get_config_schema()
        return [{"prompt": first.pop("description"), **first}, *rest]


@mutant(kills="MP-CONF-001", says="a list of fields", report="K4")
class TheSchemaIsAnObject(Configured):
    def get_config_schema(self) -> Any:
        return {field.pop("key"): field for field in super().get_config_schema()}


@mutant(kills="MP-CONF-002", says="is none of the choices", report="K4")
class TheDefaultIsNoChoice(Configured):
    def get_config_schema(self) -> list[dict[str, Any]]:
        first, *rest = super().get_config_schema()
        return [{**first, "choices": [*first["choices"], "true", "false"], "default": True}, *rest]


@mutant(kills="MP-CONF-002", says="no `env_var` says where", report="K4")
class ASecretHasNoVariable(Configured):
    def get_config_schema(self) -> list[dict[str, Any]]:
        fields = super().get_config_schema()
        for field in fields:
            if field.get("secret"):
                del field["env_var"]
        return fields


@mutant(kills="MP-CONF-002", says="the value holds a NUL", report="K4")
class TheDefaultFitsIntoNoVariable(Configured):
    def get_config_schema(self) -> list[dict[str, Any]]:
        odd = {"key": "mark", "description": "Mark", "env_var": "JOURNAL_MARK", "default": "\0"}
        return [*super().get_config_schema(), odd]


@mutant(kills="MP-CONF-002", says="which is not asked before it", report="K4")
class TheConditionIsAskedLater(Configured):
    def get_config_schema(self) -> list[dict[str, Any]]:
        first, *rest = super().get_config_schema()
        return [*rest, first]


@mutant(kills="MP-CONF-003", says="they differ", report="K4")
class TheDefaultIsDrawnEachTime(Configured):
    def get_config_schema(self) -> list[dict[str, Any]]:
        return [
            {**field, "default": uuid.uuid4().hex} if field["key"] == "label" else field
            for field in super().get_config_schema()
        ]


@mutant(kills="MP-CONF-003", says="AttributeError", report="K4")
class TheSchemaNeedsASession(Configured):
    def get_config_schema(self) -> list[dict[str, Any]]:
        shown = self._most
        return [
            {**field, "default": shown} if field["key"] == "most" else field
            for field in super().get_config_schema()
        ]


@mutant(kills="MP-CONF-004", says="KeyError", report="K4")
class SavingNeedsEveryAnswer(Configured):
    def save_config(self, values: dict[str, Any], home: str) -> None:
        super().save_config({**values, "label": values["label"].strip()}, home)


@mutant(kills="MP-CONF-004", says="FileNotFoundError", report="K4")
class SavingNeedsAFileThatIsThere(Configured):
    def save_config(self, values: dict[str, Any], home: str) -> None:
        Path(home, "configured.json").read_text("utf-8")
        super().save_config(values, home)


@mutant(kills="MP-CONF-005", says="no file holds the answer to 'label'", report="hermes#117923")
class AnswersAreDiscarded(Configured):
    def save_config(self, values: dict[str, Any], home: str) -> None:
        """The default of a base class, which saves nothing."""


@mutant(kills="MP-CONF-005", says="mode = 'alone'", report="K4")
class AChoiceIsNotApplied(Configured):
    def save_config(self, values: dict[str, Any], home: str) -> None:
        super().save_config({**values, "mode": "alone"}, home)


@mutant(
    kills="MP-CONF-005",
    says="no file holds the new answer to 'label'",
    also={"MP-CONF-011": "its words are saved one after the other in one home"},
    report="K4",
)
class ASecondSetUpChangesNoLabel(Configured):
    def save_config(self, values: dict[str, Any], home: str) -> None:
        label = self.answers(Path(home)).get("label")
        super().save_config({**values, "label": label} if label else values, home)


@mutant(kills="MP-CONF-006", says="at ~/configured.json", report="E3")
class AnswersAreSavedForAllProfiles(Configured):
    def save_config(self, values: dict[str, Any], home: str) -> None:
        super().save_config(values, home)
        self.write(Path.home(), self.answers(Path(home)))


@mutant(kills="MP-CONF-006", says="is in configured.json, at", report="C6")
class AnswersAreThoseOfTheProcess(Configured):
    told: ClassVar[dict[str, Any]] = {}

    def save_config(self, values: dict[str, Any], home: str) -> None:
        self.told.update(values)
        super().save_config(self.told, home)


@mutant(kills="MP-CONF-007", says="as they stand in the schema", report="K4")
class ADefaultIsNotUnderstood(Configured):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        mode = self.answers(Path(config["home"])).get("mode", "single")
        self._is_shared = {"single": False, "shared": True}[mode]
        super().initialize(session_key, config)


@mutant(kills="MP-CONF-013", says="they were saved as text", report="mnemosyne#155")
class ANumberIsReadAsItStands(Configured):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        if self.answers(Path(config["home"])).get("most", 1) < 1:
            raise ValueError("most is to be at least 1")
        super().initialize(session_key, config)


@mutant(kills="MP-CONF-013", says="enrich_turn raised TypeError", report="K4")
class ANumberIsTakenAsItStands(Configured):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._most = self.answers(Path(config["home"])).get("most", 1_000)
        self._label = self._label or "From the archive:"


@mutant(kills="MP-CONF-008", says="did not come back", report="K4")
class SavingStartsAFreshArchive(Configured):
    def save_config(self, values: dict[str, Any], home: str) -> None:
        super().save_config(values, home)
        Path(home, "archive-id").unlink(missing_ok=True)


@mutant(kills="MP-CONF-009", says="in no file any more", report="K4")
class SavingWritesAllAnew(Configured):
    def save_config(self, values: dict[str, Any], home: str) -> None:
        Path(home).mkdir(parents=True, exist_ok=True)
        self.write(Path(home), {k: v for k, v in values.items() if k != "api_key"})


@mutant(kills="MP-CONF-010", says="mode 644", report="hermes#25085")
class SecretsAreSavedWithTheRest(Configured):
    def save_config(self, values: dict[str, Any], home: str) -> None:
        super().save_config(values, home)
        self.write(Path(home), {**self.answers(Path(home)), **values})


@mutant(kills="MP-CONF-011", says="UnicodeEncodeError", report="hermes#56725")
class TheLocaleEncodesTheAnswers(Configured):
    @staticmethod
    def write(home: Path, answers: dict[str, Any]) -> None:
        with home.joinpath("configured.json").open("w") as file:
            json.dump(answers, file, ensure_ascii=False)


@mutant(kills="MP-CONF-012", says="KeyError", report="K4")
class TheLastStepNeedsAnAnswer(Configured):
    def post_setup(self, home: str, config: dict[str, Any]) -> None:
        Path(home, "label").write_text(config["label"], "utf-8")


@mutant(kills="MP-CONF-005", says="quiet = True", report="K4")
class FalseIsNoAnswer(Configured):
    def get_config_schema(self) -> list[dict[str, Any]]:
        quiet = {"key": "quiet", "description": "Say nothing at the start", "default": True}
        return [*super().get_config_schema(), quiet]

    def save_config(self, values: dict[str, Any], home: str) -> None:
        super().save_config({"quiet": True} | {k: v for k, v in values.items() if v}, home)
