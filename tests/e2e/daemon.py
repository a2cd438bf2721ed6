"""daemon: the daemon under test, raw connections to it, and the count of what passed.

Knows how to start, reach and stop a server, and how replies are framed; refuses to know what any
command should answer. EXPIRED names the binary; a redis-server works as well, which shows that a
test asks for what Redis does (it has no stepped clock: tests that need one are left out there).
A test program's arguments choose tests by parts of their names; TIMES=1 shows how long each took.
"""
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

import redis

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

from oracle import (  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
    ORACLE, Skipped, closing_line, oracle, version_of)
from process import (  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
    die_with_parent)

BINARY = os.path.abspath(os.environ.get("EXPIRED") or os.path.join(ROOT, "expired"))
START_SECONDS = 20
REPLY_SECONDS = 20
NOON = 1_900_000_000_000  # where stepped clocks begin


if not os.access(BINARY, os.X_OK):
    print(f"there is no {BINARY}: run make first, or set EXPIRED\n0 passed, 1 failed")
    sys.exit(1)
IS_REDIS = version_of(BINARY).startswith("Redis")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    """A server with a directory of its own, from `with` to its end; SIGTERM must end it with 0."""

    def __init__(self, *options, binary=BINARY, tcp=False, env=None, stdin=None, before=()):
        self.options, self.binary, self.env, self.tcp = list(options), binary, env, tcp
        self.stdin, self.before = stdin, list(before)
        self.process, self.port = None, 0

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="expired-e2e-")
        self.path = os.path.join(self.dir, "socket")
        self.log_path = os.path.join(self.dir, "output")
        try:
            self.start()
        except BaseException:
            self.clean()
            raise
        return self

    def __exit__(self, kind, _value, _trace):
        try:
            if kind is None and self.process is not None:
                self.stop()
        finally:
            self.clean()

    def clean_process(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def clean(self):
        self.clean_process()
        shutil.rmtree(self.dir, ignore_errors=True)

    def arguments(self):
        return [self.binary, *self.before, "--port", str(self.port), "--unixsocket", self.path,
                "--dir", self.dir, "--save", "", "--appendonly", "no",
                "--enable-debug-command", "yes", *self.options]

    def start(self):
        for _ in range(10):
            self.port = free_port() if self.tcp else 0
            with open(self.log_path, "ab") as log:
                self.process = subprocess.Popen(
                    self.arguments(), stdin=self.stdin or subprocess.DEVNULL, stdout=log,
                    stderr=log, env=self.env, cwd=self.dir, preexec_fn=die_with_parent)
            if self.is_ready():
                return
            if "in use" not in self.log():
                break
        raise AssertionError("the daemon did not start:\n" + self.log())

    def is_ready(self):
        limit = time.monotonic() + START_SECONDS
        while time.monotonic() < limit and self.process.poll() is None:
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.settimeout(START_SECONDS)
                    probe.connect(self.path)
                    probe.sendall(b"PING\r\n")
                    return probe.recv(1) != b""
            except OSError:
                time.sleep(0.005)  # between two tries to connect; no test depends on its length
        return False

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def stop(self, with_signal=signal.SIGTERM):
        process, self.process = self.process, None
        process.send_signal(with_signal)
        try:
            status = process.wait(timeout=START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError("the daemon did not stop:\n" + self.log()) from None
        assert status == 0, f"the daemon ended with status {status}:\n{self.log()}"

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def raw(self, tcp=False):
        return Raw(("127.0.0.1", self.port) if tcp else self.path)

    def redis(self, **options):
        return redis.Redis(unix_socket_path=self.path, socket_timeout=REPLY_SECONDS, **options)

    def clock(self, *arguments):
        """DEBUG CLOCK; the time in force."""
        with self.raw() as raw:
            reply = raw.call("DEBUG", "CLOCK", *arguments)
        assert reply[:1] == b":", reply
        return int(reply[1:])

    def hold(self, at=NOON):
        return self.clock("HOLD", at)

    def step(self, msec):
        return self.clock("STEP", msec)


# --- raw connections ---------------------------------------------------------------------------


def encode(*arguments):
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        if not isinstance(argument, bytes):
            argument = str(argument).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(argument), argument))
    return b"".join(parts)


