"""
Good providers that recall by vectors: a bag of words, hashed into places, and the nearest few.

`TopThree` is a native one with a least likeness, `TopOne` gives the nearest whatever it is, and
`TopFive` is a plugin of Hermes with tools.
"""

import json
import math
import os
import re
import zlib
from collections import Counter
from pathlib import Path

from memproto.errors import Misconfigured, Unavailable, WriteRefused

PLACES = 1 << 20
_STOPWORDS = """
a an and are as at be by did do does for from has have he how i in is it its me my of on
or our she that the their they this to was we were what when where which who why will with
you your tell about know
"""
STOPWORDS = frozenset(_STOPWORDS.split())


def embedded(text):
    """A vector of length 1, as a dict from place to value."""
    words = [w for w in re.findall(r"\w+", text.casefold()) if w not in STOPWORDS]
    counted = Counter(zlib.crc32(word.encode("utf-8", "surrogatepass")) % PLACES for word in words)
    length = math.sqrt(sum(n * n for n in counted.values())) or 1.0
    return {place: n / length for place, n in counted.items()}


def likeness(one, other):
    return sum(value * other.get(place, 0.0) for place, value in one.items())


class Shelf:
    """Texts in a file to which lines are added; a removal is a line too."""

    def __init__(self, path):
        self.path = path
        self.path.touch()

    def append(self, **line):
        data = b"\n" + json.dumps(line).encode("ascii") + b"\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            if os.write(descriptor, data) < len(data):
                raise OSError("no room for the whole line")
        finally:
            os.close(descriptor)

    def read(self):
        kept = {}
        for line in self.path.read_bytes().split(b"\n"):
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            for gone in entry.get("without", ()):
                kept.pop(gone, None)
            if "text" in entry:
                kept[entry["id"]] = entry
        return kept

    def nearest(self, query, most, least):
        asked = embedded(query)
        scored = [(likeness(asked, embedded(e["text"])), e["text"]) for e in self.read().values()]
        scored = [pair for pair in scored if pair[0] > least]
        return [text for _, text in sorted(scored, key=lambda pair: -pair[0])[:most]]


class TopThree:
    """The three nearest, if they are near."""

    name = "top-three"
    most = 3
    least = 0.05

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.room = config["limits"].get("recall_chars")
        self.is_for_user = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        try:
            self.shelf = Shelf(Path(config["home"], f"{self.name}.jsonl"))
        except OSError as error:
            raise Misconfigured(str(error)) from error

    def capabilities(self):
        return {
            "stores": ["turns", "writes"],
            "mirrors": {name: ["add", "replace", "remove"] for name in ("memory", "user")},
            **({"recall_basis": "query"} if self.least > 0 else {}),
        }

    def enrich_turn(self, user_message, messages):
        try:
            texts = self.shelf.nearest(user_message, self.most, self.least)
        except OSError:
            return None
        return "\n\n".join(texts)[: self.room] or None

    def on_turn_complete(self, user_message, assistant_response):
        start = user_message.find("<memory-context>\n[System note:")
        end = user_message.find("</memory-context>", start)
        if 0 <= start < end:
            user_message = user_message[:start] + user_message[end + len("</memory-context>") :]
        self.add("turn", f"User: {user_message}\nAssistant: {assistant_response}")

    def on_memory_write(self, action, target, content, old_text=None):
        if action == "add":
            self.add(target, content)
        elif self.is_for_user:
            gone = self.fitting(target, old_text)
            more = {"text": content, "kind": target} if action == "replace" else {}
            self.append(id=os.urandom(8).hex(), without=gone, **more)

    def on_compress(self, messages, compression_count):
        pass

    def shutdown(self):
        pass

    def add(self, kind, text):
        if self.is_for_user:
            self.append(id=os.urandom(8).hex(), kind=kind, text=text)

    def append(self, **line):
        try:
            self.shelf.append(**line)
        except OSError as error:
            raise Unavailable(f"{self.shelf.path.name}: {error}") from error

    def fitting(self, target, old):
        mine = [entry for entry in self.shelf.read().values() if entry["kind"] == target]
        hits = [e for e in mine if e["text"] == old] or [
            e for e in mine if old and old in e["text"]
        ]
        if len({entry["text"] for entry in hits}) != 1:
            raise WriteRefused("old_text does not name one entry")
        return [entry["id"] for entry in hits]


class TopOne(TopThree):
    """The nearest one, near or far."""

    name = "top-one"
    most = 1
    least = -1.0


class TopFive:
    """A plugin of Hermes: five texts before each turn, and two tools."""

    name = "top-five"

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        home = Path(kwargs["hermes_home"], "top_five")
        home.mkdir(exist_ok=True)
        self._shelf = Shelf(home / "vectors.jsonl")
        self._writes = kwargs.get("agent_context", "primary") == "primary"

    def get_tool_schemas(self):
        note = {"type": "string", "description": "The note, as one sentence."}
        return [
            {
                "name": "vectors_remember",
                "description": "Keep a note for later conversations.",
                "parameters": {
                    "type": "object",
                    "properties": {"note": note},
                    "required": ["note"],
                },
            },
            {
                "name": "vectors_forget",
                "description": "Forget the note that is given word for word.",
                "parameters": {
                    "type": "object",
                    "properties": {"note": note},
                    "required": ["note"],
                },
            },
        ]

    def handle_tool_call(self, tool_name, args, **kwargs):
        note = args.get("note")
        if not isinstance(note, str) or not note.strip():
            return json.dumps({"error": "note is to be a text"})
        try:
            if tool_name == "vectors_remember":
                self._shelf.append(id=os.urandom(8).hex(), text=note)
                return json.dumps({"success": True})
            if tool_name == "vectors_forget":
                gone = [key for key, e in self._shelf.read().items() if e["text"] == note]
                if gone:
                    self._shelf.append(id=os.urandom(8).hex(), without=gone)
                return json.dumps({"success": bool(gone), "forgotten": len(gone)})
        except OSError as error:
            return json.dumps({"error": f"the store cannot be used: {error}"})
        return json.dumps({"error": f"there is no tool {tool_name}"})

    def prefetch(self, query, *, session_id=""):
        return "\n".join(f"- {text}" for text in self._shelf.nearest(query, 5, 0.01))

    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        if self._writes:
            said = re.sub(
                r"<memory-context>.*?</memory-context>", "", user_content, flags=re.DOTALL
            )
            self._shelf.append(id=os.urandom(8).hex(), text=f"{said}\n{assistant_content}")

    def shutdown(self):
        pass


def register(ctx):
    ctx.register_memory_provider(TopFive())
