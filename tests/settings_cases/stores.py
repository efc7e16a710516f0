"""Providers that need a setting: a slow index, an account shared by runs, a meter, a cache."""

import os
from pathlib import Path

from tests.good.journal import Journal


class Slow(Journal):
    """Recalls from an index, which only a job brings up to date."""

    def capabilities(self):
        eventual = {"eventual": {"freshness_s": 3600}}
        return {**super().capabilities(), "stores": ["writes"], "consistency": eventual}

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        self._index = Path(config["home"], "index")

    def enrich_turn(self, user_message, messages):
        known = set(self._index.read_text().splitlines()) if self._index.exists() else set()
        found = super().enrich_turn(user_message, messages) or ""
        return "\n".join(line for line in found.splitlines() if line in known) or None


def index(config):
    """Bring the index up to date, and count how often that was asked for."""
    home = Path(config["home"])
    if (home / "journal.jsonl").exists():
        store = Slow()
        store.initialize("job", config)
        lines = [line for entry in store._load() for line in entry["text"].splitlines()]
        (home / "index").write_text("\n".join(lines))
    with Path(os.environ["LOG"]).open("a") as log:
        log.write(f"{config['session_key']}\n")


class Account(Journal):
    """Keeps what it is given in an account that outlives the run."""

    def initialize(self, session_key, config):
        account = Path(os.environ["ACCOUNT"], config["user_id"])
        super().initialize(session_key, {**config, "home": str(account)})


class Dying(Account):
    """Takes the process with it."""

    def on_memory_write(self, action, target, content, old_text=None):
        super().on_memory_write(action, target, content, old_text)
        os._exit(3)


def close_accounts(configs):
    for config in configs:
        account = Path(os.environ["ACCOUNT"], config["user_id"])
        for file in account.glob("*"):
            file.unlink()
        if account.exists():
            account.rmdir()


class Metered(Journal):
    """Writes down each call that costs money."""

    def enrich_turn(self, user_message, messages):
        self._pay()
        return super().enrich_turn(user_message, messages)

    def on_turn_complete(self, user_message, assistant_response):
        self._pay()
        super().on_turn_complete(user_message, assistant_response)

    def on_memory_write(self, action, target, content, old_text=None):
        self._pay()
        super().on_memory_write(action, target, content, old_text)

    def on_compress(self, messages, compression_count):
        self._pay()

    def _pay(self):
        with Path(os.environ["LOG"]).open("a") as log:
            log.write("1\n")


class Caching(Journal):
    """Keeps copies of what it writes in two caches."""

    def on_memory_write(self, action, target, content, old_text=None):
        super().on_memory_write(action, target, content, old_text)
        for folder in (Path(os.environ["NOTES_CACHE"]), Path.home() / ".cache" / "notes"):
            with (folder / "copies").open("a", encoding="utf-8", errors="replace") as file:
                file.write(f"{content}\n")


class CachingAtWill(Caching):
    """As `Caching`, in a directory that it makes itself."""

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        (Path.home() / ".cache" / "notes").mkdir(parents=True, exist_ok=True)
