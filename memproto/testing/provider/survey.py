"""Declarations of a provider, and routes that bring a fact back: found at first contact."""

import contextlib
from typing import Any

from memproto.setup.questions import questions_of
from memproto.testing.instruments.logs import Records
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject
from memproto.testing.settings.keys import as_capabilities
from memproto.testing.wire import plain, shorten

#: The log of a provider of which nothing came back often says why; so much of it is shown.
_LOGGED_CHARS = 200


def secrets(run: Run) -> list[str]:
    """
    The variables and keys of the config that the provider's config schema calls secret.

    The faults of the hook have rules of their own.
    """
    try:
        subject = run.provider()
        fields = subject.config_schema() if subject.has("config_schema") else []
        asked = [q for q in questions_of(fields) if q.secret]
    except Exception:
        return []
    return sorted({name for q in asked for name in (q.key, q.env_var) if name})


def survey(run: Run) -> dict[str, Any]:
    """
    The provider's declarations, and for each route whether it is declared, observed or absent.

    If `stores` is declared the declaration counts; else every route is tried, and what was
    logged last as a warning or worse is told as well.
    """
    shown, told = _capabilities(run), as_capabilities(run.context.declares)
    capabilities = {**shown, **told}
    if "extensions" in told:
        # Extensions that the settings name are promised; others that have hooks are still there.
        both = [*shown.get("extensions", []), *told["extensions"]]
        capabilities["extensions"] = list(dict.fromkeys(both))
    run.observed.update(capabilities)
    if capabilities.get("retention") == "selective":
        return _of_selective(run, capabilities)
    if "stores" in capabilities:
        stores = capabilities["stores"]
        found = {route: "declared" if route in stores else "absent" for route in routes.ROUTES}
        if not run.binding.can_declare and "writes" in stores and "mirrors" not in capabilities:
            # Nothing says which targets it takes.
            run.find_out("writes")
        return {"capabilities": {**capabilities, **run.observed}, "routes": found}
    heard = Records()
    with heard.as_last_resort():
        found = {route: run.find_out(route) for route in routes.ROUTES}
        asking = run.find_way() if "observed" in found.values() else ""
    declared = {**capabilities, **run.observed}
    told = {"asking": asking, "logged": _logged(heard)}
    return {"capabilities": declared, "routes": found, **told}


def _of_selective(run: Run, capabilities: dict[str, Any]) -> dict[str, Any]:
    """The same for a provider that keeps what it likes: it is told facts in several manners."""
    heard = Records()
    with heard.as_last_resort():
        manner = run.manner
        if not run.binding.can_declare and "writes" in manner.routes:
            run.find_out("writes")
    stores = capabilities.get("stores")
    known, word = (manner.routes, "observed") if stores is None else (stores, "declared")
    found = {route: word if route in known else "absent" for route in routes.ROUTES}
    told = {"asking": run.shared.get("asking", ""), "manner": manner.as_dict()}
    declared = {**capabilities, **run.observed}
    return {"capabilities": declared, "routes": found, "logged": _logged(heard), **told}


def _logged(heard: Records) -> str:
    said = " ".join(heard.said[-1].split()) if heard.said else ""
    return f", and it logged {shorten(said, _LOGGED_CHARS)!r}" if said else ""


def without_session(run: Run) -> dict[str, Any]:
    """
    Facts that the hooks of a provider show that is not available.

    One that declares does so in a session only; until then a host goes by the hooks that it has.
    """
    shown = run.binding.extensions_shown(run.provider().provider)
    return {"capabilities": {"extensions": shown}, "routes": {}}


def call_hooks(run: Run) -> None:
    """Store by each route and recall twice, for the times alone: faults of hooks have rules."""
    with contextlib.suppress(Exception), run.session(run.own_home("time")) as subject:
        fact = run.facts.new()
        for route in routes.ROUTES:
            with contextlib.suppress(Exception):
                if run.serves(route):
                    run.plant(subject, fact, route)
        for _ in range(2):
            with contextlib.suppress(Exception):
                subject.recall(fact.query)


def _capabilities(run: Run) -> dict[str, Any]:
    with run.session(run.own_home("declare")) as subject:
        declared = subject.declare()
        _try_settings(run, subject)
    return plain(declared) if isinstance(declared, dict) else {}


def _try_settings(run: Run, subject: Subject) -> None:
    """Call the user's own functions once before anything is judged: a fault ends the run here."""
    functions = run.freshness.functions
    functions.settle(run.freshness.config)
    functions.stored(subject.provider, run.facts.new().text)
