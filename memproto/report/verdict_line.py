"""The lines about one target, wherever it is told: its verdict in one line, and its waivers."""

from collections.abc import Iterator
from typing import Any

from memproto import spec
from memproto.report import verdicts
from memproto.report.view import one_line
from memproto.testing.outcomes import OPEN, Outcome, Verdict

#: Declarations of a provider that say how its verdict is to be read.
DECLARED = ("isolates", "retention")


def verdict_line(report: dict[str, Any]) -> str:
    """
    `memproto SPEC · TARGET · BINDING · isolates=... · retention=... · kit KIT · VERDICT PARTS`.

    `BINDING` is native, hermes or host. `isolates` and `retention` are there where the target
    declared them; then `settings=FILE(KEYS)` where a file of the package, or one above the working
    directory, gave settings. PARTS are `core` and the extensions that the verdict is due to: what
    holds, what is violated, or what stayed open. A narrowed run has none and says so.
    """
    binding = report["binding"] or report["side"]
    said = [f"{key}={_value(report[key])}" for key in DECLARED if report.get(key)]
    if files := _foreign_files(report.get("settings") or {}):
        said.append(f"settings={files}")
    parts = (f"memproto {report['spec']}", _one_part(report["target"]), binding, *said)
    return " · ".join((*parts, f"kit {_one_part(report['kit'])}", _verdict(report)))


def _foreign_files(settings: dict[str, Any]) -> str:
    """`acme/memproto.toml(config,env)`: what files gave that are not the working directory's."""
    given, files = settings.get("files"), settings.get("foreign")
    if not isinstance(given, dict) or not isinstance(files, list):
        return ""
    found = [f"{file}({','.join(map(str, given.get(file) or ()))})" for file in map(str, files)]
    return _one_part(",".join(found)).replace(" ", "_")


def _value(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ",".join(sorted(value))


def _one_part(text: str) -> str:
    """A name as one part of the line, whatever it holds: it makes no verdict of its own."""
    return one_line(text).replace(" · ", " ")


def _verdict(report: dict[str, Any]) -> str:
    if report["verdict"] is None:
        return "KIT ERROR"
    if report["selected"]:
        return f"{report['verdict']} (selected requirements only)"
    return " ".join(filter(None, (report["verdict"], ", ".join(parts(report)))))


def parts(report: dict[str, Any]) -> list[str]:
    """`core` and those extensions to which the verdict of a provider is due; none for a host."""
    if report["side"] == "host" or report["verdict"] is None:
        return []
    known = spec.requirements()
    found = {
        known[row["id"]].extension or "core" for row in _deciding(report) if row["id"] in known
    }
    return [name for name in ("core", *report["extensions"]) if name in found]


def _deciding(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that make the verdict, of which one is enough."""
    rows = report["results"]
    if report["verdict"] == Verdict.CONFORMANT:
        return [row for row in rows if row["outcome"] == Outcome.PASS]
    if report["verdict"] == Verdict.NON_CONFORMANT:
        return [row for row in rows if row["outcome"] == Outcome.FAIL]
    strict = bool(report.get("strict", False))
    # Every open row made the verdict of a report of a former kit.
    still = [row for row in rows if row["outcome"] in OPEN]
    return [row for row in still if verdicts.keeps_open(row, strict=strict)] or still


def waiver_lines(report: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Each line on its waivers, and True if it tells a fault, by which the run is red."""
    found = report.get("waivers", {})
    for fault in found.get("faults", ()):
        yield f"waiver: {fault['text']}", True
        yield f"  fix: {fault['fix']}", True
    for note in found.get("notes", ()):
        yield f"waiver: {note['text']}", False
