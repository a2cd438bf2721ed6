#!/usr/bin/python3 -B
"""Redis follows the daemon, and the daemon follows Redis: after the random programs of tests/diff, which
run on the daemon and on redis-server, a redis-server that follows the daemon has the digest of the
redis-server, and a daemon that follows the redis-server has the digest of the daemon.

N is how many programs; TEST_SEED chooses them."""
import os
import sys
import threading

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import (NOON, ORACLE, ROOT, Daemon, Raw, beside_redis, equal, free_port, main,
                    random_seed, wait_for)
from followers import is_linked
from replicas import OPTIONS, Member
sys.path.insert(0, ROOT + "/tests/diff")
# pylint: disable=wrong-import-position,import-error
import case  # noqa: E402
import servers  # noqa: E402
import table  # noqa: E402
from difference import Difference  # noqa: E402
from generate import Generator  # noqa: E402
from lockstep import Pair  # noqa: E402
# pylint: enable=wrong-import-position,import-error

N = int(os.environ.get("N") or 60)
SEED = random_seed()


class Listening:
    """Gives a server of a Pair a port."""

    def __init__(self, server, *options):
        self.port, plain = free_port(), server.arguments
        server.arguments = lambda: [*plain(), "--port", str(self.port), *options]


class StockReplica(servers.Oracle):
    """A redis-server with the clock of another one."""

    def __init__(self, other, master):
        super().__init__()
        self.env, self.master = other.env, master

    def arguments(self):
        return [*super().arguments(), "--replicaof", f"127.0.0.1 {self.master.port}"]


def role_offset(raw):
    words = raw.call("ROLE").split(b"\r\n")
    if words[2] == b"master":
        return int(words[3][1:])
    return int(words[-2][1:])  # -1: the link is down


def await_same_offset(master, replica):
    end = role_offset(master)
    assert wait_for(lambda: role_offset(replica) >= end), \
        (end, replica.call("ROLE"), replica.call("INFO", "replication"))


def digest(raw):
    return raw.call("DEBUG", "DIGEST")


@beside_redis
def digests_of_followers_are_equal_after_random_programs():
    print(f"{N} programs", flush=True)
    servers.make_shim()
    rows = table.rows()
    pair = Pair(rows)
    our_port = Listening(pair.ours, *OPTIONS)
    their_port = Listening(pair.theirs, "--repl-diskless-sync-delay", "0")
    pair.start()
    try:
        here = set(pair.commands()[0])
        rows = [row for row in rows if row.name in here]
        stock = StockReplica(pair.theirs, our_port)
        stock.open()
        try:
            with Member() as follower, Raw(stock.path) as theirs, \
                    Raw(pair.ours.path) as our_master, Raw(pair.theirs.path) as their_master:
                follower.follow(their_port)
                run_programs(pair, rows, (our_master, theirs), (their_master, follower))
                assert "was skipped" not in follower.log(), follower.log()
        finally:
            stock.clean()
    finally:
        pair.stop()


@beside_redis
def approximate_trim_of_a_stock_master_is_followed():
    with Daemon("--repl-diskless-sync-delay", "0", binary=ORACLE, tcp=True) as master, \
            master.raw() as raw, Member() as follower:
        follower.follow(master)
        assert wait_for(lambda: is_linked(follower))
        for words in (("XADD", "x", "MINID", "~", "1-1", "LIMIT", 10, "5-1", "a", "b"),
                      ("XADD", "x", "6-1", "a", "b"), ("XTRIM", "x", "MAXLEN", "~", 1, "LIMIT", 5)):
            assert not raw.call(*words).startswith(b"-")
        await_same_offset(raw, follower.conn)
        equal(follower.call("XRANGE", "x", "-", "+"), raw.call("XRANGE", "x", "-", "+"))


