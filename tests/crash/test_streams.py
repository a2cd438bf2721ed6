#!/usr/bin/python3 -B
"""Streams and kill -9, of the server and of readers: no acknowledged XADD, delivery or XACK is lost, and
each key that expires is in its expiry log once."""
import os
import select
import signal

from crash import (NOON, Budget, Kept, Raw, encode, equal, fork, read_reply, run, seeded, test,
                   wait_for)

WRITERS = 3
BATCH = 300     # requests of a connection, sent at once
READERS = 4
ENTRIES = 1500
KEYS = 1500


def plain(reply):
    """Bytes, an integer, None, or a list of these."""
    kind, value = reply
    if kind == b":":
        return int(value)
    assert kind != b"-", value
    return [plain(item) for item in value] if isinstance(value, list) else value


def values(data):
    """The whole replies at the beginning of data."""
    at, found = 0, []
    while at < len(data):
        reply = read_reply(data, at)
        if reply is None:
            break
        found.append(plain(reply[0]))
        at = reply[1]
    return found


def ask(daemon, *words):
    return values(daemon.call(*words))[0]


def entries_of(daemon, key="s"):
    """{id: {field: value}}, in order"""
    return {ident: dict(zip(fields[::2], fields[1::2]))
            for ident, fields in ask(daemon, "XRANGE", key, "-", "+")}


# --- the server is killed ------------------------------------------------------------------------


