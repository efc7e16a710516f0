"""Services that start well, or do not."""

import contextlib
import os
import subprocess
import sys
import time


@contextlib.contextmanager
def sleeper():
    """A subprocess that runs as long as the service does."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"]) as server:
        sys.stdout.write("the server listens\n")
        yield {"env": {"SERVER_PID": str(server.pid)}, "config": {"port": 1, "bank": "service"}}
        server.terminate()


@contextlib.contextmanager
def disowner():
    """Leaves its subprocess to whoever finds it."""
    server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    yield {"env": {"SERVER_PID": str(server.pid)}}


@contextlib.contextmanager
def stays():
    yield {}
    time.sleep(3600)


@contextlib.contextmanager
def ends_early():
    yield {}
    os._exit(0)


def raises():
    sys.stdout.write("cannot bind\n")
    raise OSError("port 80 is taken")


@contextlib.contextmanager
def blocks():
    time.sleep(3600)
    yield {}


@contextlib.contextmanager
def yields_a_port():
    yield 8080


@contextlib.contextmanager
def yields_numbers():
    yield {"env": {"PORT": 8080}}


def no_manager():
    return {"env": {}}


def ends_its_process():
    os._exit(3)
