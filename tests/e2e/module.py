"""module: Debian's redis-server with expired.so in it, for the tests of the module."""
import os

from daemon import ROOT, Daemon, oracle, wait_for

MODULE = os.path.join(ROOT, "build", "expired.so")
# While the engine syncs its file in the background it may hold back writes that a kill -9 loses.
SYNCED = ("--appendfsync", "always")


class Engine(Daemon):
    """Only the module expires keys that nobody reads: the engine's own search is off."""

    def __init__(self, *options, module=True, **how):
        load = ["--loadmodule", MODULE] if module else []
        super().__init__("--enable-module-command", "yes", *options, *load, binary=oracle(), **how)

    def start(self):
        assert os.access(MODULE, os.R_OK), f"there is no {MODULE}: run make module"
        super().start()
        with self.raw() as raw:
            assert wait_for(lambda: raw.call("PING") == b"+PONG\r\n"), "it is still loading"
            assert raw.call("DEBUG", "SET-ACTIVE-EXPIRE", "0") == b"+OK\r\n"

    def stats(self):
        with self.redis() as client:
            return stats_of(client)


def stats_of(client):
    """EXPIRED.STATS as a dict."""
    flat = client.execute_command("EXPIRED.STATS")
    return {flat[i].decode(): flat[i + 1] for i in range(0, len(flat), 2)}
