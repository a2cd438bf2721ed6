"""peers: scripted masters and replicas, which tests use to say what no server says. Depends on daemon."""
import re
import socket

from daemon import REPLY_SECONDS, Raw, encode, equal, read_reply, wait_for

ID = b"0123456789012345678901234567890123456789"
MARK = b"m" * 40


class FakeMaster:
    """Listens; a replica connects to it. What it has said to PSYNC is in `asked`, and before it in `said`."""

    def __init__(self, ours=True):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(REPLY_SECONDS)
        self.port = self.listener.getsockname()[1]
        self.answer = b"+OK expired" if ours else b"+OK"  # to REPLCONF capa expired
        self.socket, self.pending, self.asked, self.said = None, b"", None, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.hang_up()

    def hang_up(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None

    def accept(self):
        self.hang_up()
        self.socket, self.pending = self.listener.accept()[0], b""
        self.socket.settimeout(REPLY_SECONDS)

    def request(self):
        """The words of the next request; empty lines are passed over."""
        while True:
            self.pending = self.pending.lstrip(b"\n")
            found = read_reply(self.pending) if self.pending else None
            if found is not None:
                self.pending = self.pending[found[1]:]
                return [word for _, word in found[0][1]]
            data = self.socket.recv(1 << 16)
            if not data:
                raise ConnectionError("closed by the replica")
            self.pending += data

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the replica has seen enough

    def shake(self):
        """Up to PSYNC, whose words it notes."""
        self.accept()
        self.said = []
        while True:
            words = self.request()
            self.said.append(words)
            if words[0] == b"PSYNC":
                self.asked = words
                return
            self.send((b"+PONG" if words[0] == b"PING" else self.answer if words[-1] == b"expired" else b"+OK")
                      + b"\r\n")

    def copy(self, data, offset=0, head=None, tail=MARK):
        self.shake()
        self.send(b"+FULLRESYNC %s %d\r\n" % (ID, offset))
        self.send((head or b"$EOF:" + MARK + b"\r\n") + data + tail)

    def await_closed(self):
        """Waits until the replica closes the connection."""
        def is_closed():
            try:
                return not self.socket.recv(1 << 16)
            except ConnectionResetError:
                return True
            except BlockingIOError:
                return False
        self.socket.setblocking(False)
        assert wait_for(is_closed), "the replica does not close the connection"


class FakeReplica(Raw):
    """A connection that speaks as a replica."""

    def __init__(self, master, ours=True):
        super().__init__(("127.0.0.1", master.port))
        equal(self.call("REPLCONF", "capa", "eof", "capa", "psync2"), b"+OK\r\n")
        if ours:
            equal(self.call("REPLCONF", "capa", "expired"), b"+OK expired\r\n")

    def line(self):
        while b"\n" not in self.pending:
            self.more()
        line, self.pending = self.pending.split(b"\n", 1)
        return line

    def sync(self, ident="?", offset=-1):
        self.send(encode("PSYNC", ident, offset))
        while not (line := self.line().strip()):
            pass
        return line

    def copy(self):
        """A full copy: its bytes, and the offset of its last byte."""
        reply = self.sync()
        offset = int(re.fullmatch(rb"\+FULLRESYNC [0-9a-f]{40} (\d+)", reply)[1])
        head = self.line().strip()
        assert head.startswith(b"$EOF:"), head
        mark = head[5:]
        while not self.pending.endswith(mark):
            self.more()
        data, self.pending = self.pending[:-len(mark)], b""
        return data, offset

    def acknowledge(self, offset):
        self.send(encode("REPLCONF", "ACK", offset))
