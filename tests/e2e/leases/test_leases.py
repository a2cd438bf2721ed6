#!/usr/bin/python3 -B
"""The commands of leases: replies, errors, permits, tokens, events, and what other commands do with a
key that is a lease. The clock is stepped."""
from leases import KEY, info, parsed, take
from daemon import NOON, Daemon, equal, in_resp2, main, own

WRONGTYPE = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"


class World:
    def __init__(self, *options):
        self.daemon = Daemon(*options)

    def __enter__(self):
        self.daemon.__enter__()
        self.daemon.hold()
        self.raw = self.daemon.raw()
        return self.daemon, self.raw

    def __exit__(self, *exception):
        if exception[0] is None:
            equal(self.raw.call("DEBUG", "CHECK"), b"+OK\r\n")
        self.raw.close()
        return self.daemon.__exit__(*exception)


@own
def one_holds_and_others_are_refused_until_the_end():
    with World() as (daemon, raw):
        token, end = take(raw, "a", 100)
        equal(end, NOON + 100)
        equal(take(raw, "b"), None)
        equal(raw.call("LEASE.CHECK", KEY, token), b":100\r\n")
        daemon.step(100)
        equal(raw.call("LEASE.CHECK", KEY, token), b":0\r\n")
        equal(take(raw, "b"), None)
        daemon.step(1)
        equal(raw.call("LEASE.CHECK", KEY, token), b"$-1\r\n")
        equal(raw.call("EXISTS", KEY), b":0\r\n")
        later, _ = take(raw, "b")
        equal(later, token + 1)


@own
def the_same_owner_gets_its_token_with_a_new_end():
    with World() as (daemon, raw):
        token, _ = take(raw, "a", 100)
        daemon.step(50)
        equal(take(raw, "a", 100), (token, NOON + 150))
        daemon.step(101)
        equal(take(raw, "a", 100)[0], token + 1)


@own
def a_token_extends_and_drops_only_what_it_holds():
    with World() as (daemon, raw):
        token, _ = take(raw, "a", 100)
        daemon.step(60)
        equal(raw.call("LEASE.EXTEND", KEY, token, 100), b":%d\r\n" % (NOON + 160))
        equal(raw.call("LEASE.EXTEND", KEY, token + 1, 100), b"$-1\r\n")
        equal(raw.call("LEASE.DROP", KEY, token + 1), b":0\r\n")
        equal(raw.call("LEASE.DROP", KEY, token), b":1\r\n")
        equal(raw.call("LEASE.DROP", KEY, token), b":0\r\n")
        equal(raw.call("LEASE.EXTEND", KEY, token, 100), b"$-1\r\n")
        new, _ = take(raw, "b", 100)
        equal(raw.call("LEASE.DROP", KEY, token), b":0\r\n")
        equal(raw.call("LEASE.CHECK", KEY, new), b":100\r\n")
        daemon.step(101)
        equal(raw.call("LEASE.EXTEND", KEY, new, 100), b"$-1\r\n")
        equal(raw.call("LEASE.EXTEND", "none", new, 100), b"$-1\r\n")


@own
def as_many_hold_as_there_are_permits():
    with World() as (daemon, raw):
        tokens = [take(raw, f"o{n}", 100 + n, "PERMITS", 40)[0] for n in range(40)]
        equal(tokens, sorted(set(tokens)))
        equal(take(raw, "more", 100, "PERMITS", 40), None)
        found = info(raw)
        equal((found["permits"], found["held"], found["waiting"], found["grants-in-ms"]), (40, 40, 0, 0))
        equal(found["holders"], {b"o%d" % n: (tokens[n], 100 + n) for n in range(40)})
        equal(raw.call("LEASE.DROP", KEY, tokens[7]), b":1\r\n")
        assert take(raw, "more", 100, "PERMITS", 40)
        daemon.step(120)
        equal(info(raw)["held"], 20)
        equal(info(raw, "none")["holders"], {})


@own
def permits_change_only_when_nobody_holds():
    with World() as (daemon, raw):
        take(raw, "a", 100, "PERMITS", 3)
        wrong = b"-ERR the key is held with PERMITS 3\r\n"
        equal(raw.call("LEASE.TAKE", KEY, "b", 100), wrong)
        equal(raw.call("LEASE.TAKE", KEY, "a", 100), wrong)
        equal(raw.call("LEASE.TAKE", KEY, "b", 100, "PERMITS", 4), wrong)
        equal(info(raw)["held"], 1)
        daemon.step(101)
        assert take(raw, "b", 100)
        equal(info(raw)["permits"], 1)