class Writers:
    """Threads that change counters, fields and deadlines of a redis-server until they are stopped."""

    def __init__(self, server):
        self.server, self.runs = server, True
        self.threads = [threading.Thread(target=self.write, args=(number,)) for number in range(2)]

    def write(self, number):
        with self.server.raw() as raw:
            while self.runs:
                raw.call("INCR", f"n:{number}")
                raw.call("HINCRBY", "h", f"f:{number}", 1)
                raw.call("SET", f"k:{number}", "v", "PX", 1)
                raw.call("EVAL", "redis.call('SADD', 's', ARGV[1]) redis.call('SPOP', 's')", 0, number)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.runs = False
        for thread in self.threads:
            thread.join()


def await_same_data(one, other):
    await_same_offset(one.conn, other.conn)
    equal(one.call("DEBUG", "DIGEST"), other.call("DEBUG", "DIGEST"))


@beside_redis
def a_chain_behind_a_stock_master_stays_in_step():
    with Daemon("--repl-diskless-sync-delay", "0", binary=ORACLE, tcp=True) as head, \
            head.raw() as raw, Member() as middle, Member() as last:
        middle.follow(head)
        assert wait_for(lambda: is_linked(middle))
        with Writers(head):
            last.follow(middle)
            assert wait_for(lambda: is_linked(last))
            begin = role_offset(raw)
            assert wait_for(lambda: role_offset(raw) > begin + 100_000)
        await_same_offset(raw, middle.conn)
        await_same_data(middle, last)
        equal(last.syncs(), (1, 0))
        equal(middle.info("stats")["sync_full"], "1")

        with last.stopped():  # it is behind when the middle one is promoted
            with Writers(head):
                begin = role_offset(raw)
                assert wait_for(lambda: role_offset(raw) > begin + 10_000)
            await_same_offset(raw, middle.conn)
            middle.follow(None)
            equal(middle.call("SADDEX", "s", 100_000, "m"), b":1\r\n")
            middle.call("INCR", "n:0")
        assert wait_for(lambda: is_linked(last) and role_offset(last.conn) > 0)
        await_same_data(middle, last)
        equal(last.syncs(), (1, 1))
        equal(middle.info("stats")["sync_full"], "1")


def has_unreplicated_changes(program):
    """Redis 7.0 does not replicate a consumer that XREADGROUP makes and that gets nothing, nor
    of a string that BITFIELD makes or lengthens for a value that then overflows with FAIL. The clock of
    our replica stands still during a program, and no claim can be of a later time."""
    moves = any(step[0] == "clock" for step in program)
    for step in program:
        words = {word.upper() for word in step[1]} if step[0] in "abc" else ()
        if b"XREADGROUP" in words or {b"BITFIELD", b"FAIL"} <= set(words):
            return True
        if moves and {b"XCLAIM", b"XAUTOCLAIM"} & set(words):
            return True
    return False


def run_programs(pair, rows, theirs_of_ours, ours_of_theirs):
    our_master, stock = theirs_of_ours
    their_master, follower = ours_of_theirs
    assert wait_for(lambda: role_offset(stock) >= 0 and role_offset(follower.conn) >= 0)
    for index in range(N):
        program = Generator(rows, f"{SEED}:{index}", "").program()
        try:
            pair.run(program, 2)
        except Difference:
            pass  # for tests/diff to report; the data differ now
        pair.theirs.sweep()
        await_same_offset(our_master, stock)
        await_same_offset(their_master, follower.conn)
        follower.hold(pair.now)
        shown = f"TEST_SEED={SEED}, program {index}:\n{case.text_of(program)}"
        equal(follower.call("DEBUG", "CHECK"), b"+OK\r\n", shown)
        if our_master.call("DBSIZE") != their_master.call("DBSIZE"):
            continue  # they differ on purpose (doc/differs.md)
        equal(digest(stock), digest(their_master), "stock replica, " + shown)
        if not has_unreplicated_changes(program):
            equal(follower.call("DEBUG", "DIGEST"), digest(our_master), "our replica, " + shown)
        follower.hold(NOON)


main(120 + N)
