"""Hangs while it is imported, before there is a class that could be judged."""

import threading

threading.Event().wait()
