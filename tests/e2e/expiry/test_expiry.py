#!/usr/bin/python3 -B
"""EXPIRY NEXT, FORECAST and LAG, and INFO's section on expiry."""
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, Daemon, encode, equal, main, plain, read_reply, stepped, test

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
ENDS = (("1s", SECOND), ("10s", 10 * SECOND), ("1m", MINUTE), ("10m", 10 * MINUTE), ("1h", HOUR),
        ("1d", DAY), ("later", float("inf")))
NAMES = [name for name, _ in ENDS] + ["never"]


class Expiry:
    """A daemon whose clock is held at NOON, and a connection."""

    def __init__(self, *options, held=True):
        self.daemon, self.held = Daemon(*options), held

    def __enter__(self):
        self.daemon.__enter__()
        if self.held:
            self.daemon.hold()
        self.raw = self.daemon.raw()
        return self

    def __exit__(self, *exception):
        self.raw.close()
        return self.daemon.__exit__(*exception)

    def run(self, *arguments):
        return said(self.raw.call(*arguments))

    def next(self, *count):
        return self.run("EXPIRY", "NEXT", *count)

    def forecast(self):
        return forecast_of(self.run("EXPIRY", "FORECAST"))

    def lag(self):
        reply = self.run("EXPIRY", "LAG")
        return dict(zip(reply[::2], reply[1::2]))

    def info(self, section="expiry"):
        lines = self.run("INFO", section).split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def load(self, requests):
        """Sends many requests, and drops their replies."""
        with self.daemon.raw() as raw:
            batch = [encode("CLIENT", "REPLY", "OFF")]
            for request in requests:
                batch.append(encode(*request))
                if len(batch) == 2000:
                    raw.send(b"".join(batch))
                    batch = []
            equal(raw.send(b"".join(batch)) or raw.call("CLIENT", "REPLY", "ON"), b"+OK\r\n")


def said(reply):
    return plain(read_reply(reply)[0], "utf-8")


def forecast_of(rows):
    equal([row[0] for row in rows], NAMES)
    return {name: tuple(counts) for name, *counts in rows}


class Truth:
    """The expected forecast, from the deadlines that were set."""

    def __init__(self, now=NOON):
        self.now, self.counts = now, {name: [0, 0, 0] for name in NAMES}

    def add(self, what, at, by=1):
        name = "never" if at is None else next(n for n, end in ENDS if at - self.now <= end)
        self.counts[name][what] += by
        return at

    def key(self, at, by=1):
        return self.add(0, at, by)

    def member(self, at, by=1):
        return self.add(1, at, by)

    def element(self, at, by=1):
        return self.add(2, at, by)

    def forecast(self):
        return {name: tuple(counts) for name, counts in self.counts.items()}


def some_deadline(rng, now=NOON):
    """A random deadline, equally often in each band; sometimes none."""
    band = rng.randrange(8)
    if band == 7:
        return None
    low = ENDS[band - 1][1] if band else 0
    high = 90 * DAY if band == 6 else ENDS[band][1]
    return now + rng.randint(low + 1, high)


EXPIRE = {"s": ("SADD", "SPEXPIREAT", "MEMBERS"), "h": ("HSET", "HPEXPIREAT", "FIELDS"),
          "z": ("ZADD", "ZPEXPIREAT", "MEMBERS")}


def collection(rng, truth, kind, name, size):
    """Requests that make a collection with members of any deadline."""
    add, expire, word = EXPIRE[kind]
    extra = {"s": lambda m: [m], "h": lambda m: [m, "v"], "z": lambda m: [1, m]}[kind]
    yield [add, name, *(text for m in range(size) for text in extra(f"m{m}"))]
    for m in range(size):
        at = truth.member(some_deadline(rng))
        if at is not None:
            yield [expire, name, at, word, 1, f"m{m}"]
    at = truth.key(some_deadline(rng) if rng.random() < 0.3 else None)
    if at is not None:
        yield ["PEXPIREAT", name, at]


def mixed(rng, truth, strings, collections, large):
    for i in range(strings):
        at = truth.key(some_deadline(rng))
        yield ["SET", f"k{i}", "v"] if at is None else ["SET", f"k{i}", "v", "PXAT", at]
    for i in range(collections):
        yield from collection(rng, truth, "shz"[i % 3], f"c{i}", 1 + i % 5)
    for kind in "shz":
        yield from collection(rng, truth, kind, "large " + kind, large)


# --- NEXT ----------------------------------------------------------------------------------------


