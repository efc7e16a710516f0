"""The lines about one target, wherever it is told: its verdict in one line, and its waivers."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from memproto import spec
from memproto.report import classes
from memproto.report.view import one_line
from memproto.testing.outcomes import Verdict

#: Declarations of a provider that say how its verdict is to be read.
DECLARED = ("isolates", "retention")


def verdict_line(report: dict[str, Any]) -> str:
    """
    `memproto SPEC · TARGET · BINDING · isolates=... · retention=... · kit KIT · VERDICT`.

    `BINDING` is native, hermes or host. `isolates` and `retention` are there where the target
    declared them; then `settings=FILE(KEYS)` where a file of the package, or one above the working
    directory, gave settings. VERDICT of a provider is `CONFORMANT` with the highest class that
    holds and the extensions that do, or the verdict alone if no class holds; then, for the next
    class, the number of requirements that are violated, waived or open, and for the classes behind
    it of those that are violated. A narrowed run names no class and says so.
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
    return " · ".join([_held(report), *(_stands(report, one) for one in classes.missing(report))])


def _held(report: dict[str, Any]) -> str:
    """`CONFORMANT durable with tools, backup`, or the verdict if no class holds."""
    highest = classes.held(report)
    if highest is None:
        return str(report["verdict"])
    named = [
        name
        for name, found in report["extensions"].items()
        if found["verdict"] == Verdict.CONFORMANT
    ]
    shown = f" with {', '.join(named)}" if named else ""
    return f"{Verdict.CONFORMANT} {highest}{shown}"


def _stands(report: dict[str, Any], missing: classes.Missing) -> str:
    """`shared: 2 violated (1 in tools), 3 open`: the numbers of what a class adds and lacks."""
    kinds = (
        ("violated", missing.violated),
        ("waived", missing.waived),
        ("open", missing.unsettled),
    )
    said = [f"{len(ids)} {word}{_in_extensions(report, ids)}" for word, ids in kinds if ids]
    return f"{missing.name}: {', '.join(said) or 'nothing passed'}"


def _in_extensions(report: dict[str, Any], ids: tuple[str, ...]) -> str:
    """` (1 in tools, 2 in items)`: those that concern the provider by an extension."""
    known = spec.requirements()
    found = Counter(known[key].extension for key in ids if key in known)
    said = [f"{found[name]} in {name}" for name in report["extensions"] if found[name]]
    return f" ({', '.join(said)})" if said else ""


def waiver_lines(report: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Each line on its waivers, and True if it tells a fault, by which the run is red."""
    found = report.get("waivers", {})
    for fault in found.get("faults", ()):
        yield f"waiver: {fault['text']}", True
        yield f"  fix: {fault['fix']}", True
    for note in found.get("notes", ()):
        yield f"waiver: {note['text']}", False
