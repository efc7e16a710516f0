"""Chapter 80: what a host refuses."""

from typing import Any

from memproto.operations import CORE_HOOKS
from memproto.testing.clauses import check
from memproto.testing.evidence import Called, Differs, Raised, Returned
from memproto.testing.host.host import Host
from memproto.testing.host.probes import Probe, answering
from memproto.testing.host.run import HostRun
from memproto.testing.wire import show

_NO_LABELS: tuple[Any, ...] = (
    "My Journal",
    "honcho\n### other memory",
    "</memory-context>",
    "Honcho",
    "caf\u00e9",
    "-journal",
    "journal\n",
    "a" * 65,
    "",
    None,
    7,
)


@check("MP-HOST-REG-001")
def a_name_that_cannot_be_a_label_is_refused(run: HostRun) -> None:
    good = run.probe(enrich_turn=answering("Noted."))
    host = run.host()
    refused = [Probe(name) for name in _NO_LABELS]
    for provider in refused:
        _assert_refuses(run, host, provider, f"a provider named {show(provider.name, 40)}")
    host.register(good)
    _assert_only_works(run, host, good, refused)


@check("MP-HOST-REG-002")
def a_second_provider_of_one_name_is_refused(run: HostRun) -> None:
    good = run.probe(enrich_turn=answering("Noted."))
    # Another one may stand between the two.
    between = run.beside(run.probe(enrich_turn=lambda *args: None))
    host = run.host(good, *between)
    second = Probe(good.name, enrich_turn=answering("Not this one."))
    _assert_refuses(run, host, second, "a second provider of one name")
    _assert_only_works(run, host, good, [second])


@check("MP-HOST-REG-003")
def an_object_without_all_members_is_refused(run: HostRun) -> None:
    good = run.probe(enrich_turn=answering("Noted."))
    host = run.host()
    partial = [_without(member, name=run.label()) for member in CORE_HOOKS]
    for member, provider in zip(CORE_HOOKS, partial, strict=True):
        _assert_refuses(run, host, provider, f"an object without `{member}`")
    _assert_names_them(run, host, ("enrich_turn", "on_turn_complete"))
    host.register(good)
    _assert_only_works(run, host, good, [])


def _without(*missing: str, name: str) -> object:
    """A provider that lacks these members."""
    inner = Probe(name)
    members = {hook: getattr(inner, hook) for hook in CORE_HOOKS if hook not in missing}
    return type("Partial", (), members)()


def _assert_names_them(run: HostRun, host: Host, missing: tuple[str, ...]) -> None:
    """Its author mends all of them at once."""
    error = host.refusal(_without(*missing, name=run.label()))
    if unsaid := [member for member in missing if member not in str(error)]:
        wanted = f"an error that names the missing members, {' and '.join(missing)}"
        run.violated(Differs(wanted=wanted, seen=f"{unsaid[0]} is not named: {show(str(error))}"))


def _assert_refuses(run: HostRun, host: Host, provider: Any, what: str) -> None:
    error = host.refusal(provider)
    if error is None:
        run.violated(Differs(wanted=f"a named error for {what}", seen="register took it"))
    if not isinstance(error, Exception) or type(error) is Exception:
        run.violated(Raised.by(error, wanted=f"a named error for {what}", hook="register"))


def _assert_only_works(run: HostRun, host: Host, good: Probe, refused: list[Probe]) -> None:
    """The provider that was taken is used, those that were refused are left alone."""
    host.open()
    answers = host.recall("What was noted?")
    if answers != {good.name: "Noted."}:
        run.violated(
            Returned(wanted="the answer of the provider that was taken", value=show(answers))
        )
    for provider in refused:
        if provider.calls:
            observed = f"{provider.calls[0].hook} was called"
            run.violated(
                Called(
                    wanted=f"no call to the refused {show(provider.name, 40)}",
                    hook=provider.calls[0].hook,
                    times=len(provider.calls),
                    due=0,
                    seen=observed,
                )
            )