@stepped
def the_next_deadlines_are_listed_in_order_with_their_kind():
    with Expiry() as ex:
        equal(ex.next(), [])
        ex.run("SET", "string", "v", "PX", 300)
        ex.run("HSET", "hash", "a", 1, "b", 2)
        ex.run("HPEXPIRE", "hash", 500, "FIELDS", 1, "a")
        ex.run("HPEXPIRE", "hash", 200, "FIELDS", 1, "b")
        ex.run("SADD", "set", "m", "n")
        ex.run("SPEXPIRE", "set", 400, "MEMBERS", 1, "n")
        ex.run("ZADD", "zset", 1, "m")
        ex.run("ZPEXPIRE", "zset", 600, "MEMBERS", 1, "m")
        ex.run("PEXPIRE", "zset", 100)
        ex.run("SET", "for ever", "v")
        rows = [["zset", NOON + 100, "key"], ["hash", NOON + 200, "field"],
                ["string", NOON + 300, "key"], ["set", NOON + 400, "member"]]
        equal(ex.next(), rows)
        equal(ex.next(2), rows[:2])
        ex.run("PERSIST", "zset")
        ex.daemon.step(200)
        equal(ex.next(), [["hash", NOON + 200, "field"], *rows[2:], ["zset", NOON + 600, "member"]])
        ex.daemon.step(1)
        equal(ex.next(), [*rows[2:], ["hash", NOON + 500, "field"], ["zset", NOON + 600, "member"]])
        ex.run("SELECT", 1)
        equal(ex.next(), [])


@stepped
def next_takes_counts_from_1_to_1000_and_10_without():
    with Expiry() as ex:
        ex.load(["SET", f"k{i}", "v", "PX", 1 + i] for i in range(1500))
        equal(ex.next(), [[f"k{i}", NOON + 1 + i, "key"] for i in range(10)])
        equal(ex.next(1000), [[f"k{i}", NOON + 1 + i, "key"] for i in range(1000)])
        for count in ("0", "-1", "1001", "x", "", "1.5", "99999999999999999999"):
            equal(ex.next(count), "ERR count must be an integer from 1 to 1000")
        assert ex.next(1, 2).startswith("ERR unknown subcommand or wrong number of arguments")


@stepped
def overdue_keys_are_never_listed_however_many_there_are():
    for overdue in (10, 30_000):
        with Expiry() as ex:
            ex.load(["SET", f"k{i}", "v", "PX", 5] for i in range(overdue))
            ex.run("SADD", "set", "old", "new")
            ex.run("SPEXPIRE", "set", 4, "MEMBERS", 1, "old")
            ex.run("SPEXPIRE", "set", 400, "MEMBERS", 1, "new")
            rest = [["set", NOON + 400, "member"]]
            # In one turn, so that nothing has been removed before the question, and then in slices.
            ex.raw.send(encode("DEBUG", "CLOCK", "HOLD", NOON + 6) + encode("EXPIRY", "NEXT") +
                        encode("DBSIZE") + encode("INFO", "stats"))
            ex.raw.reply()
            equal(said(ex.raw.reply()), rest)
            equal(said(ex.raw.reply()), 1)
            assert f"\r\nexpired_keys:{overdue}\r\n" in said(ex.raw.reply())


@stepped
def in_a_transaction_nobody_waits():
    with Expiry() as ex:
        ex.load(["SET", f"k{i}", "v", "PX", 5 if i % 2 else 5000] for i in range(30_000))
        ex.raw.send(encode("DEBUG", "CLOCK", "HOLD", NOON + 6) + encode("MULTI") +
                    encode("EXPIRY", "NEXT", 1) + encode("EXPIRY", "FORECAST") +
                    encode("DBSIZE") + encode("EXEC"))
        for _ in range(5):
            ex.raw.reply()
        reply, forecast, size = said(ex.raw.reply())
        equal(reply, [["k0", NOON + 5000, "key"]])
        equal(forecast_of(forecast)["10s"], (15_000, 0, 0))
        equal(forecast_of(forecast)["1s"], (0, 0, 0))
        equal(size, 15_000)


# --- FORECAST ------------------------------------------------------------------------------------


