#!/usr/bin/python3 -B
"""Keys with very many expired members: requests for them are delayed, no request sees expired members,
other requests are served, and many waiting clients cost no more than one."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, Daemon, encode, equal, main, test, wait_for

BATCH = 1000
LATER = NOON + 1001


def fill(raw, *head, count, at, pairs=False):
    """SADDEX key MEMBERS, HSETEX key FIELDS or ZADDEX key: adds members that expire at an instant."""
    name, key, *word = head
    for begin in range(0, count, BATCH):
        members = range(begin, begin + BATCH)
        rest = [text for i in members for text in ((f"m{i:06}", "x") if pairs else (f"m{i:06}",))]
        raw.send(encode(name, key, "PXAT", at, *word, BATCH, *rest))
    for _ in range(0, count, BATCH):
        raw.reply()


def fill_set(raw, key, count, at):
    fill(raw, "SADDEX", key, "MEMBERS", count=count, at=at)
    raw.call("SADD", key, "stays")


def info(raw, field):
    for line in raw.call("INFO", "stats", "clients", "expiry").decode().split("\r\n"):
        if line.startswith(field + ":"):
            return int(line[len(field) + 1:])
    raise AssertionError(field)


def come_due(raw, what="overdue_members"):
    """A second passes, and what is due is removed in slices: much of it is there at the first request."""
    _, text = raw.calls([("DEBUG", "CLOCK", "HOLD", LATER), ("INFO", "expiry")])
    assert f"{what}:0\r\n" not in text.decode(), text


class Burst:
    """A daemon whose clock is held, and a connection."""

    def __init__(self, *options):
        self.daemon = Daemon(*options)

    def __enter__(self):
        self.daemon.__enter__()
        self.daemon.hold()
        self.raw = self.daemon.raw()
        return self.daemon, self.raw

    def __exit__(self, *exception):
        self.raw.close()
        return self.daemon.__exit__(*exception)


@test
def a_thousand_clients_at_one_set_wait_as_long_as_one():
    with Burst() as (daemon, raw):
        spent = []
        for key, crowd in (("alone", 1), ("crowded", 1000)):
            clients = [daemon.raw() for _ in range(crowd)]
            daemon.hold()
            fill_set(raw, key, 300_000, NOON + 1000)
            come_due(raw)
            begin = daemon.cpu_seconds()
            for client in clients:
                client.send(encode("SCARD", key))
            for client in clients:
                equal(client.reply(), b":1\r\n")
            spent.append(daemon.cpu_seconds() - begin)
            for client in clients:
                client.close()
        # Clients that each looked at 2000 members in every turn would take about a hundred times as long.
        assert spent[1] < 10 * spent[0] + 1, spent


@test
def others_are_served_and_a_delayed_pipeline_keeps_its_order():
    with Burst() as (daemon, raw), daemon.raw() as other, daemon.raw() as gone:
        fill_set(raw, "s", 300_000, NOON + 1000)
        raw.call("SET", "n", "0")
        come_due(raw)
        gone.send(encode("SMEMBERS", "s"))
        raw.send(encode("INCR", "n") + encode("SCARD", "s") + encode("INCR", "n") +
                 encode("SADD", "s", "x") + encode("SCARD", "s"))
        equal(raw.reply(), b":1\r\n")
        gone.close()
        overtaken = other.call("INCR", "n")
        equal([raw.reply() for _ in range(4)],
              [b":1\r\n", b":3\r\n" if overtaken == b":2\r\n" else b":2\r\n", b":1\r\n", b":2\r\n"])


@test
def a_delayed_client_can_be_killed_but_is_not_blocked():
    with Burst() as (daemon, raw), daemon.raw() as killer, daemon.raw() as victim:
        fill_set(raw, "s", 1_000_000, NOON + 1000)
        number = victim.call("CLIENT", "ID")[1:-2]
        daemon.together([
            (raw, encode("DEBUG", "CLOCK", "HOLD", LATER)),
            (victim, encode("SCARD", "s")),
            (killer, encode("INFO", "clients") + encode("CLIENT", "UNBLOCK", number)
             + encode("CLIENT", "KILL", "ID", number))])
        shown, *answers = killer.replies(3)
        assert b"blocked_clients:1\r\n" in shown, shown  # delayed clients count
        equal(answers, [b":0\r\n", b":1\r\n"])
        equal(victim.rest(), b"")
        raw.reply()
        equal(raw.call("SCARD", "s"), b":1\r\n")
        equal(info(raw, "connected_clients"), 2)


@test
def a_transaction_runs_when_all_its_keys_are_settled():
    with Burst() as (daemon, raw):
        raw.call("SELECT", "2")
        fill_set(raw, "s", 100_000, NOON + 1000)
        raw.call("SELECT", "0")
        fill(raw, "HSETEX", "h", "FIELDS", count=100_000, at=NOON + 1000, pairs=True)
        raw.call("HSET", "h", "stays", "x")
        come_due(raw)
        for words in (("MULTI",), ("HLEN", "h"), ("SELECT", "2"), ("SCARD", "s"), ("SELECT", "0")):
            raw.call(*words)
        equal(raw.call("EXEC"), b"*4\r\n:1\r\n+OK\r\n:1\r\n+OK\r\n")
        equal(info(raw, "expired_members"), 200_000)


@test
def reads_in_a_pause_see_no_expired_member():
    with Burst() as (daemon, raw):
        fill_set(raw, "s", 100_000, NOON + 1000)
        raw.call("CLIENT", "PAUSE", "100000", "WRITE")
        come_due(raw)
        equal(raw.call("SCARD", "s"), b":1\r\n")


@test
def a_dehydrator_kept_for_what_has_ended_is_absent_in_a_pause():
    with Burst() as (daemon, raw):
        raw.call("POLICY", "SET", "rated", "RATE", "1", "PER", "1000")
        for words in (("PAUSE", "paused", "UNTIL", NOON + 1000), ("PUSH", "rated", "0", "p", "e"), ("POLL", "rated"),
                      ("PUSH", "remembers", "0", "p", "e", "REMEMBER", "1000"), ("POLL", "remembers")):
            assert not raw.call("REDE." + words[0], *words[1:]).startswith(b"-"), words
        equal(raw.call("EXISTS", "paused", "rated", "remembers"), b":3\r\n")
        raw.call("CLIENT", "PAUSE", "100000", "WRITE")
        daemon.hold(NOON + 1001)
        equal(raw.call("EXISTS", "paused", "rated", "remembers"), b":0\r\n")
        equal(raw.call("KEYS", "*"), b"*0\r\n")
        equal(raw.call("DBSIZE"), b":0\r\n")


@test
def a_blocked_client_waits_for_its_key_to_be_settled():
    with Burst() as (daemon, raw), daemon.raw() as first, daemon.raw() as second:
        for begin in range(0, 100_000, BATCH):
            raw.call("ZADDEX", "z", "PXAT", NOON + 1000,
                     *(text for i in range(begin, begin + BATCH) for text in (2e12, f"m{i}")))
        raw.call("ZADD", "z", NOON / 1000 + 1, "one", NOON / 1000 + 1, "two")
        first.send(encode("BZTSPOP", "z", 1, 0))
        wait_for(lambda: info(raw, "blocked_clients") == 1)
        second.send(encode("BZTSPOP", "z", 1, 0))
        wait_for(lambda: info(raw, "blocked_clients") == 2)
        come_due(raw)
        assert b"one" in first.reply()
        assert b"two" in second.reply()


@test
def keys_are_counted_when_expiry_has_caught_up():
    with Burst() as (daemon, raw), daemon.raw() as other:
        for begin in range(0, 200_000, BATCH):
            raw.send(b"".join(encode("SET", f"k{i}", "x", "PXAT", NOON + 1000)
                              for i in range(begin, begin + BATCH)))
            for _ in range(BATCH):
                raw.reply()
        raw.call("SET", "stays", "x")
        come_due(raw, "overdue_keys")
        other.send(encode("DBSIZE"))
        equal(raw.call("DBSIZE"), b":1\r\n")
        equal(other.reply(), b":1\r\n")
        equal(raw.call("RANDOMKEY"), b"$5\r\nstays\r\n")
        assert b"db0:keys=1,expires=0" in raw.call("INFO")


@test
def a_hundred_sorted_sets_far_over_a_new_maxlen_are_cut():
    with Burst() as (daemon, raw):
        for key in range(100):
            for begin in range(0, 5000, BATCH):
                raw.call("ZADD", f"z{key}", *(text for i in range(begin, begin + BATCH)
                                              for text in (i, f"m{i}")))
        raw.call("POLICY", "SET", "z*", "MAXLEN", "2000")
        clients = [daemon.raw() for _ in range(100)]
        for key, client in enumerate(clients):
            client.send(encode("ZADD", f"z{key}", 9999, "new") + encode("ZCARD", f"z{key}") +
                        encode("ZRANGE", f"z{key}", 0, 0))
        for client in clients:
            equal([client.reply(), client.reply(), client.reply()],
                  [b":1\r\n", b":2000\r\n", b"*1\r\n$5\r\nm3001\r\n"])
            client.close()


@test
def data_settled_in_slices_is_the_same_after_a_restart():
    with Burst("--appendonly", "yes") as (daemon, raw):
        fill_set(raw, "s", 20_000, NOON + 1000)
        for begin in range(0, 10_000, BATCH):
            raw.call("ZADD", "z", *(text for i in range(begin, begin + BATCH)
                                    for text in (i, f"m{i}")))
        raw.call("POLICY", "SET", "z", "MAXLEN", "3000")
        come_due(raw)
        equal(raw.call("SCARD", "s"), b":1\r\n")
        equal(raw.call("ZADD", "z", 99999, "new"), b":1\r\n")
        equal(raw.call("ZCARD", "z"), b":3000\r\n")
        before = raw.call("DEBUG", "DIGEST")
        equal(raw.call("DEBUG", "LOADAOF"), b"+OK\r\n")
        equal(raw.call("DEBUG", "DIGEST"), before)


main()
