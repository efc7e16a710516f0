"""The one most useful thing to do after a run, from its cause: as data, and in one line."""

import dataclasses
import json
import re
import tomllib
from collections.abc import Iterable
from typing import Any, Literal

from memproto import shell
from memproto.report import findings, verdicts
from memproto.report import needs as words
from memproto.testing import cascades, needs, untrusted_text
from memproto.testing.needs import Backend, Declaration, DependsOn, Driver, Install, Need, Setting
from memproto.testing.outcomes import OPEN, Outcome, Verdict

#: Ids that a line names.
_MOST_IDS = 3

#: Files of the working directory that hold settings.
_FILES = ("memproto.toml", "pyproject.toml")

#: A value of each key of the settings, to be replaced; `{}` stands for the provider's package.
_EXAMPLES = {
    "factory": '"{}.testing:make"',
    "service": '"{}.testing:service"',
    "warm": '"{}.testing:warm"',
    "read_back": '"{}.testing:read_back"',
    "settle": '"{}.testing:settle"',
    "cleanup": '"{}.testing:cleanup"',
    "config": '{{key = "value"}}',
    "env": '{{NAME = "value"}}',
    "backend": '{{env = "NAME_OF_ITS_URL"}}',
    "caches": '["HF_HOME"]',
    "command": '["node", "dist/server.js"]',
    "cwd": '"server"',
    "declares": '{{stores = ["turns"]}}',
    "max_hook_calls": "10000",
    "memory_mb": "4096",
    "parallel": "4",
    "waivers": '"waivers.toml"',
    "declares.stores": '["turns"]',
    "declares.mirrors": '{{memory = ["add", "replace", "remove"]}}',
    "declares.retention": '"selective"',
    "declares.recall_basis": '"query"',
    "declares.isolates": '["user", "profile"]',
    "declares.extensions": '["tools"]',
    "declares.freshness_s": "5",
}

