"""A good provider that looks texts up by their beginning, and compares the whole of each."""

from tests.good.tenants import Tenants

_INDEXED_CHARS = 80


class Indexed(Tenants):
    """Stores a turn that is repeated word for word once, for each user and session."""

    name = "indexed"

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        said = self._own_words(user_message)
        begun_alike = [
            entry["text"]
            for entry in self._load()
            if entry["kind"] == "turn" and entry["text"].startswith(said[:_INDEXED_CHARS])
        ]
        if f"{said}\n{assistant_response}" not in begun_alike:
            super().on_turn_complete(user_message, assistant_response)

    @staticmethod
    def _is_old(entry: dict[str, str], target: str, old_text: str | None) -> bool:
        is_begun = bool(old_text) and str(old_text)[:_INDEXED_CHARS] in entry["text"]
        return is_begun and Tenants._is_old(entry, target, old_text)
