"""Chapter 32: what the load step leaves alone, and the hooks that a Hermes host counts on."""

import contextlib
import contextvars
import dataclasses
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from memproto import spec
from memproto.adapters.hermes import HOST_NEEDS
from memproto.bindings import hermes_agent as host
from memproto.bindings.hermes_agent import HOOKS
from memproto.loading.modules import Registering
from memproto.testing import locate
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.evidence import Acted, Changed, Lacks, Left, Unfit, Wrote
from memproto.testing.facts import Fact
from memproto.testing.instruments import watchers
from memproto.testing.instruments.load_step import CONNECTS, STARTS, LoadStep
from memproto.testing.lifetimes import store_files
from memproto.testing.needs import Install
from memproto.testing.processes.sandbox import HOST_HOME
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import manifest
from memproto.testing.scenarios.manifest import settings
from memproto.testing.wire import show

T = TypeVar("T")

#: Model downloads and caches are no traces of a plugin.
_EXEMPT = "~/.cache"


def _step(run: Run) -> LoadStep:
    """The load of this process; the process has loaded the target for these checks."""
    assert run.load_step is not None
    return run.load_step


def _of_provider(run: Run, whole: T, imported: T, doing: str) -> T:
    """
    The provider's part of the traces of the load.

    It is all of them, unless a function of the user's builds the instances. Then it is what the
    import of the provider's package left behind, which can be told apart; what else happened in the
    function may be the user's own doing.

    Raises:
        NotApplicable: There are traces, and none of them is known to be the provider's.

    """
    if not _step(run).by_factory:
        return whole
    if whole and not imported:
        raise NotApplicable(f"the setting `factory` {doing}")
    return imported


@check(CONNECTS, calls_alone=False, session=False)
def loading_opens_no_connection(run: Run) -> None:
    connections = _step(run).connections
    if connections:
        run.violated(
            Acted(
                wanted="no connection and no look-up of a host",
                deed="connection",
                seen=(connections[0],),
                tail="; it was refused",
            )
        )


@check(STARTS, calls_alone=False, session=False)
def loading_starts_no_program(run: Run) -> None:
    programs = _step(run).programs
    if programs:
        run.violated(
            Acted(
                wanted="no program is started",
                deed="program",
                seen=(programs[0],),
                tail="; it was refused",
            )
        )


@check("MP-LOAD-004", calls_alone=False, session=False)
def loading_writes_no_file(run: Run) -> None:
    exempt = (_EXEMPT, *(f"~/{name}" for name in run.context.caches))
    step = _step(run)
    whole, imported = (
        [line for line in files if not line.split(" ", 1)[1].startswith(exempt)]
        for files in (step.files, step.imported.files)
    )
    if seen := _of_provider(run, whole, imported, "may write what set-up would have written"):
        run.violated(
            Acted(wanted="files and directories as they were", deed="file", seen=tuple(seen[:4]))
        )


@check("MP-LOAD-005", calls_alone=False, session=False)
def loading_prints_nothing(run: Run) -> None:
    step = _step(run)
    if printed := _of_provider(run, step.printed, step.imported.printed, "may print"):
        run.violated(
            Acted(
                wanted="nothing on the standard output", deed="output", seen=(show(printed, 200),)
            )
        )


@check("MP-LOAD-006", calls_alone=False, session=False)
def loading_leaves_the_process_as_it_was(run: Run) -> None:
    step = _step(run)
    may = "may set up the process"
    if changed := _of_provider(run, step.changed, step.imported.changed, may):
        run.violated(
            Changed(
                wanted="the process as it was before the import",
                subject="process",
                difference=changed[0],
            )
        )


@check("MP-LOAD-007", calls_alone=False, session=False)
def loading_leaves_no_thread(run: Run) -> None:
    step = _step(run)
    started = step.threads
    if started and not run.wait_until(lambda: not started & watchers.thread_ids(), 1.0):
        may = "may start threads, as those of a server"
        running = watchers.thread_ids()
        left = _of_provider(run, started & running, step.imported.threads & running, may)
        names = [item.name for item in threading.enumerate() if item.ident in left]
        run.violated(
            Left(
                wanted="no thread that loading started runs after it",
                kind_of="thread",
                names=tuple(names) or ("unknown to threading",),
                count=len(left),
                lead=f"{len(left)} still run: ",
            ),
        )


