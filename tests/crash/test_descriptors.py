#!/usr/bin/python3 -B
"""No free file descriptors: new clients wait while the daemon stays idle, connected clients are served,
rewrites and snapshots fail without changing data, and all recovers when descriptors are free."""
import os
import resource
import select
import time

from crash import Budget, Kept, encode, equal, run, seeded, test, wait_for

OK = b"+OK\r\n"
MORE = 20  # connections than there are descriptors for
WATCHED = 1.2  # seconds


class Scarce(Kept):
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def allow(self, more):
        """Allows this many descriptors beyond the open ones, counting free numbers below the highest."""
        files = {int(name) for name in os.listdir(f"/proc/{self.process.pid}/fd")}
        limit = max(files) + 1
        while limit - len(files) < more:
            limit += 1
        while sum(number not in files for number in range(limit)) > more:
            limit -= 1
        hard = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (limit, hard))

    def heal(self):
        hard = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (min(hard, 4096), hard))


class Bound(Kept):
    """May not raise its limit, as if it were not started by root."""

    def arguments(self):
        return ["setpriv", "--bounding-set=-sys_resource", "prlimit", "--nofile=200:200",
                *super().arguments()]


@test
def new_client_waits_for_a_descriptor_and_nothing_spins():
    rng = seeded("accept")
    with Scarce(fsync="no") as daemon, daemon.raw() as known:
        equal(known.call("PING"), b"+PONG\r\n")
        room = rng.randrange(5, 50)
        daemon.allow(room)
        raws = [daemon.raw() for _ in range(room + MORE)]
        for raw in raws:
            raw.send(encode("PING"))
        equal(raws[room - 1].reply(), b"+PONG\r\n")
        for raw in raws[:room - 1]:
            equal(raw.reply(), b"+PONG\r\n")
        before, lines = daemon.cpu_seconds(), daemon.log().count("Too many open files")
        start, longest = time.monotonic(), 0
        while time.monotonic() < start + WATCHED:
            began = time.monotonic()
            equal(known.call("SET", "k", "v"), OK)
            longest = max(longest, time.monotonic() - began)
            select.select([], [], [], 0.02)  # idle, so that the daemon's own CPU use shows
        spent = daemon.cpu_seconds() - before
        assert spent < WATCHED / 3, f"{spent} s of {WATCHED} s were spent"
        assert not any(raw.has_more() for raw in raws[room:])
        # One line a second.
        assert 1 <= daemon.log().count("Too many open files") <= lines + 2 + time.monotonic() - start, daemon.log()
        print(f"longest wait without descriptors: {longest * 1000:.1f} ms")
        for raw in raws[:MORE]:
            raw.close()
        for raw in raws[max(room, MORE):]:
            equal(raw.reply(), b"+PONG\r\n", "who waited")
        for raw in raws:
            raw.close()


@test
def files_that_cannot_be_opened_change_nothing():
    rng, budget = seeded("files"), Budget(0.5)
    while budget.more(2):
        with Scarce(fsync=rng.choice(("always", "everysec"))) as daemon:
            with daemon.raw() as raw:
                for number in range(50):
                    equal(raw.call("SET", f"k{number}", "v"), OK)
                daemon.allow(rng.choice((0, 0, 1, 2, 3)))
                for words in rng.choices((("BGREWRITEAOF",), ("BGSAVE",), ("SAVE",),
                                          ("CONFIG", "REWRITE"), ("DEBUG", "RELOAD")), k=4):
                    raw.call(*words)
                    equal(raw.call("SET", f"after {words[0]}", "v"), OK)
                    equal(raw.call("SET", "last", words[0]), OK)
                    live = raw.call("DEBUG", "DIGEST")
                if rng.randrange(2):
                    daemon.again()
                    equal(daemon.digest(), live, "after kill -9")
                else:
                    daemon.heal()
            daemon.await_quiet()
            assert wait_for(daemon.rewrite), daemon.log()
            equal(daemon.call("BGSAVE")[:1], b"+")
            daemon.await_quiet()
            equal(daemon.info()["rdb_last_bgsave_status"], "ok")
            equal(daemon.digest(), live)
            daemon.again()
            equal(daemon.digest(), live)


def is_refused(raw):
    try:
        return raw.call("PING") != b"+PONG\r\n"
    except OSError:
        return True


@test
def maxclients_is_what_the_system_allows():
    with Bound("--maxclients", "5000", fsync="no") as daemon:
        with daemon.redis() as redis:
            allowed = int(redis.config_get("maxclients")["maxclients"])
            assert 100 < allowed < 200, allowed
            assert "open files" in daemon.log(), daemon.log()
            with daemon.raw() as raw:
                reply = raw.call("CONFIG", "SET", "maxclients", 4000)
                assert b"not able to handle" in reply, reply
            equal(int(redis.config_get("maxclients")["maxclients"]), allowed)
            raws = [daemon.raw() for _ in range(allowed + 10)]
            refused = [is_refused(raw) for raw in raws]
            equal(refused.count(False), allowed - 1, "connections beside the first")
            redis.bgrewriteaof()  # the daemon's own descriptors are there
            assert wait_for(lambda: not redis.info("persistence")["aof_rewrite_in_progress"])
            equal(redis.info("persistence")["aof_last_bgrewrite_status"], "ok")
            for raw in raws:
                raw.close()


run()
