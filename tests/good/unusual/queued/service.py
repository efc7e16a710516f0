"""The service of `queued`: entries of each space, in memory, each id taken once."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SPACES = {}


class Handler(BaseHTTPRequestHandler):
    lock = threading.Lock()
    timeout = 30

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.lock:
            space = SPACES.setdefault(asked["space"], {})
            if self.path == "/changes":
                space.setdefault(asked["id"], {"text": asked["text"]})
            entries = list(space.values()) if self.path == "/entries" else []
        body = json.dumps({"entries": entries}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100


@contextlib.contextmanager
def running():
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"config": {"service_url": f"http://127.0.0.1:{server.server_port}"}}
        server.shutdown()
