"""Chapter 68: what a backup needs, and that it is enough."""

import contextlib
import shutil
from pathlib import Path
from typing import Any

from memproto.testing.clauses import Lost, NotApplicable, check
from memproto.testing.evidence import Acted, NotRecalled, Returned, Surplus
from memproto.testing.facts import Fact
from memproto.testing.instruments.watchers import tree
from memproto.testing.processes.sandbox import places
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject
from memproto.testing.scenarios import texts
from memproto.testing.wire import show

#: More characters than a store keeps in a row that divides its texts.
_LONG_CHARS = 20_000


def _listed(run: Run, subject: Subject | None = None) -> Any:
    """The answer of the hook, of an instance that was not opened if none is given."""
    subject = subject or run.provider()
    if not subject.has("backup"):
        raise NotApplicable("the provider has no backup_paths")
    return subject.backup_paths()


def _paths(listed: Any) -> list[Path]:
    texts = [item for item in (listed if isinstance(listed, list) else []) if _is_path(item)]
    return [Path(text).expanduser() for text in texts]


def _is_path(item: Any) -> bool:
    return isinstance(item, str) and bool(item) and "\0" not in item


@check("MP-BACKUP-001", calls_alone=False, session=False, extension="backup")
def the_paths_are_listed_without_a_session(run: Run) -> None:
    assert run.audit is not None
    # The builder of an instance, a `factory` of the settings too, may write a file.
    subject = run.provider()
    before = tree(run.root)
    with run.audit.recording() as events:
        _listed(run, subject)
    used = [event for event in events if event.startswith(("used a socket", "socket.", "started"))]
    new = [f"created {Path(name).name}" for name in sorted(set(tree(run.root)) - set(before))]
    if used or new:
        run.violated(
            Acted(
                wanted=(
                    f"{run.hook('backup')} answers before a session, and with no socket, "
                    "program or file"
                ),
                deed="effect",
                seen=([*used, *new][0],),
            ),
        )


@check("MP-BACKUP-002", calls_alone=False, session=False, extension="backup")
def the_paths_are_absolute(run: Run) -> None:
    answers = {"before a session": _listed(run)}
    if not run.context.no_session:
        with run.session() as subject:
            answers["in a session"] = _listed(run, subject)
    for when, listed in answers.items():
        if not isinstance(listed, list):
            run.violated(
                Returned(wanted="a list of absolute paths", value=show(listed), tail=f" {when}")
            )
        for item in listed:
            if not (_is_path(item) and Path(item).is_absolute()):
                run.violated(
                    Returned(wanted="absolute paths, each a str", value=show(item), tail=f" {when}")
                )


@check("MP-BACKUP-003", calls_alone=False, budget_s=120.0, extension="backup")
def a_copy_of_what_is_listed_is_enough(run: Run) -> None:
    _listed(run)
    run.needs_route("turns", "writes", "tools")
    with run.session() as subject:
        facts = {route: run.facts.new() for route in routes.ROUTES if run.serves(route)}
        for route, fact in facts.items():
            run.plant(subject, fact, route)
        facts |= _long(run, subject)
    # The process that makes the backup runs no session.
    kept = _paths(_listed(run))
    back = {route: fact for route, fact in facts.items() if losses.is_stored(run, fact)}
    if not back:
        raise Lost("nothing of what was planted came back before the backup was made")
    home = _restored(run, [*kept, *_of_the_operator(run)])
    for route, fact in back.items():
        if not losses.is_stored(run, fact, home):
            run.violated(
                NotRecalled(
                    wanted=(
                        "everything that was stored, recalled from a copy of the home and of what "
                        f"{run.hook('backup')} lists"
                    ),
                    texts=(fact.text,),
                    about=f"stored through {route}",
                    tail=f" from it{_at_the_old_place(run, home, fact)}",
                ),
            )


def _long(run: Run, subject: Subject) -> dict[str, Fact]:
    """A text so long that a store may keep it in a file of its own; none if it is refused."""
    fact = run.facts.new()
    whole = texts.padded(fact.text, _LONG_CHARS)
    if run.is_selective or not routes.accepts(subject, run.route, whole):
        return {}
    return {f"{run.route} in a text of {len(whole):,} characters": fact.within(whole)}


def _of_the_operator(run: Run) -> list[Path]:
    """Places that the settings name: the operator, who set them, knows them."""
    values = [*run.context.config.values(), *run.context.caches]
    return [path for path in _paths(values) if path.is_absolute()]


def _restored(run: Run, kept: list[Path]) -> Path:
    """
    Copy the home, remove everything else that is not kept, and give the home of the copy.

    It is another directory where the provider is told its home; a Hermes provider knows the one
    that its environment names, and gets the copy there.
    """
    copy = run.place("restored")
    shutil.copytree(run.home, copy, symlinks=True, ignore=_special_files)
    for place in (*places(run.root).values(), run.home):
        for name in tree(place):
            path = Path(name)
            if not any(path.is_relative_to(item) for item in kept):
                path.unlink(missing_ok=True)
    if run.binding.own_homes:
        with contextlib.suppress(OSError):
            shutil.rmtree(run.home)
        return copy
    shutil.copytree(copy, run.home, symlinks=True, dirs_exist_ok=True)
    return run.home


def _special_files(folder: str, names: list[str]) -> list[str]:
    """The names that no backup copies: sockets and pipes."""
    found = {name: Path(folder, name) for name in names}
    return [name for name, path in found.items() if path.is_socket() or path.is_fifo()]


def _at_the_old_place(run: Run, home: Path, fact: Fact) -> str:
    """Says if the copy works where the original was, and so holds the old path."""
    if home == run.home:
        return ""
    shutil.copytree(home, run.home, symlinks=True, dirs_exist_ok=True)
    is_back = losses.is_stored(run, fact)
    return "; copied to the directory where the home was, it did" if is_back else ""


@check("MP-BACKUP-004", calls_alone=False, session=False, extension="backup")
def nothing_of_others_is_listed(run: Run) -> None:
    listed = _paths(_listed(run))
    if not run.context.no_session:
        with run.session() as subject:
            listed += _paths(_listed(run, subject))
    user, home = Path.home().resolve(), run.home.resolve()
    for path in listed:
        place = path.resolve()
        if user.is_relative_to(place) or (home.is_relative_to(place) and home != place):
            shown = "the user's home directory" if place == user else str(path)
            run.violated(
                Surplus(
                    wanted="paths that hold the provider's own state",
                    kind_of="path",
                    names=(shown,),
                    tail=" is listed",
                )
            )