Kind = Literal["report", "mend", "install", "export", "set", "declare", "provide", "read"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
    """
    One thing to do; its texts are "" where there is nothing to tell.

    Attributes:
        kind: The kind of thing: report a fault of the kit, mend a violated rule, install a package,
            export a variable, set a setting, declare something, provide another need, read.
        text: All of it in one line, without a control character.
        requirement: The rule to mend or to read about; of a fault of the kit, the first.
        waiting: The number of other requirements that it would let be decided.
        command: The command to type.
        file: The file of settings to write to.
        table: The table in it.
        line: The line to paste below the table.

    """

    kind: Kind
    text: str
    requirement: str = ""
    waiting: int = 0
    command: str = ""
    file: str = ""
    table: str = ""
    line: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values: the fields that say something, and `waiting`."""
        found = dataclasses.asdict(self)
        return {key: value for key, value in found.items() if value or key == "waiting"}


def of(report: dict[str, Any]) -> Step | None:
    """
    The step after a run: the kit's own faults first, then the red rules, then the open ones.

    Of the red rules it is the one for which most others wait, and of the needs of the open ones
    that by which most would be decided. None if there is nothing to do.
    """
    rows = report["results"]
    broken = [row["id"] for row in rows if row["outcome"] == Outcome.KIT_ERROR]
    if broken:
        said = f"report this, please: the kit itself failed in {', '.join(broken[:_MOST_IDS])}"
        return Step(kind="report", text=said, requirement=broken[0])
    red = [row for row in rows if row["outcome"] == Outcome.FAIL]
    if not red and report["verdict"] == Verdict.NON_CONFORMANT:
        red = [row for row in rows if verdicts.is_red(row, strict=True)]
    behind = cascades.behind(rows)
    if red:
        return _mending(rows, red, behind)
    still = [row for row in rows if row["outcome"] in OPEN and row["outcome"] != Outcome.NOT_RUN]
    return _opening(report, still, behind) or _reading(report, still)


def as_data(report: dict[str, Any]) -> dict[str, Any] | None:
    """The step as a report holds it."""
    step = of(report)
    return None if step is None else step.as_dict()


# -- a rule ----------------------------------------------------------------------------------------


def _mending(
    rows: list[dict[str, Any]], red: list[dict[str, Any]], behind: dict[str, list[str]]
) -> Step:
    """The red rule that hides most; if several hide as many, the first of the lowest class."""
    names = {row["id"] for row in red}
    root = next(row["id"] for row in findings.in_order(rows) if row["id"] in names)
    hidden = len(behind.get(root, ()))
    command = f"memproto explain {root}"
    first = " first" if len(red) > 1 or hidden else ""
    hides = f": it hides {hidden}" if hidden else ""
    said = f"mend {root}{first}{hides} ({command})"
    return Step(kind="mend", text=said, requirement=root, waiting=hidden, command=command)


def _reading(report: dict[str, Any], still: list[dict[str, Any]]) -> Step | None:
    """To read on the first rule that leaves the verdict open, of which no need is known."""
    strict = bool(report.get("strict", False))
    known = [row["id"] for row in still if "needs" in row and row["outcome"] != Outcome.WAIVED]
    if report["verdict"] != Verdict.INCOMPLETE or not known:
        return None
    counted = {row["id"] for row in still if verdicts.keeps_open(row, strict=strict)}
    first = next((key for key in known if key in counted), known[0])
    command = f"memproto explain {first}"
    said = f"see why {first} is open ({command})"
    return Step(kind="read", text=said, requirement=first, command=command)


# -- a need ----------------------------------------------------------------------------------------


def _opening(
    report: dict[str, Any], still: list[dict[str, Any]], behind: dict[str, list[str]]
) -> Step | None:
    """The need by which most of the open results would be decided, with those behind them."""
    weights: dict[object, int] = {}
    named: dict[object, Need] = {}
    for row in still:
        mine = {_key(need): need for need in _direct(needs.of_row(row))}
        for key, need in mine.items():
            weights[key] = weights.get(key, 0) + 1 + len(behind.get(row["id"], ()))
            known = named.get(key)
            is_exact = isinstance(need, Setting) and bool(need.value)
            named[key] = need if known is None or is_exact else known
    if not weights:
        return None
    best = max(weights, key=lambda key: weights[key])
    return _for(named[best], weights[best], report)


def _direct(found: tuple[Need, ...]) -> Iterable[Need]:
    """The needs that somebody can meet; none of a result that waits for another one."""
    return () if needs.behind(found) else (x for x in found if not isinstance(x, DependsOn))


def _key(need: Need) -> object:
    """Settings of one name are one need."""
    return need.name if isinstance(need, Setting) else need


def _for(need: Need, count: int, report: dict[str, Any]) -> Step:
    waits = f"{count} {'waits' if count == 1 else 'wait'} for it"
    match need:
        case Install(distribution, options):
            parts = ["pip", "install", *options.split(), distribution]
            command = _readable(shell.join(parts))
            said = f"{command}  # {waits}"
            return Step(kind="install", text=said, waiting=count, command=command)
        case Setting():
            return _setting(need, count, waits, report)
        case Backend():
            return _setting(Setting(needs.BACKEND_SETTINGS[0]), count, waits, report)
        case Declaration(key, hook):
            said = _readable(f"let {hook}() declare `{key}`: {waits}")
            return Step(kind="declare", text=said, waiting=count)
        case Driver(part, what):
            said = _readable(f"give the driver {what} `{part}`: {waits}")
            return Step(kind="provide", text=said, waiting=count)
    said = _readable(f"provide {words.words([need])}: {waits}")
    return Step(kind="provide", text=said, waiting=count)


def _setting(need: Setting, count: int, waits: str, report: dict[str, Any]) -> Step:
    """The file, the table and the line of a setting, and the variables that it takes over."""
    given = report["settings"].get("files") or {}
    file = next((name for name in _FILES if name in given), _FILES[0])
    # A string of JSON is one of TOML as well, unless it is made of escapes.
    name = json.dumps(report["target"], ensure_ascii=False)
    table = f"[tool.memproto.target.{name}]"
    line = _line(need, report["target"])
    place = f"in {file}, below {table}: {line}"
    command = "; ".join(f"export {name}=..." for name in _exported(need))
    said = f"{command}, and {place}" if command else place
    case = f"where {need.where}" if need.where else ""
    told = ", ".join(filter(None, (need.that and f"one {need.that}", case, waits)))
    return Step(
        kind="export" if command else "set",
        text=_readable(f"{said}  # {told}"),
        waiting=count,
        command=_readable(command),
        file=file,
        table=_readable(table),
        line=_readable(line),
    )


def _line(need: Setting, target: str) -> str:
    """The assignment of a setting, with a value to be replaced if none is known."""
    example = _EXAMPLES.get(need.name, '"..."').format(_package(target))
    return f"{need.name} = {need.value or example}"


def _package(target: str) -> str:
    """The top package of a target, as far as its name tells."""
    named = re.search(r"(?:^|:)([A-Za-z_]\w*)", target.removeprefix("hermes:"))
    return named[1] if named else "mypkg"


def _exported(need: Setting) -> list[str]:
    """The variables that a value of `env` takes over from the environment of the run."""
    if need.name != "env" or not need.value:
        return []
    try:
        found = tomllib.loads(f"env = {need.value}")["env"]
    except tomllib.TOMLDecodeError:
        return []
    given = found.values() if isinstance(found, dict) else ()
    sources = [item.get("from_env") for item in given if isinstance(item, dict)]
    return [name for name in sources if isinstance(name, str) and name.isidentifier()]


def _readable(text: str) -> str:
    return untrusted_text.one_line(text)
