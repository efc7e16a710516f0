"""Chapter 30: loading, identity, availability."""

import json
from typing import Any

from memproto import bindings
from memproto.adapters.hermes import owns
from memproto.bindings import hermes_agent
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.evidence import Acted, NotReported, Raised, Returned, Unsteady
from memproto.testing.instruments.watchers import tree
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import manifest
from memproto.testing.scenarios import retention as keeping
from memproto.testing.wire import show
from memproto.types import LABEL, is_label


@check("MP-LOAD-001", calls_alone=False)
def building_an_instance_returns(run: Run) -> None:
    one, other = (_own(run.provider().provider) for _ in range(2))
    if one is other and not run.binding.one_for_process:
        run.violated(
            Returned(
                wanted="a new instance each time one is built",
                value=show(one),
                lead="the same object twice, ",
                tail="; sessions would share all that it holds",
            ),
        )


def _own(provider: Any) -> Any:
    """The author's object, out of the adapter of its binding."""
    return bindings.author_object(provider)


@check("MP-NAME-001")
def the_name_is_a_str(run: Run) -> None:
    name = run.provider().name()
    if not isinstance(name, str) or not name.strip():
        run.violated(Returned(wanted="a non-empty str", value=show(name)))


@check("MP-NAME-002", session=False)
def the_name_can_be_a_label(run: Run) -> None:
    name = run.provider().name()
    if not is_label(name):
        run.violated(Returned(wanted=f"a name that matches {LABEL.pattern}", value=show(name)))


@check("MP-NAME-003")
def the_name_stays(run: Run) -> None:
    subject = run.open()
    names = {"before": run.provider().name(), "after initialize": subject.name()}
    subject.recall("What did we agree on?")
    run.close(subject)
    names["after shutdown"] = subject.name()
    if len(set(names.values())) > 1:
        run.violated(
            Unsteady(
                wanted="one name at all times",
                subject="name",
                values=tuple(f"{k}: {v!r}" for k, v in names.items()),
            )
        )


@check("MP-NAME-004", calls_alone=False, session=False)
def the_identity_is_told_alike_and_quietly(run: Run) -> None:
    one, other = run.provider(), run.provider()
    own, is_called = _own(one.provider), _IDENTITY in hermes_agent.release().hooks
    if not is_called or not callable(getattr(own, _IDENTITY, None)) or not owns(own, _IDENTITY):
        raise NotApplicable(f"it has no {_IDENTITY} of its own that the host calls")
    assert run.audit is not None
    run.binding.furnish()
    before = tree(run.root)
    with run.audit.recording() as events:
        answers = [_identity(run, subject) for subject in (one, one, other)]
    new = sorted(set(tree(run.root)) - set(before))
    if seen := events + [f"created {path}" for path in new]:
        run.violated(
            Acted(wanted="no socket, no program, no file written", deed="effect", seen=(seen[0],))
        )
    if len(set(answers)) > 1:
        run.violated(
            Unsteady(wanted="the same object each time", subject=_IDENTITY, values=tuple(answers))
        )


#: The hook by which a host of many sessions sees that a cached agent is another one now.
_IDENTITY = "identity_signature"


def _identity(run: Run, subject: Subject) -> str:
    """The signature of an instance that serves no session, as JSON."""
    own = _own(subject.provider)
    wanted = "an object of plain JSON values, before initialize"
    try:
        answer = subject.call("available", getattr(own, _IDENTITY))
    except HookRaised as failure:
        if failure.ends_process:
            raise
        run.violated(Raised.by(failure.error, wanted=wanted, hook=_IDENTITY))
    try:
        text = json.dumps(answer, sort_keys=True)
    except (TypeError, ValueError):
        text = ""
    if not text or not isinstance(answer, dict):
        run.violated(Returned(wanted=wanted, value=show(answer)))
    return text


@check("MP-AVAIL-001", calls_alone=False)
def availability_is_answered(run: Run) -> None:
    run.provider().available()


