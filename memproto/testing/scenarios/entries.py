"""Recorded turns, items, exports and scopes: as checks hand them over, read and judge them."""

import datetime as dt
import functools
import itertools
import json
from collections.abc import Callable
from typing import Any

from memproto import spec
from memproto.errors import Unavailable
from memproto.testing import incidents
from memproto.testing.clauses import NotApplicable, Untestable, Violation
from memproto.testing.evidence import Unfit
from memproto.testing.facts import Fact
from memproto.testing.needs import Setting
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import BackendAway, HookRaised, Subject
from memproto.testing.wire import hidden, show

#: The rule on the form of each answer.
_FORMS = {
    "recall-items": ("items", incidents.RAISED["items"]),
    "export": ("export", incidents.RAISED["export"]),
    "forget-result": ("forget", incidents.RAISED["forget"]),
}

#: Parts of the name of a tool that only looks something up.
_LOOKING = ("search", "recall", "query", "find", "lookup", "retrieve")

#: Names of an argument that carries what is looked for.
_QUESTIONS = ("query", "q", "question", "text", "search")

_numbers = itertools.count(1)


def served(run: Run, extension: str) -> bool:
    """True if the provider declares the extension."""
    return extension in run.declared("extensions", [])


# -- turns -----------------------------------------------------------------------------------------


def turn(session: str, text: str, reply: str = "Done.", **more: Any) -> dict[str, Any]:
    """A turn of right now, with an id of its own, in a zone of two hours before UTC."""
    now = dt.datetime.now(dt.timezone(dt.timedelta(hours=2)))
    return {
        "turn_id": f"turn-{session}-{next(_numbers)}",
        "session_id": session,
        "started_at": now.isoformat(timespec="seconds"),
        "ended_at": now.isoformat(timespec="seconds"),
        "user_message": text,
        "assistant_response": reply,
        **more,
    }


def record(subject: Subject, given: dict[str, Any]) -> None:
    """
    Record a plain turn.

    Raises:
        Untestable: It was refused.

    """
    try:
        subject.record_turn(given)
    except HookRaised as failure:
        if failure.is_report and not isinstance(failure, BackendAway):
            raise Untestable(f"a plain turn was refused: {show(failure.error)}") from None
        raise


def is_taken(subject: Subject, given: dict[str, Any]) -> bool:
    """Record a turn; whether it was accepted."""
    return unless_refused(lambda: subject.record_turn(given)) is not REFUSED


# -- answers ---------------------------------------------------------------------------------------


def items(subject: Subject, query: str, **request: Any) -> list[dict[str, Any]]:
    """
    The items for a question.

    Raises:
        Violation: Of MP-ITEMS-001: the answer does not fit its schema.

    """
    answer = fitting(subject.items({"query": query, **request}), "recall-items")
    found: list[dict[str, Any]] = answer["items"]
    return found


def exported(subject: Subject, scope: dict[str, Any]) -> list[dict[str, Any]] | None:
    """
    The items of an export; None where the scope was refused.

    Raises:
        Violation: Of MP-PRIV-001: the answer does not fit its schema.

    """
    answer = unless_refused(lambda: subject.export(dict(scope)))
    return None if answer is REFUSED else list(fitting(answer, "export")["items"])


def forgotten(subject: Subject, scope: dict[str, Any]) -> int | None:
    """
    Forget a scope; how much is said to be gone, now or soon, and None where it was refused.

    Raises:
        Violation: Of MP-PRIV-002: the answer does not fit its schema.

    """
    answer = unless_refused(lambda: subject.forget(dict(scope)))
    if answer is REFUSED:
        return None
    told = fitting(answer, "forget-result")
    return int(told["removed"]) + int(told["pending"])


#: Stands for the answer of a call that raised to refuse.
REFUSED = object()


def unless_refused(call: Callable[[], Any]) -> Any:
    """
    The result of a call; `REFUSED` if it raised to refuse.

    Raises:
        Untestable: It says that its backend does not answer now, which is no refusal of the scope.

    """
    try:
        return call()
    except HookRaised as failure:
        if isinstance(failure.error, Unavailable):
            reason = f"the backend does not answer: {show(failure.error)}"
            raise Untestable(reason, (Setting("service"), Setting("env"))) from None
        if failure.is_report and not isinstance(failure, BackendAway):
            return REFUSED
        raise


def fitting(answer: Any, schema: str) -> dict[str, Any]:
    """The answer, where it is plain JSON that fits; else the rule on its form is violated."""
    fault = misfit(answer, schema)
    if fault:
        operation, requirement = _FORMS[schema]
        expected = f"plain JSON as in {schema}.schema.json"
        raise Violation(
            Unfit(wanted=expected, schema=schema, fault=fault),
            operation=operation,
            requirement=requirement,
        )
    fits: dict[str, Any] = answer
    return fits