@stepped
def the_end_of_a_band_is_in_it_and_one_ms_later_in_the_next():
    with Expiry() as ex:
        truth = Truth()
        for name, end in ENDS[:-1]:
            for past in (0, 1):
                ex.run("SET", f"{name} {past}", "v", "PXAT", truth.key(NOON + end + past))
                ex.run("ZADD", "z", 1, f"{name} {past}")
                ex.run("ZPEXPIREAT", "z", truth.member(NOON + end + past), "MEMBERS", 1,
                       f"{name} {past}")
                ex.run("REDE.PUSHAT", "d", truth.element(NOON + end + past), "v", f"{name} {past}")
        ex.run("RPUSH", "list", "elements", "of", "lists", "are", "no", "members")
        truth.key(None, 3)
        equal(ex.forecast(), truth.forecast())
        ex.run("SELECT", 1)
        equal(ex.forecast(), Truth().forecast())


@stepped
def two_hundred_thousand_keys_of_all_kinds_are_forecast_exactly():
    with Expiry() as ex:
        truth, rng = Truth(), random.Random(1)
        ex.load(mixed(rng, truth, 150_000, 50_000, 20_000))
        wanted = truth.forecast()
        equal(ex.run("DBSIZE"), sum(keys for keys, _, _ in wanted.values()))
        equal(ex.forecast(), wanted)
        equal(ex.forecast(), wanted, "again")
        ex.run("FLUSHALL")
        equal(ex.forecast(), Truth().forecast())


@stepped
def a_forecast_counts_each_concurrent_write_once_or_not_at_all():
    with Expiry() as ex, ex.daemon.raw() as writer:
        truth, rng = Truth(), random.Random(2)
        ex.load(mixed(rng, truth, 100_000, 3000, 3000))
        before = truth.forecast()
        writes = 0
        ex.raw.send(encode("EXPIRY", "FORECAST"))
        while not ex.raw.pending:
            batch = []
            for _ in range(50):
                batch.append(encode("SET", f"new{rng.random()}", "v", "PX", 30 * MINUTE))
            writer.send(b"".join(batch))
            for _ in batch:
                writer.reply()
            writes += len(batch)
            ex.raw.take()
        got = forecast_of(said(ex.raw.reply()))
        for name, (keys, members, _) in before.items():
            equal(got[name][1], members, name)
            if name != "1h":
                equal(got[name][0], keys, name)
        assert before["1h"][0] <= got["1h"][0] <= before["1h"][0] + writes, (before, got, writes)


@stepped
def jobs_that_wait_are_forecast_and_due_ones_are_not():
    with Expiry() as ex:
        truth = Truth()
        ex.load(["REDE.PUSHAT", f"d{i % 3}", truth.element(NOON + 1 + i * i), "job", i] for i in range(40_000))
        truth.key(None, 3)
        equal(ex.forecast(), truth.forecast())
        equal([ex.run("REDE.COUNT", "d0", NOON + 1, end) for end in (NOON, NOON + 1, "+")], [0, 1, 13_334])
        # A claimed job is due again at the end of its lease.
        ex.daemon.step(40)
        due = sum(ex.run("REDE.LEN", f"d{i}", "DUE") for i in range(3))
        equal((due, sum(counts[2] for counts in ex.forecast().values())), (7, 40_000 - 7))
        before = ex.forecast()
        equal(len(ex.run("REDE.CLAIM", "d0", DAY, "COUNT", 1)), 1)
        after = ex.forecast()
        equal({name: after[name][2] - before[name][2] for name in NAMES if after[name] != before[name]}, {"1d": 1})


@test
def clients_are_served_during_a_forecast():
    with Expiry(held=False) as ex, ex.daemon.raw() as other:
        ex.load(["SET", f"k{i}", "v", "EX", 600] for i in range(300_000))
        served = 0
        ex.raw.send(encode("EXPIRY", "FORECAST"))
        while not ex.raw.pending:
            equal(other.call("PING"), b"+PONG\r\n")
            served += 1
            ex.raw.take()
        equal(forecast_of(said(ex.raw.reply()))["10m"], (300_000, 0, 0))
        assert served >= 10, served


@stepped
def expiry_next_and_forecast_run_during_a_pause():
    with Expiry() as ex, ex.daemon.raw() as other:
        ex.load(["SET", f"k{i}", "v", "EX", 1 + i % 60] for i in range(100_000))
        other.call("CLIENT", "PAUSE", 1000, "WRITE")  # overdue keys stay until the pause ends
        ex.daemon.step(500)
        ex.daemon.step(499)
        equal(ex.next(1), [["k0", NOON + SECOND, "key"]])
        other.call("CLIENT", "PAUSE", 1000, "WRITE")
        ex.daemon.step(2)
        reply = ex.next(1)  # without overdue keys
        equal((reply[0][1], reply[0][2]), (NOON + 2 * SECOND, "key"))
        with ex.daemon.raw() as gone:
            gone.send(encode("EXPIRY", "FORECAST"))
        ex.raw.send(encode("EXPIRY", "NEXT", 1) + encode("EXPIRY", "FORECAST") + encode("PING"))
        other.call("CLIENT", "UNPAUSE")
        reply = said(ex.raw.reply())
        equal((reply[0][1], reply[0][2]), (NOON + 2 * SECOND, "key"))
        equal(sum(keys for keys, *_ in forecast_of(said(ex.raw.reply())).values()), 98_333)
        equal(ex.raw.reply(), b"+PONG\r\n")


