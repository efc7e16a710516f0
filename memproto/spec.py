"""The specification as data: requirements, schemas and the life of a session, loaded once."""

import dataclasses
import functools
import json
import re
import tomllib
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Literal, get_args

from memproto import bindings
from memproto.bindings import Binding
from memproto.errors import NoSuchRequirement
from memproto.near import nearest
from memproto.types import SPEC_VERSION

Side = Literal["provider", "host"]
Level = Literal["MUST", "SHOULD", "MAY"]
ConformanceClass = Literal["core", "durable", "shared"]

#: The conformance classes of providers; each holds those before it.
CLASSES: tuple[ConformanceClass, ...] = get_args(ConformanceClass)


@dataclasses.dataclass(frozen=True, slots=True)
class Requirement:
    """
    One numbered sentence of the specification.

    Attributes:
        id: `MP-<AREA>-<NNN>`; never renumbered.
        level: The one normative key word of `text`.
        side: The party that must hold it.
        text: The sentence.
        intent: Why, for a reader; never checked.
        fix: The change to make, as an action.
        anchor: Chapter file and anchor below `spec/v1`.
        operation: The operation of the specification that it is about.
        conformance_class: The class that it is in (`class` in the catalogue); "" for a host's.
        binding: "any", or the name of the binding whose providers it is about.
        extension: The extension that it belongs to, or "".
        gate: True if everything else depends on it.
        since: The specification release that brought it.
        status: draft, stable or deprecated.
        sources: Classes of field reports behind it.
        defensive: True if it backs up a duty of the other side; never changes a verdict.
        unchecked: Why no check exists, or "".
        disputed: The issue in which the requirement is disputed, or "".
        found_elsewhere: True if the check of another requirement may find it violated.
        entails: The requirements that a provider or host seldom holds if it violates this one: a
            broken one of the shelf shows each of them.
        limits: Sentences that limit it to some providers or hosts (`applies_to` in the catalogue);
            normative.
        definitions: Sentences that define words of `text`; normative.
        exemptions: Sentences that say what is not asked; normative.
        rationale: Sentences that go on where `intent` ends; informative.
        example: A sentence, or ""; informative.
        procedure: Sentences on how the kit looks at it; informative.
        late_while_failing: The operations whose lateness it judges while its check makes the
            backend fail; None if its check does not.

    """

    id: str
    level: Level
    side: Side
    text: str
    intent: str
    fix: str
    anchor: str
    operation: str
    conformance_class: ConformanceClass | Literal[""] = ""
    binding: str = "any"
    extension: str = ""
    gate: bool = False
    since: str = "1.0"
    status: str = "draft"
    sources: tuple[str, ...] = ()
    defensive: bool = False
    unchecked: str = ""
    disputed: str = ""
    found_elsewhere: bool = False
    entails: tuple[str, ...] = ()
    late_while_failing: tuple[str, ...] | None = None
    limits: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    exemptions: tuple[str, ...] = ()
    rationale: tuple[str, ...] = ()
    example: str = ""
    procedure: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """The area: `RECALL` of `MP-RECALL-002`, `HOST-RECALL` of `MP-HOST-RECALL-001`."""
        return self.id.removeprefix("MP-").rpartition("-")[0]

    @property
    def clause(self) -> str:
        """The place of the requirement, relative to the project."""
        return f"spec/v1/{self.anchor}"

    @property
    def is_demanded(self) -> bool:
        """True if a violation fails: a MUST that is neither disputed nor deprecated."""
        return self.level == "MUST" and not self.disputed and self.status != "deprecated"

    def is_in(self, release: str) -> bool:
        """True if that release of the specification, such as "1.0", has the requirement."""
        return numbers(self.since) <= numbers(release)

    def applies_to(self, binding: Binding) -> bool:
        """True if the requirement speaks about providers of `binding`."""
        return binding.includes(self.binding)


def _root() -> Traversable:
    return resources.files("memproto._spec") / "v1"


def chapter_names() -> list[str]:
    """The chapters' names without `.md`, in their order."""
    names = (item.name for item in _root().iterdir())
    return sorted(name.removesuffix(".md") for name in names if name.endswith(".md"))


def chapter(name: str) -> str:
    """
    The text of a chapter in Markdown, such as that of "50-turns".

    Raises:
        FileNotFoundError: There is no such chapter.

    """
    return (_root() / f"{name}.md").read_text(encoding="utf-8")


def section(item: Requirement) -> str:
    """The part of the chapter that is about one requirement, in Markdown, without its anchor."""
    name, _, anchor = item.anchor.partition(".md#")
    _, _, rest = chapter(name).partition(f'<a id="{anchor}"></a>')
    return re.split(r"^(?:<a id=|#)", rest, maxsplit=1, flags=re.MULTILINE)[0].strip() + "\n"


def as_json() -> str:
    """The whole catalogue as one JSON document, as `requirements.schema.json` describes it."""
    return json.dumps(_catalogue(), ensure_ascii=False, indent=1) + "\n"


def section_text(item: Requirement) -> str:
    """The same as plain text, without marks of Markdown and links, which lead nowhere from here."""
    bare = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", section(item))
    return re.sub(r"^> ?|[*`]", "", bare, flags=re.MULTILINE)


@functools.cache
def _catalogue() -> dict[str, Any]:
    built = _root() / "requirements.json"
    if built.is_file():
        # A wheel has both, and this one is read faster. See `setup.py`.
        rows: dict[str, Any] = json.loads(built.read_text(encoding="utf-8"))
        return rows
    return tomllib.loads((_root() / "requirements.toml").read_text(encoding="utf-8"))