def misfit(answer: Any, schema: str) -> str:
    """Why the answer does not fit the schema, or is no JSON; "" where it does and is."""
    from jsonschema import Draft202012Validator

    try:
        json.dumps(answer)
    except (TypeError, ValueError) as error:
        return f"{show(answer)} cannot be written as JSON: {error}"
    faults = Draft202012Validator(spec.schema(schema)).iter_errors(answer)
    first = min(faults, key=lambda fault: fault.json_path, default=None)
    return f"{first.json_path}: {hidden(first.message)[:300]}" if first else ""


# -- what shows a fact -----------------------------------------------------------------------------


def of_fact(found: list[dict[str, Any]], fact: Fact) -> list[dict[str, Any]]:
    """Items that bring the fact."""
    return [item for item in found if fact.is_in(item["text"])]


def showing(run: Run, subject: Subject, fact: Fact, *, prompt: bool = True) -> list[str]:
    """
    The hooks by which an instance shows a fact: recall, items, export, looking tools, the prompt.

    Each that the provider has is asked once, recall twice. Nothing is waited for.
    """
    return [name for name, sees in _readers(run, subject, fact, prompt=prompt) if sees()]


def _readers(
    run: Run, subject: Subject, fact: Fact, *, prompt: bool
) -> list[tuple[str, Callable[[], bool]]]:
    readers: list[tuple[str, Callable[[], bool]]] = [
        (run.hook("recall"), lambda: _recalls(subject, fact)),
    ]
    if served(run, "items"):
        readers.append(("recall_items", lambda: bool(of_fact(items(subject, fact.query), fact))))
    if served(run, "privacy"):
        readers.append(("export", lambda: bool(of_fact(exported(subject, {}) or [], fact))))
    if prompt and served(run, "prompt"):
        readers.append(("system_prompt_block", lambda: fact.is_in(subject.prompt())))
    if served(run, "tools"):
        readers += [
            (f"the tool {name}", functools.partial(_finds, subject, name, key, fact))
            for name, key in looking_tools(subject.tools())
        ]
    return readers


def _recalls(subject: Subject, fact: Fact) -> bool:
    # Twice, since what is prepared in advance is shown a call later.
    return any(fact.is_in(routes.recalled(subject, fact.query)) for _ in range(2))


def _finds(subject: Subject, name: str, key: str, fact: Fact) -> bool:
    # A tool may repeat the question; the name that is looked for does not occur in it.
    return fact.is_in(subject.call_tool(name, {key: fact.query}))


def looking_tools(schemas: Any) -> list[tuple[str, str]]:
    """The tools that look something up and need nothing but a question: name and argument."""
    found = []
    for schema in schemas if isinstance(schemas, list) else []:
        name, parameters = str(schema.get("name", "")), schema.get("parameters") or {}
        key = next((k for k in _QUESTIONS if k in parameters.get("properties", {})), "")
        only = set(parameters.get("required") or []) <= {key}
        if key and only and any(word in name.lower() for word in _LOOKING):
            found.append((name, key))
    return found


def times_shown(run: Run, subject: Subject, fact: Fact) -> dict[str, int]:
    """Way of reading to how often it shows the fact: `read_back`, export, items, recall."""
    run.settle()
    shown = {run.hook("recall"): str(routes.recalled(subject, fact.query)).count(fact.name)}
    if served(run, "items"):
        shown["recall_items"] = len(of_fact(items(subject, fact.query), fact))
    if served(run, "privacy"):
        shown["export"] = len(of_fact(exported(subject, {}) or [], fact))
    counted = run.read_back_count(subject, fact.text)
    return shown if counted is None else {**shown, "read_back": counted}


def dated(run: Run, subject: Subject, fact: Fact) -> list[tuple[str, dict[str, Any]]]:
    """
    The items that bring the fact, each with the hook that gave it.

    Raises:
        NotApplicable: The provider has neither items nor an export.

    """
    found: list[tuple[str, dict[str, Any]]] = []
    if not served(run, "items") and not served(run, "privacy"):
        raise NotApplicable("neither `items` nor `privacy` is served: nothing shows it")
    if served(run, "items"):
        found += [("recall_items", item) for item in of_fact(items(subject, fact.query), fact)]
    if served(run, "privacy"):
        found += [("export", item) for item in of_fact(exported(subject, {}) or [], fact)]
    return found


def instant(text: str) -> dt.datetime:
    """The instant of a text that fits the pattern of the schemas."""
    return dt.datetime.fromisoformat(text)
