"""A verdict by the declarations alone needs no process with the provider."""

import pytest

from memproto import spec
from memproto.bindings import HERMES, NATIVE
from memproto.testing.clauses import Check, Inconclusive, NotApplicable
from memproto.testing.judging import applicability, children
from memproto.testing.judging.judge import Judge
from memproto.testing.outcomes import Outcome
from memproto.testing.provider.extensions import needs_extension, needs_promise
from memproto.testing.settings.order import Contact, Order


def found(function, binding=NATIVE, **capabilities):
    """The outcome that is foreseen of one check."""
    contact = Contact(binding=binding, capabilities=capabilities)
    return applicability.not_applicable(
        Check("MP-REC-001", function, 60.0, 0.0), Order("x"), contact
    )


def wants_record(run):
    needs_promise(run, "record")
    run.session()


def test_an_extension_that_is_not_declared_is_not_applicable():
    result = found(wants_record, extensions=["tools"])
    assert (result.id, result.outcome) == ("MP-REC-001", Outcome.NOT_APPLICABLE)
    assert result.reason == "the extension `record` is not served (record)"


def test_a_check_that_goes_on_to_the_provider_is_run():
    assert found(wants_record, extensions=["record"]) is None


def test_what_a_hermes_provider_cannot_declare_is_left_to_its_check():
    assert found(wants_record, binding=HERMES, extensions=["record"]) is None


def test_the_hooks_of_a_hermes_provider_are_not_known_and_those_of_a_native_one_are():
    def wants_a_hook(run):
        if not run.lacks("end"):
            needs_extension(run, "sessions")

    assert found(wants_a_hook, binding=HERMES) is None
    assert found(wants_a_hook).outcome is Outcome.NOT_APPLICABLE


def test_a_check_that_catches_every_error_cannot_mistake_the_stand_in_for_a_provider():
    def catches(run):
        try:
            run.session()
        except Exception as error:
            raise NotApplicable("nothing can be opened") from error

    assert found(catches) is None


def test_what_a_check_says_about_this_process_is_no_result():
    def looks_around(_):
        raise Inconclusive("this machine has another locale")

    assert found(looks_around) is None


def test_a_check_that_returns_on_the_declarations_alone_is_run():
    assert found(lambda run: run.declared("stores", [])) is None


def test_what_is_foreseen_starts_no_process(tmp_path, monkeypatch):
    def start(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(children, "ChildProcess", start)
    judge = Judge(Order("x"), tmp_path, Contact(binding=NATIVE))
    (result,) = judge.run(spec.requirement("MP-REC-001"))
    assert result.outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize("name", ["MP-ITEMS-006", "MP-CONF-011"])
def test_a_check_with_an_environment_of_its_own_costs_a_provider_without_it_nothing(name, tmp_path):
    judge = Judge(Order("x"), tmp_path, Contact(binding=NATIVE))
    (result,) = judge.run(spec.requirement(name))
    assert result.outcome is Outcome.NOT_APPLICABLE
    assert judge._children.process is None


@pytest.mark.parametrize("name", ["MP-RECALL-008", "MP-THR-004", "MP-TIME-003"])
def test_no_line_of_a_check_of_the_core_runs_here(name, tmp_path, monkeypatch):
    monkeypatch.setattr(applicability, "not_applicable", None)
    judge = Judge(Order("x"), tmp_path, Contact(binding=NATIVE))
    assert judge._foreseen(spec.requirement(name)) is None
