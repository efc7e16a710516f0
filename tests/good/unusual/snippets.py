"""
A good provider whose recall is a digest: of each text the three sentences that fit best.

Sentences that were left out between two that are shown stand as an ellipsis.
"""

import fcntl
import json
import logging
import os
import re
import time
from contextlib import contextmanager
from pathlib import Path

from memproto.errors import Misconfigured, Unavailable

log = logging.getLogger(__name__)

#: Words that say nothing about the subject of a sentence.
_PLAIN = """
the and for are was you your has had have what where when who how why did does which with that
this from about
"""
PLAIN = frozenset(_PLAIN.split())


def _words(text):
    return {w for w in re.findall(r"\w+", text.casefold()) if len(w) > 2} - PLAIN


def _sentences(text):
    parts, begin = [], 0
    for end in re.finditer(r"[.!?]+\s+|\n+", text):
        parts.append(text[begin : end.end()].strip())
        begin = end.end()
    return [part for part in [*parts, text[begin:].strip()] if part]


def _digest(text, asked):
    sentences = _sentences(text)
    scores = [len(asked & _words(sentence)) for sentence in sentences]
    best = sorted(range(len(sentences)), key=lambda place: -scores[place])[:3]
    shown, before = [], None
    for place in sorted(place for place in best if scores[place]):
        if before is not None and place != before + 1:
            shown.append("...")
        shown.append(sentences[place])
        before = place
    return " ".join(shown)


class Snippets:
    name = "snippets"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.file = Path(config["home"], "said.jsonl")
        self.limit = config["limits"].get("recall_chars")
        self.silent = config.get("agent_context", "primary") not in config["protocol"]["contexts"]
        try:
            self.file.open("ab").close()
        except OSError as error:
            raise Misconfigured("the home cannot be written to") from error

    def shutdown(self):
        pass

    def capabilities(self):
        return {"stores": ["turns", "writes"], "recall_basis": "query", "retention": "verbatim"}

    def enrich_turn(self, user_message, messages):
        asked = _words(user_message)
        if not asked:
            return None
        try:
            texts = self._texts()
        except OSError as error:
            log.warning("nothing can be read: %s", error.strerror)
            return None
        ranked = sorted(texts, key=lambda text: -len(asked & _words(text)))[:8]
        digests = [digest for text in ranked if (digest := _digest(text, asked))]
        answer = ""
        for digest in digests:
            longer = f"{answer}\n{digest}" if answer else digest
            if self.limit is None or len(longer) <= self.limit:
                answer = longer
        if digests and not answer:
            answer = digests[0][: self.limit]
        return answer or None

    def _texts(self):
        texts = []
        for line in self.file.read_bytes().split(b"\n"):
            try:
                text = json.loads(line)
            except ValueError:
                continue
            if isinstance(text, str):
                texts.append(text)
        return texts

    def on_turn_complete(self, user_message, assistant_response):
        if not self.silent:
            own = re.sub(
                r"<memory-context>\s*\[System note:.*</memory-context>",
                "",
                user_message,
                flags=re.DOTALL,
            )
            self._append(own)

    def on_memory_write(self, action, target, content, old_text=None):
        if action == "add":
            self._append(content)

    def on_compress(self, messages, compression_count):
        pass

    def _append(self, text):
        # A line break in front ends a line that a dying process left unfinished.
        line = b"\n" + json.dumps(text).encode() + b"\n"
        try:
            with self._locked() as handle:
                end = os.lseek(handle, 0, os.SEEK_END)
                try:
                    while line:
                        line = line[os.write(handle, line) :]
                    os.fsync(handle)
                except BaseException:
                    os.ftruncate(handle, end)
                    raise
        except OSError as error:
            raise Unavailable(f"nothing was stored: {error.strerror}", retry_after_s=10) from error

    @contextmanager
    def _locked(self):
        handle = os.open(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            for _ in range(80):
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(0.05)
            else:
                raise OSError(11, "the file is locked")
            yield handle
        finally:
            os.close(handle)
