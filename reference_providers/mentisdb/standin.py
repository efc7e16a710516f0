"""
A daemon's content, for tests: chains of thoughts in memory, with the routes of its REST port.

It answers as a real one does where the provider can see it: types of thoughts, filters, errors,
limits. It ranks by words, and keeps nothing when it ends.
"""

import functools
import hashlib
import json
import math
import re
import threading
import unicodedata
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

_WORD = re.compile(r"\w+")

#: The types that a daemon knows; any other is refused.
TYPES = frozenset(
    _WORD.findall("""
    PreferenceUpdate UserTrait RelationshipUpdate Finding Insight FactLearned PatternDetected
    Hypothesis Mistake Correction LessonLearned AssumptionInvalidated Constraint Plan Subgoal
    Decision StrategyShift Wonder Question Idea Experiment ActionTaken TaskComplete Checkpoint
    StateSnapshot Handoff Summary Surprise Reframe Goal LLMExtracted
    """)
)

DEFAULT_CHAIN = "default"

_ACCENT = re.compile(r"[\u0300-\u036f]+")

#: Scripts without spaces between words are found by pairs of characters.
_JOINED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]{2,}"
)

#: Words that say nothing about a subject.
_COMMON = frozenset(
    _WORD.findall("""
    a about all an and are as at be by can did do does for from had has have how i if in into is it
    its me my of on or our she that the their them they this to was we were what when where which
    who whom whose why will with you your
    """)
)

Thought = dict[str, Any]


class BadRequest(Exception):
    """A request that a daemon answers with 400."""


class Chains:
    """
    Every chain of a daemon. Safe on any thread.

    Attributes:
        has_ranks: True if it is a release that has the route for ranked search.

    """

    def __init__(self, *, has_ranks: bool = True) -> None:
        self.has_ranks = has_ranks
        self._chains: dict[str, list[Thought]] = {}
        self._lock = threading.Lock()

    def answer(self, method: str, path: str, body: Any) -> tuple[int, dict[str, Any]]:
        """Status and document for a request."""
        if (method, path) == ("GET", "/health"):
            return 200, {"status": "ok", "service": "mentisdb"}
        route = _ROUTES.get(path)
        if route is None or (path == "/v1/ranked-search" and not self.has_ranks):
            return 404, {}
        if method != "POST":
            return 405, {}
        try:
            return 200, route(self, _object(body))
        except BadRequest as refusal:
            return 400, {"error": str(refusal)}

    def keys(self) -> list[str]:
        """The names of the chains, in the order in which they came."""
        with self._lock:
            return list(self._chains)

    def thoughts(self, chain: str) -> list[Thought]:
        """The thoughts of a chain, in their order."""
        with self._lock:
            return list(self._chains.get(chain, []))

    # -- routes ------------------------------------------------------------------------------------

    def append(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Put a thought at the end of a chain."""
        content, kind = _needed(asked, "content"), _needed(asked, "thought_type")
        if kind not in TYPES:
            raise BadRequest(f"unknown ThoughtType {kind!r}")
        tags = _texts(asked, "tags")
        with self._lock:
            chain = self._chains.setdefault(_chain(asked), [])
            thought = _linked(chain, {"thought_type": kind, "content": content, "tags": tags})
            chain.append(thought)
        return {"thought": thought, "head_hash": thought["hash"]}

    def search(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Thoughts that hold a text as it stands, or a tag; the newest in their order."""
        text, tags = _optional(asked, "text"), {tag.casefold() for tag in _texts(asked, "tags_any")}
        found = [
            thought
            for thought in self.thoughts(_chain(asked))
            if _holds(thought, text.casefold())
            and (not tags or tags & {tag.casefold() for tag in thought["tags"]})
        ]
        limit = _limit(asked, len(found))
        return {"thoughts": found[len(found) - min(limit, len(found)) :]}

    def ranked(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Thoughts that share words with a text, the best first."""
        thoughts = self.thoughts(_chain(asked))
        scored = scores(_optional(asked, "text"), [thought["content"] for thought in thoughts])
        order = sorted(scored, key=lambda index: (-scored[index], -index))
        limit = _limit(asked, 10)
        results = [
            {"thought": thoughts[index], "score": {"total": scored[index]}}
            for index in order[:limit]
        ]
        return {"backend": "lexical", "total": len(order), "results": results}


_ROUTES = {
    "/v1/thoughts": Chains.append,
    "/v1/search": Chains.search,
    "/v1/ranked-search": Chains.ranked,
}


def scores(question: str, texts: Iterable[str]) -> dict[int, float]:
    """The index of each text that shares a telling word with a question, to how well it fits."""
    wanted = terms(question)
    held = {index: wanted & terms(text) for index, text in enumerate(texts)}
    times = Counter(word for words in held.values() for word in words)
    weight = {word: math.log(1 + len(held) / times[word]) for word in times}
    return {index: sum(weight[word] for word in words) for index, words in held.items() if words}


@functools.lru_cache(maxsize=4_096)
def terms(text: str) -> frozenset[str]:
    """The telling words of a text, without accents and endings."""
    plain = text.casefold()
    if not plain.isascii():
        bare = _ACCENT.sub("", unicodedata.normalize("NFKD", plain))
        plain = unicodedata.normalize("NFC", bare)
    found = {_stem(word) for word in set(_WORD.findall(plain)) if word not in _COMMON}
    for run in _JOINED.findall(plain):
        found |= {run[at : at + 2] for at in range(len(run) - 1)}
    return frozenset(found)


def _stem(word: str) -> str:
    for ending in ("ing", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 3:
            return word.removesuffix(ending)
    return word


def _holds(thought: Thought, text: str) -> bool:
    return not text or any(text in one.casefold() for one in (thought["content"], *thought["tags"]))


def _linked(chain: list[Thought], given: Mapping[str, Any]) -> Thought:
    """A thought at the end of a chain: its hash holds that of the one before."""
    thought = {
        "id": str(uuid.uuid4()),
        "index": len(chain),
        "timestamp": datetime.now(UTC).isoformat(),
        "agent_id": "system",
        "role": "Memory",
        "prev_hash": chain[-1]["hash"] if chain else "",
        **given,
    }
    whole = json.dumps(thought, sort_keys=True).encode("ascii")
    return {**thought, "hash": hashlib.sha256(whole).hexdigest()}


# -- fields ----------------------------------------------------------------------------------------


def _object(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise BadRequest("the body is no object")
    return body


def _needed(asked: Mapping[str, Any], key: str) -> str:
    if key not in asked:
        raise BadRequest(f"missing field `{key}`")
    return _optional(asked, key)


def _optional(asked: Mapping[str, Any], key: str) -> str:
    value = asked.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRequest(f"`{key}` is no string")
    return value


def _texts(asked: Mapping[str, Any], key: str) -> list[str]:
    value = asked.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise BadRequest(f"`{key}` is no list of strings")
    return list(value)


def _limit(asked: Mapping[str, Any], usual: int) -> int:
    value = asked.get("limit")
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadRequest("`limit` is no number")
    return value


def _chain(asked: Mapping[str, Any]) -> str:
    return _optional(asked, "chain_key").strip() or DEFAULT_CHAIN
