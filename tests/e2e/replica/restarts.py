"""restarts: servers that restart with their port and role, and how replicas then get the stream. Depends on
daemon and followers."""
from contextlib import ExitStack, contextmanager

from daemon import BINARY, Daemon, equal, plain, read_reply, wait_for
from followers import await_caught_up, await_linked, call, follow

JOURNAL = ("--appendonly", "yes")
SNAPSHOT = ("--save", "3600 1000000")  # written by SAVE, and at a clean stop
PARTIAL, FULL = "continues", "full copy"


class Node(Daemon):
    """A server that restarts with its port and its role."""

    def __init__(self, *options, **how):
        super().__init__("--repl-diskless-sync-delay", "0", *options, tcp=True, **how)
        self.master = None

    def __exit__(self, kind, value, trace):
        if self.binary == BINARY:
            super().__exit__(kind, value, trace)
        else:
            self.clean()

    def arguments(self):
        more = ("--replicaof", f"127.0.0.1 {self.master.port}") if self.master else ()
        return [*super().arguments(), *more]

    def start(self):
        if not self.port:
            super().start()
            return
        assert wait_for(self.starts, nap=0.1), "it did not start again:\n" + self.log()

    def starts(self):
        """Another process's connection may have got the port meanwhile, for a while."""
        self.launch()
        return self.is_ready()

    def again(self, stop):
        stop(self)
        self.start()

    def behind(self, master):
        """Follows it, now and after restarts. None: is a master."""
        self.master = master
        if master:
            follow(self, master)
        else:
            call(self, "REPLICAOF", "NO", "ONE")

    def said(self, *words):
        with self.raw() as raw:
            return str(plain(read_reply(raw.call(*words))[0]))

    def stats(self):
        """Full copies, and continuations, that others have asked it for."""
        text = call(self, "INFO", "stats").decode()
        found = dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)
        return int(found["sync_full"]), int(found["sync_partial_ok"])


def await_base(node):
    """After a full copy the journal begins with a base of the new data."""
    def is_written():
        text = call(node, "INFO", "persistence")
        return b"aof_rewrite_in_progress:0" in text and b"aof_rewrite_scheduled:0" in text
    assert wait_for(is_written), node.log()


def terminate(node):
    await_base(node)
    node.stop()


def kill(node):
    await_base(node)
    node.kill()


@contextmanager
def nodes(count, options, binary=BINARY):
    with ExitStack() as stack:
        yield [stack.enter_context(Node(*options, binary=binary)) for _ in range(count)]


def write(server, name, count=50):
    with server.raw() as raw:
        raw.calls([["RPUSH", "list", f"{name}:{i}"] for i in range(count)])
        raw.calls([["SET", f"{name}:{i}", i] for i in range(count)])


def check_equal(master, *replicas):
    await_caught_up(master, *replicas)
    for replica in replicas:
        equal(call(replica, "DEBUG", "DIGEST"), call(master, "DEBUG", "DIGEST"))


class Asked:
    """Tells how the replicas that come to this server get its stream."""

    def __init__(self, server, restarts=False):
        self.server, self.before = server, (0, 0) if restarts else server.stats()

    def outcome(self, *replicas):
        await_linked(*replicas)
        full, partial = (now - before for now, before in zip(self.server.stats(), self.before))
        assert full + partial > 0, self.server.log()
        return FULL if full else PARTIAL
