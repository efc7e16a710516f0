"""The verdict of one target in one line, of a form that scripts and people look for."""

from typing import Any

from memproto import spec
from memproto.testing.outcomes import OPEN, Outcome, Verdict

#: What a verdict is due to: the outcomes that make it, of which one is enough.
_DECIDING = {
    Verdict.CONFORMANT: frozenset({Outcome.PASS}),
    Verdict.NON_CONFORMANT: frozenset({Outcome.FAIL}),
    Verdict.INCOMPLETE: OPEN,
}

#: What a provider declared that says how its verdict is to be read.
_DECLARED = ("isolates", "retention")


def verdict_line(report: dict[str, Any], declared: dict[str, Any]) -> str:
    """
    `memproto SPEC · TARGET · BINDING · isolates=... · retention=... · kit KIT · VERDICT PARTS`.

    `BINDING` is native, hermes or host. `isolates` and `retention` are there where the target
    declared them. PARTS are `core` and the extensions that the verdict is due to: what holds, what
    is violated, or what stayed open. A narrowed run has none and says so.
    """
    binding = report["binding"] or report["side"]
    said = [f"{key}={_value(declared[key])}" for key in _DECLARED if declared.get(key)]
    parts = (f"memproto {report['spec']}", report["target"], binding, *said)
    return " · ".join((*parts, f"kit {report['kit']}", _verdict(report)))


def _value(value: Any) -> str:
    words = sorted(map(str, value)) if isinstance(value, list | tuple | set) else [str(value)]
    return ",".join("".join(c for c in word if c.isalnum() or c in "-_") for word in words)


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
    deciding = _DECIDING[Verdict(report["verdict"])]
    found = {
        spec.requirement(row["id"]).extension or "core"
        for row in report["results"]
        if row["outcome"] in deciding
    }
    return [name for name in ("core", *report["extensions"]) if name in found]
