"""The words of each output of one run about each requirement, and differences between them."""

import re
import subprocess
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

from tests.kit_runs import outcomes, reported

_WORDS = "PASSED|FAILED|WARNED|NOT APPLICABLE|UNTESTABLE|INCONCLUSIVE|NOT SCORED|WAIVED|KIT ERROR"

#: The word or the category of pytest to the outcome, where it is not the same.
_OUTCOMES = {"PASSED": "pass", "FAILED": "fail", "WARNED": "warn"}
_CATEGORIES = {"pass": "passed", "fail": "failed", "kit_error": "failed"}

#: A line of -v, alone and by a worker of pytest-xdist.
_ALONE = re.compile(rf"\S.*::(?P<id>MP-[A-Z0-9-]+)(?:@\S+)? +(?P<word>{_WORDS})\b")
_WORKER = re.compile(rf"\[gw\d+\].*? (?P<word>{_WORDS}) .*::(?P<id>MP-[A-Z0-9-]+)")

_HEADLINE = re.compile(r"^_{3,} .*?(MP-[A-Z0-9-]+) _{3,}$", re.MULTILINE)
_COUNT = re.compile(r"(\d+) ([a-z][a-z ]*?)(?=,| in )")


def run(directory: Path, *words: str) -> tuple[dict[str, Any], list[str]]:
    """Run the kit with every output, and give its report and how the outputs differ from it."""
    file = directory / "junit.xml"
    found = reported(directory, *words, "-v", f"--junitxml={file}")
    (report,) = found["reports"]
    ran = {key: item for key, item in outcomes(report).items() if item != "not_run"}
    done: subprocess.CompletedProcess[str] = found["run"]
    faults = [f"exit {done.returncode}"] if done.returncode != found["exit_code"] else []
    for name, said in {
        "-v": _lines(done.stdout),
        "junit": _cases(file),
    }.items():
        faults += [
            f"{name} says {said.get(key)} of {key}, which is {ran.get(key)}"
            for key in sorted({*said, *ran})
            if said.get(key) != [ran.get(key)]
        ]
    red = sorted(key for key, outcome in ran.items() if outcome in ("fail", "kit_error"))
    if (shown := sorted(_HEADLINE.findall(done.stdout))) != red:
        faults.append(f"FAILURES shows {shown} for {red}")
    counted = Counter(_CATEGORIES.get(item, item.replace("_", " ")) for item in ran.values())
    last = done.stdout.rstrip().splitlines()[-1]
    said_last = {name: int(count) for count, name in _COUNT.findall(last)}
    if said_last != counted:
        faults.append(f"the last line is {last!r} for {dict(counted)}")
    return found, faults


def _lines(text: str) -> dict[str, list[str]]:
    said: dict[str, list[str]] = {}
    for line in text.splitlines():
        if match := _ALONE.match(line) or _WORKER.match(line):
            word = match["word"]
            outcome = _OUTCOMES.get(word, word.lower().replace(" ", "_"))
            said.setdefault(match["id"], []).append(outcome)
    return said


def _cases(file: Path) -> dict[str, list[str]]:
    """The outcome that each test case names, if its element fits to it."""
    said: dict[str, list[str]] = {}
    for case in ET.parse(file).iter("testcase"):
        told = {item.get("name"): item.get("value") for item in case.iter("property")}
        outcome = told.get("memproto.outcome", "none")
        kinds = {child.tag for child in case} - {"properties"}
        fits = {"fail": {"failure"}, "kit_error": {"failure"}, "pass": set(), "warn": set()}
        fit = kinds == fits.get(outcome, {"skipped"})
        said.setdefault(told.get("memproto.id", "none"), []).append(
            outcome if fit else f"{outcome} as {kinds}"
        )
    return said
