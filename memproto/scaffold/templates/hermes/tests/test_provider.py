"""Behaviour of this provider beyond the specification, by which the kit judges it."""

import pytest

from example_memory import ExampleMemory


@pytest.fixture
def session(tmp_path):
    """Starts a session on one home, for a user."""

    def start(user="ines"):
        provider = ExampleMemory()
        provider.initialize("session-1", hermes_home=str(tmp_path), platform="cli", user_id=user)
        return provider

    return start


def test_the_entry_with_the_most_common_words_comes_first(session):
    provider = session()
    provider.sync_turn("The ferry is called Ondine.", "Noted.")
    provider.sync_turn("The ferry sails at nine.", "Noted.")
    recalled = session().prefetch("When does the ferry sail, at nine?")
    assert recalled.splitlines()[0] == "The ferry sails at nine."


def test_what_shares_no_word_is_not_recalled(session):
    session().sync_turn("The ferry is called Ondine.", "Noted.")
    assert session().prefetch("Which bread?") == ""