@own
def replies_show_the_end_of_the_key_if_that_is_earlier():
    with World() as (daemon, raw):
        raw.call("POLICY", "SET", "app:*", "MAXTTL", "1s")
        token, end = parsed(raw.call("LEASE.TAKE", "app:l", "x", 60_000))
        equal(end, NOON + 1000)
        equal(raw.call("LEASE.CHECK", "app:l", token), b":1000\r\n")
        assert b":1000\r\n" in raw.call("LEASE.INFO", "app:l")
        daemon.step(400)
        equal(raw.call("LEASE.EXTEND", "app:l", token, 60_000), b":%d\r\n" % end)
        token, _ = take(raw, "a", 5000)
        raw.call("PEXPIRE", KEY, 10)
        equal(raw.call("LEASE.CHECK", KEY, token), b":10\r\n")
        equal(take(raw, "a", 5000), (token, NOON + 410))


@own
def bad_input_changes_nothing():
    with World("--lease-max-ttl", "5000") as (_, raw):
        raw.call("SET", "string", "v")
        bad_ttl = b"-ERR invalid expire time in 'LEASE.TAKE' command\r\n"
        for words, error in (
                ((KEY, "a", 0), bad_ttl),
                ((KEY, "a", -1), bad_ttl),
                ((KEY, "a", 5001), b"-ERR the ttl is longer than lease-max-ttl (5000 ms)\r\n"),
                ((KEY, "a", "x"), b"-ERR value is not an integer or out of range\r\n"),
                ((KEY, "a", 1, "PERMITS", 0), b"-ERR PERMITS must be between 1 and 1000000\r\n"),
                ((KEY, "a", 1, "PERMITS", 1000001), b"-ERR PERMITS must be between 1 and 1000000\r\n"),
                ((KEY, "a", 1, "PERMITS"), b"-ERR syntax error: PERMITS needs a value\r\n"),
                ((KEY, "a", 1, "WAIT", 1, "WAIT", 1),
                 b"-ERR syntax error: WAIT repeats or contradicts an option before it\r\n"),
                ((KEY, "a", 1, "TOKEN", 1), b"-ERR syntax error: unknown option 'TOKEN'\r\n"),
                ((KEY, "a", 1, "WAIT", -1), b"-ERR timeout is negative\r\n"),
                ((KEY, "a", 1, "WAIT", "x"), b"-ERR timeout is not a float or out of range\r\n"),
                (("string", "a", 1), WRONGTYPE)):
            got = raw.call("LEASE.TAKE", *words)
            equal(got.lower(), error.lower(), words)
        for name, words in (("EXTEND", (1, 1)), ("DROP", (1,)), ("CHECK", (1,)), ("INFO", ())):
            equal(raw.call("LEASE." + name, "string", *words), WRONGTYPE)
        token, _ = take(raw, "a", 5000)
        equal(raw.call("LEASE.EXTEND", KEY, token, 5001),
              b"-ERR the ttl is longer than lease-max-ttl (5000 ms)\r\n")
        assert raw.call("LEASE.EXTEND", KEY, token, 0).startswith(b"-ERR invalid expire time")
        equal(raw.call("LEASE.CHECK", KEY, token), b":5000\r\n")
        equal(raw.call("LPUSH", KEY, "x"), WRONGTYPE)
        equal(raw.call("EXPIREMEMBER", KEY, "a", 100)[:1], b"-")
        equal(raw.call("DBSIZE"), b":2\r\n")


@own
def events_say_who_took_and_left():
    with World("--notify-keyspace-events", "KEgT") as (daemon, raw), daemon.raw() as listener:
        listener.call("PSUBSCRIBE", "__keyevent@0__:*")
        listener.send(b"*2\r\n$10\r\nPSUBSCRIBE\r\n$18\r\n__subkeyevent@0__*\r\n")
        listener.reply()
        token, _ = take(raw, "a", 100)
        raw.call("LEASE.EXTEND", KEY, token, 50)
        raw.call("LEASE.DROP", KEY, token)
        take(raw, "b", 100)
        daemon.step(101)
        heard = [parsed(reply)[2:] for reply in listener.replies(10)]
        names = [channel.split(b":")[1] for channel, _ in heard if b"keyevent@" in channel
                 and b"sub" not in channel]
        equal(names, [b"lease.take", b"lease.drop", b"del", b"lease.take", b"lease.end", b"del"])
        members = [(channel.split(b":")[1], text) for channel, text in heard if b"sub" in channel]
        equal(members, [(event, b"4:lock|1:" + owner) for event, owner in (
            (b"lease.take", b"a"), (b"lease.drop", b"a"), (b"lease.take", b"b"), (b"lease.end", b"b"))])


