"""server: starts and stops server processes, and connects to them. Depends on process and resp."""
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
from contextlib import contextmanager

from process import (FOLDER_PREFIX, PATIENCE, cpu_seconds, die_with_parent, kill_and_wait, thread_states,
                     wait_for)
from resp import encode, end_of, resp2_of, walk

REPLY_SECONDS = 20 * PATIENCE


IN_RESP3 = os.environ.get("RESP") == "3"


class Raw:
    """A connection whose replies are bytes. `pending` has been received and not returned yet.

    With RESP=3 in the environment it speaks RESP3, which HELLO before the first request asks for, and returns replies as
    RESP2 would write them. What a test reads from `pending`, `heard` or `rest` is as it came."""

    NOTHING_YET = BlockingIOError  # take ends with it

    def __init__(self, address, timeout=REPLY_SECONDS):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        self.timeout, self.pending, self.closed = timeout, b"", False
        self.says_hello, self.hello_comes = IN_RESP3, False
        self.socket.connect(address)  # without a time limit: it waits while the backlog is full
        self.socket.settimeout(timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        if self.says_hello:
            self.says_hello, self.hello_comes = False, True
            data = encode("HELLO", 3) + data
        self.socket.sendall(data)

    def receive(self, data):
        self.pending += data
        if self.hello_comes and (end := end_of(self.pending, 0)) >= 0:
            self.pending, self.hello_comes = self.pending[end:], False

    def more(self, least=1):
        """Waits for at least so many further bytes. ConnectionError if the server closes instead."""
        parts, count = [], 0
        try:
            while count < least:
                parts.append(self.part())
                count += len(parts[-1])
        finally:
            self.receive(b"".join(parts))

    def part(self):
        """The next bytes. While the server computes, or waits for a CPU or the disk, which others on a shared machine may
        use for a minute, the limit begins anew; the test's own limit ends it."""
        while True:
            try:
                data = self.socket.recv(1 << 18)
                break
            except TimeoutError:
                states = self.server_states()
                if all(state not in "DR" for _, state, _ in states):
                    raise TimeoutError(f"no reply in {self.timeout:g} s; the server's threads: {states}") from None
        if not data:
            raise ConnectionError(f"closed by the server after {self.pending[:200]!r}")
        return data

    def server_states(self):
        """Of the server's threads, if it is a process at the other end of a unix socket."""
        if self.socket.family != socket.AF_UNIX:
            return []
        peer = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        try:
            return thread_states(struct.unpack("3i", peer)[0])
        except OSError:
            return []  # it has ended

    def replies(self, count):
        """The bytes of each of the next replies."""
        found, begin, at, left = [], 0, 0, 1
        while len(found) < count:
            at, left, missing = walk(self.pending, at, left)
            if left:
                self.pending, begin, at = self.pending[begin:], 0, at - begin
                before_hello = self.hello_comes
                self.more(missing)
                if before_hello:  # the reply to HELLO may have left `pending`
                    at, left = 0, 1
                continue
            found.append(self.pending[begin:at])
            begin, left = at, 1
        self.pending = self.pending[begin:]
        return [resp2_of(reply) for reply in found] if IN_RESP3 else found

    def reply(self):
        return self.replies(1)[0]

    def call(self, *arguments):
        self.send(encode(*arguments))
        return self.reply()

    def calls(self, commands):
        """The replies to commands that are sent at once."""
        self.send(b"".join(encode(*command) for command in commands))
        return self.replies(len(commands))

    def take(self):
        """Adds to `pending` what has come, without waiting; sets `closed` if the server has closed."""
        self.socket.setblocking(False)
        try:
            while data := self.socket.recv(1 << 18):
                self.receive(data)
            self.closed = True
        except self.NOTHING_YET:
            pass
        except OSError:
            self.closed = True
        self.socket.settimeout(self.timeout)

    def has_more(self):
        """Has something come, without waiting?"""
        self.take()
        return self.pending != b"" or self.closed

    def heard(self):
        """The bytes that have come, without waiting."""
        self.take()
        data, self.pending = self.pending, b""
        return data

    def heard_replies(self):
        """The replies that have come; waits only for the rest of one that has begun."""
        self.take()
        found = []
        while self.pending and not (self.closed and end_of(self.pending, 0) < 0):
            found.append(self.reply())
        return found

    def rest(self):
        """Everything up to the server's closing of the connection."""
        try:
            while True:
                self.more()
        except ConnectionError:
            data, self.pending = self.pending, b""
            return data


class Server:
    """A server process with a folder of its own, from `with`, or from open to clean. `arguments`
    is the command line; it uses `path`, the Unix socket."""

    START_SECONDS = 20  # times PATIENCE
    start_nap = 0.005  # seconds between two tries to connect
    env = stdin = process = None
    prepare = staticmethod(die_with_parent)  # runs in the child before exec

    def arguments(self):
        raise NotImplementedError

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *_):
        self.clean()

    def open(self):
        self.dir = tempfile.mkdtemp(prefix=FOLDER_PREFIX)
        self.path = os.path.join(self.dir, "socket")
        self.log_path = os.path.join(self.dir, "output")
        try:
            self.start()
        except BaseException:
            self.clean()
            raise

    def clean(self):
        """Kills it if it runs, and removes its folder."""
        self.kill()
        wait_for(self.is_removed)

    def is_removed(self):
        """A forked child of the killed server may add a file while its folder is being removed."""
        shutil.rmtree(self.dir, ignore_errors=True)
        return not os.path.exists(self.dir)

    @contextmanager
    def stopped(self):
        """The process does nothing meanwhile."""
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.process.pid, signal.SIGCONT)

    def start(self):
        self.launch()
        assert self.is_ready(), "the server did not start:\n" + self.log()

    def launch(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                self.arguments(), stdin=self.stdin or subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.env, cwd=self.dir, preexec_fn=self.prepare)

    def is_ready(self):
        """Waits until it answers with its data, or ends."""
        return wait_for(lambda: not self.is_running() or self.answers(),
                        self.START_SECONDS, self.start_nap) and self.is_running()

    def answers(self):
        """Has it read its files? Until then it answers LOADING."""
        reply = self.answer()
        return reply is not None and not reply.startswith(b"-LOADING")

    def answer(self):
        """To PING; None if it does not listen."""
        try:
            with Raw(self.path, self.START_SECONDS * PATIENCE) as raw:
                return raw.call("PING")
        except OSError:
            return None

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def kill(self):
        """As by kill -9; its files stay, and replies that it has sent can still be read."""
        process, self.process = self.process, None
        if process is not None:
            kill_and_wait(process)

    def stop(self, with_signal=signal.SIGTERM):
        """The server must end with status 0."""
        process, self.process = self.process, None
        process.send_signal(with_signal)
        try:
            status = process.wait(timeout=self.START_SECONDS * PATIENCE)
        except subprocess.TimeoutExpired:
            kill_and_wait(process)
            raise AssertionError("the server did not stop:\n" + self.log()) from None
        assert status == 0, f"the server ended with status {status}:\n{self.log()}"

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)
