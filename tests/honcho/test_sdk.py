"""The official SDK finds in the stand-in what it finds in a real server, failures included."""

import contextlib
import time

import httpx
import pydantic
import pytest
from honcho import Honcho
from honcho.http import exceptions
from honcho.session import SessionPeerConfig

from memproto.reference_providers.honcho.standin import serving

SHORT_S = 0.3


@pytest.fixture
def server():
    with serving() as running:
        yield running


@pytest.fixture
def connect(server):
    """Give a client, of one workspace, whose proxies are not those of this machine."""
    with contextlib.ExitStack() as opened:

        def client(url=server.url, **more):
            options = {"max_retries": 0, "timeout": 5.0, "api_key": "k", **more}
            http = opened.enter_context(
                httpx.Client(trust_env=False, base_url=url, timeout=options["timeout"])
            )
            return Honcho(base_url=url, workspace_id="w", http_client=http, **options)

        yield client


def talk(client):
    """A session in which hermes watches ada; gives the three."""
    ada, hermes, session = client.peer("ada"), client.peer("hermes"), client.session("s")
    session.add_peers([ada, hermes])
    watches = SessionPeerConfig(observe_me=True, observe_others=True)
    session.set_peer_configuration(hermes, watches)
    return ada, hermes, session


def test_messages_come_back_by_session_filter_and_search(server, connect):
    client = connect()
    ada, hermes, session = talk(client)
    session.add_messages(
        [
            ada.message("The boat is in Ostrava.", metadata={"turn_id": "t-1"}),
            hermes.message("Noted."),
        ]
    )
    assert [each.content for each in session.messages()] == ["The boat is in Ostrava.", "Noted."]
    found = list(session.messages(filters={"metadata": {"turn_id": "t-1"}}))
    assert [each.peer_id for each in found] == ["ada"]
    assert client.search("boat")[0].content == "The boat is in Ostrava."
    assert session.context(tokens=500).messages[0].content == found[0].content


def test_what_a_peer_said_is_known_to_those_who_watch(server, connect):
    ada, hermes, session = talk(connect())
    session.add_messages([ada.message("The boat is in Ostrava.")])
    assert "Ostrava" in hermes.representation(target="ada")
    assert "Ostrava" in hermes.context(target="ada").representation
    assert "Ostrava" in hermes.chat("Where is the boat?", target="ada")
    assert "Ostrava" in "".join(hermes.chat_stream("Where is the boat?", target="ada"))
    assert hermes.representation() == ""
    context = session.context(peer_target="ada", peer_perspective="hermes")
    assert "Ostrava" in context.peer_representation


def test_conclusions_and_cards_are_written_listed_and_deleted(server, connect):
    _, hermes, _ = talk(connect())
    about = hermes.conclusions_of("ada")
    made = about.create([{"content": "Ada has a boat"}])
    assert [each.id for each in about.list()] == [each.id for each in about.query("boat")]
    about.delete(made[0].id)
    assert list(about.list()) == []
    assert hermes.set_card(["Has a boat"], target="ada") == ["Has a boat"]
    assert hermes.get_card(target="ada") == ["Has a boat"]


def test_a_file_becomes_messages(server, connect):
    ada, _, session = talk(connect())
    session.upload_file(
        ("notes.md", "Das Boot liegt in Mikulčice.\n".encode(), "text/markdown"), ada
    )
    assert server.store.texts("s") == ["Das Boot liegt in Mikulčice.\n"]


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        (400, exceptions.BadRequestError),
        (401, exceptions.AuthenticationError),
        (403, exceptions.PermissionDeniedError),
        (404, exceptions.NotFoundError),
        (409, exceptions.ConflictError),
        (422, exceptions.UnprocessableEntityError),
        ("retry_after", exceptions.RateLimitError),
        (500, exceptions.ServerError),
        (503, exceptions.ServerError),
        ("hang", exceptions.TimeoutError),
        ("reset", exceptions.ConnectionError),
        ("truncate", exceptions.ConnectionError),
        ("not_json", exceptions.ConnectionError),
        ("empty", pydantic.ValidationError),
        ("wrong_shape", pydantic.ValidationError),
    ],
)
def test_a_failure_of_the_server_is_this_error_of_the_client(server, connect, mode, error):
    # A busy machine answers late: the time is short only where no answer comes.
    client = connect(**({"timeout": SHORT_S} if mode == "hang" else {}))
    client.peer("ada")
    server.fail("*", mode)
    with pytest.raises(error):
        client.peer("bea")
    assert [each.body["id"] for each in server.arrived("peer")] == ["ada", "bea"]


def test_an_empty_answer_may_end_in_an_error_that_is_not_the_clients(server, connect):
    _, _, session = talk(connect())
    server.fail("session_context", "empty")
    with pytest.raises(AttributeError):
        session.context()


def test_an_answer_that_drips_outlasts_the_timeout_of_a_read(server):
    server.fail("session_context", "drip")
    address = f"{server.url}/v3/workspaces/w/sessions/s/context"
    began = time.monotonic()
    with (
        httpx.Client(trust_env=False, timeout=1.0) as plain,
        plain.stream("GET", address) as answer,
    ):
        pieces = answer.iter_raw()
        assert {next(pieces) for _ in range(7)} == {b" "}
    assert time.monotonic() - began > 1.0


@pytest.mark.parametrize(("retries", "copies"), [(0, 1), (2, 3)])
def test_a_frozen_server_stores_each_attempt_of_the_client(server, connect, retries, copies):
    client = connect(timeout=SHORT_S, max_retries=retries)
    ada, _, session = talk(client)
    server.freeze()
    with pytest.raises(exceptions.TimeoutError):
        session.add_messages([ada.message("The boat is in Ostrava.")])
    server.thaw()
    assert server.wait_idle()
    assert server.store.texts("s") == ["The boat is in Ostrava."] * copies


def test_a_poisoned_message_is_refused_with_the_text_in_the_error(server, connect):
    ada, _, session = talk(connect())
    with pytest.raises(exceptions.UnprocessableEntityError) as refused:
        session.add_messages([ada.message("tea"), ada.message("a <|endoftext|> b")])
    assert "a <|endoftext|> b" in str(refused.value.body)
    assert server.store.texts() == []


def test_without_a_key_the_client_is_refused(connect):
    with serving(keys={"right": None}) as locked:
        for key, is_known in (("wrong", False), ("right", True)):
            client = connect(locked.url, api_key=key)
            if is_known:
                assert client.peer("ada").id == "ada"
            else:
                with pytest.raises(exceptions.AuthenticationError):
                    client.peer("ada")