@check("MP-LOAD-008", calls_alone=False, session=False)
def the_hooks_that_the_host_needs_exist(run: Run) -> None:
    subject = run.provider()
    lacks = [hook for hook in HOST_NEEDS if hook in subject.provider.missing_hooks]
    if lacks and host.hooks_of_base() is None and _step(run).sought_host:
        # Built on the host's base class, it has its hooks wherever the host runs.
        reason = "its base class is that of hermes-agent, which is not installed here"
        raise Untestable(reason, (Install("hermes-agent", "--no-deps"),))
    if not lacks and "handle_tool_call" in subject.provider.missing_hooks and _offers(subject):
        lacks = ["handle_tool_call, and offers tools"]
    if lacks:
        run.violated(
            Lacks(
                wanted="each hook that a Hermes host needs of every provider",
                kind_of="hook",
                names=tuple(lacks),
                holder=type(subject.provider.wrapped).__name__,
                lead=f"{type(subject.provider.wrapped).__name__} has no ",
            ),
            operation="open",
        )


def _offers(subject: Subject) -> bool:
    """True if there are tools before a session; that reading them raises has a rule of its own."""
    with contextlib.suppress(HookRaised):
        return bool(subject.tools())
    return False


# -- plugin ----------------------------------------------------------------------------------------

# Chapter 32: plugin.yaml beside the module, and the home that a Hermes host hands over.


#: Lists of names in a manifest: what each is called to a reader, and whether they are tools.
_NAMES = {"hooks": "hook", "provides_hooks": "hook", "provides_tools": "tool"}

#: Files of a Hermes home that the host writes itself, also when a provider has it save its config.
_OF_THE_HOST = ("config.yaml", "SOUL.md", ".env")


@check("MP-PLUG-001", calls_alone=False, session=False)
def the_manifest_fits_its_schema(run: Run) -> None:
    from jsonschema import Draft202012Validator

    path = _manifest(run, run.provider())
    try:
        content = manifest.read(path)
    except ValueError as fault:
        run.violated(
            Unfit(
                wanted="a plugin.yaml that can be parsed",
                schema="plugin-manifest",
                at=locate.short(str(path)),
                fault=str(fault),
            )
        )
    validator = Draft202012Validator(spec.schema("plugin-manifest"))
    faults = sorted(validator.iter_errors(content), key=lambda fault: fault.json_path)
    if faults:
        at = f"{locate.short(str(path))}: {faults[0].json_path.removeprefix('$.')}"
        run.violated(
            Unfit(
                wanted="a plugin.yaml as in plugin-manifest.schema.json",
                schema="plugin-manifest",
                at=str(at),
                fault=_said(faults[0]),
            )
        )


def _said(fault: Any) -> str:
    return str(fault.message)[:300]


def _manifest(run: Run, subject: Subject) -> Path:
    path = manifest.beside(_own(run, subject))
    if path is None:
        raise NotApplicable("no plugin.yaml stands beside the provider's module")
    return path


def _own(run: Run, subject: Subject) -> Any:
    """The author's object, out of the adapter of its binding."""
    return run.binding.author_object(subject.provider)


@check("MP-PLUG-002", calls_alone=False, session=False)
def what_the_manifest_names_exists(run: Run) -> None:
    subject = run.provider()
    path = _manifest(run, subject)
    named = _named(path)
    if not named:
        raise NotApplicable("plugin.yaml names no hooks and no tools")
    unmet = _unmet(run, subject, named)
    if unmet:
        # Names registered at initialize, and the tools of a session, are there only then.
        unmet = _unmet_in_a_session(run, subject, unmet)
    if unmet:
        key = unmet[0][0]
        run.violated(
            Lacks(
                wanted=f"a {_NAMES[key]} for each name below `{key}` of {locate.short(str(path))}",
                kind_of=key,
                names=tuple(name for _, name in unmet),
                holder=type(_own(run, subject)).__name__,
                lead=f"{type(_own(run, subject)).__name__} has no ",
                tail=", and nothing of that name is registered beside it",
            ),
        )


