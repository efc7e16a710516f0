"""Chapter 30: what a provider that is available owes where nothing is configured."""

from memproto.testing import keeping, needed
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised

#: A provider may say once in a process that it keeps nothing.
_APART = " without settings"


@check("MP-AVAIL-004", budget_s=120.0, apart=_APART)
def what_is_accepted_without_settings_is_kept_or_said_to_be_lost(run: Run) -> None:
    if run.context.configured:
        raise NotApplicable("the settings give it what it may need")
    kept = _kept(run)
    if kept.place or kept.said:
        return
    if not kept.by:
        raise NotApplicable("it has no hook, and no tool that is known to store, for a text")
    run.violated(
        "what is accepted is kept, or an error, a status or a warning says that it is not",
        f"is_available() is True and nothing is configured; {_told(kept)}, and no hook raised, no"
        " status and no warning in the log said so",
        operation="record",
    )


@check("MP-AVAIL-005", budget_s=120.0, apart=_APART)
def what_is_required_is_looked_for(run: Run) -> None:
    if run.load_step and run.load_step.by_factory:
        raise NotApplicable("the `factory` of the settings may give it what it requires")
    missing = needed.missing(run.provider(), run.context.config)
    if not missing:
        raise NotApplicable("its config schema requires nothing that is missing")
    kept = _kept(run)
    if kept.place:
        raise NotApplicable(f"without it, what is stored is found again, by {kept.place}")
    run.violated(
        f"False while {', '.join(missing)} is missing, which get_config_schema() requires",
        f"True; {_told(kept)}" + (f"; {kept.said}" if kept.said else ""),
    )


def _kept(run: Run) -> keeping.Kept:
    """
    What becomes of what is accepted.

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
