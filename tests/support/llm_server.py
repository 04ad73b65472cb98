"""A server that speaks OpenAI's chat completions, answers by a hash of the question, and remembers who asked what."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class CountingLLM:
    """What was asked and answered.

    Args:
        seconds: How long an answer takes.

    Attributes:
        answered: How often each question was answered.
        address: The engine's URI.
        too_long: What stands in a prompt that is refused, as one over the model's context is; nothing by default.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.too_long = ""
        self.answered: Counter[str] = Counter()
        self.address = ""
        self._lock = threading.Lock()

    @property
    def n_answered(self) -> int:
        """Answers that were given."""
        return sum(self.answered.values())

    @property
    def n_repeated(self) -> int:
        """Answers that were given before."""
        return self.n_answered - len(self.answered)

    def wait_for(self, n: int, timeout_s: float = 120.0) -> None:
        """Wait until so many answers were given."""
        deadline = time.monotonic() + timeout_s
        while self.n_answered < n:
            assert time.monotonic() < deadline, f"only {self.n_answered} answers"
            time.sleep(0.01)

    def answer(self, request: dict) -> dict:
        """Answer a request."""
        time.sleep(self.seconds)
        asked = hashlib.sha256(json.dumps(request["messages"]).encode()).hexdigest()
        if "decision" in json.dumps(request["response_format"]):
            kept = int(asked[:2], 16) % 3 != 0
            content = {"reason": asked[:6], "decision": "keep" if kept else "discard", "confidence": 70}
        else:
            content = {"instruction": f"Read this for what it says about point {asked[:8]}."}
        with self._lock:
            self.answered[asked] += 1
        return {"choices": [{"finish_reason": "stop", "message": {"content": json.dumps(content)}}]}


@contextmanager
def serve(seconds: float = 0.0) -> Iterator[CountingLLM]:
    """Serve on a free port; `address` is the engine's URI."""
    llm = CountingLLM(seconds)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            is_refused = bool(llm.too_long) and llm.too_long in json.dumps(request["messages"])
            body = b"{}" if is_refused else json.dumps(llm.answer(request)).encode()
            try:
                self.send_response(400 if is_refused else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # whoever asked is dead

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    llm.address = f"openai:http://127.0.0.1:{server.server_port}/v1#counting"
    try:
        yield llm
    finally:
        server.shutdown()
        server.server_close()