@dataclasses.dataclass(frozen=True, slots=True)
class HookRules:
    """
    The rules that a hook breaks in the check of any requirement.

    Attributes:
        operation: The operation that it serves.
        raises: The rule if it raises.
        late: The rule if it is late.
        budget_s: The seconds that it may take.
        host: The rule of a host whose method for the operation does not return, or "".
        while_answered: True if the rule on lateness binds while the backend answers.

    """

    operation: str
    raises: str
    late: str
    budget_s: float
    host: str = ""
    while_answered: bool = False


@functools.cache
def hooks() -> dict[str, HookRules]:
    """Operation to the rules on its hook, in the order of the catalogue."""
    rows = [HookRules(**row) for row in _catalogue()["hook"]]
    return {row.operation: row for row in rows}


def role(name: str, side: Side = "provider") -> str:
    """
    The id of the requirement that is about something, as in `role("froze")`.

    Raises:
        KeyError: The catalogue names none.

    """
    found: str = _catalogue()["roles"][side][name]
    return found


@functools.cache
def requirements() -> dict[str, Requirement]:
    """All requirements by id, in the order of the catalogue."""
    found: dict[str, Requirement] = {}
    for row in _catalogue()["requirement"]:
        lists: dict[str, Any] = {
            key: tuple(value) for key, value in row.items() if isinstance(value, list)
        }
        named = {key: value for key, value in row.items() if key != "class"}
        named["conformance_class"] = row.get("class", "")
        named["limits"] = lists.pop("applies_to", ())
        named.pop("applies_to", None)
        item = Requirement(**{**named, **lists})
        if item.id in found:
            raise ValueError(f"requirements.toml holds {item.id} twice")
        if not any(binding.includes(item.binding) for binding in bindings.BUILT_IN):
            raise ValueError(f"{item.id} is about the binding {item.binding!r}, which there is not")
        found[item.id] = item
    return found


@functools.cache
def promises() -> dict[ConformanceClass, str]:
    """Each conformance class and the promise that a provider of it gives, in their order."""
    return {row["name"]: row["promise"] for row in _catalogue()["class"]}


def up_to(name: ConformanceClass) -> frozenset[ConformanceClass]:
    """The classes whose requirements a provider of that class holds: it and those before it."""
    return frozenset(CLASSES[: CLASSES.index(name) + 1])


def numbers(release: str) -> tuple[int, ...]:
    """A release as numbers, which have an order: 1.10 comes after 1.9."""
    return tuple(int(part) for part in release.split("."))


def releases() -> list[str]:
    """The releases of the specification that the catalogue knows, the oldest first."""
    found = {SPEC_VERSION, *(item.since for item in requirements().values())}
    return sorted(found, key=numbers)


def requirement(requirement_id: str) -> Requirement:
    """
    The requirement of that id.

    Raises:
        NoSuchRequirement: There is none; the message names the nearest id.

    """
    known = requirements()
    if requirement_id in known:
        return known[requirement_id]
    raise unknown(requirement_id)


def select(patterns: list[str], side: Side) -> list[Requirement]:
    """
    The requirements of `side` whose ids are, or begin with, one of `patterns`; all for none.

    Raises:
        NoSuchRequirement: A pattern matches no requirement of any side.

    """
    for pattern in patterns:
        if not any(_matches(item.id, pattern) for item in requirements().values()):
            raise unknown(pattern)
    mine = [item for item in requirements().values() if item.side == side]
    if not patterns:
        return mine
    return [item for item in mine if any(_matches(item.id, pattern) for pattern in patterns)]


def _matches(requirement_id: str, pattern: str) -> bool:
    wanted = pattern.upper().rstrip("-")
    if wanted[-1:].isdigit():
        # MP-TOOL-01 stands for MP-TOOL-010 to MP-TOOL-019; MP-REC is no part of MP-RECALL.
        return requirement_id.startswith(wanted)
    return requirement_id.startswith(wanted + "-")


def normal(typed: str) -> str:
    """The id, or the beginning of one, that is meant: `shut 2` and `SHUT-002` are MP-SHUT-002."""
    words = re.findall(r"[A-Z]+|\d+", typed.upper().removeprefix("MP"))
    if words and words[-1].isdigit() and not words[-1].startswith("0"):
        words[-1] = words[-1].zfill(3)
    return "-".join(["MP", *words])


def near(typed: str) -> str:
    """The id or the area that is most like `typed`, or ""."""
    wanted = typed.upper().rstrip("-")
    areas = sorted({item.id.rpartition("-")[0] for item in requirements().values()})
    # A text that ends without a number was meant for an area, of which each has many ids.
    known = [*requirements(), *areas] if wanted[-1:].isdigit() else areas
    return nearest(wanted, known, 0.5)


def unknown(typed: str, wanted: str = "") -> NoSuchRequirement:
    """
    The error for an id, or an area, that the specification does not hold.

    `wanted` is the id that `typed` was read as, if that is another text.
    """
    found = near(wanted or typed)
    hint = f"did you mean {found!r}?" if found else "`memproto list` shows all ids"
    fault = f"is no requirement of specification {SPEC_VERSION}"
    return NoSuchRequirement(repr(typed), fault, hint)


@functools.cache
def schema(name: str) -> dict[str, Any]:
    """The JSON Schema `schemas/<name>.schema.json`, as in `schema("capabilities")`."""
    path = _root() / "schemas" / f"{name}.schema.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


@functools.cache
def lifecycle() -> dict[str, Any]:
    """The life of a provider instance as `lifecycle.toml` tells it."""
    return tomllib.loads((_root() / "lifecycle.toml").read_text(encoding="utf-8"))
