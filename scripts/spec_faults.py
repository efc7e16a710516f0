"""
Says what is not whole in the specification: `python -P scripts/spec_faults.py`.

Each rule has a line: the number of things that it looked at, and its faults, each with the repair.
No informative text decides; each requirement has an actor, a class and an example; sentences are
short; links lead somewhere. The exit code is 1 if there is a fault. `tests/spec/test_structure.py`
holds that each rule finds its fault.
"""

import dataclasses
import functools
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
for place in (str(ROOT), str(ROOT / "tests")):
    if place not in sys.path:
        sys.path.append(place)

from memproto.testing import clauses  # noqa: E402 - needs the path above
from memproto.testing.conditions import Extension  # noqa: E402 - as above
from scripts import example_files, reasons, structure  # noqa: E402 - as above
from scripts.tree import Tree  # noqa: E402 - as above
from tests.broken.marks import load_all  # noqa: E402 - as above

Row = dict[str, Any]

#: The parts that bind, and those that explain, beside `intent` and `example`.
BINDING = ("applies_to", "definitions", "exemptions")
EXPLAINING = ("rationale", "procedure")

#: Words that a sentence may have.
MOST_WORDS = 25

#: The words by which a sentence names who acts, or the thing that an actor of its side does.
ACTORS = {
    "provider": r"\b(provider|providers|server|instance|instances|process|session|sessions|tool"
    r"|writes?|recall|text|turn|items?|export|importing|recording|mirroring|compressing"
    r"|compression|calls?|shutdown|wakes?|exit|answer|everything|file|hook|argument|result|schema"
    r"|switch|end|sentence|reason|line|path|credential|status|notes|block|unavailable_reason"
    r"|prefetch|greeting|message|request)\b|`",
    "host": r"\b(host|hosts|registry|agent|model|user|client|result|text)\b|`",
}

#: Words that would excuse somebody, which only a part that binds may do.
_EXCUSES = re.compile(r"\*Not (?:required|applicable)\*?|is not asked\b|is no violation|conforms\b")

#: The section of the chapter on conformance that grants the reasons of shared helpers.
_SHARED = ("spec/v1/90-conformance.md", "Not applicable")

#: Chapters that hold no requirement and are read by sentences as well.
_PLAIN = ("05-summary.md", "92-security.md", "93-privacy.md", "94-versioning.md")


@dataclasses.dataclass(frozen=True)
class Fault:
    """One thing that is not whole: where it is, what is wrong, and the repair."""

    place: str
    fault: str
    repair: str

    def __str__(self) -> str:
        """Give the fault as one line."""
        return f"{self.place}: {self.fault}; {self.repair}"


class Specification:
    """The catalogue, the chapters and the examples, as a checkout has them."""

    def __init__(self, root: Path = ROOT) -> None:
        self.folder = root / "spec" / "v1"
        self.catalogue = tomllib.loads((self.folder / "requirements.toml").read_text("utf-8"))
        self.rows: dict[str, Row] = {row["id"]: row for row in self.catalogue["requirement"]}
        self.chapters = {
            path.name: path.read_text("utf-8") for path in sorted(self.folder.glob("*.md"))
        }

    def parts(self, *names: str) -> Iterator[tuple[str, str, str]]:
        """Id, part and text of each sentence, or row of sentences, of some parts."""
        for name, row in self.rows.items():
            for part in names:
                said = row.get(part, [])
                yield from (
                    (name, part, one) for one in ([said] if isinstance(said, str) else said)
                )


Rule = Callable[[Specification], Iterator[Fault]]


# -- no informative text decides -------------------------------------------------------------------


def whole_sentences(text: Specification) -> Iterator[Fault]:
    """Each item of a part is one whole sentence or more."""
    for name, part, said in text.parts(*BINDING, *EXPLAINING):
        if not re.match(r"^[A-Z*`0-9\[].*[.:)]$", said):
            repair = "begin it with a capital, and end it with a full stop"
            yield Fault(name, f"{part} holds {said!r}", repair)


def procedures_apart(text: Specification) -> Iterator[Fault]:
    """No part that binds speaks of the kit."""
    for name, part, said in text.parts(*BINDING):
        if "the kit" in said.lower():
            yield Fault(name, f"{part} speaks of the kit: {said!r}", "move it to `procedure`")


