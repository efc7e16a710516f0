"""A provider that computes in every recall, for less than the time that it has."""

import time

from tests.good.journal import Journal

COMPUTES_S = 0.3


class Computes(Journal):
    def enrich_turn(self, user_message, messages):
        began_s = time.thread_time()
        while time.thread_time() - began_s < COMPUTES_S:
            pass
        return super().enrich_turn(user_message, messages)
