"""engines: a host with expired.so in it, for the tests of the module: Debian's redis-server, or the server that
MODULE_HOST names, as in `make test-newest`."""
import contextlib
import os

from daemon import ROOT, Daemon, equal, oracle, wait_for

MODULE = os.environ.get("MODULE") or os.path.join(ROOT, "build", "expired.so")
PRELOAD = os.environ.get("MODULE_PRELOAD")  # the library that a module with sanitizers needs
HOST = os.environ.get("MODULE_HOST")
# While the engine syncs its file in the background it may hold back writes that a kill -9 loses.
SYNCED = ("--appendfsync", "always")


def host():
    """The path of the host."""
    if not HOST:
        return oracle()
    assert os.access(HOST, os.X_OK), f"MODULE_HOST: there is no {HOST}"
    return os.path.abspath(HOST)


def engine_environment():
    """None: this process's. Leaks of the engine are not looked for, and it tries sizes that are too large."""
    if not PRELOAD:
        return None
    options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:allocator_may_return_null=1"
    return dict(os.environ, LD_PRELOAD=PRELOAD, ASAN_OPTIONS=options)


class Engine(Daemon):
    """Only the module expires keys that nobody reads: the engine's own search is off."""

    def __init__(self, *options, module=True, **how):
        load = ["--loadmodule", MODULE] if module else []
        super().__init__("--enable-module-command", "yes", *options, *load, binary=host(), env=engine_environment(),
                         **how)

    def start(self):
        assert os.access(MODULE, os.R_OK), f"there is no {MODULE}: run make module"
        super().start()
        with self.raw() as raw:
            assert wait_for(lambda: raw.call("PING") == b"+PONG\r\n"), "it is still loading"
            assert raw.call("DEBUG", "SET-ACTIVE-EXPIRE", "0") == b"+OK\r\n"

    def __exit__(self, kind, value, trace):
        if kind is not None and "Sanitizer" in self.log():
            print(self.log())
        super().__exit__(kind, value, trace)

    def stats(self):
        with self.redis() as client:
            return stats_of(client)


def stats_of(client):
    """EXPIRED.STATS as a dict."""
    flat = client.execute_command("EXPIRED.STATS")
    return {flat[i].decode(): flat[i + 1] for i in range(0, len(flat), 2)}


@contextlib.contextmanager
def engine(*options, **how):
    """An engine and a client."""
    with Engine(*options, **how) as server, server.redis() as client:
        yield server, client


def check_restart(server, content):
    """After kill -9 and a start `content`, a function of a client, is the same."""
    with server.redis() as client:
        before = content(client)
        # While a sync takes long, the host keeps acknowledged writes in memory for up to two seconds.
        assert wait_for(lambda: client.info("persistence").get("aof_buffer_length", 0) == 0)
    server.kill()
    server.start()
    with server.redis() as client:
        equal(content(client), before)


def policy(client, *words):
    return client.execute_command("EXPIRED.POLICY", *words)
