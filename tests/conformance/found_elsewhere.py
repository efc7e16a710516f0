"""Providers with a fault that another check meets than that of the rule which it breaks."""

import os
import re
import threading
import time

from tests.good.journal import Journal


class RaisesInMany(Journal):
    """Nearly every check records a turn."""

    def on_turn_complete(self, user_message, assistant_response):
        raise KeyError(user_message[:1])


class RaisesUnderANarrowLimit(Journal):
    """No check but that of MP-RECALL-007 sets one."""

    def initialize(self, session_key, config):
        self.is_narrow = config["limits"]["recall_chars"] < 100_000
        super().initialize(session_key, config)

    def shutdown(self):
        super().shutdown()
        if self.is_narrow:
            raise KeyError("narrow")


class HangsAtFirst(Journal):
    """First contact meets it, and the rule's own check waits for no such hook any more."""

    def enrich_turn(self, user_message, messages):
        time.sleep(3600)


class DiesByALongText(Journal):
    """The process is gone in a hook."""

    def on_turn_complete(self, user_message, assistant_response):
        if len(user_message) > 15_000:
            os._exit(3)
        super().on_turn_complete(user_message, assistant_response)


class DiesLater(Journal):
    """A thread that is left ends the process, after the last check where that is a late one."""

    def shutdown(self):
        super().shutdown()
        threading.Timer(1.0, os._exit, (7,)).start()


class FreezesLater(Journal):
    """A thread that is left holds the interpreter."""

    def shutdown(self):
        super().shutdown()
        threading.Timer(0.5, re.match, ("(a+)+$", "a" * 60 + "!")).start()


class RaisesFromTheSeventhOn(Journal):
    """One process has to serve several checks before it is seen."""

    made = 0

    def initialize(self, session_key, config):
        type(self).made += 1
        super().initialize(session_key, config)

    def enrich_turn(self, user_message, messages):
        if self.made >= 7:
            raise OSError("the seventh")
        return super().enrich_turn(user_message, messages)


class DiesFromTheSeventhOn(RaisesFromTheSeventhOn):
    """The same, and the process is gone."""

    def enrich_turn(self, user_message, messages):
        if self.made >= 7:
            os._exit(9)
        return super().enrich_turn(user_message, messages)