def read_reply(data, at=0):
    """(value, end) of the reply that begins at `at`, or None where it is not all there. A value is
    (type character, payload); payloads of aggregates are lists of values, of maps flat ones."""
    end = data.find(b"\r\n", at)
    if end < 0:
        return None
    kind, line, end = data[at:at + 1], data[at + 1:end], end + 2
    if kind in b"$=!" and kind:
        length = int(line)
        if length < 0:
            return (kind, None), end
        if len(data) < end + length + 2:
            return None
        assert data[end + length:end + length + 2] == b"\r\n", data[at:end + length + 2]
        return (kind, data[end:end + length]), end + length + 2
    if kind in b"*~>%" and kind:
        count = int(line) * (2 if kind == b"%" else 1)
        if count < 0:
            return (kind, None), end
        items = []
        for _ in range(count):
            item = read_reply(data, end)
            if item is None:
                return None
            items.append(item[0])
            end = item[1]
        return (kind, items), end
    assert kind in (b"+", b"-", b":", b"_", b"#", b",", b"("), f"not a reply: {data[at:at + 60]!r}"
    return (kind, line), end


class Raw:
    """A connection that is seen as bytes."""

    def __init__(self, address, timeout=REPLY_SECONDS):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        self.pending = b""
        self.socket.connect(address)  # without a time limit: it waits where the backlog is full
        self.socket.settimeout(timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def reply(self):
        """The bytes of the next reply. ConnectionError where the server closed instead."""
        while True:
            found = read_reply(self.pending) if self.pending else None
            if found is not None:
                reply, self.pending = self.pending[:found[1]], self.pending[found[1]:]
                return reply
            more = self.socket.recv(1 << 16)
            if not more:
                raise ConnectionError(f"closed by the server after {self.pending[:200]!r}")
            self.pending += more

    def call(self, *arguments):
        self.send(encode(*arguments))
        return self.reply()

    def rest(self):
        """Everything up to the server's closing of the connection."""
        data, self.pending = self.pending, b""
        while True:
            try:
                more = self.socket.recv(1 << 16)
            except ConnectionResetError:
                return data
            if not more:
                return data
            data += more


# --- running -----------------------------------------------------------------------------------

_tests = []
_left_out = []


def test(function):
    """Marks a function as a test; it fails by raising."""
    _tests.append(function)
    return function


def own(function):
    """A test of what only this daemon has; counted as skipped when the server is Redis."""
    (_left_out if IS_REDIS else _tests).append(function)
    return function


stepped = own  # a test that steps the daemon's clock


def beside_redis(function):
    """A test that needs the oracle beside the daemon."""
    @functools.wraps(function)
    def run():
        oracle()
        function()
    own(run)
    return function


def equal(got, wanted, what=""):
    assert got == wanted, f"{what}{': ' if what else ''}got {got!r}, wanted {wanted!r}"


def _interrupt(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)


def _late(_number, _frame):
    raise TimeoutError("the test took too long")


def main(seconds=60):
    """Runs every test of the file, each for at most so many seconds; ends the process."""
    passed = failed = 0
    skipped = len(_left_out)
    wanted = sys.argv[1:]
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGALRM, _late)
    for function in _tests:
        name = function.__name__.replace("_", " ")
        if wanted and not any(word in function.__name__ for word in wanted):
            continue
        signal.alarm(seconds)
        began = time.monotonic()
        try:
            function()
            passed += 1
        except Skipped as why:
            skipped += 1
            print(f"skipped: {name}: {why}")
        except KeyboardInterrupt as stop:
            print(f"stopped by {stop} in: {name}")
            failed += 1
            break
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print(f"FAIL {os.path.basename(sys.argv[0])}: {name}")
            if not isinstance(error, AssertionError) or not str(error):
                traceback.print_exc(file=sys.stdout)
            else:
                print("    " + str(error).replace("\n", "\n    "))
        finally:
            signal.alarm(0)
            if os.environ.get("TIMES"):
                print(f"{time.monotonic() - began:.2f} s  {name}")
    print(closing_line(passed, failed, skipped), flush=True)
    sys.exit(1 if failed else 0)


def wait_for(condition):
    limit = time.monotonic() + 10
    while time.monotonic() < limit:
        found = condition()
        if found:
            return found
        time.sleep(0.005)  # between two looks; the condition decides
    return condition()
