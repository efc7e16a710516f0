"""The stand-in of a MentisDB daemon answers as a daemon does, over plain HTTP."""

import json
import urllib.error
import urllib.request

import pytest

from memproto.reference_providers.mentisdb.standin import scores
from memproto.reference_providers.mentisdb.standin_server import LONGEST, StandIn, running


@pytest.fixture
def daemon():
    with StandIn() as daemon:
        yield daemon


def _ask(daemon, path, body=None, **headers):
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    request = urllib.request.Request(daemon.url + path, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def _append(daemon, content, chain="c", **more):
    asked = {"chain_key": chain, "content": content, "thought_type": "Finding", **more}
    return _ask(daemon, "/v1/thoughts", asked)


def test_it_is_well(daemon):
    assert _ask(daemon, "/health") == (200, {"status": "ok", "service": "mentisdb"})


def test_a_thought_is_linked_to_the_one_before_on_its_chain(daemon):
    status, first = _append(daemon, "one", tags=["a"])
    assert status == 200
    assert set(first) == {"thought", "head_hash"}
    _, second = _append(daemon, "two")
    _, other = _append(daemon, "three", chain="d")
    assert second["thought"]["prev_hash"] == first["head_hash"] == first["thought"]["hash"]
    assert other["thought"]["prev_hash"] == ""
    assert [one["thought"]["index"] for one in (first, second, other)] == [0, 1, 0]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"content": "a", "thought_type": "Observation"}, "unknown ThoughtType"),
        ({"content": "a"}, "missing field `thought_type`"),
        ({"thought_type": "Finding"}, "missing field `content`"),
        ({"content": 1, "thought_type": "Finding"}, "`content` is no string"),
        ({"content": "a", "thought_type": "Finding", "tags": "b"}, "`tags`"),
        ({"content": "\ud800", "thought_type": "Finding"}, "no JSON"),
        (b"{", "no JSON"),
        ([], "no object"),
    ],
)
def test_what_is_no_thought_is_refused(daemon, body, says):
    status, document = _ask(daemon, "/v1/thoughts", body)
    assert status == 400
    assert says in document["error"]
    assert daemon.all_thoughts() == []


def test_a_request_of_more_than_two_megabytes_is_too_long(daemon):
    assert _ask(daemon, "/v1/thoughts", b" " * (LONGEST + 1))[0] == 413


def test_a_route_that_there_is_not_is_said_so(daemon):
    assert _ask(daemon, "/v1/nothing", {})[0] == 404
    assert _ask(daemon, "/v1/search")[0] == 405
    with StandIn(has_ranks=False) as older:
        assert _ask(older, "/v1/ranked-search", {})[0] == 404


def test_a_token_is_asked_for_where_there_is_one():
    with StandIn(token="t") as daemon:
        assert _ask(daemon, "/v1/search", {})[0] == 401
        assert _ask(daemon, "/v1/search", {}, Authorization="Bearer no")[0] == 401
        assert _ask(daemon, "/v1/search", {}, Authorization="Bearer t")[0] == 200


def _texts(answer):
    status, document = answer
    assert status == 200
    return [thought["content"] for thought in document["thoughts"]]


def test_a_search_finds_what_holds_a_text_or_a_tag_and_gives_the_newest(daemon):
    for number, tag in enumerate(("A", "b", "b")):
        _append(daemon, f"Boat {number}", tags=[tag])
    search = {"chain_key": "c"}
    assert _texts(_ask(daemon, "/v1/search", search)) == ["Boat 0", "Boat 1", "Boat 2"]
    assert _texts(_ask(daemon, "/v1/search", {**search, "text": "BOAT 1"})) == ["Boat 1"]
    assert _texts(_ask(daemon, "/v1/search", {**search, "text": "boat which"})) == []
    assert _texts(_ask(daemon, "/v1/search", {**search, "tags_any": ["a", "x"]})) == ["Boat 0"]
    assert _texts(_ask(daemon, "/v1/search", {**search, "limit": 2})) == ["Boat 1", "Boat 2"]
    assert _texts(_ask(daemon, "/v1/search", {"chain_key": "d"})) == []


def test_a_ranked_search_gives_what_shares_words_the_rarest_first(daemon):
    for text in ("The boat is blue", "The boat is in Zonkville", "A red train"):
        _append(daemon, text)
    asked = {"chain_key": "c", "text": "Where is the boat of Zonkville?"}
    status, document = _ask(daemon, "/v1/ranked-search", asked)
    found = [hit["thought"]["content"] for hit in document["results"]]
    assert (status, document["total"]) == (200, 2)
    assert found == ["The boat is in Zonkville", "The boat is blue"]


def test_words_are_found_whatever_their_accents_endings_and_script():
    assert scores("cafe", ["Café Zürich"])
    assert scores("boats", ["a boat"])
    assert scores("東京の船", ["船は東京にある"])
    assert not scores("where is the", ["where is the"])


def test_the_service_of_the_kit_yields_where_it_is():
    with running() as yielded:
        url = yielded["env"]["MENTISDB_URL"]
        with urllib.request.urlopen(f"{url}/health", timeout=10) as response:
            assert response.status == 200
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{url}/health", timeout=10)
