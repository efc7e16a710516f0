"""Chapter 35: initialize and capabilities."""

import copy
from collections.abc import Callable
from typing import Any

from memproto import spec
from memproto.errors import Misconfigured
from memproto.operations import EXTENSION_HOOKS
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.conditions import BindingHas
from memproto.testing.evidence import Changed, Lacks, NotRecalled, Raised, Returned, Unfit
from memproto.testing.instruments.watchers import differences
from memproto.testing.needs import KEEPING
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import manifest
from memproto.testing.scenarios.starts import needs_starts
from memproto.testing.wire import plain, show

#: Keys as a later host might add them; release 1.0 names none of them.
_UNKNOWN_KEYS: dict[str, Any] = {
    "x_memproto_future": True,
    "x_memproto_region": {"name": "north", "zones": [1, 2, {"spare": None}]},
    "x_memproto_turns": 12,
    "x_memproto_title": "",
}


#: A session key is any str: hosts make them of paths, chats, titles and whole addresses.
_SESSION_KEYS = (
    "agent:main:telegram:dm:12345",
    "projects/harbour/../2026 plan (final).md",
    "/absolute/path",
    "..",
    "line\nbreak 'quoted' \"twice\" %s {x}",
    "gespräch-漢字-🚢",
    "long-" * 80,
)

#: A Hermes host makes its session ids itself, and refuses what reads as a path.
_HOST_SESSION_IDS = (
    "20260314_092653_5f8a1c2e",
    "cron_evening-report_20260314_092653",
    "0b9d7c52-3c1e-4a6e-9f57-8f2d2f0a7e11",
)


#: The keys that every host hands over.
_ALWAYS = ("home", "protocol", "deadlines", "limits", "platform")


@check("MP-INIT-001")
def an_available_provider_initializes(run: Run) -> None:
    subject = run.provider()
    if not subject.available():
        raise Untestable(_reason(subject), manifest.settings(subject))
    subject.open(run.session_key(), run.config())
    subject.close()


@check("MP-INIT-002")
def unknown_keys_are_no_obstacle(run: Run) -> None:
    try:
        subject = run.open(**_UNKNOWN_KEYS)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        needs_starts(run)
        keys = ", ".join(_UNKNOWN_KEYS)
        run.violated(
            Raised.by(
                failure.error,
                wanted=f"{run.hook('open')} starts as it does without the further keys {keys}",
                hook=run.hook("open"),
                shown=show(failure.error, 300),
            ),
        )
    run.close(subject)
    # An exception here is booked where it belongs, under MP-INIT-001.
    for key in _HOST_SESSION_IDS if run.binding.ids_by_platform else _SESSION_KEYS:
        run.close(run.open(session=key))


@check("MP-INIT-003")
def the_configuration_stays_as_it_was(run: Run) -> None:
    full = run.config()
    # Values that are there may be left alone where those that are missing are filled in.
    least = {k: v for k, v in full.items() if k in _ALWAYS or k in run.context.config}
    for config in (full, {**least, "limits": {}}):
        before = copy.deepcopy(config)
        subject = run.provider()
        try:
            subject.open(run.session_key(), config)
        except HookRaised as failure:
            # A provider that serves known users alone says so where nobody is named.
            if "user_id" in config or not isinstance(failure.error, Misconfigured):
                raise
        changed = differences(before, config)
        subject.close()
        if changed:
            run.violated(
                Changed(
                    wanted="the configuration as it was handed over",
                    subject="argument",
                    difference=changed[0],
                )
            )


@check("MP-CAP-001", binding=BindingHas("can_declare", "a {binding} provider cannot declare"))
def the_declaration_fits_the_schema(run: Run) -> None:
    from jsonschema import Draft202012Validator

    with run.session() as subject:
        declared = subject.declare()
    if not isinstance(declared, dict):
        run.violated(Returned(wanted="a dict", value=show(declared)))
    validator = Draft202012Validator(spec.schema("capabilities"))
    faults = sorted(validator.iter_errors(plain(declared)), key=lambda fault: fault.json_path)
    if faults:
        at = f"capabilities(){faults[0].json_path.removeprefix('$')}"
        run.violated(
            Unfit(
                wanted="a dict as in capabilities.schema.json",
                schema="capabilities",
                at=str(at),
                fault=faults[0].message[:300],
            )
        )


