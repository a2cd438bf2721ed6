"""daemon: the daemon under test. Re-exports the parts of this folder that most test programs need.

EXPIRED names the binary. It may be a redis-server, to see whether a test agrees with Redis; tests of
features that only the daemon has, such as its stepped clock, are skipped then. IO_THREADS=n runs all
daemons with io-threads n; with 2 for the programs in tests/in_order. RESP=3 makes connections speak RESP3.
"""
import functools
import os
import sys

# pylint: disable=unused-import
from oracle import ORACLE, Skipped, closing_line, oracle, version_of  # noqa: F401
from process import (  # noqa: F401
    check_killed, die_with_parent, folder, fork, free_port, happens, kill_child, wait_for)
from resp import encode, plain, read_reply  # noqa: F401
from server import IN_RESP3, REPLY_SECONDS, Raw, Server  # noqa: F401
from testing import equal, main, random_seed, test  # noqa: F401
# pylint: enable=unused-import

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.abspath(os.environ.get("EXPIRED") or os.path.join(ROOT, "expired"))
NOON = 1_900_000_000_000  # where stepped clocks begin


def io_threads():
    """The option, if the environment asks for it."""
    if "IO_THREADS" not in os.environ:
        return []
    with open(os.path.join(ROOT, "tests", "in_order"), encoding="utf-8") as file:
        in_order = [line.strip() for line in file if not line.startswith("#")]
    program = os.path.relpath(os.path.realpath(sys.argv[0]), ROOT)
    return ["--io-threads", "2" if program in in_order else os.environ["IO_THREADS"]]


THREADS = io_threads()

if not os.access(BINARY, os.X_OK):
    print(f"there is no {BINARY}: run make first, or set EXPIRED\n0 passed, 1 failed")
    sys.exit(1)
IS_REDIS = version_of(BINARY).startswith("Redis")


class Daemon(Server):
    """When `with` ends without an exception, SIGTERM must end the daemon with status 0."""

    def __init__(self, *options, binary=BINARY, tcp=False, env=None, stdin=None, before=()):
        self.options, self.binary, self.env, self.tcp = list(options), binary, env, tcp
        self.stdin, self.before, self.port = stdin, list(before), 0

    def __exit__(self, kind, _value, _trace):
        try:
            if kind is None and self.process is not None:
                self.stop()
        finally:
            self.clean()

    def arguments(self):
        return [self.binary, *self.before, "--port", str(self.port), "--unixsocket", self.path,
                "--dir", self.dir, "--save", "", "--appendonly", "no",
                "--enable-debug-command", "yes", *THREADS, *self.options]

    def start(self):
        for _ in range(10):
            self.port = free_port() if self.tcp else 0
            self.launch()
            if self.is_ready():
                return
            if "in use" not in self.log():
                break
        raise AssertionError("the daemon did not start:\n" + self.log())

    def raw(self, tcp=False):
        return Raw(("127.0.0.1", self.port) if tcp else self.path)

    def raws(self, count):
        """Connections that are accepted, which one that has just been made may not be."""
        found = [self.raw() for _ in range(count)]
        for raw in found:
            raw.call("PING")
        return found

    def together(self, inputs):
        """The daemon finds all inputs, a list of (connection, bytes), in one turn, in this order."""
        for raw, _ in reversed(inputs):
            raw.call("PING")  # it is accepted; the kernel may still list the last one, at the front
        with self.stopped():
            for raw, data in inputs:
                raw.send(data)

    def redis(self, **options):
        import redis  # pylint: disable=import-outside-toplevel # half of the programs don't need this
        return redis.Redis(unix_socket_path=self.path, socket_timeout=REPLY_SECONDS, **options)

    def clock(self, *arguments):
        """Sends DEBUG CLOCK; returns the current time."""
        with self.raw() as raw:
            reply = raw.call("DEBUG", "CLOCK", *arguments)
        assert reply[:1] == b":", reply
        return int(reply[1:])

    def hold(self, at=NOON):
        self.clock("HOLD", at)
        return self.step(0)

    def step(self, msec):
        """What becomes due is done before the next command is read."""
        return self.clock("STEP", msec)


def authenticated(daemon, password="secret"):
    raw = daemon.raw()
    equal(raw.call("AUTH", password), b"+OK\r\n")
    return raw


def own(function):
    """A test of a feature that only the daemon has; skipped if the server is Redis."""
    @functools.wraps(function)
    def run():
        if IS_REDIS:
            raise Skipped("Redis does not have this")
        function()
    test(run)
    return function


stepped = own  # a test that steps the daemon's clock


def in_resp2(function):
    """A test of RESP2's bytes, or one that chooses the protocol itself; skipped with RESP=3. Stands below `own`."""
    @functools.wraps(function)
    def run():
        if IN_RESP3:
            raise Skipped("this is about RESP2, or chooses the protocol itself")
        function()
    return run


def beside_redis(function):
    """A test that needs the oracle too."""
    @functools.wraps(function)
    def run():
        oracle()
        function()
    own(run)
    return function