class Load:
    """Writers, and a reader that reads and acknowledges; what of it was acknowledged."""

    def __init__(self, rng):
        self.rng = rng
        self.sent = 0
        self.added, self.delivered, self.acknowledged = {}, {}, set()
        self.known = set()  # numbers of all entries that may be there

    def writes(self):
        """Requests of one writer, and the numbers in them."""
        numbers = range(self.sent, self.sent + BATCH)
        self.sent += BATCH
        self.known.update(b"%d" % number for number in numbers)
        return [(b"%d" % number, encode("XADD", "s", "*", "n", number)) for number in numbers]

    def reads(self):
        """Deliveries, and acknowledgements of some that are known."""
        left = sorted(set(self.delivered) - self.acknowledged)
        self.rng.shuffle(left)
        found = []
        for _ in range(BATCH // 4):
            if left and self.rng.random() < 0.6:
                ident = left.pop()
                found.append((ident, encode("XACK", "s", "g", ident)))
            else:
                count = self.rng.choice((1, 2, 5))
                found.append((None, encode("XREADGROUP", "GROUP", "g", self.rng.choice("ab"), "COUNT",
                                           count, "STREAMS", "s", ">")))
        return found

    def hear_writes(self, requests, replies):
        for (number, _), ident in zip(requests, replies):
            assert ident not in self.added, f"{ident} was given twice"
            self.added[ident] = number

    def hear_reads(self, requests, replies):
        for (ident, _), reply in zip(requests, replies):
            if ident is not None:
                self.acknowledged.add(ident)
                continue
            for one, fields in reply[0][1] if reply else ():
                assert one not in self.delivered, f"{one} was delivered twice"
                self.delivered[one] = fields[1]

    def check(self, daemon):
        there = entries_of(daemon)
        for ident, number in self.added.items():
            equal(there.get(ident), {b"n": number}, f"acknowledged entry {ident}")
        numbers = [fields[b"n"] for fields in there.values()]
        equal(len(set(numbers)), len(numbers), "an entry occurs twice")
        assert set(numbers) <= self.known
        pending = {ident for ident, *_ in ask(daemon, "XPENDING", "s", "g", "-", "+", 1000000)}
        for ident in self.acknowledged:
            assert ident not in pending, f"{ident} is pending again"
        # An XACK without a reply may have taken effect; one that was not sent has not.
        lost = set(self.delivered) - self.acknowledged - self.unsure - pending
        equal(lost, set(), "delivered entries that are neither pending nor acknowledged")
        self.added = {ident: fields[b"n"] for ident, fields in there.items()}
        self.acknowledged |= self.unsure - pending
        # What was delivered without a reply is pending, and nobody's to miss.
        for ident in pending:
            self.delivered.setdefault(ident, there[ident][b"n"])

    def run(self, daemon):
        """Sends everything, kills the daemon meanwhile, and reads what was replied."""
        works = [(self.writes(), self.hear_writes) for _ in range(WRITERS)]
        works.append((self.reads(), self.hear_reads))
        self.unsure = {ident for ident, _ in works[-1][0] if ident is not None}
        raws = [daemon.raw() for _ in works]
        for (requests, _), raw in zip(works, raws):
            raw.send(b"".join(request for _, request in requests))
        heard, kill_at = [b""] * len(works), self.rng.randrange(1, 45000)
        while sum(map(len, heard)) < kill_at:
            ready = select.select([raw.socket for raw in raws], [], [], 0.2)[0]
            for index, raw in enumerate(raws):
                if raw.socket in ready:
                    heard[index] += raw.socket.recv(self.rng.choice((512, 4096, 65536)))
            if not ready:
                break
        daemon.kill()
        for index, ((requests, hear), raw) in enumerate(zip(works, raws)):
            heard[index] += raw.heard()
            raw.close()
            hear(requests, values(heard[index]))


def kill_again_and_again(fsync):
    rng = seeded("streams", fsync)
    budget = Budget(0.2)
    load = Load(rng)
    with Kept("--auto-aof-rewrite-min-size", "100kb", fsync=fsync) as daemon:
        equal(daemon.call("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"), b"+OK\r\n")
        while budget.more(6):
            if rng.random() < 0.5:
                daemon.call("BGREWRITEAOF")
            load.run(daemon)
            daemon.start()
            load.check(daemon)


@test
def kill_9_loses_no_acknowledged_entry_with_fsync_always():
    kill_again_and_again("always")


@test
def kill_9_loses_no_acknowledged_entry_with_fsync_everysec():
    kill_again_and_again("everysec")


# --- readers are killed --------------------------------------------------------------------------


def reader(path, log, seed):
    """Reads or takes over entries, notes them, acknowledges, and sometimes kills itself."""
    rng, me = seeded("reader", seed), f"reader-{os.getpid()}"
    raw = Raw(path)

    def call(*words):
        return plain(read_reply(raw.call(*words))[0])
    while True:
        found = call("XREADGROUP", "GROUP", "g", me, "COUNT", rng.choice((1, 3, 10)), "BLOCK", 20,
                     "STREAMS", "s", ">")
        entries = found[0][1] if found else call("XAUTOCLAIM", "s", "g", me, 50, "0", "COUNT", 10)[1]
        for ident, fields in entries:
            if rng.random() < 0.02:
                os.kill(os.getpid(), signal.SIGKILL)
            os.write(log, b"did %s\n" % fields[1])
            if rng.random() < 0.02:
                os.kill(os.getpid(), signal.SIGKILL)
            os.write(log, b"ack %s %d\n" % (fields[1], call("XACK", "s", "g", ident)))


def end_all(pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    pids.clear()


@test
def every_entry_is_handled_despite_killed_readers_and_server():
    rng = seeded("killed readers")
    with Kept(fsync="everysec") as daemon:
        daemon.call("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
        path = os.path.join(daemon.dir, "seen")
        log = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        pids, added = set(), 0

        def tend():
            """Replaces readers that have died."""
            for pid in list(pids):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    pids.discard(pid)
            while len(pids) < READERS:
                seed = rng.random()
                pids.add(fork(lambda: reader(daemon.path, log, seed)))

        def is_done():
            tend()
            return not ask(daemon, "XPENDING", "s", "g")[0] and \
                ask(daemon, "XINFO", "GROUPS", "s")[0][11] == 0
        try:
            while added < ENTRIES:
                tend()
                with daemon.raw() as raw:
                    raw.calls([["XADD", "s", "*", "n", added + number] for number in range(100)])
                added += 100
                if added % 500 == 0:
                    end_all(pids)
                    daemon.again()
            assert wait_for(is_done, 30), ask(daemon, "XPENDING", "s", "g")
        finally:
            end_all(pids)
        with open(path, encoding="ascii") as file:
            lines = [line.split() for line in file]
        os.close(log)
        equal({int(line[1]) for line in lines if line[0] == "did"}, set(range(added)))
        acks = [line[1] for line in lines if line[0] == "ack" and line[2] == "1"]
        equal(len(acks), len(set(acks)), "an entry was acknowledged twice")


@test
def counts_that_can_rise_no_further_survive_kill_9():
    most = (1 << 63) - 1
    with Kept() as daemon:
        ask(daemon, "XADD", "s", "1-1", "n", "1")
        ask(daemon, "XSETID", "s", "1-1", "ENTRIESADDED", most)
        ask(daemon, "XGROUP", "CREATE", "s", "g", "0", "ENTRIESREAD", most)
        ask(daemon, "XADD", "s", "2-1", "n", "2")
        ask(daemon, "XREADGROUP", "GROUP", "g", "ann", "STREAMS", "s", ">")
        groups = ask(daemon, "XINFO", "GROUPS", "s")
        equal((groups[0][9], groups[0][11]), (most, 0))
        for rewrites in (False, True):
            if rewrites:
                ask(daemon, "BGREWRITEAOF")
                assert wait_for(lambda: b"aof_rewrite_in_progress:0" in daemon.call("INFO"))
            daemon.again()
            equal(ask(daemon, "XINFO", "GROUPS", "s"), groups)
            equal(ask(daemon, "XINFO", "STREAM", "s")[11], most)


# --- the expiry log ------------------------------------------------------------------------------


def log_again_and_again(target_is_read):
    """Keys expire in slices while the server is killed; the log has each once, with its value."""
    rng = seeded("log", target_is_read)
    budget = Budget(0.2)
    with Kept("--auto-aof-rewrite-min-size", "100kb", fsync="everysec") as daemon:
        now = NOON
        daemon.hold(now)
        equal(daemon.call("POLICY", "SET", "k:*", "EXPIRED", "TO", "log", "VALUE"), b"+OK\r\n")
        number, wanted = 0, {}
        while budget.more(5):
            with daemon.raw() as raw:
                calls = []
                for _ in range(KEYS):
                    at = now + rng.choice((1, 1, 1, 5, 20))
                    wanted[b"k:%d" % number] = (b"v%d" % number, b"%d" % at)
                    calls.append(["SET", f"k:{number}", f"v{number}", "PXAT", at])
                    number += 1
                raw.calls(calls)
                now += rng.choice((2, 2, 30))
                if rng.random() < 0.5:
                    raw.call("BGREWRITEAOF")
                reads = rng.randrange(40) if target_is_read else 0
                raw.send(encode("DEBUG", "CLOCK", "HOLD", now) + encode("XLEN", "log") * reads)
                # Slices of expiry run between replies.
                for _ in range(rng.randrange(12)):
                    raw.send(encode("PING"))
                daemon.kill()
            daemon.start()
            daemon.hold(now)
            due = [key for key, (_, at) in wanted.items() if int(at) < now]
            # Counts of live keys are exact before all that has expired is in the log.
            wait_for(lambda: ask(daemon, "XLEN", "log") == len(due))
            equal(ask(daemon, "DBSIZE"), len(wanted) - len(due) + bool(due), "keys")
            found = list(entries_of(daemon, "log").values())
            keys = [fields[b"key"] for fields in found]
            equal(len(keys), len(set(keys)), "a key is in the log twice")
            equal((set(due) - set(keys), set(keys) - set(due)), (set(), set()), "not logged, too early")
            for fields in found:
                equal((fields[b"value"], fields[b"at"], fields[b"type"]),
                      (*wanted[fields[b"key"]], b"string"))


@test
def each_expired_key_is_in_the_log_once_after_kill_9():
    log_again_and_again(False)


@test
def each_expired_key_is_in_the_log_once_while_the_log_is_read():
    log_again_and_again(True)


run()