@own
def other_commands_treat_it_as_any_key():
    with World() as (daemon, raw):
        token, _ = take(raw, "a", 1000, "PERMITS", 2)
        equal(raw.call("TYPE", KEY), b"+lease\r\n")
        equal(raw.call("OBJECT", "ENCODING", KEY), b"$3\r\nraw\r\n")
        assert int(raw.call("MEMORY", "USAGE", KEY)[1:]) > 0
        equal(parsed(raw.call("SCAN", 0, "TYPE", "lease"))[1], [KEY.encode()])
        equal(parsed(raw.call("EXPIRY", "NEXT"))[0][1:], [NOON + 1000, b"holder"])
        dump = parsed(raw.call("DUMP", KEY))
        equal(raw.call("COPY", KEY, "copy"), b":1\r\n")
        equal(info(raw, "copy")["holders"], {b"a": (token, 1000)})
        equal(raw.call("RENAME", KEY, "other"), b"+OK\r\n")
        equal(raw.call("LEASE.CHECK", "other", token), b":1000\r\n")
        equal(raw.call("MOVE", "other", 1), b":1\r\n")
        raw.call("FLUSHALL")
        equal(raw.call("RESTORE", KEY, 0, dump), b"+OK\r\n")
        equal(info(raw)["holders"], {b"a": (token, 1000)})
        equal(take(raw, "b", 10, "PERMITS", 2)[0], token + 1)
        equal(raw.call("EXPIRE", KEY, 0), b":1\r\n")
        assert take(raw, "c")
        daemon.step(1)
        equal(raw.call("SET", KEY, "v"), b"+OK\r\n")


@own
def a_restored_token_counts_as_granted():
    with World() as (_, raw), World() as (_, other):
        for n in range(5):
            take(raw, f"o{n}", 100, key=f"k{n}")
        token, _ = take(raw, "a", 100)
        dump = parsed(raw.call("DUMP", KEY))
        mine, _ = take(other, "x", 100, key="k")
        assert mine < token
        equal(other.call("RESTORE", KEY, 0, dump), b"+OK\r\n")
        equal(take(other, "y", 100, key="z")[0], token + 1)


@own
def a_check_guards_what_follows_in_a_script():
    script = ("if redis.call('LEASE.CHECK', KEYS[1], ARGV[1]) then "
              "redis.call('SET', KEYS[2], ARGV[2]) return 1 end return 0")
    with World() as (daemon, raw):
        token, _ = take(raw, "a", 100)
        equal(raw.call("EVAL", script, 2, KEY, "v", token, "one"), b":1\r\n")
        daemon.step(101)
        equal(raw.call("EVAL", script, 2, KEY, "v", token, "two"), b":0\r\n")
        equal(raw.call("GET", "v"), b"$3\r\none\r\n")


@own
def transactions_and_scripts_do_not_wait():
    with World() as (_, raw):
        take(raw, "a", 100)
        raw.call("MULTI")
        raw.call("LEASE.TAKE", KEY, "b", 100, "WAIT", 0)
        equal(raw.call("EXEC"), b"*1\r\n*-1\r\n")
        equal(raw.call("EVAL", "return redis.call('LEASE.TAKE', KEYS[1], 'b', 100, 'WAIT', 0)", 1, KEY),
              b"$-1\r\n")
        equal(raw.call("EVAL", "return redis.call('LEASE.TAKE', KEYS[1], 'b', 100)[1]", 1, "free")[:1],
              b":")


@own
def watch_sees_a_lease_change_hands():
    with World() as (daemon, raw), daemon.raw() as other:
        take(raw, "a", 100)
        other.call("WATCH", KEY)
        daemon.step(101)
        take(raw, "b", 100)
        other.call("MULTI")
        other.call("PING")
        equal(other.call("EXEC"), b"*-1\r\n")


@own
def eviction_spares_leases():
    with World("--maxmemory", "8mb", "--maxmemory-policy", "allkeys-random") as (_, raw):
        token, _ = take(raw, "a", 60000)
        for n in range(3000):
            raw.call("SET", f"k{n}", "x" * 8000)
        equal(raw.call("LEASE.CHECK", KEY, token)[:1], b":")


@own
@in_resp2
def resp3_has_a_map_and_nulls():
    with World() as (_, raw):
        raw.call("HELLO", 3)
        take(raw, "a", 100)
        assert raw.call("LEASE.INFO", KEY).startswith(b"%5\r\n")
        equal(raw.call("LEASE.TAKE", KEY, "b", 100), b"_\r\n")
        equal(raw.call("LEASE.CHECK", KEY, 1), b"_\r\n")


if __name__ == "__main__":
    main()
