"""servers: the daemon and redis-server 7.0.15, each with a clock that tests set. Depends on tests/lib.

EXPIRED names the daemon's binary; the oracle's clock is compiled into the folder BUILD.
"""
import mmap
import os
import socket
import struct
import subprocess
import tempfile

from oracle import ORACLE
from server import REPLY_SECONDS, Raw, Server

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.abspath(os.environ.get("EXPIRED") or os.path.join(ROOT, "expired"))
SHIM_SOURCE = os.path.join(ROOT, "tests/diff/clock_shim.c")
SHIM = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"),
                    "tests/diff/clock_shim.so")
OPTIONS = ["--port", "0", "--save", "", "--appendonly", "no", "--enable-debug-command", "yes",
           "--notify-keyspace-events", "KEAnm"]


class Gone(Exception):
    """A server closed a connection, or did not answer."""


def make_shim():
    """The oracle's clock; never with the sanitizers of a build, for redis-server has none."""
    if os.path.exists(SHIM) and os.path.getmtime(SHIM) >= os.path.getmtime(SHIM_SOURCE):
        return
    os.makedirs(os.path.dirname(SHIM), exist_ok=True)
    made = f"{SHIM}.{os.getpid()}"
    subprocess.run([os.environ.get("CC") or "cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC",
                    "-shared", "-o", made, SHIM_SOURCE], check=True)
    os.replace(made, SHIM)


class Connection(Raw):
    """A connection that raises Gone, whatever is wrong with it."""

    def __init__(self, path):
        super().__init__(path, REPLY_SECONDS)
        self.id = self.call(b"CLIENT", b"ID")[1:-2]

    def send(self, data):
        try:
            super().send(data)
        except OSError as error:
            raise Gone(f"cannot write: {error}") from None

    def more(self, least=1):
        try:
            super().more(least)
        except socket.timeout:
            raise Gone("no reply") from None
        except OSError as error:
            raise Gone(f"cannot read: {error}") from None

    def heard_replies(self):
        """Ends with b"(closed)" if the server has closed."""
        return super().heard_replies() + [b"(closed)"] * self.closed


class Peer(Server):
    """One of the two, with connections by name."""

    def __init__(self, arguments):
        self.command, self.connections = arguments, {}

    def arguments(self):
        return [*self.command, *OPTIONS, "--unixsocket", self.path, "--dir", self.dir]

    def clean(self):
        for name in list(self.connections):
            self.forget(name)
        super().clean()

    def connection(self, name):
        found = self.connections.get(name)
        if found is None:
            found = self.connections[name] = Connection(self.path)
        return found

    def forget(self, name):
        if name in self.connections:
            self.connections.pop(name).close()


class Daemon(Peer):
    """expired; its clock is DEBUG CLOCK."""

    def __init__(self):
        super().__init__([BINARY])

    def set_clock(self, at):
        reply = self.connection("control").call(b"DEBUG", b"CLOCK", b"HOLD", b"%d" % at)
        assert reply == b":%d\r\n" % at, reply

    def sweep(self):
        """A step of the clock ends with all that is due."""
        reply = self.connection("control").call(b"DEBUG", b"CLOCK", b"STEP", b"0")
        assert reply.startswith(b":"), reply


class Oracle(Peer):
    """redis-server; its wall clock is a shared page, its expiry a SCAN of every database."""

    SCANS = [command for db in (b"0", b"1", b"2")
             for command in ([b"SELECT", db], [b"SCAN", b"0", b"COUNT", b"100000"])]

    def __init__(self):
        super().__init__([ORACLE, "--loglevel", "warning"])
        self.page_file = tempfile.NamedTemporaryFile(prefix="expired-test-clock-")
        self.page_file.write(bytes(8))
        self.page_file.flush()
        self.page = mmap.mmap(self.page_file.fileno(), 8)
        self.env = dict(os.environ, LD_PRELOAD=SHIM, CLOCK_SHIM=self.page_file.name)

    def start(self):
        super().start()
        self.connection("control").call(b"DEBUG", b"SET-ACTIVE-EXPIRE", b"0")

    def set_clock(self, at):
        struct.pack_into("q", self.page, 0, at * 1000)

    def sweep(self):
        self.connection("control").calls(self.SCANS)
