"""http_port: a daemon with a metrics port, and requests to it as bytes. Depends on daemon."""
import base64
import os
import re
import socket
import ssl

import prometheus
from daemon import REPLY_SECONDS, ROOT, Daemon, free_port

PAGE = os.path.join(ROOT, "doc", "metrics.md")


def rows_of_page():
    """[(name, type, " †" if it exists while loading, labels, meaning)]"""
    with open(PAGE, encoding="utf-8") as file:
        return re.findall(r"^\| `(expired_\w+)` \| (\w+)( †)? \| ([^|]*)\| ([^|]*) \|$", file.read(),
                          re.M)


class Reply:
    """The parts of an HTTP reply; AssertionError if it is not one, complete and with nothing behind."""

    def __init__(self, data, head_only=False):
        head, separator, self.body = data.partition(b"\r\n\r\n")
        assert separator, f"no reply: {data[:300]!r}"
        first, *lines = head.decode("ascii").split("\r\n")
        self.status = int(first.split(" ")[1])
        self.headers = {}
        for line in lines:
            name, _, value = line.partition(": ")
            assert name.lower() not in self.headers, f"header twice: {line}"
            self.headers[name.lower()] = value
        length = int(self.headers["content-length"])
        assert len(self.body) == (0 if head_only else length), f"{len(self.body)} of {length} bytes"

    def text(self):
        return self.body.decode("utf-8")


class Port(Daemon):
    """`http` is its address."""

    def __init__(self, *options, **more):
        self.http = ("127.0.0.1", free_port())
        super().__init__("--metrics-port", str(self.http[1]), *options, **more)

    def connect(self):
        return socket.create_connection(self.http, REPLY_SECONDS)

    def exchange(self, data):
        """Sends the bytes; what comes until the server closes."""
        with self.connect() as connection:
            connection.sendall(data)
            return rest_of(connection)

    def ask(self, path, method="GET", host=None, **headers):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host or '127.0.0.1'}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        data = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
        return Reply(self.exchange(data), method == "HEAD")

    def login(self, user, password, path="/metrics"):
        word = base64.b64encode(f"{user}:{password}".encode()).decode()
        return self.ask(path, Authorization=f"Basic {word}")

    def metrics(self):
        """{name: Family}, checked."""
        reply = self.ask("/metrics")
        assert reply.status == 200, reply.status
        families = prometheus.parse(reply.text())
        prometheus.check(families)
        return families

    def value(self, name, **labels):
        return prometheus.value_of(self.metrics(), name, **labels)


def rest_of(connection):
    data = b""
    try:
        while piece := connection.recv(1 << 16):
            data += piece
    except (ConnectionResetError, ssl.SSLEOFError):
        pass  # it had more to read than it wanted; or TLS ended without a farewell
    return data