@check("MP-AVAIL-002", calls_alone=False, session=False)
def availability_is_one_bool(run: Run) -> None:
    subject = run.provider()
    answers = [subject.available(), subject.available(), run.provider().available()]
    for answer in answers:
        if not isinstance(answer, bool):
            run.violated(Returned(wanted="True or False", value=show(answer)))
    if len(set(answers)) > 1:
        run.violated(
            Unsteady(
                wanted="the same answer each time",
                subject="answer",
                values=tuple(map(repr, answers)),
                difference=f"{answers}",
            )
        )


@check("MP-AVAIL-003", calls_alone=False, session=False)
def availability_does_no_input_or_output(run: Run) -> None:
    subject = run.provider()
    assert run.audit is not None
    run.binding.furnish()
    before = tree(run.root)
    with run.audit.recording() as events:
        subject.available()
    new = sorted(set(tree(run.root)) - set(before))
    seen = events + [f"created {path}" for path in new]
    if seen:
        run.violated(
            Acted(wanted="no socket, no program, no file written", deed="effect", seen=(seen[0],))
        )


# -- availability ----------------------------------------------------------------------------------

# Chapter 30: what a provider that is available owes where nothing is configured.


#: A provider may say once in a process that it keeps nothing.
_APART = " without settings"


@check("MP-AVAIL-004", calls_alone=False, budget_s=120.0, apart=_APART)
def what_is_accepted_without_settings_is_kept_or_said_to_be_lost(run: Run) -> None:
    if run.context.configured:
        raise NotApplicable("the settings give it what it may need")
    kept = _kept(run)
    if kept.place or kept.said:
        return
    if not kept.by:
        raise NotApplicable("it has no hook, and no tool that is known to store, for a text")
    run.violated(
        NotReported(
            wanted=(
                "text accepted is kept, or an error, a status or a warning says that it is not"
            ),
            about="that nothing is kept",
            seen=(
                f"is_available() is True and nothing is configured; {_told(kept)}, and no hook "
                "raised, no"
                " status and no warning in the log said so"
            ),
        ),
        operation="record",
    )


@check("MP-AVAIL-005", calls_alone=False, budget_s=120.0, apart=_APART)
def what_is_required_is_looked_for(run: Run) -> None:
    if run.load_step and run.load_step.by_factory:
        raise NotApplicable("the `factory` of the settings may give it what it requires")
    missing = manifest.missing(run.provider(), run.context.config)
    if not missing:
        raise NotApplicable("its config schema requires nothing that is missing")
    kept = _kept(run)
    if kept.place:
        raise NotApplicable(f"without it, what is stored is found again, by {kept.place}")
    run.violated(
        Returned(
            wanted=(
                f"False while {', '.join(missing)} is missing, which get_config_schema() requires"
            ),
            value="True",
            tail=f"; {_told(kept)}" + (f"; {kept.said}" if kept.said else ""),
        ),
    )


def _kept(run: Run) -> keeping.Kept:
    """
    The fate of accepted texts.

    Raises:
        NotApplicable: It keeps what it likes, or in other words, or nothing at all.

    """
    retention = run.declared("retention", "verbatim")
    if retention != "verbatim" or run.declared("stores", None) == []:
        raise NotApplicable(f"retention is {retention}, or it stores nothing, by its settings")
    try:
        return keeping.observed(run)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        raise Untestable(f"a session without a word failed: {failure.error!r}") from None


def _told(kept: keeping.Kept) -> str:
    if not kept.by:
        return "nothing was accepted"
    facts = f"{len(kept.by)} texts" if len(kept.by) > 1 else "a text"
    accepted = " and ".join(kept.by)
    where = ", ".join(kept.asked)
    tried = f"; {' and '.join(kept.tried)} tried to reach a server" if kept.tried else ""
    return f"{accepted} accepted {facts}, none of which {where} or a file showed afterwards{tried}"
