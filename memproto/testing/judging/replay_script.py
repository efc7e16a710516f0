"""The text of a replay script: calls of a story as a program that needs the runtime alone."""

import hashlib
import math
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memproto import __version__, spec
from memproto.testing.judging.replay_story import Call, Sight, Story, home_of
from memproto.testing.outcomes import Result
from memproto.testing.settings.order import Order

_WIDTH = 96

#: Characters of a folder's name; a file system takes 255 bytes, and the name is ASCII.
_NAME_CHARS = 120

_ORDINALS = ("first", "second", "third", "fourth", "fifth")

#: Stands in a config for the credential of which the name is in it.
_MARK = re.compile(r"\0([A-Z0-9_]+)\0")

_HEAD = '''\
"""
{title}

{rule}

Written by memproto {version} for the provider {target}. It makes the calls after which the kit saw
the violation, on a fresh home, and looks again. It needs the provider and memproto; no pytest.

Exit code: 1 seen again, 0 not seen again, 4 the calls could not be made.
"""

{imports}

with Replay(
{keywords}
) as replay:
{body}
'''


def script(
    result: Result,
    order: Order,
    story: Story,
    calls: list[Call],
    seen: Sight,
    *,
    secrets: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """
    The program that makes `calls` and looks for `seen`, as it stands in `folder(order)`.

    `secrets` are the credentials of the config, and the variables from which the program reads
    them in place of the values.

    Raises:
        ValueError: A call cannot be written down.

    """
    body = Lines(story, calls, seen, secrets).text()
    requirement = spec.requirement(result.id)
    return _HEAD.format(
        title=f"{result.id} ({requirement.level})",
        rule=textwrap.fill(requirement.text, _WIDTH).replace("\\", "/"),
        version=__version__,
        # The name of a target is not to end the text.
        target=ascii(order.target).replace("\\", "/").replace('"', "'"),
        imports=_imports(calls, seen),
        keywords=_keywords(result, order, _used(secrets, body)),
        body=textwrap.indent(body, "    "),
    )


def _imports(calls: list[Call], seen: Sight) -> str:
    names = {"Replay", *({seen.kind} & {"holds", "lacks", "shows"})}
    suppresses = any(call.error and call.number != seen.number for call in calls)
    standard = ["from contextlib import suppress"] * suppresses + ["from pathlib import Path"]
    own = f"from memproto.replay import {', '.join(sorted(names))}"
    return "\n".join([*standard, "", own])


def folder(order: Order) -> Path:
    """Folder of the scripts of a target; a long name is cut, and told apart by its digest."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", order.target).strip("-.") or "target"
    if len(name) > _NAME_CHARS:
        digest = hashlib.sha256(order.target.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        name = f"{name[: _NAME_CHARS - 13]}-{digest}"
    return (order.directory / order.replay).resolve() / name


def _used(secrets: Mapping[str, str], body: str) -> list[str]:
    return sorted(name for name in secrets.values() if _secret(name) in body)


def _secret(name: str) -> str:
    return f'replay.secret("{name}")'


def _keywords(result: Result, order: Order, secrets: list[str]) -> str:
    rows = [
        f"{_quoted(order.target)},",
        f"{_project(order)},",
        f"expected={literal(result.expected, '')},",
        f"observed={literal(result.observed, '')},",
    ]
    if order.settings.factory:
        rows.append(f"factory={_quoted(order.settings.factory)},")
    if order.hermes:
        rows.append(f"hermes={_quoted(order.hermes)},")
    if order.settings.env:
        rows.append(f"variables={_flat(sorted(order.settings.env), '')},")
    if secrets:
        rows.append(f"secrets={_flat(secrets, '')},")
    return textwrap.indent("\n".join(rows), "    ")


def _project(order: Order) -> str:
    """Folder from which the target is imported: relative to the script if it is inside of it."""
    project, here = order.directory.resolve(), folder(order)
    if here.is_relative_to(project):
        return f"Path(__file__).resolve().parents[{len(here.relative_to(project).parts)}]"
    # A path would name the user's directories: the script is run where pytest was.
    return "Path.cwd()"


class Lines:
    """The statements of a script's block."""

    def __init__(
        self, story: Story, calls: list[Call], seen: Sight, secrets: Mapping[str, str]
    ) -> None:
        self._root, self._calls, self._seen = story.root, calls, seen
        self._secrets = secrets
        self._config: dict[str, Any] | None = None
        self._names: dict[int, str] = {}
        self._lines: list[str] = []

    def text(self) -> str:
        """All of them; raises ValueError where a call cannot be written down."""
        for call in self._calls:
            if not call.is_writable:
                raise ValueError(call.operation)
            self._build(call)
            self._make(call, f"{self._names[call.who]}.{call.hook}{self._arguments(call)}")
        return "\n".join(self._lines)

    def _build(self, call: Call) -> None:
        """Build the instance of a call before its first one."""
        if call.who in self._names:
            return
        number = len(self._names)
        name = self._names[call.who] = _ORDINALS[number] if number < 5 else f"number_{number + 1}"
        home = home_of(self._calls, call.who).removeprefix(self._root).strip("/")
        said = "" if home in ("", "memory") else _quoted(home)
        self._lines.append(f"{name} = replay.new({said})")

    def _arguments(self, call: Call) -> str:
        if call.hook == "name":
            return ""
        arguments = [literal(item, self._root) for item in call.arguments or []]
        if call.operation == "open":
            arguments[-1] = self._configured((call.arguments or [None])[-1])
        keywords = (call.keywords or {}).items()
        arguments += [f"{key}={literal(value, self._root)}" for key, value in keywords]
        return f"({', '.join(arguments)})"

    def _configured(self, config: Any) -> str:
        """The config of initialize: written once, and afterwards by its differences."""
        if not isinstance(config, dict):
            return literal(config, self._root)
        config = self._without_secrets(config)
        base = {key: value for key, value in config.items() if self._root not in str(value)}
        if self._config is None:
            self._config = base
            self._lines.append(f"config = {literal(base, '')}")
        if self._config.keys() - config.keys():
            return literal(config, self._root)
        other = {k: v for k, v in config.items() if k not in self._config or self._config[k] != v}
        rows = [f"{literal(key, '')}: {literal(v, self._root)}" for key, v in other.items()]
        return "{" + ", ".join(["**config", *rows]) + "}"

    def _without_secrets(self, value: Any) -> Any:
        """A value of the config with marks in place of credentials, which `_flat` reads."""
        if isinstance(value, dict):
            return {key: self._without_secrets(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._without_secrets(item) for item in value]
        if isinstance(value, str):
            for secret in sorted(self._secrets, key=len, reverse=True):
                value = value.replace(secret, f"\0{self._secrets[secret]}\0")
        return value

    def _make(self, call: Call, said: str) -> None:
        kind, value = self._seen.kind, self._seen.value
        if call.number != self._seen.number:
            self._plain(call, said)
        elif kind == "raises":
            self._lines += [f"with replay.raising({_quoted(value)}):", f"    {said}"]
        elif kind == "late":
            self._lines += [f"with replay.within({float(value):g}):", f"    {said}"]
        else:
            self._lines += [
                f"answer = {said}",
                f"replay.end(seen={kind}(answer, {_quoted(value)}))",
            ]

    def _plain(self, call: Call, said: str) -> None:
        if call.error:
            self._lines += ["with suppress(Exception):", f"    {said}"]
        else:
            self._lines.append(said)


def literal(value: Any, root: str, column: int = 0) -> str:
    """
    A value as a Python expression, broken into lines where it is long.

    A path below `root` becomes one of the replay's.
    """
    flat = _flat(value, root)
    if len(flat) + column <= _WIDTH - 8 or not isinstance(value, dict | list) or not value:
        return flat
    if isinstance(value, dict):
        rows = [
            f"{_flat(key, '')}: {literal(item, root, column + len(str(key)) + 8)}"
            for key, item in value.items()
        ]
        return _block("{", [f"{row}," for row in rows], "}")
    return _block("[", _packed([_flat(item, root) for item in value], _WIDTH - column - 8), "]")


def _packed(items: list[str], columns: int) -> list[str]:
    """Items in rows of so many columns; one that is longer has a row of its own."""
    rows = [""]
    for item in items:
        longer = f"{rows[-1]} {item},".lstrip()
        if rows[-1] and len(longer) > columns:
            rows.append(f"{item},")
        else:
            rows[-1] = longer
    return rows


def _block(opening: str, rows: list[str], closing: str) -> str:
    return "\n".join([opening, *(textwrap.indent(row, "    ") for row in rows), closing])


def _flat(value: Any, root: str) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(value)
    if isinstance(value, str) and _MARK.search(value):
        parts = enumerate(_MARK.split(value))
        said = [_secret(part) if at % 2 else _flat(part, root) for at, part in parts if part]
        return " + ".join(said)
    if isinstance(value, str):
        return " + ".join(_pieces(value, root)) if root and root in value else _quoted(value)
    if isinstance(value, dict):
        rows = [f"{_flat(key, '')}: {_flat(item, root)}" for key, item in value.items()]
        return "{" + ", ".join(rows) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flat(item, root) for item in value) + "]"
    return repr(value)


def _quoted(text: str) -> str:
    if text.isprintable() and not set(text) & set('"\\'):
        return f'"{text}"'
    # Half surrogates and controls are escaped by both; other letters stay readable.
    return repr(text)


def _pieces(text: str, root: str) -> list[str]:
    found: list[str] = []
    first, *others = text.split(root)
    if first:
        found.append(_quoted(first))
    for other in others:
        name = re.match(r"/?([\w.-]*)", other)
        assert name is not None
        found.append(f"replay.path({_quoted(name.group(1))})")
        rest = other[name.end() :]
        if rest:
            found.append(_quoted(rest))
    return found
