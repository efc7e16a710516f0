"""A provider whose model takes 3 s to load."""

import functools
import time

from tests.good.journal import Journal


@functools.cache
def model():
    time.sleep(3)
    return str.casefold


class Modelled(Journal):
    def enrich_turn(self, user_message, messages):
        model()
        return super().enrich_turn(user_message, messages)
