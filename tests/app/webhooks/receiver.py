"""A receiver of webhooks on loopback, over HTTP or HTTPS with a certificate of its own, that answers as it is told."""

import base64
import hashlib
import hmac
import json
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any


@dataclass
class Message:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def is_signed_with(self, secret: str) -> bool:
        """Whether the signature is right, by the words of the specification and none of our code."""
        key = base64.b64decode(secret[len("whsec_") :])
        content = b".".join(
            [self.headers["webhook-id"].encode(), self.headers["webhook-timestamp"].encode(), self.body]
        )
        expected = base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
        return f"v1,{expected}" in self.headers["webhook-signature"].split(" ")


@dataclass
class Receiver:
    """What has come, and what the next ones are answered: the last status again and again."""

    port: int = 0
    statuses: list[int] = field(default_factory=lambda: [204])
    messages: list[Message] = field(default_factory=list)
    location: str = ""


def make_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for a name, which signs itself, and its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    options = ["-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    subprocess.run([*command, *options, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


@contextmanager
def receiving(certificate: tuple[Path, Path] | None = None) -> Iterator[Receiver]:
    """A receiver within this context."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.messages.append(Message(self.path, dict(self.headers.items()), body))
            status = receiver.statuses.pop(0) if len(receiver.statuses) > 1 else receiver.statuses[0]
            self.send_response(status)
            if receiver.location:
                self.send_header("Location", receiver.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Let those go who do not trust the certificate."""

    server = Server(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
