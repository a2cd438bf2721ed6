"""replicas: masters and replicas for tests: starts them, waits until they agree, compares them. Depends on
daemon and followers."""
from contextlib import ExitStack, contextmanager

from daemon import NOON, Daemon, equal, wait_for
from followers import await_caught_up, await_linked

OPTIONS = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")


class Member(Daemon):
    """A daemon that may be a master or a replica. It listens on TCP, always on the same port. Its
    clock stands still at `now`, unless that is None."""

    def __init__(self, *options, **how):
        super().__init__(*OPTIONS, *options, tcp=True, **how)
        self.conn, self.now = None, NOON

    def start(self):
        if not self.port:
            super().start()
        else:
            self.launch()
            assert self.is_ready(), "the daemon did not start again:\n" + self.log()
        self.conn = self.raw()
        if self.now:
            self.hold(self.now)

    def kill(self):
        if self.conn is not None:
            self.conn.close()
        self.conn = None
        super().kill()

    def again(self):
        """kill -9, and a start in the same folder with the same port."""
        self.kill()
        self.start()

    def call(self, *words):
        return self.conn.call(*words)

    def ok(self, *words):
        equal(self.call(*words), b"+OK\r\n", " ".join(map(str, words))[:100])

    def follow(self, master):
        """`master`: anything that has a port, or None: a master from now on."""
        words = ("127.0.0.1", master.port) if master else ("NO", "ONE")
        reply = self.call("REPLICAOF", *words)
        assert reply.startswith(b"+OK"), reply

    def info(self, section="replication"):
        text = self.call("INFO", section).decode().split("\r\n")
        return dict(line.split(":", 1) for line in text if ":" in line)

    def syncs(self):
        """How many full and how many partial synchronizations this replica got, by its log."""
        log = self.log()
        return (log.count("Full copy from the master loaded"), log.count("continues the stream"))

    def cut(self):
        """Cuts the links to its replicas: tests use the Unix socket."""
        with self.raw() as raw:
            found = raw.call("CLIENT", "LIST").decode().split("\n")
            for line in found:
                if " addr=127.0.0.1:" in line:
                    raw.call("CLIENT", "KILL", "ID", line.split(" ", 1)[0].split("=")[1])

    def digest(self):
        self.ok("DEBUG", "CHECK")
        return self.call("DEBUG", "DIGEST")


def check_same(master, *replicas, seconds=40):
    if master.now:
        master.step(0)  # the master has nothing left to remove, which it would send later
    await_caught_up(master, *replicas, seconds=seconds)
    wanted = master.digest()
    for number, replica in enumerate(replicas):
        equal(replica.digest(), wanted, f"digest of replica {number}")


def step_all(*members, msec):
    for member in members:
        member.now = member.step(msec)


@contextmanager
def group(count=2, *options, linked=True):
    """That many daemons; all but the first one are replicas of it."""
    with ExitStack() as stack:
        members = [stack.enter_context(Member(*options)) for _ in range(count)]
        for replica in members[1:] if linked else ():
            replica.follow(members[0])
        if linked:
            await_linked(*members[1:])
        yield members
