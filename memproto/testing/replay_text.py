"""The text of a replay script: calls of a story as a program that needs the runtime alone."""

import math
import pprint
import re
import textwrap
from pathlib import Path
from typing import Any

from memproto import __version__, spec
from memproto.testing.contact import Order
from memproto.testing.outcomes import Result
from memproto.testing.story import Call, Sight, Story, home_of

_WIDTH = 96

_ORDINALS = ("first", "second", "third", "fourth", "fifth")

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


def script(result: Result, order: Order, story: Story, calls: list[Call], seen: Sight) -> str:
    """
    The program that makes `calls` and looks for `seen`, as it stands in `folder(order)`.

    Raises:
        ValueError: A call cannot be written down.

    """
    body = Lines(story, calls, seen).text()
    requirement = spec.requirement(result.id)
    return _HEAD.format(
        title=f"{result.id} ({requirement.level})",
        rule=textwrap.fill(requirement.text, _WIDTH).replace("\\", "/"),
        version=__version__,
        # What a target is called by is not to end the text.
        target=ascii(order.target).replace("\\", "/").replace('"', "'"),
        imports=_imports(calls, seen),
        keywords=_keywords(result, order),
        body=textwrap.indent(body, "    "),
    )


def _imports(calls: list[Call], seen: Sight) -> str:
    names = {"Replay", *({seen.kind} & {"holds", "lacks", "shows"})}
    suppresses = any(call.error and call.number != seen.number for call in calls)
    standard = ["from contextlib import suppress"] * suppresses + ["from pathlib import Path"]
    own = f"from memproto.replay import {', '.join(sorted(names))}"
    return "\n".join([*standard, "", own])


def folder(order: Order) -> Path:
    """Where the scripts of a target stand."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", order.target).strip("-.") or "target"
    return (order.directory / order.replay).resolve() / name


def _keywords(result: Result, order: Order) -> str:
    rows = [
        f"{order.target!a},",
        f"{_project(order)},",
        f"expected={literal(result.expected, '')},",
        f"observed={literal(result.observed, '')},",
    ]
    if order.settings.factory:
        rows.append(f"factory={order.settings.factory!a},")
    if order.settings.env:
        rows.append(f"variables={sorted(order.settings.env)!r},")
    return textwrap.indent("\n".join(rows), "    ")


def _project(order: Order) -> str:
    """Where the target is imported from: relative to the script, where that is inside of it."""
    project, here = order.directory.resolve(), folder(order)
    if here.is_relative_to(project):
        return f"Path(__file__).resolve().parents[{len(here.relative_to(project).parts)}]"
    # A path would name the user's directories: the script is run where pytest was.
    return "Path.cwd()"


class Lines:
    """The statements of a script's block."""

    def __init__(self, story: Story, calls: list[Call], seen: Sight) -> None:
        self._root, self._calls, self._seen = story.root, calls, seen
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
        said = "" if home in ("", "memory") else ascii(home)
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
        """What initialize gets: written once, and afterwards by what differs."""
        if not isinstance(config, dict):
            return literal(config, self._root)
        base = {key: value for key, value in config.items() if self._root not in str(value)}
        if self._config is None:
            self._config = base
            self._lines.append(f"config = {literal(base, '')}")
        if self._config.keys() - config.keys():
            return literal(config, self._root)
        other = {k: v for k, v in config.items() if k not in self._config or self._config[k] != v}
        rows = [f"{literal(key, '')}: {literal(v, self._root)}" for key, v in other.items()]
        return "{" + ", ".join(["**config", *rows]) + "}"

    def _make(self, call: Call, said: str) -> None:
        kind, value = self._seen.kind, self._seen.value
        if call.number != self._seen.number:
            self._plain(call, said)
        elif kind == "raises":
            self._lines += [f"with replay.raising({value!r}):", f"    {said}"]
        elif kind == "late":
            self._lines += [f"with replay.within({float(value):g}):", f"    {said}"]
        else:
            self._lines += [f"answer = {said}", f"replay.end(seen={kind}(answer, {value!r}))"]

    def _plain(self, call: Call, said: str) -> None:
        if call.error:
            self._lines += ["with suppress(Exception):", f"    {said}"]
        else:
            self._lines.append(said)


def literal(value: Any, root: str) -> str:
    """A value as a Python expression; a path below `root` as one of the replay's."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(value)
    if not root or root not in str(value):
        return pprint.pformat(value, width=_WIDTH - 16, compact=True, sort_dicts=False)
    if isinstance(value, str):
        return " + ".join(_pieces(value, root))
    if isinstance(value, dict):
        rows = [f"{literal(key, '')}: {literal(item, root)}" for key, item in value.items()]
        return "{" + ", ".join(rows) + "}"
    return "[" + ", ".join(literal(item, root) for item in value) + "]"


def _pieces(text: str, root: str) -> list[str]:
    found: list[str] = []
    first, *others = text.split(root)
    if first:
        found.append(ascii(first))
    for other in others:
        name = re.match(r"/?([\w.-]*)", other)
        assert name is not None
        found.append(f"replay.path({name.group(1)!r})")
        rest = other[name.end() :]
        if rest:
            found.append(ascii(rest))
    return found
