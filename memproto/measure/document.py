"""The document of a measurement, as in `measure.schema.json`: rows of figures, and no sum."""

import hashlib
import json
import math
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from typing import Any

import psutil

from memproto import __version__
from memproto.measure import intervals, scoring
from memproto.measure.corpus import ANSWERABLE, KINDS, Corpus, digest_of
from memproto.measure.growth import Growth, flat
from memproto.measure.recalling import Recalled
from memproto.measure.scoring import BUDGETS_CHARS, DEPTHS, Marked
from memproto.testing.settings.order import Contact

#: The form of the documents that this kit writes and reads.
FORMAT = 1

#: The budget by which the kinds, and superseded values, are told.
_LAST = len(BUDGETS_CHARS) - 1

#: Retention to the reason for which recall is a lower bound.
_NOT_VERBATIM = {
    "selective": "it selects what it keeps",
    "derived": "it keeps what was said in words of its own",
}

_Repeats = Sequence[list[Marked]]


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    text = resources.files("memproto.measure").joinpath("measure.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def build(corpora: Sequence[Corpus], seed: int, rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The whole document: baselines in their order, and targets in that of the alphabet."""
    every = list(rows)
    baselines = [row for row in every if row["is_baseline"]]
    targets = sorted(
        (row for row in every if not row["is_baseline"]),
        key=lambda row: (row["target"].casefold(), row["target"]),
    )
    found: dict[str, Any] = {
        "format": FORMAT,
        "measure": {
            "kit": __version__,
            "seed": seed,
            "repeats": len(corpora),
            "level": intervals.LEVEL,
            "budgets_chars": list(BUDGETS_CHARS),
            "environment": _environment(),
        },
        "corpus": _corpus(corpora),
        "rows": [*baselines, *targets],
    }
    return {**found, "fingerprint": fingerprint(found)}


def fingerprint(document: dict[str, Any]) -> str:
    """The sha256 of the canonical JSON, without the fingerprint itself; against accidents alone."""
    rest = {key: value for key, value in document.items() if key != "fingerprint"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _environment() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.platform(),
        "processors": psutil.cpu_count() or 0,
    }


def _corpus(corpora: Sequence[Corpus]) -> dict[str, Any]:
    kinds = Counter(question.kind for corpus in corpora for question in corpus.questions)
    return {
        "name": corpora[0].name,
        "sha256": digest_of(corpora),
        "people": sum(len(corpus.people) for corpus in corpora),
        "turns": sum(corpus.turn_count for corpus in corpora),
        "questions": {kind: kinds[kind] for kind in KINDS if kinds[kind]},
    }


# -- rows ------------------------------------------------------------------------------------------


def row_of_baseline(name: str, repeats: _Repeats, left_out: dict[str, str]) -> dict[str, Any]:
    """The row of a baseline; without repeats it was not measured, for a reason."""
    return {
        **_row(name, is_baseline=True),
        "recall": _recall(repeats) if repeats else None,
        "left_out": left_out,
    }


def row_of_target(
    target: str,
    contact: Contact,
    recalled: Recalled | None,
    growth: Growth | None,
    left_out: dict[str, str],
) -> dict[str, Any]:
    """The row of a target: the figures that there are, and a reason for each that there is not."""
    row = _row(target, is_baseline=False)
    row["binding"] = contact.binding.name if contact.binding else None
    row["left_out"] = dict(left_out)
    if recalled is not None:
        row["route"] = recalled.route
        row["recall"] = _recall(recalled.repeats)
        row["told"] = {"turns": recalled.told, "refused": recalled.refused}
        row["faults"] = recalled.faults
        row["lower_bound"] = _lower_bound(contact, recalled)
        row["left_out"] |= recalled.left_out
        row["notes"] = list(recalled.notes)
        if not row["recall"]["items"]:
            row["left_out"]["items"] = "it does not serve items"
    if growth is not None:
        row["speed"] = _speed(growth)
        row["left_out"] |= growth.left_out
    return row


def _row(target: str, *, is_baseline: bool) -> dict[str, Any]:
    return {
        "target": target,
        "is_baseline": is_baseline,
        "binding": None,
        "route": None,
        "lower_bound": None,
        "recall": None,
        "told": None,
        "faults": 0,
        "speed": None,
        "left_out": {},
        "notes": [],
    }


def _lower_bound(contact: Contact, recalled: Recalled) -> str | None:
    """Reason for which the target may remember more than was found."""
    if reason := _NOT_VERBATIM.get(str(contact.capabilities.get("retention"))):
        return reason
    rows = [row for repeat in recalled.repeats for row in repeat]
    return "it tells what was said in other words" if scoring.in_own_words(rows) else None


def _recall(repeats: _Repeats) -> dict[str, Any]:
    places = {str(chars): place for place, chars in enumerate(BUDGETS_CHARS)}
    places["all"] = len(BUDGETS_CHARS)
    return {
        "found": {
            name: share(repeats, lambda rows, at=at: scoring.answered(rows, at))  # type: ignore[misc]
            for name, at in places.items()
        },
        "kinds": {
            kind: share(repeats, lambda rows, kind=kind: scoring.answered(rows, _LAST, (kind,)))  # type: ignore[misc]
            for kind in ANSWERABLE
        },
        "items": {
            str(depth): found
            for at, depth in enumerate(DEPTHS)
            if (found := share(repeats, lambda rows, at=at: scoring.ranked(rows, at)))  # type: ignore[misc]
        },
        "stale": share(repeats, lambda rows: scoring.stale(rows, _LAST)),
        "absent": share(repeats, scoring.shown_for_absent),
        "other": share(repeats, scoring.leaked),
        "chars_p50": _median_chars(repeats),
    }


def _median_chars(repeats: _Repeats) -> int:
    lengths = [row.chars for rows in repeats for row in rows if row.kind in ANSWERABLE]
    return int(intervals.percentile(lengths, 0.5)) if lengths else 0


def share(repeats: _Repeats, look: Callable[[list[Marked]], list[bool]]) -> dict[str, Any] | None:
    """
    A share over all repeats, its interval, and each answer of each repeat; None for no question.

    The answers let two measurements be compared question by question.
    """
    looks = [answers for rows in repeats if (answers := look(rows))]
    if not looks:
        return None
    hits, of = sum(sum(one) for one in looks), sum(len(one) for one in looks)
    low, high = intervals.of_share(hits, of)
    return {
        "hits": hits,
        "of": of,
        "share": round(hits / of, 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "repeats": [round(sum(one) / len(one), 4) for one in looks],
        "answers": ["".join("01"[hit] for hit in one) for one in looks],
    }


# -- speed -----------------------------------------------------------------------------------------


def _speed(growth: Growth) -> dict[str, Any]:
    return {
        "sizes": [
            {
                "turns": size.turns,
                "operations": {name: _times(taken) for name, taken in size.times_s.items()},
                "disk_bytes": size.disk_bytes,
                "memory_bytes": size.memory_bytes,
                "calls_per_turn": size.calls_per_turn,
                "calls_per_recall": size.calls_per_recall,
            }
            for size in growth.sizes
        ],
        "slopes": growth.slopes(),
    }


def _times(parts: list[list[float]]) -> dict[str, Any]:
    taken = flat(parts)
    p50, p95, p99 = (intervals.percentile(taken, share) for share in (0.5, 0.95, 0.99))
    # Calls of one process are alike: between two of them a median moves more than within one.
    medians = [intervals.percentile(part, 0.5) for part in parts]
    low, high = intervals.of_median(taken)
    low, high = min(low, *medians), max(high, *medians)
    named = {"p50_s": p50, "p95_s": p95, "p99_s": p99, "p50_low_s": low, "p50_high_s": high}
    return {"calls": len(taken), **{name: _rounded(value) for name, value in named.items()}}


def _rounded(value: float) -> float:
    """Four digits: more are noise."""
    return round(value, 4 - math.ceil(math.log10(value))) if value > 0 else 0.0