def _unmet(run: Run, subject: Subject, named: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names that stand for nothing, as far as an instance shows that now."""
    tools = [*_registered(run, "tools"), *(_offered(subject) if _tools_in(named) else [])]
    return [
        (key, name)
        for key, name in named
        if not (name in tools if _NAMES[key] == "tool" else _is_hook(run, subject, name))
    ]


def _unmet_in_a_session(
    run: Run, subject: Subject, named: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """
    Names that stand for nothing in a session either.

    Raises:
        Untestable: None begins, and what is missing may come with one.

    """
    if subject.available():
        with contextlib.suppress(HookRaised), run.session() as opened:
            return _unmet(run, opened, named)
    name = named[0][1]
    if _context(run) is not None or all(_NAMES[key] == "tool" for key, _ in named):
        raise Untestable(f"it may offer {name} in a session", settings(subject))
    return named


def _named(path: Path) -> list[tuple[str, str]]:
    """Key and name of each hook and tool; none where the file cannot be read, as 001 says."""
    try:
        content = manifest.read(path)
    except ValueError:
        return []
    content = content if isinstance(content, dict) else {}
    lists = {key: content.get(key) for key in _NAMES}
    return [
        (key, name)
        for key, names in lists.items()
        if isinstance(names, list)
        for name in names
        if isinstance(name, str)
    ]


def _tools_in(named: list[tuple[str, str]]) -> bool:
    return any(_NAMES[key] == "tool" for key, _ in named)


def _is_hook(run: Run, subject: Subject, name: str) -> bool:
    """True if a hook of that name is served: by the provider, its plugin, or the host's base."""
    own = _own(run, subject)
    if callable(getattr(own, name, None)) or name in _registered(run, "hooks", "offered"):
        return True
    return _is_function(own, name) or (name in HOOKS and _inherits_elsewhere(run, own))


def _is_function(own: Any, name: str) -> bool:
    """True if a module of the plugin has a function of that name, which a host may take from it."""
    package = type(own).__module__.rpartition(".")[0] or type(own).__module__
    modules = [
        module
        for key, module in list(sys.modules.items())
        if key in (package, type(own).__module__) or key.startswith(f"{package}.")
    ]
    # A name that must not be imported stands there as None.
    return any(callable(getattr(module, "__dict__", {}).get(name)) for module in modules)


def _inherits_elsewhere(run: Run, own: Any) -> bool:
    """True if its base class is the host's, which has other hooks in another release."""
    base = host.base_class()
    if base is not None:
        return isinstance(own, base)
    return run.load_step is not None and run.load_step.sought_host


def _registered(run: Run, *kinds: str) -> list[str]:
    """Things that the plugin registered beside the provider, up to now."""
    context = _context(run)
    return [name for kind in kinds for name in getattr(context, kind, ())]


def _offered(subject: Subject) -> list[str]:
    try:
        schemas = subject.tools() if subject.has("tools") else []
    except HookRaised:
        # An exception before initialize has a rule of its own.
        return []
    schemas = schemas if isinstance(schemas, list) else []
    return [str(item.get("name")) for item in schemas if isinstance(item, dict)]


def _context(run: Run) -> Any:
    raw = run.load_step.loaded.raw if run.load_step and run.load_step.loaded else None
    return raw.context if isinstance(raw, Registering) else None


# -- the home of a Hermes provider -----------------------------------------------------------------


@check("MP-PLUG-003", calls_alone=False)
def the_home_that_is_handed_over_counts(run: Run) -> None:
    # The variable names another directory for as long as the check runs.
    named, variable = run.place("named"), run.place("variable")
    variable.mkdir(parents=True, exist_ok=True)
    # A factory is the operator's. It gets no keyword, so that it may place a store by the variable.
    is_operators = run.load_step is not None and run.load_step.by_factory
    while_built = named if is_operators else variable
    while_built.mkdir(parents=True, exist_ok=True)
    HOST_HOME.name(run.binding.home_variable, str(while_built))
    # Code that took the variable when it was imported writes where it pointed then.
    at_import = run.load_step.home if run.load_step else None
    former = watchers.tree(at_import) if at_import else {}
    threads = watchers.thread_ids()
    subject = run.provider()
    HOST_HOME.name(run.binding.home_variable, str(variable))
    subject.variable = str(variable)
    _opened_in(run, subject, named)
    fact = run.facts.new()
    for call in routes.core_calls(subject, fact.text, fact.query).values():
        routes.in_passing(call)
    subject.close()
    # A file that a thread of its own writes comes a moment later.
    run.wait_until(lambda: not watchers.thread_ids() - threads)
    below = sorted(watchers.tree(named))
    # A file that a provider asks the host to write is where the host writes.
    later = watchers.tree(at_import) if at_import else {}
    written = [*watchers.tree(variable), *(p for p in later if later[p] != former.get(p))]
    beside = sorted(path for path in written if Path(path).name not in _OF_THE_HOST)
    if beside and (not below or (_holds(beside, fact) and not _holds(below, fact))):
        there = "nothing that was stored is there" if below else "none there"
        run.violated(
            Wrote(
                wanted="files below the hermes_home that initialize got",
                paths=tuple(Path(path).name for path in beside[:3]),
                lead=f"{there}; ",
                tail=" below the HERMES_HOME of the environment",
            ),
        )
    if not below:
        raise NotApplicable("no file is written below either directory")


def _holds(paths: list[str], fact: Fact) -> bool:
    return any(store_files.holds(Path(path), [fact]) for path in paths)


def _opened_in(run: Run, subject: Subject, home: Path) -> None:
    """A home that was never set up may be refused; one that it starts in has a rule of its own."""
    try:
        subject.open(run.session_key(), run.config(home))
    except HookRaised as failure:
        if failure.ends_process:
            raise
        reason = f"it does not start in a home that nobody set up: {show(failure.error)}"
        raise NotApplicable(reason) from None


@check("MP-PLUG-004", calls_alone=False)
def a_thread_keeps_the_profile_of_its_hook(run: Run) -> None:
    kept = _kept_in_a_context(run, "plain", contextlib.nullcontext())
    if not kept.beside:
        if not kept.below:
            raise NotApplicable("no file holds what was stored")
        return
    # The threads alone are at fault if nothing goes astray where each of them has the variables.
    carried = _kept_in_a_context(run, "carried", _every_thread_in_its_context())
    if carried.beside or not carried.below:
        raise NotApplicable("it does not ask the host for the home of a context")
    run.violated(
        Wrote(
            wanted="files in the profile that the context of the hook serves",
            paths=tuple(Path(path).name for path in kept.beside[:3]),
            lead="a thread of its own wrote ",
            tail=(
                " below the home of the process; in the context variables of the hook that started"
                " it, it wrote below that of the context"
            ),
        ),
        operation="record",
    )


@dataclasses.dataclass(frozen=True)
class _Kept:
    """
    The files that hold a stored fact.

    Attributes:
        below: Those in the profile that the context serves.
        beside: Those in the home of the process.

    """

    below: list[str]
    beside: list[str]


def _kept_in_a_context(
    run: Run, name: str, threads: contextlib.AbstractContextManager[None]
) -> _Kept:
    """
    Store a fact in a session whose context serves another profile than the process has.

    Raises:
        NotApplicable: The host has one profile in a process, or no session begins.

    """
    served, process = run.place(f"{name}-context"), run.place(f"{name}-process")
    for folder in (served, process):
        folder.mkdir(parents=True, exist_ok=True)
    HOST_HOME.name(run.binding.home_variable, str(process))
    before, fact = watchers.thread_ids(), run.facts.new()
    with host.serving(str(served)) as is_possible, threads:
        if not is_possible:
            raise NotApplicable("the host has one profile in a process")
        subject = run.provider()
        subject.variable = str(process)
        _opened_in(run, subject, served)
        for call in routes.core_calls(subject, fact.text, fact.query).values():
            routes.in_passing(call)
        subject.close()
        run.wait_until(lambda: not watchers.thread_ids() - before)
    return _Kept(*(_holding(watchers.tree(folder), fact) for folder in (served, process)))


def _holding(paths: Iterable[str], fact: Fact) -> list[str]:
    return sorted(path for path in paths if store_files.holds(Path(path), [fact]))


@contextlib.contextmanager
def _every_thread_in_its_context() -> Iterator[None]:
    """Have each thread that is started in the body run in the context of who starts it."""
    start = threading.Thread.start

    def started(thread: threading.Thread) -> None:
        context, work = contextvars.copy_context(), thread.run
        thread.run = lambda: context.run(work)  # type: ignore[method-assign]  # of this one alone
        start(thread)

    threading.Thread.start = started  # type: ignore[assignment,method-assign]  # put back below
    try:
        yield
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]  # as it was