def excuses_bind(text: Specification) -> Iterator[Fault]:
    """No informative part excuses anybody."""
    for name, part, said in text.parts("intent", *EXPLAINING, "example"):
        if _EXCUSES.search(said):
            yield Fault(name, f"{part} excuses somebody: {said!r}", "move it to `exemptions`")


def conditions_are_granted(text: Specification) -> Iterator[Fault]:
    """Each condition of a check is a sentence of `applies_to`, or its requirement's extension."""
    for name, check in _checks().items():
        row = text.rows[name]
        said = row.get("applies_to", [])
        for one in structure.granted(check, row):
            if one not in said:
                repair = "run `python -P scripts/structure.py`, which writes it"
                yield Fault(
                    name, f"its check asks for more than `applies_to` says: {one!r}", repair
                )
        for item in check.conditions:
            is_said = item.sentence in said
            if type(item) is Extension and not is_said and item.name != row.get("extension"):
                repair = f'write `extension = "{item.name}"` into its row'
                yield Fault(name, f"its check asks for the extension {item.name!r}", repair)


def reasons_are_granted(text: Specification) -> Iterator[Fault]:
    """Each reason by which a check leaves a target out as it runs is a sentence that binds."""
    for name, check in _checks().items():
        said = text.rows[name].get("exemptions", [])
        for reason in reasons.of_check(check):
            if not any(reasons.grants(one, reason) for one in said):
                repair = f"write into `exemptions`: {reasons.sentence(reason)!r}"
                yield Fault(name, "its check leaves out more than it says", repair)
    chapter, title = _SHARED
    section = text.chapters[chapter.rpartition("/")[2]].partition(f"\n## {title}\n")[2]
    lines = section.partition("\n## ")[0].splitlines()
    for reason in reasons.shared():
        if not any(reasons.grants(one, reason) for one in lines):
            repair = f"write into its section {title!r}: {'- ' + reasons.sentence(reason)!r}"
            yield Fault(chapter, "helpers of checks leave out more than it says", repair)
    for function in reasons.unreached():
        yield Fault(function, "it leaves a target out for no requirement", "name it in a check")


# -- each requirement is whole ---------------------------------------------------------------------


def actors(text: Specification) -> Iterator[Fault]:
    """The sentence of a requirement names its actor before the key word."""
    for name, _, said in text.parts("text"):
        subject = re.split(r" (?:MUST|SHOULD)\b", said)[0]
        if not re.search(ACTORS[text.rows[name]["side"]], subject, re.IGNORECASE):
            yield Fault(name, f"nobody acts in {said!r}", "begin it with the provider or the host")


def classes(text: Specification) -> Iterator[Fault]:
    """A requirement of providers has a class, and one of hosts has none."""
    known = {row["name"] for row in text.catalogue["class"]}
    for name, row in text.rows.items():
        if row["side"] == "provider" and row.get("class") not in known:
            repair = f'write `class = "..."`, one of {", ".join(sorted(known))}'
            yield Fault(name, f"its class is {row.get('class')!r}", repair)
        if row["side"] == "host" and "class" in row:
            yield Fault(name, "a host has no classes", "take `class` out of its row")


def examples(text: Specification) -> Iterator[Fault]:
    """Each requirement has an example on a broken provider of its own, and on a good one."""
    broken: dict[str, set[str]] = {}
    for target, mutant in load_all().items():
        broken.setdefault(mutant.kills, set()).add(target)
    all_broken = {target for those in broken.values() for target in those}
    there = set(example_files.names())
    for name, row in text.rows.items():
        if name not in there:
            yield Fault(name, "it has no example", _recording(name))
            continue
        found = example_files.read(name)
        kind = "host" if row["side"] == "host" else "provider"
        if found["violates"].get(kind) not in broken.get(name, ()):
            yield Fault(name, "its example shows no broken one of its own", _recording(name))
        if found["conforms"].get(kind) in {None, *all_broken}:
            yield Fault(name, "its example shows no good one", _recording(name))
        if not (found.get("calls") or found.get("lines") or found["violates"].get("observed")):
            yield Fault(name, "its example shows nothing", _recording(name))
    for name in sorted(there - set(text.rows)):
        yield Fault(f"{name}.json", "it is the example of no requirement", "remove the file")


