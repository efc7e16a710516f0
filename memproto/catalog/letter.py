"""The text that a catalog sends to the author of a plugin: what to change, and how to see it."""

from collections.abc import Iterator
from typing import Any

from memproto import links
from memproto.report.formats.markdown import bounded, code, text
from memproto.testing.outcomes import OPEN, Outcome

#: Requirements that one letter tells of; the command shows the rest.
_MOST = 20


def written(document: dict[str, Any]) -> str:
    """The letter on a report's document, as Markdown; a report without an entry is told as well."""
    return bounded("\n\n".join(_parts(document)) + "\n")


def _parts(document: dict[str, Any]) -> Iterator[str]:
    catalog = document.get("catalog", {})
    name = text(catalog.get("name") or "the plugin")
    if not document["exit_code"]:
        yield f"Thank you: {name} holds what the catalog asks of a memory provider."
    else:
        yield f"Thank you for {name}. The catalog cannot take this commit yet; here is why."
    closed = [check for check in catalog.get("checks", []) if check["outcome"] == "fail"]
    if closed:
        lines = [f"- {text(check['name'])}: {code(check['detail'])}" for check in closed]
        yield "\n".join(["**The entry and plugin.yaml**", "", *lines])
    for report in document["reports"]:
        yield from _of_report(report)
    if not document["exit_code"]:
        return
    yield "\n".join(
        [
            "To see the same, in a clone of your repository, without Hermes Agent:",
            "",
            "```console",
            "pip install 'memproto[kit]'",
            f"pytest --memproto=./{_in_code(catalog.get('subdir') or '.')}",
            "```",
        ]
    )


def _of_report(report: dict[str, Any]) -> Iterator[str]:
    rows = [row for row in report["results"] if row["outcome"] == Outcome.FAIL]
    if rows:
        more = len(rows) - _MOST
        lines = [line for row in rows[:_MOST] for line in _of_row(row)]
        after = [f"- and {more} more, which the command below shows"] if more > 0 else []
        yield "\n".join(["**Requirements that do not hold**", "", *lines, *after])
    undecided = [
        row
        for row in report["results"]
        if row["outcome"] in OPEN - {Outcome.WAIVED} and row["outcome"] != Outcome.NOT_RUN
    ]
    if undecided and report["verdict"] == "INCOMPLETE":
        reasons = dict.fromkeys(str(row["reason"] or row["observed"]) for row in undecided)
        lines = [f"- {text(reason)}" for reason in list(reasons)[:_MOST]]
        count = f"{len(undecided)} requirements could not be judged, for these reasons:"
        yield "\n".join([f"**Not judged**: {count}", "", *lines])


def _of_row(row: dict[str, Any]) -> Iterator[str]:
    address = links.published(row["clause"])
    named = f"[{row['id']}]({address})" if address else code(row["id"])
    yield f"- {named}: {text(row['rule'])}"
    yield f"  - seen: {code(row['observed'] or '-')}"
    if row["where"]:
        yield f"  - where: {code(row['where'])}"
    yield f"  - fix: {text(row['fix'])}"


def _in_code(name: str) -> str:
    """A stranger's name as a word of a shell, in a block that it cannot end."""
    return name if all(sign.isalnum() or sign in "._-/" for sign in name) else "PLUGIN"