@check("MP-CAP-002")
def declared_extensions_are_there(run: Run) -> None:
    declared = run.declared("extensions", [])
    if not declared:
        raise NotApplicable("no extension is declared")
    with run.session() as subject:
        for extension in declared:
            for hook in EXTENSION_HOOKS[extension]:
                if not callable(getattr(subject.provider, hook, None)):
                    run.violated(
                        Lacks(
                            wanted=(
                                f"{hook}(), because capabilities()['extensions'] holds "
                                f"{extension!r}"
                            ),
                            kind_of="hook",
                            names=(hook,),
                            holder=type(subject.provider).__name__,
                            lead=f"{type(subject.provider).__name__} has no callable ",
                        ),
                    )
            _answers_of_its_type(run, subject, extension)


def _answers_of_its_type(run: Run, subject: Subject, extension: str) -> None:
    """Call the hooks that take no argument and change nothing; their signatures name the type."""
    asked = {
        "tools": ("tools", _is_list_of_dicts, "a list of dicts"),
        "backup": ("backup", _is_list_of_texts, "a list of str"),
    }
    if extension not in asked:
        return
    operation, fits, expected = asked[extension]
    hook: Callable[[], Any] = getattr(subject.provider, EXTENSION_HOOKS[extension][0])
    answer = subject.call(operation, hook)
    if not fits(answer):
        run.violated(
            Returned(
                wanted=f"{expected} from {run.hook(operation)}()",
                hook=run.hook(operation),
                value=show(answer),
            ),
            operation=operation,
        )


def _is_list_of_dicts(answer: Any) -> bool:
    return isinstance(answer, list) and all(isinstance(item, dict) for item in answer)


def _is_list_of_texts(answer: Any) -> bool:
    return isinstance(answer, list) and all(isinstance(item, str) for item in answer)


@check("MP-CAP-003")
def something_comes_back(run: Run) -> None:
    stores = run.declared("stores", None)
    if stores == ["writes"] and not run.serves("writes"):
        said = "stores is ['writes'], and `mirrors` names no action by which a text comes in"
        raise Untestable(f"{said}: a memory that stores nothing cannot be shown to work")
    if stores:
        raise NotApplicable("`stores` is declared; what it names has checks of its own")
    if "stores" in run.context.capabilities:
        raise Untestable("stores is []: a memory that stores nothing cannot be shown to work")
    if any(run.serves(route) for route in routes.ROUTES):
        return
    if run.declared("retention", "verbatim") == "selective":
        raise Untestable("retention is selective: what did not come back proves nothing", KEEPING)
    seen = [f"{_ROUTE_HOOKS[route]}: {_fate(run, route)}" for route in routes.ROUTES]
    run.violated(
        NotRecalled(
            wanted=(
                "a fact stored by one of three routes, recalled by a new instance on the same home"
            ),
            texts=(),
            subject="; ".join(seen),
            verb="",
        ),
        operation="recall",
    )


_ROUTE_HOOKS = {
    "turns": "on_turn_complete",
    "writes": "on_memory_write",
    "tools": "handle_tool_call",
}


def _fate(run: Run, route: str) -> str:
    """The fate of one more fact on that route, in the words of a message."""
    home = run.place(f"again-{route}")
    fact = run.facts.new()
    try:
        with run.session(home) as subject:
            if route == "tools" and not subject.has("tools"):
                return "there is none"
            routes.plant(subject, fact, route)
        with run.session(home) as again:
            return f"accepted, then recall gave {show(again.recall(fact.query), 60)}"
    except HookRaised as failure:
        return f"raised {show(failure.error, 80)}"
    except Untestable as reason:
        return str(reason)


@check("MP-CAP-004")
def every_tool_name_has_a_schema(run: Run) -> None:
    names = run.declared("tool_names", [])
    with run.session() as subject:
        if not names or not subject.has("tools"):
            raise NotApplicable("no tool is declared")
        schemas = subject.tools()
    known = {str(item.get("name")) for item in schemas if isinstance(item, dict)}
    missing = sorted(set(names) - known)
    if missing:
        run.violated(
            Lacks(
                wanted=f"a schema in get_tool_schemas() for each of {', '.join(sorted(names))}",
                kind_of="schema",
                names=tuple(missing),
                lead="none for ",
                tail=f"; the schemas are named {', '.join(sorted(known))}",
            ),
        )


def _reason(subject: Subject) -> str:
    """Why the provider says that it is not available, in its own words where it has some."""
    if not subject.has("unavailable_reason"):
        return "is_available() is False"
    try:
        said = subject.call("unavailable_reason", subject.provider.unavailable_reason)
    except HookRaised:
        return "is_available() is False"
    return f"is_available() is False ({str(said)[:200]})" if said else "is_available() is False"
