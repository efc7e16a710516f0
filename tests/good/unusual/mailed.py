"""A good provider whose entries are mails, in a Maildir for each user by the hash of the id."""

import hashlib
import mailbox
import re
import threading
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused

ACTIONS = ["add", "replace", "remove"]
BLOCK = re.compile(r"\s*<memory-context>\s*\[System note:.*?</memory-context>", re.DOTALL)


class Mailed:
    name = "mailed"

    def __init__(self):
        self.lock = threading.Lock()
        self.read = {}

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        owner = hashlib.sha256(ascii(config.get("user_id")).encode()).hexdigest()
        self.folder = Path(config["home"], "mail", owner)
        self.room = config["limits"].get("recall_chars")
        contexts = config["protocol"]["contexts"]
        self.is_open = config.get("agent_context", "primary") in contexts
        try:
            self.folder.parent.mkdir(exist_ok=True)
            self.box = mailbox.Maildir(self.folder, create=True)
        except OSError as error:
            raise Misconfigured(f"the home takes no mail: {error.strerror}") from error

    def capabilities(self):
        return {
            "stores": ["turns", "writes"],
            "isolates": ["profile", "user"],
            "mirrors": {"memory": ACTIONS, "user": ACTIONS},
        }

    def _put(self, kind, text):
        mail = EmailMessage()
        mail["Subject"] = kind
        mail.set_content(text.encode("utf-8", "surrogatepass"), "application", "octet-stream")
        try:
            with self.lock:
                self.box.add(mail.as_bytes())
        except OSError as error:
            raise Unavailable(f"no mail was stored: {error.strerror}") from error

    def _mails(self):
        """Every mail that can be read: its path, its kind, its text."""
        for folder in ("new", "cur"):
            for path in (self.folder / folder).iterdir():
                try:
                    if path.name not in self.read:
                        mail = message_from_bytes(path.read_bytes(), policy=policy.default)
                        text = mail.get_content().decode("utf-8", "surrogatepass")
                        self.read[path.name] = str(mail["Subject"]), text
                except (FileNotFoundError, AttributeError, LookupError, ValueError):
                    continue
                yield path, *self.read[path.name]

    def on_turn_complete(self, user_message, assistant_response):
        if self.is_open:
            self._put("turn", BLOCK.sub("", user_message))

    def on_memory_write(self, action, target, content, old_text=None):
        if action not in ACTIONS:
            raise Rejected(f"the actions are {ACTIONS}")
        try:
            gone = [] if action == "add" else self._meant(target, old_text)
            if action != "remove":
                self._put(target, content)
            for path in gone:
                path.unlink()
        except OSError as error:
            raise Unavailable(f"the mails cannot be changed: {error.strerror}") from error

    def _meant(self, target, old):
        mine = [(path, text) for path, kind, text in self._mails() if kind == target]
        held = [mail for mail in mine if old and old in mail[1]]
        held = [mail for mail in held if mail[1] == old] or held
        if len({text for _, text in held}) != 1:
            raise WriteRefused("old_text fits no mail, or several")
        return [path for path, _ in held]

    def on_compress(self, messages, compression_count):
        """The turns are stored already."""

    def enrich_turn(self, user_message, messages):
        asked = set(re.findall(r"\w+", user_message.casefold()))
        hits = []
        try:
            for _, _, text in self._mails():
                shared = "".join(asked.intersection(re.findall(r"\w+", text.casefold())))
                if len(shared) > 2:
                    hits.append((len(shared), text))
        except OSError:
            return None
        shown = [text for _, text in sorted(hits, reverse=True)[:10]]
        while len(shown) > 1 and self.room and len("\n".join(shown)) > self.room:
            shown.pop()
        return "\n".join(shown)[: self.room] or None

    def shutdown(self):
        self.read.clear()
