"""Chapter 30: loading, identity, availability."""

from typing import Any

from memproto import bindings
from memproto.testing.clauses import check
from memproto.testing.run import Run
from memproto.testing.watchers import tree
from memproto.testing.wire import show
from memproto.types import LABEL, is_label


@check("MP-LOAD-001")
def building_an_instance_returns(run: Run) -> None:
    one, other = (_own(run.provider().provider) for _ in range(2))
    if one is other:
        run.violated(
            "a new instance each time one is built",
            f"the same object twice, {show(one)}; sessions would share all that it holds",
        )


def _own(provider: Any) -> Any:
    """The author's object, out of the adapter of its binding."""
    return bindings.author_object(provider)


@check("MP-NAME-001")
def the_name_is_a_str(run: Run) -> None:
    name = run.provider().name()
    if not isinstance(name, str) or not name.strip():
        run.violated("a non-empty str", show(name))


@check("MP-NAME-002", session=False)
def the_name_can_be_a_label(run: Run) -> None:
    name = run.provider().name()
    if not is_label(name):
        run.violated(f"a name that matches {LABEL.pattern}", show(name))


@check("MP-NAME-003")
def the_name_stays(run: Run) -> None:
    subject = run.open()
    names = {"before": run.provider().name(), "after initialize": subject.name()}
    subject.recall("What did we agree on?")
    run.close(subject)
    names["after shutdown"] = subject.name()
    if len(set(names.values())) > 1:
        run.violated("one name at all times", ", ".join(f"{k}: {v!r}" for k, v in names.items()))


@check("MP-AVAIL-001")
def availability_is_answered(run: Run) -> None:
    run.provider().available()


@check("MP-AVAIL-002", session=False)
def availability_is_one_bool(run: Run) -> None:
    subject = run.provider()
    answers = [subject.available(), subject.available(), run.provider().available()]
    for answer in answers:
        if not isinstance(answer, bool):
            run.violated("True or False", show(answer))
    if len(set(answers)) > 1:
        run.violated("the same answer each time", f"{answers}")


@check("MP-AVAIL-003", session=False)
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
        run.violated("no socket, no program, no file written", seen[0])