# --- LAG and INFO --------------------------------------------------------------------------------


@stepped
def lag_reports_how_late_expiry_was_since_resetstat():
    with Expiry() as ex:
        names = ["p50", "p90", "p99", "p99.9", "max", "count"]
        equal(list(ex.lag()), names)
        equal(set(ex.lag().values()), {0})
        ex.load(["SET", f"k{i}", "v", "PX", 100] for i in range(989))
        ex.run("SADD", "set", *range(11))
        ex.run("SPEXPIRE", "set", 50, "MEMBERS", 10, *range(10))
        ex.run("SPEXPIRE", "set", 80, "MEMBERS", 1, 10)
        ex.daemon.step(101)
        equal(ex.next(), [])  # reported once nothing is overdue
        lag = ex.lag()
        equal((lag["count"], lag["p50"], lag["p90"]), (1000, 1, 1))
        assert lag["max"] >= 21, lag
        info = ex.info()
        equal(info["lag_count"], "1000")
        equal(info["lag_msec"], ",".join(f"{name}={lag[name]}" for name in names[:-1]))
        equal((info["expired_keys"], info["expired_members"]), ("989", "11"))
        equal(ex.info("stats")["expired_subkeys"], "11")
        ex.run("CONFIG", "RESETSTAT")
        equal(set(ex.lag().values()), {0})
        equal(ex.info()["lag_msec"], "p50=0,p90=0,p99=0,p99.9=0,max=0")
        equal(ex.info("stats")["expired_subkeys"], "0")


@stepped
def info_reports_the_next_and_the_overdue_deadlines():
    with Expiry() as ex:
        info = ex.info()
        equal((info["keys_with_deadlines"], info["next_due_in_msec"]), ("0", "-1"))
        ex.load(["SET", f"k{i}", "v", "PX", 100] for i in range(7))
        ex.run("HSET", "h", *(text for i in range(5) for text in (i, "v")))
        ex.run("HPEXPIRE", "h", 100, "FIELDS", 3, 0, 1, 2)
        ex.run("SET", "k", "v")
        info = ex.info()
        equal((info["keys_with_deadlines"], info["next_due_in_msec"]), ("8", "101"))
        equal((info["overdue_keys"], info["overdue_members"]), ("0", "0"))
        ex.raw.send(encode("DEBUG", "CLOCK", "STEP", 150) + encode("INFO", "expiry"))
        ex.raw.reply()
        reply = said(ex.raw.reply())
        assert "\r\noverdue_keys:7\r\noverdue_members:3\r\nnext_due_in_msec:0\r\n" in reply, reply
        info = ex.info()
        equal((info["overdue_keys"], info["overdue_members"]), ("0", "0"))
        for section in ("default", "all", "everything"):
            assert "# Expiry\r\n" in ex.run("INFO", section), section
        assert "# Expiry\r\n" in ex.run("INFO")


@stepped
def replies_keep_their_shape_in_resp3_and_help_helps():
    with Expiry() as ex:
        ex.run("HELLO", 3)
        ex.run("SET", "k", "v", "PX", 100)
        equal(ex.raw.call("EXPIRY", "NEXT"),
              b"*1\r\n*3\r\n$1\r\nk\r\n:%d\r\n$3\r\nkey\r\n" % (NOON + 100))
        assert ex.raw.call("EXPIRY", "FORECAST").startswith(b"*8\r\n*4\r\n$2\r\n1s\r\n:1\r\n:0\r\n:0\r\n")
        assert ex.raw.call("EXPIRY", "LAG").startswith(b"%6\r\n$3\r\np50\r\n:0\r\n")
        assert ex.run("EXPIRY", "HELP")[0].startswith("EXPIRY <subcommand>")
        equal(ex.run("EXPIRY", "NOSUCH"), "ERR unknown subcommand 'NOSUCH'. Try EXPIRY HELP.")
        equal(ex.run("EXPIRY", "FORECAST", "x"),
              "ERR wrong number of arguments for 'expiry|forecast' command")


main(120)
