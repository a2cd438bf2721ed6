"""servers: the daemon and redis-server 7.0.15 as a pair, each with a clock that is moved by hand.

Knows how to start, reach, clock and stop them; refuses to know what they should answer. EXPIRED
names the daemon's binary, BUILD the folder that what is compiled here goes into.
"""
import mmap
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import resp

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

from oracle import ORACLE  # noqa: E402  pylint: disable=wrong-import-position
from process import die_with_parent  # noqa: E402  pylint: disable=wrong-import-position

BINARY = os.path.abspath(os.environ.get("EXPIRED") or os.path.join(ROOT, "expired"))
SHIM_SOURCE = os.path.join(ROOT, "tests/diff/clock_shim.c")
SHIM = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"),
                    "tests/diff/clock_shim.so")
START_SECONDS = 20
REPLY_SECONDS = 5
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


class Connection:
    """A connection as a stream of replies."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(REPLY_SECONDS)
        self.socket.connect(path)
        self.data = b""
        self.id = b""
        self.id = self.call(b"CLIENT", b"ID")[1:-2]

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Gone(f"cannot write: {error}") from None

    def more(self):
        try:
            data = self.socket.recv(1 << 18)
        except socket.timeout:
            raise Gone("no reply") from None
        except OSError as error:
            raise Gone(f"cannot read: {error}") from None
        if not data:
            raise Gone("closed by the server")
        self.data += data

    def replies(self, count):
        found, at = [], 0
        while len(found) < count:
            end = resp.end_of(self.data, at) if len(self.data) > at else -1
            if end < 0:
                self.data, at = self.data[at:], 0
                self.more()
                continue
            found.append(self.data[at:end])
            at = end
        self.data = self.data[at:]
        return found

    def at_hand(self):
        """The replies that have come by now; the last one is b"(closed)" where the server hung up."""
        closed = False
        self.socket.setblocking(False)
        try:
            while True:
                data = self.socket.recv(1 << 18)
                if not data:
                    closed = True
                    break
                self.data += data
        except BlockingIOError:
            pass
        except OSError:
            closed = True
        self.socket.settimeout(REPLY_SECONDS)
        found = []
        while self.data:
            end = resp.end_of(self.data, 0)
            if end < 0 and closed:
                break
            if end < 0:
                self.more()  # a long reply takes several turns
                continue
            found.append(self.data[:end])
            self.data = self.data[end:]
        return found + [b"(closed)"] if closed else found

    def call(self, *arguments):
        self.send(resp.encode(arguments))
        return self.replies(1)[0]

    def calls(self, commands):
        self.send(b"".join([resp.encode(command) for command in commands]))
        return self.replies(len(commands))


class Server:
    """One of the two, from `start` to `stop`, in a directory of its own."""

    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments
        self.process, self.connections = None, {}

    def start(self):
        self.dir = tempfile.mkdtemp(prefix=f"expired-diff-{self.name}-")
        self.path = os.path.join(self.dir, "socket")
        with open(os.path.join(self.dir, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [*self.arguments, *OPTIONS, "--unixsocket", self.path, "--dir", self.dir],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir,
                env=self.environment(), preexec_fn=die_with_parent)
        limit = time.monotonic() + START_SECONDS
        while not self.answers():
            if time.monotonic() > limit or self.process.poll() is not None:
                raise AssertionError(f"{self.name} did not start:\n{self.log()}")
            time.sleep(0.005)  # between two tries to connect
        self.connections = {}

    def answers(self):
        try:
            Connection(self.path).socket.close()
            return True
        except (OSError, Gone):
            return False

    def log(self):
        with open(os.path.join(self.dir, "log"), encoding="utf-8", errors="replace") as log:
            return log.read()[-4000:]

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        for connection in self.connections.values():
            connection.socket.close()
        self.connections = {}
        shutil.rmtree(self.dir, ignore_errors=True)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def connection(self, name):
        found = self.connections.get(name)
        if found is None:
            found = self.connections[name] = Connection(self.path)
        return found

    def forget(self, name):
        if name in self.connections:
            self.connections.pop(name).socket.close()


class Daemon(Server):
    """expired; its clock is DEBUG CLOCK."""

    def __init__(self):
        super().__init__("expired", [BINARY])

    def environment(self):
        return dict(os.environ)

    def set_clock(self, at):
        reply = self.connection("control").call(b"DEBUG", b"CLOCK", b"HOLD", b"%d" % at)
        assert reply == b":%d\r\n" % at, reply

    def sweep(self):
        """What is dead is gone already."""


class Oracle(Server):
    """redis-server; its wall clock is a shared page, its expiry a SCAN of every database."""

    SCANS = [command for db in (b"0", b"1", b"2")
             for command in ([b"SELECT", db], [b"SCAN", b"0", b"COUNT", b"100000"])]

    def __init__(self):
        super().__init__("redis", [ORACLE, "--loglevel", "warning"])
        self.page_file = tempfile.NamedTemporaryFile(prefix="expired-diff-clock-")
        self.page_file.write(bytes(8))
        self.page_file.flush()
        self.page = mmap.mmap(self.page_file.fileno(), 8)

    def environment(self):
        return dict(os.environ, LD_PRELOAD=SHIM, CLOCK_SHIM=self.page_file.name)

    def start(self):
        super().start()
        self.connection("control").call(b"DEBUG", b"SET-ACTIVE-EXPIRE", b"0")

    def set_clock(self, at):
        struct.pack_into("q", self.page, 0, at * 1000)

    def sweep(self):
        self.connection("control").calls(self.SCANS)