def _recording(name: str) -> str:
    if name.startswith("MP-WIRE-"):
        return (
            "write its lines as another MP-WIRE example has them, without `line` and `observed`, "
            f"and run `python -P scripts/wire_lines.py {name}`"
        )
    return "run `python -P scripts/record_examples.py`, which records what is missing"


# -- sentences and links ---------------------------------------------------------------------------


def lengths(text: Specification) -> Iterator[Fault]:
    """No sentence of a requirement, or of a chapter on considerations, is too long."""
    for name, part, said in text.parts("text", "intent", *BINDING, "rationale", "example"):
        for one in sentences(said):
            if words(one) > MOST_WORDS:
                fault = f"{part} has a sentence of {words(one)} words: {one!r}"
                yield Fault(name, fault, _shorter(part))
    for name in _PLAIN:
        for line in text.chapters[name].splitlines():
            for one in () if line.startswith(("|", "#")) else sentences(line):
                if words(one) > MOST_WORDS:
                    fault = f"a sentence has {words(one)} words: {one!r}"
                    yield Fault(name, fault, f"make two of it, of {MOST_WORDS} words at most")


def _shorter(part: str) -> str:
    if part == "text":
        return f"say it in {MOST_WORDS} words, and define in `definitions` what that leaves open"
    return f"make two of it, of {MOST_WORDS} words at most"


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return re.split(r"(?<=[.!?]) +(?=[A-Z*`])", text)


def words(sentence: str) -> int:
    """The number of words of a sentence; the address of a link is none."""
    return len(re.sub(r"\]\([^)]*\)", "]", sentence).split())


def links(text: Specification) -> Iterator[Fault]:
    """Each link of a chapter leads to a file that is there, and to an anchor in it."""
    for name, chapter in text.chapters.items():
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(chapter)):
            file, _, anchor = link.partition("#")
            if link.startswith("https://"):
                continue
            if not (text.folder / file).exists():
                yield Fault(name, f"{link} leads to no file", "mend the link")
            elif anchor and anchor not in anchors(text.chapters[file or name]):
                yield Fault(name, f"{link} leads to no anchor", "mend the link")


def without_code(text: str) -> str:
    """Markdown without its code."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def anchors(text: str) -> set[str]:
    """The anchors of a chapter: those of its headings, and its own."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)"></a>', text))


def moved_already(text: Specification) -> Iterator[Fault]:
    """No sentence waits in a chapter to be moved into the catalogue."""
    tree = Tree(text.folder.parents[1])
    structure.rewrite(tree)
    for name in tree.changed():
        repair = "run `python -P scripts/structure.py`, then `python -P scripts/generate.py`"
        yield Fault(name, "it holds sentences, or lacks some, of a requirement", repair)


@functools.cache
def _checks() -> dict[str, clauses.Check]:
    return {**clauses.checks("provider"), **clauses.checks("host")}


#: The rules, by the sentence that each holds.
RULES: dict[str, Rule] = {
    "each part is made of whole sentences": whole_sentences,
    "no procedure of the kit stands in a part that binds": procedures_apart,
    "no informative part excuses anybody": excuses_bind,
    "each condition of a check is granted by a sentence that binds": conditions_are_granted,
    "each reason of a check to leave a target out is granted as well": reasons_are_granted,
    "no part of a requirement waits in a chapter": moved_already,
    "each requirement names its actor first": actors,
    "each requirement has a class, if it has one to have": classes,
    "each requirement has an example of a good and of a broken one": examples,
    f"no sentence has more than {MOST_WORDS} words": lengths,
    "each link leads somewhere": links,
}


def main(root: Path = ROOT) -> int:
    """Print each rule with its faults; 1 if there is one."""
    text = Specification(root)
    sys.stdout.write(f"{len(text.rows)} requirements, {len(text.chapters)} chapters\n")
    number = 0
    for name, rule in RULES.items():
        found = list(rule(text))
        number += len(found)
        sys.stdout.write(f"{'FAULT' if found else 'holds'}  {name}\n")
        sys.stdout.writelines(f"  {fault}\n" for fault in found)
    return 1 if number else 0


if __name__ == "__main__":
    sys.exit(main())
