"""Chapter 57: ids that read as paths, and where a session leaves what was said in it."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from memproto.testing import routes, storefiles, tenants, watchers
from memproto.testing.clauses import Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised
from memproto.testing.tenants import Tenant
from memproto.testing.wire import show


@check("MP-TENANT-005", budget_s=120.0)
def no_id_leads_out_of_the_home(run: Run) -> None:
    usual = _usual(run)
    for key, odd in _leading_out(run):
        tenant = _deep(tenants.named(run, f"{key} {odd}", {key: odd}))
        for path in _outside(run, tenant):
            if not any(path.is_relative_to(place) for place in usual):
                seen = os.path.relpath(path, tenant.home or run.home)
                run.violated(
                    "what is stored lies below the home, or where it does for a plain id",
                    f"with the {key} {show(odd, 100)} it is in {seen}, seen from the home",
                )
    run.needs_route(*routes.ROUTES)


def _usual(run: Run) -> set[Path]:
    """Directories outside of the home in which two sessions with plain ids leave stored text."""
    others = dict.fromkeys(("user_id", "agent_identity", "session key"), f"plain-{run.tag}")
    plain, other = (
        _outside(run, _deep(tenants.named(run, name, ids)))
        for name, ids in (("plain", {}), ("another plain", others))
    )
    return {path.parent for path in [*plain, *other]} | set(_shared(plain, other))


def _shared(plain: list[Path], other: list[Path]) -> Iterator[Path]:
    """What holds a file of each: the provider's own directory, in which every id has a place."""
    for path in plain if other else ():
        above = [Path(os.path.commonpath([path, one])) for one in other]
        nearest = max(above, key=lambda place: len(place.parts))
        if nearest.is_relative_to(Path.home()) and nearest != Path.home():
            yield nearest


def _deep(tenant: Tenant) -> Tenant:
    """The tenant with a home so deep that a few steps upwards end where the kit looks."""
    home = tenant.home / "a" / "b" / "c" if tenant.home else None
    return dataclasses.replace(tenant, home=home)


def _leading_out(run: Run) -> Iterator[tuple[str, str]]:
    """Key to an id that reads as a path; where it leads is inside the check's own directory."""
    if run.binding.ids_by_platform:
        for steps in (2, 3):
            yield "user_id", f'"/{"../" * steps}stray"@mail.example'
        return
    elsewhere = str(run.root / "work" / "stray")
    for key in ("session key", "user_id", "agent_identity"):
        for odd in ("../stray", "../../stray", "../../../stray", "n/../../../stray", elsewhere):
            yield key, odd


def _outside(run: Run, tenant: Tenant) -> list[Path]:
    """Files outside of the home that a session wrote, and that hold what was said in it."""
    facts = {route: run.facts.new() for route in routes.ROUTES}
    before = watchers.tree(run.root)
    listed: list[Path] = []
    try:
        listed = _live(run, tenant, facts)
    except tenants.Refused:
        # That an id is refused, or that a hook raises for it, is for MP-TENANT-004.
        return []
    except HookRaised as failure:
        if failure.ends_process:
            raise
    places = [(tenant.home or run.home).resolve(), *listed]
    after = watchers.tree(run.root)
    written = [Path(name).resolve() for name, state in after.items() if before.get(name) != state]
    strays = [path for path in written if not any(map(path.is_relative_to, places))]
    return [path for path in strays if storefiles.holds(path, [*facts.values()])]


def _live(run: Run, tenant: Tenant, facts: Mapping[str, Fact]) -> list[Path]:
    """A session that stores the facts; gives the places that it lists for backups."""
    with tenant.opened(run) as subject:
        for route, fact in facts.items():
            if route != "tools" or subject.has("tools"):
                with contextlib.suppress(Untestable):
                    routes.plant(subject, fact, route)
        routes.in_passing(lambda: subject.recall(facts["turns"].query))
        named = subject.backup_paths() if subject.has("backup") else []
    texts = named if isinstance(named, list) else []
    listed = [text for text in texts if isinstance(text, str) and "\0" not in text]
    return [Path(text).expanduser().resolve() for text in listed]
