"""Chapter 32: plugin.yaml beside the module, and the home that a Hermes host hands over."""

from pathlib import Path
from typing import Any

from memproto import spec
from memproto.loading.modules import Registering
from memproto.testing import locate, manifest, routes, storefiles, watchers
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.needed import settings
from memproto.testing.run import Run
from memproto.testing.sandbox import HOST_HOME
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.wire import show

#: Lists of names in a manifest: what each is called to a reader, and whether they are tools.
_NAMES = {"hooks": "hook", "provides_hooks": "hook", "provides_tools": "tool"}

#: Files of a Hermes home that the host writes itself, also when a provider has it save its config.
_OF_THE_HOST = ("config.yaml", "SOUL.md", ".env")


@check("MP-PLUG-001", session=False)
def the_manifest_fits_its_schema(run: Run) -> None:
    from jsonschema import Draft202012Validator

    path = _manifest(run, run.provider())
    try:
        content = manifest.read(path)
    except ValueError as fault:
        run.violated("a plugin.yaml that can be parsed", f"{locate.short(str(path))}: {fault}")
    validator = Draft202012Validator(spec.schema("plugin-manifest"))
    faults = sorted(validator.iter_errors(content), key=lambda fault: fault.json_path)
    if faults:
        at = f"{locate.short(str(path))}: {faults[0].json_path.removeprefix('$.')}"
        run.violated("a plugin.yaml as in plugin-manifest.schema.json", f"{at}: {_said(faults[0])}")


def _said(fault: Any) -> str:
    return str(fault.message)[:300]


def _manifest(run: Run, subject: Subject) -> Path:
    path = manifest.beside(_own(run, subject))
    if path is None:
        raise NotApplicable("no plugin.yaml stands beside the provider's module")
    return path


def _own(run: Run, subject: Subject) -> Any:
    """The author's object, out of the adapter of its binding."""
    return subject.provider.wrapped if run.binding == "hermes" else subject.provider


@check("MP-PLUG-002", session=False)
def what_the_manifest_names_exists(run: Run) -> None:
    subject = run.provider()
    path = _manifest(run, subject)
    named = _named(path)
    if not named:
        raise NotApplicable("plugin.yaml names no hooks and no tools")
    known = {"hook": _hooks(run, subject), "tool": _tools(run, subject) if _tools_in(named) else []}
    unmet = [(key, name) for key, name in named if not _exists(known[_NAMES[key]], name)]
    if unmet and all(_NAMES[key] == "tool" for key, _ in unmet) and not subject.available():
        raise Untestable(f"it may offer {unmet[0][1]} in a session; needs: {settings(subject)}")
    if unmet:
        key = unmet[0][0]
        run.violated(
            f"a {_NAMES[key]} for each name below `{key}` of {locate.short(str(path))}",
            f"{type(_own(run, subject)).__name__} has no {', '.join(name for _, name in unmet)}, "
            "and nothing of that name is registered beside it",
        )


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


def _exists(known: Any, name: str) -> bool:
    return callable(getattr(known[0], name, None)) or name in known[1:] if known else False


def _hooks(run: Run, subject: Subject) -> list[Any]:
    """The provider, and the names of the hooks that its plugin registered beside it."""
    context = _context(run)
    return [_own(run, subject), *(context.hooks if context else [])]


def _tools(run: Run, subject: Subject) -> list[Any]:
    """None for the provider, and the names of all tools that it offers or its plugin registers."""
    context = _context(run)
    found = [None, *(context.tools if context else []), *_offered(subject)]
    if not subject.available():
        return found
    with run.session() as opened:
        return [*found, *_offered(opened)]


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


@check("MP-PLUG-003")
def the_home_that_is_handed_over_counts(run: Run) -> None:
    # The variable names another directory for as long as the check runs.
    named, variable = run.place("named"), run.place("variable")
    variable.mkdir(parents=True, exist_ok=True)
    HOST_HOME.name(str(variable))
    # What took the variable when it was imported writes where it pointed then.
    at_import = run.load_step.home if run.load_step else None
    former = watchers.tree(at_import) if at_import else {}
    threads = watchers.thread_ids()
    subject = run.provider()
    subject.variable = str(variable)
    _opened_in(run, subject, named)
    fact = run.facts.new()
    for call in routes.core_calls(subject, fact.text, fact.query).values():
        routes.in_passing(call)
    subject.close()
    # What a thread of its own writes comes a moment later.
    run.wait_until(lambda: not watchers.thread_ids() - threads)
    below = sorted(watchers.tree(named))
    # What a provider asks the host to write is where the host writes.
    later = watchers.tree(at_import) if at_import else {}
    written = [*watchers.tree(variable), *(p for p in later if later[p] != former.get(p))]
    beside = sorted(path for path in written if Path(path).name not in _OF_THE_HOST)
    if beside and (not below or (_holds(beside, fact) and not _holds(below, fact))):
        shown = ", ".join(Path(path).name for path in beside[:3])
        there = "nothing that was stored is there" if below else "none there"
        run.violated(
            "files below the hermes_home that initialize got",
            f"{there}; {shown} below the HERMES_HOME of the environment",
        )
    if not below:
        raise NotApplicable("no file is written below either directory")


def _holds(paths: list[str], fact: Fact) -> bool:
    return any(storefiles.holds(Path(path), [fact]) for path in paths)


def _opened_in(run: Run, subject: Subject, home: Path) -> None:
    """A home that was never set up may be refused; one that it starts in has a rule of its own."""
    try:
        subject.open(run.session_key(), run.config(home))
    except HookRaised as failure:
        if failure.ends_process:
            raise
        reason = f"it does not start in a home that nobody set up: {show(failure.error)}"
        raise NotApplicable(reason) from None
