"""The last lines that a target logged, and what its logging does beside them."""

import logging
import sys
import types

import pytest

from memproto.testing.instruments import log_tail

#: The level of a root logger that nobody has set.
USUAL = logging.WARNING


@pytest.fixture
def tail(monkeypatch):
    """A tail of this process, gone at the end; the package `acme` is the target's."""
    module = types.ModuleType("acme_of_this_test")
    module.__file__ = "/somewhere/acme/__init__.py"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(log_tail, "_own", lambda package, known: {package})
    monkeypatch.setattr(log_tail.locate, "is_authors", lambda path: True)
    make, before = logging.getLogRecordFactory(), logging.root.level
    logging.root.setLevel(USUAL)
    found = log_tail.installed()
    found.open("acme_of_this_test")
    yield found
    logging.setLogRecordFactory(make)
    logging.getLogger("acme_of_this_test").setLevel(logging.NOTSET)
    logging.root.setLevel(before)


def fail(text):
    raise ValueError(text)


class Handler(logging.Handler):
    def __init__(self):
        super().__init__()
        self.seen = []

    def emit(self, record):
        self.seen.append(record.getMessage())


def test_lines_of_every_level_are_kept_with_their_place(tail):
    logging.getLogger("acme_of_this_test.store").debug("no %s for %d", "turn", 3)
    (line,) = tail.lines()
    assert line.startswith("acme_of_this_test.store DEBUG 'no turn for 3', at ")
    assert line.endswith(" in test_lines_of_every_level_are_kept_with_their_place")


def test_no_handler_writes_more_than_without_the_kit(tail):
    handler = Handler()
    logging.root.addHandler(handler)
    try:
        logger = logging.getLogger("acme_of_this_test")
        logger.debug("unheard")
        logger.warning("heard")
        loud = logging.getLogger("acme_of_this_test.loud")
        loud.setLevel(logging.DEBUG)
        loud.debug("asked for")
        logging.root.setLevel(logging.INFO)
        logger.info("asked for as well")
        logger.debug("still unheard")
    finally:
        logging.root.removeHandler(handler)
        loud.setLevel(logging.NOTSET)
    assert handler.seen == ["heard", "asked for", "asked for as well"]
    assert len(tail.lines()) == log_tail._MOST_LINES


def test_loggers_of_libraries_and_the_root_stay_as_they_are(tail):
    assert logging.root.level == USUAL
    assert not logging.getLogger("a_library").isEnabledFor(logging.DEBUG)
    logging.getLogger("a_library").debug("nothing")
    assert tail.lines() == ()


def test_a_level_that_the_target_sets_stays(tail):
    quiet = logging.getLogger("quiet_of_this_test")
    quiet.setLevel(logging.ERROR)
    tail.open("quiet_of_this_test")
    assert quiet.level == logging.ERROR


def test_lines_that_are_repeated_are_counted(tail):
    for _ in range(3):
        logging.getLogger("acme_of_this_test").debug("again")
    (line,) = tail.lines()
    assert line.endswith(" (3 times)")


def test_the_first_exception_that_is_logged_is_kept_with_its_lines(tail):
    for text in ("first", "second"):
        try:
            fail(text)
        except ValueError:
            logging.getLogger("acme_of_this_test").debug("went on", exc_info=True)
    shown, raised, logged = tail.swallowed
    assert shown == "ValueError('first')"
    assert raised.endswith(" in fail")
    assert logged.endswith(" in test_the_first_exception_that_is_logged_is_kept_with_its_lines")
    tail.begin()
    assert (tail.swallowed, tail.lines()) == ((), ())


def test_nothing_of_a_target_runs_or_lives_on_for_a_line(tail):
    class Odd:
        def __repr__(self):
            raise AssertionError

    logging.getLogger("acme_of_this_test").debug("kept %s", Odd())
    assert "'kept <Odd>'" in tail.lines()[0]


def test_a_record_of_nothing_harms_nobody(tail):
    assert logging.makeLogRecord({"msg": "from afar"}).msg == "from afar"


def test_a_long_text_is_not_held(tail):
    logging.getLogger("acme_of_this_test").debug("said %s", "x" * 100_000)
    (held, _) = tail._lines[0]
    assert len(str(held)) <= log_tail._MOST_CHARS
    assert sum(len(str(value)) for value in held.values) < 1_000
