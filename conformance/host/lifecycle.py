"""Chapter 80: the start of a session."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from memproto.errors import Misconfigured
from memproto.testing.clauses import check
from memproto.testing.hostagent import Host
from memproto.testing.hostprobes import Probe, answering, raising
from memproto.testing.hostrun import HostRun
from memproto.testing.wire import show

#: Hooks that no provider gets which takes no part in the session.
_USED = ("capabilities", "enrich_turn", "on_memory_write", "on_turn_complete", "on_compress")


@check("MP-HOST-INIT-001")
def an_unavailable_provider_is_dropped_and_reported(run: HostRun) -> None:
    answers = {
        "False": lambda: False,
        "an exception": raising(lambda: KeyError("API_KEY")),
        "None": lambda: None,
        "a str": lambda: "yes",
    }
    absent = {what: run.probe(is_available=act) for what, act in answers.items()}
    said = {provider.name: what for what, provider in absent.items()}
    for group, host in _beside_good(run, absent.values()):
        for provider in group:
            dropped = f"{provider.name}, whose is_available gives {said[provider.name]}"
            _assert_left_alone(run, provider, ("initialize", *_USED), dropped)
            _assert_reported(run, host, provider, dropped)


def _beside_good(run: HostRun, subjects: Iterable[Probe]) -> Iterator[tuple[list[Probe], Host]]:
    """Sessions of the subjects between two good providers, as far as the host takes them."""
    for group in run.groups(subjects):
        good = [run.probe(enrich_turn=answering("Noted.")) for _ in range(2)]
        taken = run.beside(*good)
        host = run.opened(*taken[:1], *group, *taken[1:])
        _assert_session_works(run, host, list(taken))
        yield group, host


@check("MP-HOST-INIT-002")
def a_provider_whose_initialize_raised_is_left_out_and_reported(run: HostRun) -> None:
    errors: tuple[Callable[[], BaseException], ...] = (
        lambda: RuntimeError("no database"),
        lambda: Misconfigured("no key"),
        TimeoutError,
    )
    failed = [run.probe(initialize=raising(make)) for make in errors]
    for group, host in _beside_good(run, failed):
        for provider in group:
            what = f"{provider.name}, whose initialize raised"
            if not provider.count("initialize"):
                run.violated(f"initialize of {provider.name}", "it was not called")
            _assert_left_alone(run, provider, _USED, what)
            _assert_reported(run, host, provider, what)


@check("MP-HOST-CAP-001")
def capabilities_are_asked_for_once(run: HostRun) -> None:
    first, second = (run.probe(enrich_turn=answering("Noted.")) for _ in range(2))
    providers = [first, *run.beside(second)]
    host = run.opened(*providers)
    for _ in range(3):
        _assert_session_works(run, host, providers)
        host.offer()
    host.close()
    for provider in providers:
        times = provider.count("capabilities")
        if times != 1:
            run.violated("capabilities is called once in a session", f"it was called {times} times")
        order = [call.hook for call in provider.named("initialize", "capabilities")]
        if order != ["initialize", "capabilities"]:
            run.violated("capabilities after initialize", " before ".join(order))
    run.needs_also("compress")


def _assert_session_works(run: HostRun, host: Host, good: list[Probe]) -> None:
    """One turn; all good providers take part in it."""
    answers = host.recall("What was noted?")
    if set(answers) != {provider.name for provider in good}:
        run.violated("the answers of the providers that started", show(answers))
    before = [provider.count("on_turn_complete", "on_memory_write") for provider in good]
    host.record("Hello.")
    host.write("The harbour opens at six.")
    for provider, count in zip(good, before, strict=True):
        wanted = count + 2
        if not run.wait_until(lambda p=provider, n=wanted: _writes(p) >= n):  # type: ignore[misc]
            run.violated("a write for each provider that started", f"{provider.name} got none")


def _writes(provider: Probe) -> int:
    return provider.count("on_turn_complete", "on_memory_write")


def _assert_left_alone(run: HostRun, provider: Probe, hooks: tuple[str, ...], what: str) -> None:
    met = provider.named(*hooks)
    if met:
        run.violated(f"no call to {what}", f"{met[0].hook} was called")


def _assert_reported(run: HostRun, host: Host, provider: Probe, what: str) -> None:
    if not run.wait_until(lambda: bool(host.reports.about(provider.name)), 2.0):
        run.violated(f"a report about {what}", "neither event nor log names it")


@check("MP-HOST-BACKUP-001")
def a_backup_takes_the_paths_of_every_provider(run: HostRun) -> None:
    for is_open in (False, True):
        paths = [_place(run.label()) for _ in range(2)]
        providers = [run.serving("backup", backup_paths=_giving([path])) for path in paths]
        failing = run.serving("backup", backup_paths=raising(lambda: OSError("unreadable")))
        taken = run.beside(failing, providers[1])
        host = run.host(providers[0], *taken)
        host.needs("backup_paths")
        if is_open:
            host.open()
        found = host.backup_paths()
        asked = paths if taken else paths[:1]
        missing = [path for path in asked if path not in map(str, found)]
        if missing:
            when = "in a session" if is_open else "before a session"
            run.violated(f"{missing[0]} among the paths {when}", show(found))


def _place(name: str) -> str:
    """A directory outside of the home; it is there, since a host may leave out what is not."""
    place = Path.cwd() / "outside" / name
    place.mkdir(parents=True, exist_ok=True)
    return str(place)


def _giving(answer: object) -> Callable[..., object]:
    return lambda: answer
