"""
Agreement of a report with itself and with the catalogue, offline.

It finds accidental change. It is no proof against forgery: anybody who changes a report on purpose
can make its fingerprint anew.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from memproto import __version__, shell, spec
from memproto.report import classes, verdicts
from memproto.report.document import fingerprint
from memproto.testing.outcomes import ExitCode, Outcome

#: The options of a command that shows a finding again, and the name of a script that does.
_OPTIONS = re.compile(
    r"--memproto-(clause=MP-[A-Z0-9-]+|profile=[a-z]+|seed=[0-9]+|spec=[0-9.]+|trust-package"
    r"|settings=[^\0-\x1f\x7f]+)"
)
_SCRIPT = re.compile(r"MP-[A-Z0-9-]+\.py")
_NO_SCRIPT = "no script: calls alone do not show it"

#: The commands of a next step.
_STEP = re.compile(
    r"memproto explain MP-[A-Z0-9-]+|pip install( '?[A-Za-z0-9._-]+(\[[a-z,]+\])?'?)+"
    r"|export [A-Za-z_]\w*=\.\.\.(; export [A-Za-z_]\w*=\.\.\.)*"
)

#: Ids that one line names.
_MOST_IDS = 6

#: The exit codes of a document without any report: nothing was judged.
_WITHOUT_TARGETS = (3, 4)


def faults(document: dict[str, Any]) -> list[str]:
    """Disagreements, one line each; `document` agrees with the schema already."""
    found = []
    for number, report in enumerate(document["reports"]):
        name = f"reports[{number}] ({report['side']} {report['target']})"
        found += [f"{name}: {text}" for text in _of_report(report)]
    return [*found, *_of_exit_code(document)]


def _of_report(report: dict[str, Any]) -> Iterator[str]:
    yield from _of_rows(report)
    yield from _of_waivers(report)
    counts = verdicts.counts(report["results"])
    for name, number in counts.items():
        if report["counts"][name] != number:
            yield f"counts.{name} is {report['counts'][name]}, and {number} results are {name}"
    yield from _of_verdict(report)
    if not _is_a_step(report):
        yield "the command of `next` is none of the kit's: do not run it"
    if report["selected"] and not counts["not_run"]:
        yield "selected is true, and every requirement was run"
    if report["fingerprint"] != fingerprint(report):
        yield "the fingerprint is that of other contents: something was changed after the run"


def _of_rows(report: dict[str, Any]) -> Iterator[str]:
    """The denominator: exactly one result for each requirement of the side and the release."""
    if report["spec"] not in spec.releases():
        known = " or ".join(spec.releases())
        yield f"scores by release {report['spec']}, and this kit ({__version__}) knows {known}"
        return
    mine = {item.id: item for item in spec.select([], report["side"])}
    ids = Counter(row["id"] for row in report["results"])
    due = [key for key, item in mine.items() if item.is_in(report["spec"])]
    hint = "" if report["kit"] == __version__ else f"; kit {report['kit']} may have known others"
    for said, keys in (
        ("missing", [key for key in due if key not in ids]),
        ("there twice", [key for key, count in ids.items() if count > 1]),
        (f"no requirement of a {report['side']}", [key for key in ids if key not in mine]),
    ):
        if keys:
            yield f"{_listed(keys)}: {said}{hint}"
    yield from _of_levels(report, mine)


def _of_levels(report: dict[str, Any], mine: dict[str, spec.Requirement]) -> Iterator[str]:
    for row in report["results"]:
        known = mine.get(row["id"])
        if known is None:
            continue
        if not _is_a_command(row, report):
            yield f"{known.id}: `reproduce` is no command of the kit's: do not run it"
        if row["level"] != known.level:
            yield f"{known.id} is a {known.level}, and not a {row['level']}"
        if not known.is_in(report["spec"]) and row["outcome"] != Outcome.NOT_SCORED:
            yield f"{known.id} came with release {known.since}, and is scored all the same"


def _is_a_command(row: dict[str, Any], report: dict[str, Any]) -> bool:
    """True if `reproduce` runs the kit on the target, or a script of it, and nothing else."""
    command, _, note = row["reproduce"].partition("  # ")
    if note.startswith("or: "):
        script, command = command, note.removeprefix("or: ")
        if not _is_a_script(script):
            return False
    elif note not in ("", _NO_SCRIPT):
        return False
    try:
        words = shell.split(command)
    except ValueError:
        return False
    flag = "--memproto-host" if report["side"] == "host" else "--memproto"
    return (
        words[:2] == ["pytest", f"{flag}={report['target']}"]
        and all(map(_OPTIONS.fullmatch, words[2:]))
        and shell.join(words) == command
    )


def _is_a_script(command: str) -> bool:
    try:
        words = shell.split(command)
    except ValueError:
        return False
    is_one = len(words) == 2 and words[0] == "python" and shell.join(words) == command
    return is_one and _SCRIPT.fullmatch(PurePath(words[1]).name) is not None


def _is_a_step(report: dict[str, Any]) -> bool:
    """True if the next step has no command, or one that explains, installs or exports."""
    command = (report.get("next") or {}).get("command")
    return command is None or _STEP.fullmatch(command) is not None


def _of_waivers(report: dict[str, Any]) -> Iterator[str]:
    today = report.get("waivers", {}).get("date", "")
    for row in report["results"]:
        waiver, outcome = row["waiver"], row["outcome"]
        if outcome == Outcome.WAIVED and waiver is None:
            yield f"{row['id']} is waived, and by no waiver"
        elif waiver is not None and waiver["expires"] < today:
            yield f"{row['id']} has a waiver that had expired on {waiver['expires']}"
        elif waiver is not None and outcome not in (Outcome.WAIVED, waiver["outcome"]):
            yield f"{row['id']} is {outcome}, and its waiver says that it was {waiver['outcome']}"


def _of_verdict(report: dict[str, Any]) -> Iterator[str]:
    """A former kit counted every open row, and did not say whether its run was strict."""
    choices = [report["strict"]] if "strict" in report else [False, True]
    due = [verdicts.verdict(report["results"], strict=strict) for strict in choices]
    due += [verdicts.former(report["results"], strict=strict) for strict in choices]
    if report["verdict"] not in due:
        yield f"the verdict is {report['verdict']}, and its results make it {due[0]}"
    elif "classes" in report and report["verdict"] != report["classes"][spec.CLASSES[-1]]:
        yield f"the verdict is not that of {spec.CLASSES[-1]}, the class that holds all others"
    if "classes" in report:
        yield from _of_classes(report, choices)


def _of_classes(report: dict[str, Any], choices: list[bool]) -> Iterator[str]:
    made = [classes.verdicts_of(report["results"], strict=strict) for strict in choices]
    for name, said in report["classes"].items():
        due = [found[name] for found in made]
        if said not in due:
            yield f"the verdict of {name} is {said}, and its results make it {due[0]}"


def _of_exit_code(document: dict[str, Any]) -> Iterator[str]:
    reports, code = document["reports"], document["exit_code"]
    checks = document.get("catalog", {}).get("checks", [])
    if any(check["outcome"] == "fail" for check in checks):
        if code not in (ExitCode.NON_CONFORMANT, *_WITHOUT_TARGETS):
            yield f"the exit code is {code}, and a check of the catalog's entry fails"
        return
    if not reports:
        if code not in _WITHOUT_TARGETS:
            yield f"the exit code is {code}, and nothing was judged"
        return
    said = [report["allow_incomplete"] for report in reports if "allow_incomplete" in report]
    choices = [all(said)] if said else [False, True]
    due = [
        int(verdicts.exit_code(reports, allow_incomplete=choice, as_former=former))
        for former in (False, True)
        for choice in choices
    ]
    if code not in due:
        yield f"the exit code is {code}, and its reports make it {due[0]}"


def _listed(ids: list[str]) -> str:
    more = len(ids) - _MOST_IDS
    return ", ".join(ids[:_MOST_IDS]) + (f" and {more} more" if more > 0 else "")
