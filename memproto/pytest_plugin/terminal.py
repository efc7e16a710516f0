"""The terminal's view of a run that goes on: header, letters, failures that fit."""

import os
import re
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from memproto import __version__
from memproto.near import nearest
from memproto.testing import untrusted_text
from memproto.testing.judging import redaction
from memproto.testing.judging.crew import Plan
from memproto.testing.noise import Noise
from memproto.testing.outcomes import Outcome
from memproto.types import SPEC_VERSION

_LETTERS = {
    Outcome.PASS: (".", "PASSED", "green"),
    Outcome.FAIL: ("F", "FAILED", "red"),
    Outcome.WARN: ("w", "WARNED", "yellow"),
    Outcome.NOT_APPLICABLE: ("-", "NOT APPLICABLE", ""),
    Outcome.UNTESTABLE: ("?", "UNTESTABLE", "yellow"),
    Outcome.INCONCLUSIVE: ("~", "INCONCLUSIVE", "yellow"),
    Outcome.NOT_SCORED: ("-", "NOT SCORED", ""),
    Outcome.NOT_RUN: ("?", "NOT RUN", "yellow"),
    Outcome.WAIVED: ("x", "WAIVED", "yellow"),
    Outcome.KIT_ERROR: ("E", "KIT ERROR", "red"),
}

#: Categories that pytest shows in the colour of a red run, and of a green one.
_CATEGORIES = {Outcome.PASS: "passed", Outcome.FAIL: "failed", Outcome.KIT_ERROR: "failed"}

#: The lines of a message that are prose. The others are copied, and so are never broken.
_PROSE = re.compile(r"  (?:rule|expected|observed|fix) +")

_INDENT = " " * 12

#: An estimate from here on is told in minutes.
_IN_MINUTES_S = 300.0

Status = tuple[str, str, str | tuple[str, dict[str, bool]]]


def header(targets: list[Any], noise: Noise) -> list[str]:
    """One line for the machine, and one for each target: what it is, and what was found."""
    release = targets[0].order.release if targets else SPEC_VERSION
    lines = [f"memproto {__version__}, specification {release}", f"machine: {noise}"]
    for target in targets:
        contact = target.judge.contact
        if contact.unconfined and f"network: {_open(contact)}" not in lines:
            lines.append(f"network: {_open(contact)}")
        found = f" ({contact.binding.name}, {contact.origin})" if contact.binding else ""
        told = f"{found}, seed {target.order.seed}{_from_above(target.order.settings.source)}"
        lines.append(f"{target.order.side}: {target.order.target}{told}")
        lines += [f"  settings: {line}" for line in target.order.settings.refused]
        lines += [f"  settings: {line}" for line in _unused_table(target, targets)]
        lines += [f"  warning: {line}" for line in redaction.warnings(target.order.settings)]
    return [writable(untrusted_text.one_line(line)) for line in lines]


def plans(targets: list[Any]) -> list[str]:
    """One line for each target whose checks run side by side: how many, and how long it takes."""
    return [
        writable(untrusted_text.one_line(f"{target.label}: {_planned(target.judge.plan)}"))
        for target in targets
        if target.judge.plan is not None and not target.judge.plan.is_whole
    ]


def _planned(plan: Plan) -> str:
    call = f"a call takes {plan.wait_s * 1_000:,.0f} ms"
    return f"{plan.checks} checks, {plan.lanes} at a time ({call}): about {_rounded(plan.lasts_s)}"


def _rounded(lasts_s: float) -> str:
    """A duration in words, as exactly as it can be told."""
    if lasts_s < _IN_MINUTES_S:
        return f"{max(5, 5 * round(lasts_s / 5))} s"
    return f"{round(lasts_s / 60)} min"


def _unused_table(target: Any, targets: list[Any]) -> list[str]:
    """The table of the settings that was probably meant for a target, and has another name."""
    tables, name = target.order.settings.tables, target.order.target
    if name in tables:
        return []
    judged = {other.order.target for other in targets}
    near = nearest(name, [item for item in tables if item not in judged])
    if not near:
        return []
    fix = f'[tool.memproto.target."{name}"]'
    return [f"{tables[near]}: is of no target of this run; write {fix} if it is for this one"]


def _open(contact: Any) -> str:
    """Why native code and programs of a target are not kept on loopback."""
    return f"not confined to loopback, the kernel allows no namespace ({contact.unconfined})"


def _from_above(sources: tuple[str, ...]) -> str:
    """The settings that are not in this directory, which a user may not know of."""
    away = [os.path.relpath(file) for file in sources if Path(file).parent != Path.cwd()]
    return f", settings in {' and '.join(away)}" if away else ""


def status(outcome: Outcome, *, is_red: bool) -> Status:
    """The category, letter and word of an outcome."""
    letter, word, colour = _LETTERS[outcome]
    # An outcome that makes a strict run red must not end in a line of another colour.
    category = "failed" if is_red else _CATEGORIES.get(outcome, _word(outcome))
    return category, letter, (word, {colour: True} if colour else {})


def _word(outcome: Outcome) -> str:
    return outcome.replace("_", " ")


def fit(text: str, *, is_shown: bool) -> str:
    """A failure's message for the terminal: its prose broken at the edge of one that is shown."""
    if is_shown:
        text = "\n".join(_broken(line, width()) for line in text.split("\n"))
    return writable(text)


def _broken(line: str, columns: int) -> str:
    found = _PROSE.match(line)
    return line if found is None else filled(line[found.end() :], columns, found.group(), _INDENT)


def filled(text: str, columns: int, first: str, other: str) -> str:
    """
    `text` in lines of at most so many columns, as far as its words allow.

    A target's words begin no line of their own in it: there a verdict line is looked for.
    """
    return textwrap.fill(
        text.replace("\n", " "),
        max(columns - 1, 20),
        initial_indent=first,
        subsequent_indent=other,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def width() -> int:
    """The columns of the terminal, as pytest counts them; 80 where there is none."""
    return shutil.get_terminal_size((80, 24)).columns


def writable(text: str, encoding: str | None = None) -> str:
    """`text` with what the terminal's encoding lacks escaped, and another sign between parts."""
    name = encoding or getattr(sys.__stdout__, "encoding", None) or "utf-8"
    try:
        text.encode(name)
    except UnicodeEncodeError:
        plain = text if _has_middle_dot(name) else text.replace(" · ", " | ")
        return plain.encode(name, "backslashreplace").decode(name)
    except LookupError:
        return text
    return text


def _has_middle_dot(encoding: str) -> bool:
    try:
        "·".encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def complain(config: pytest.Config, text: str) -> None:
    """Show a message about the run itself."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(writable(text), red=True)
