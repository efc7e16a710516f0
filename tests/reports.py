"""Reports for the tests of what is made of them: small, valid, and as hostile as asked for."""

from memproto.report import document

OUTCOMES = (
    *("pass", "fail", "warn", "not_applicable", "untestable"),
    *("inconclusive", "not_run", "not_scored", "waived", "kit_error"),
)

TIMES = {
    "recall": {
        "hook": "enrich_turn",
        "budget_s": 5.0,
        "rule": "MP-RECALL-002",
        "calls": 42,
        "p50_s": 0.0125,
        "slowest_s": 5.2,
        "times": {"0.0125": 30, "0.016": 11, "6.3": 1},
    }
}


def row(requirement_id="MP-RECALL-002", outcome="pass", **changed):
    chapter, anchor = changed.pop("chapter", "40-recall"), requirement_id.lower()
    known = dict.fromkeys(("expected", "observed", "where", "reason", "waiver"))
    return {
        "id": requirement_id,
        "level": "MUST",
        "outcome": outcome,
        "rule": f"The rule of {requirement_id} MUST hold.",
        "reproduce": f"pytest --memproto=mine --memproto-clause={requirement_id}",
        "fix": "Give the backend call a timeout.",
        "clause": f"spec/v1/{chapter}.md#{anchor}",
        "duration_s": 0.1,
        **known,
        **changed,
    }


def failed(requirement_id="MP-RECALL-002", **changed):
    told = {
        "expected": "an answer within 5 s",
        "observed": "no answer after 5.2 s",
        "where": "mine/__init__.py:41 enrich_turn",
    }
    return row(requirement_id, "fail", **{**told, **changed})


def report(*rows, target="mine", verdict=None, **changed):
    outcomes = [item["outcome"] for item in rows]
    found = {
        "spec": "1.0",
        "kit": "0.1.0",
        "target": target,
        "side": "provider",
        "binding": "native",
        "profile": "quick",
        "verdict": verdict or ("NON-CONFORMANT" if "fail" in outcomes else "CONFORMANT"),
        "counts": {name: outcomes.count(name) for name in OUTCOMES},
        "extensions": {},
        "results": list(rows),
        "seed": 0,
        "selected": False,
        "environment": {"python": "3.13.0"},
        "settings": {},
        **changed,
    }
    return {**found, "fingerprint": document.fingerprint(found)}


def whole(*reports, exit_code=1):
    return {"format": 1, "exit_code": exit_code, "reports": list(reports)}


def long(rows=1000):
    """A report of so many requirements, of every outcome that needs no story."""
    outcomes = ("pass", "pass", "not_applicable", "untestable")
    places = [(f"AREA{chr(65 + at // 500)}{chr(65 + at // 25 % 20)}", at) for at in range(rows - 1)]
    others = [
        row(f"MP-{area}-{at % 25:03}", outcomes[at % 4], chapter=f"{at // 25}-{area.lower()}")
        for area, at in places
    ]
    return report(failed("MP-RECALL-900"), *others, operations=TIMES)


#: Names, words and values of a provider, each with its effect if it is not escaped.
HOSTILE = (
    "<script>window.hurt = 1</script>",
    "</style><script>window.hurt = 2</script>",
    "</script><img src=x onerror='window.hurt = 3'>",
    "\"><a href='javascript:window.hurt=4'>x</a>",
    "{{ 7 * 6 }}{% raw %}",
    "safe\u202egnp.exe\u2066 and \u200b\x00\x1b[31m\ud800",
    "W" * 400,
)


def hostile(texts=HOSTILE):
    """A report each text of which is hostile, one after the other."""
    bad = iter(texts * 9)
    rows = [
        failed(
            f"MP-RECALL-{number:03}",
            **{name: next(bad) for name in ("rule", "expected", "observed", "where", "reproduce")},
        )
        for number in range(1, 8)
    ]
    waiver = {name: next(bad) for name in ("reason", "issue", "owner")}
    waiver |= {"expires": "2027-01-31", "outcome": "fail"}
    waived = row("MP-TURN-001", "waived", waiver=waiver)
    open_one = row("MP-TURN-002", "untestable", reason=next(bad), fix=next(bad))
    odd = {**TIMES, next(bad): {**TIMES["recall"], "hook": next(bad)}}
    return report(
        *rows,
        waived,
        open_one,
        target=next(bad),
        operations=odd,
        environment={next(bad): next(bad)},
        settings={next(bad): [next(bad)]},
    )
