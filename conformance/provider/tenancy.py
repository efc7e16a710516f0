"""Chapter 57: users and sessions, one after the other; see `side_by_side` and `ids` as well."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memproto.testing import mirrored, repeating, routes, tenants
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.tenants import Boundary, Reader, Tenant
from memproto.testing.wire import show

#: The optional keys of the configuration that the kit gives in all other checks.
_GIVEN = ("user_id", "agent_identity", "agent_context")

#: What a message calls the route that is tried in addition.


# -- one after the other ---------------------------------------------------------------------------


@check("MP-TENANT-001")
def users_do_not_leak(run: Run) -> None:
    _needs_boundary(run, "user")
    _do_not_leak(run, "user")


@check("MP-TENANT-002")
def sessions_do_not_leak(run: Run) -> None:
    _needs_boundary(run, "session")
    _do_not_leak(run, "session")


def _needs_boundary(run: Run, boundary: Boundary) -> None:
    if boundary not in run.declared("isolates", ["profile"]):
        raise NotApplicable(f"`isolates` does not name {boundary}")


def _do_not_leak(run: Run, boundary: Boundary) -> None:
    run.needs_route(*routes.ROUTES)
    one, other = tenants.pair(run, boundary)
    stored = {tenant.called: _store_by_each_route(run, tenant) for tenant in (one, other)}
    reader, missing = Reader(run), ""
    for owner in (one, other):
        missing = missing or _missing(run, reader, owner, stored[owner.called])
    guests = [(other, one), (one, other)]
    if boundary == "user":
        # A group chat is one session of several users.
        guests.append((dataclasses.replace(other, session=one.session), one))
    for guest, owner in guests:
        _knows_nothing(run, reader, guest, owner, stored[owner.called])
    if missing:
        raise Untestable(missing)


def _store_by_each_route(run: Run, tenant: Tenant) -> dict[str, Fact]:
    """Route to a fact that was stored by it, for each route that the provider serves."""
    planted = {route: run.facts.new() for route in routes.ROUTES if run.serves(route)}
    with tenant.opened(run) as subject:
        for route, fact in planted.items():
            run.plant(subject, fact, route)
        return planted | _store_about_the_user(run, subject)


def _store_about_the_user(run: Run, subject: Subject) -> dict[str, Fact]:
    """The other target of mirrored writes is a store of its own in many providers."""
    added_to = mirrored.targets(run, "add") if run.declared("mirrors", None) else []
    others = [target for target in added_to if target != run.writing.first[1]]
    if not run.binding.can_declare or not others:
        return {}
    fact = run.facts.new()
    try:
        subject.mirror("add", others[0], fact.text)
    except HookRaised as failure:
        if failure.is_report:
            return {}
        raise
    return {f"writes to {others[0]}": fact}


def _missing(run: Run, reader: Reader, owner: Tenant, stored: dict[str, Fact]) -> str:
    """Why nothing is proved where an owner does not get back what was stored for it; or ""."""
    for route, fact in stored.items():
        if reader.lacks(owner, [fact]):
            return f"{fact.text!r}, stored by {route} for {owner.called}, does not come back for it"
    return ""


def _knows_nothing(
    run: Run, reader: Reader, guest: Tenant, owner: Tenant, stored: dict[str, Fact]
) -> None:
    try:
        subject = guest.open(run)
    except tenants.Refused:
        # Who does not serve a second user does not mix two.
        return
    expected = f"nothing for {guest.called} of what was stored for {owner.called} on the same home"
    block = _prompt_block(subject)
    for route, fact in stored.items():
        by = f"{_hook(run, route)} stored for {owner.called}"
        for operation, shows in (
            ("recall", reader.finds(subject, fact)),
            ("prompt", fact.is_in(block)),
        ):
            if shows:
                observed = f"{run.hook(operation)} gives {fact.text!r}, which {by}"
                run.violated(expected, observed, operation=operation)
    run.close(subject)


def _hook(run: Run, route: str) -> str:
    return run.hook(routes.OPERATIONS[route.partition(" ")[0]])


def _prompt_block(subject: Subject) -> Any:
    """The block for the system prompt; None where there is none, or it raises."""
    if not subject.has("prompt"):
        return None
    try:
        return subject.call("prompt", subject.provider.system_prompt_block)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return None


# -- one user on several platforms -----------------------------------------------------------------


@check("MP-TENANT-007")
def a_user_stays_the_same(run: Run) -> None:
    route = run.needs_route(*routes.ROUTES)
    reader = Reader(run)
    for what, config in _appearances(run):
        lost = functools.partial(_lost_under, run, reader, config, route)
        if fault := repeating.seen_again(lost):
            run.violated(
                "what was stored for a user_id, recalled for the same user_id on the same home",
                f"with {what}, {fault}; with the same values on both sides it does",
            )


def _lost_under(run: Run, reader: Reader, config: dict[str, str], route: str) -> str:
    """What is lost between sessions with and without these values; "" for nothing."""
    facts = run.facts.several(2)
    fault = _lost_between(run, reader, facts, config, route)
    alike = map(run.facts.like, facts)
    if fault and (same := _lost_between(run, reader, alike, {}, route)):
        raise Untestable(f"with nothing changed {same} as well")
    return fault


def _appearances(run: Run) -> Iterator[tuple[str, dict[str, str]]]:
    """What may differ while the user is the same; each by itself, then all together."""
    differing = {"user_name": "Ida B.", "session_title": "Plans for the harbour"}
    if not run.binding.ids_by_platform:
        differing["platform"] = "telegram"
    for key, value in differing.items():
        yield f"{key} {value!r}", {key: value}
    yield "all of them together", differing


def _lost_between(
    run: Run, reader: Reader, facts: Iterable[Fact], config: dict[str, str], route: str
) -> str:
    """What a session with the values does not get back from one without, or the reverse; or ""."""
    here, there = (Tenant("the user", "", None, values) for values in ({}, config))
    for fact, (writer, asker) in zip(facts, ((here, there), (there, here)), strict=True):
        tenants.store(run, writer, [fact], route)
        if reader.lacks(asker, [fact]):
            side = "with" if writer is there else "without"
            return f"{fact.text!r}, stored {side} it, does not come back"
    return ""


# -- optional keys ---------------------------------------------------------------------------------


@check("MP-TENANT-008")
def absent_keys_are_absent_for_both(run: Run) -> None:
    run.needs_route(*routes.ROUTES)
    reader, refusals, sessions = Reader(run), [], [*_sessions_without()]
    given = Tenant("a session with all keys", run.session_key())
    for absent in sessions:
        tenant = Tenant("", run.session_key(), None, dict.fromkeys(absent))
        try:
            _comes_back_without(run, reader, tenant, given, absent)
        except tenants.Refused as reason:
            refusals.append(reason)
    if len(refusals) == len(sessions):
        raise NotApplicable(f"the provider says that it needs them: {refusals[0]}")


def _sessions_without() -> Iterator[tuple[str, ...]]:
    for key in _GIVEN:
        yield (key,)
    yield _GIVEN


def _comes_back_without(
    run: Run, reader: Reader, tenant: Tenant, given: Tenant, absent: tuple[str, ...]
) -> None:
    for route in (route for route in routes.ROUTES if run.serves(route)):
        lost = functools.partial(_lost_without, run, reader, tenant, given, route)
        if text := repeating.seen_again(lost):
            run.violated(
                f"what was stored without {_listed(absent)}, recalled without {_listed(absent)}",
                f"{text!r} did not come back; what was stored and asked for with all keys did",
            )


def _lost_without(run: Run, reader: Reader, tenant: Tenant, given: Tenant, route: str) -> str:
    """What the tenant does not get back while another does; "" for nothing."""
    fact = run.facts.new()
    other = run.facts.like(fact)
    tenants.store(run, tenant, [fact], route)
    if not reader.lacks(tenant, [fact]):
        return ""
    tenants.store(run, given, [other], route)
    if reader.lacks(given, [other]):
        raise Untestable(f"nothing stored through {route} comes back with all keys either")
    return fact.text


def _listed(keys: tuple[str, ...]) -> str:
    return ", ".join(keys)


@check("MP-TENANT-009")
def nobody_is_nobody_else(run: Run) -> None:
    _needs_boundary(run, "user")
    route = run.needs_route(*routes.ROUTES)
    if "user_id" in run.context.config:
        raise NotApplicable("the settings give a user_id to every session")
    one, other = tenants.pair(run, "user")
    # Where two users are mixed, that it happens without one too says nothing new.
    tenants.keeps(run, "user", tenants.pair(run, "user", "-plain"), route)
    reader, facts = Reader(run), run.facts.several(2)
    for tenant, fact in zip((one, other), facts, strict=True):
        tenants.store(run, tenant, [fact], route)
        if reader.lacks(tenant, [fact]):
            raise Untestable(f"nothing stored through {route} comes back for {tenant.called}")
    nobody = Tenant("a session without user_id", one.session, None, {"user_id": None})
    for tenant in (nobody, dataclasses.replace(nobody, session=other.session)):
        _is_nobody(run, reader, tenant, dict(zip((one.called, other.called), facts, strict=True)))


def _is_nobody(run: Run, reader: Reader, nobody: Tenant, facts: Mapping[str, Fact]) -> None:
    try:
        subject = nobody.open(run)
    except tenants.Refused:
        return
    for owner, fact in facts.items():
        if reader.finds(subject, fact):
            run.violated(
                f"for {nobody.called} nothing of what was stored for {owner}",
                f"{run.hook('recall')} gives {show(routes.recalled(subject, fact.query))}",
                operation="recall",
            )
    run.close(subject)
