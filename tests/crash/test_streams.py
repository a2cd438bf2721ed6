#!/usr/bin/python3 -B
"""Streams and kill -9: counts of entries return, and each of many keys that expire at once is in its
expiry log once."""
from crash import NOON, Budget, Kept, encode, equal, read_reply, run, seeded, test, wait_for

KEYS = 1500


def plain(reply):
    """Bytes, an integer, None, or a list of these."""
    kind, value = reply
    if kind == b":":
        return int(value)
    assert kind != b"-", value
    return [plain(item) for item in value] if isinstance(value, list) else value


def ask(daemon, *words):
    return plain(read_reply(daemon.call(*words))[0])


def entries_of(daemon, key="s"):
    """{id: {field: value}}, in order"""
    return {ident: dict(zip(fields[::2], fields[1::2]))
            for ident, fields in ask(daemon, "XRANGE", key, "-", "+")}


@test
def entry_of_more_fields_than_redis_reads_is_kept():
    fields = [b"f"] * (2 * 524_300)
    with Kept() as daemon:
        with daemon.raw() as raw:
            equal(raw.call("XADD", "s", "1-1", *fields), b"$3\r\n1-1\r\n")
            equal(raw.call("SET", "k", "v"), b"+OK\r\n")
        for rewrites in (False, True):
            if rewrites:
                ask(daemon, "BGREWRITEAOF")
                daemon.await_quiet()
            daemon.again()
            equal((ask(daemon, "XLEN", "s"), ask(daemon, "GET", "k")), (1, b"v"))
            equal(len(ask(daemon, "XRANGE", "s", "-", "+")[0][1]), len(fields))


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


run(180)
