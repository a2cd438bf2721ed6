#!/usr/bin/python3 -B
"""Client-side caching: which commands invalidate, which clients get the message, and its form.

Most tests also run on redis-server; those with a stepped clock do not. The last test runs random
programs in lock-step with redis-server 7.0.15; TEST_SEED chooses them.
"""
import random
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import (BINARY, Daemon, encode, equal, main, oracle, own, random_seed, read_reply,
                    stepped)
from daemon import test

CHANNEL = b"__redis__:invalidate"


def push(*keys):
    """The message that these keys are invalid; without keys: all keys."""
    if not keys:
        return b">2\r\n$10\r\ninvalidate\r\n_\r\n"
    return b">2\r\n$10\r\ninvalidate\r\n" + encode(*keys)


def as_message(*keys):
    """The same message for a subscriber in RESP2."""
    head = b"*3\r\n$7\r\nmessage\r\n$20\r\n" + CHANNEL + b"\r\n"
    return head + (encode(*keys) if keys else b"$-1\r\n")


class Caller:
    """A connection, and its invalidation messages."""

    def __init__(self, daemon, *tracking, version=3):
        self.raw = daemon.raw()
        self.id = int(self.raw.call("CLIENT", "ID")[1:])
        if version == 3:
            self.raw.call("HELLO", "3")
        if tracking:
            self.says(b"+OK\r\n", "CLIENT", "TRACKING", "ON", *tracking)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.raw.close()

    def call(self, *arguments):
        return self.raw.call(*arguments)

    def says(self, wanted, *arguments):
        equal(self.raw.call(*arguments), wanted, " ".join(map(str, arguments)))

    def heard(self):
        """Everything before the reply to a command that does not exist."""
        self.raw.send(encode("NOSUCHCOMMAND"))
        found = b""
        while True:
            reply = self.raw.reply()
            if b"NOSUCHCOMMAND" in reply.upper():
                return found
            found += reply

    def hears(self, *messages):
        equal(self.heard(), b"".join(messages))


def overlap(prefix, which, other):
    return (b"-ERR Prefix '" + prefix + b"' overlaps with " + which + b" prefix '" + other +
            b"'. Prefixes for a single client must not overlap.\r\n")


def wanted_overlap(held, given):
    """The error of the first given prefix that overlaps, as Redis looks for it; or OK."""
    for place, one in enumerate(given):
        for other in sorted(held):
            if one.startswith(other) or other.startswith(one):
                return overlap(one, b"an existing", other)
        for other in given[place + 1:]:
            if one.startswith(other) or other.startswith(one):
                return overlap(one, b"another provided", other)
    return b"+OK\r\n"


@own
def the_first_overlap_is_named():
    rng = random.Random(random_seed())
    with Daemon() as daemon, daemon.raw() as raw:
        raw.call("HELLO", "3")
        for _ in range(150):
            held = set()
            for _ in range(rng.randrange(1, 8)):
                given = ["".join(rng.choice("ab\xff") for _ in range(rng.choice((1, 3, 6, 9)))).encode("latin-1")
                         for _ in range(rng.randrange(1, 4))]
                wanted = wanted_overlap(held, given)
                words = [word for prefix in given for word in ("PREFIX", prefix)]
                equal(raw.call("CLIENT", "TRACKING", "ON", "BCAST", *words), wanted, (held, given))
                if wanted.startswith(b"+"):
                    held |= set(given)
                shown = raw.call("CLIENT", "TRACKINGINFO")
                assert shown.count(b"$") >= len(held), shown
            raw.call("CLIENT", "TRACKING", "OFF")


@own
def many_prefixes_and_patterns_take_no_long_turn():
    """Comparing each with all others takes 30 seconds of CPU time."""
    with Daemon() as daemon, daemon.raw() as raw:
        names = [f"{number * 7919 % 1_000_003:07d}" for number in range(60_000)]
        words = [word for name in names for word in ("PREFIX", name)]
        equal(raw.call("CLIENT", "TRACKING", "ON", "BCAST", *words), b"+OK\r\n")
        equal(raw.call("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", names[-1] + "x"),
              overlap(names[-1].encode() + b"x", b"an existing", names[-1].encode()))
        equal(raw.call("CLIENT", "TRACKING", "OFF"), b"+OK\r\n")
        for mark in "~&":
            patterns = ["resetchannels", *(mark + name for name in names)]
            equal(raw.call("ACL", "SETUSER", "anna", *patterns), b"+OK\r\n")
            equal(raw.call("ACL", "SETUSER", "anna", *patterns[1:]), b"+OK\r\n")
        assert daemon.cpu_seconds() < 10
        shown = raw.call("ACL", "LIST")
        assert all(shown.count(mark + name.encode()) == 1 for mark in (b"~", b"&")
                   for name in names[::5000]), len(shown)


@test
def a_key_that_was_read_is_invalidated_once():
    with Daemon() as daemon, Caller(daemon, "NOLOOP") as a, Caller(daemon) as b:
        b.call("SET", "k", "1")
        b.call("SET", "other", "1")
        a.hears()
        a.call("GET", "k")
        b.call("SET", "other", "2")
        a.hears()
        b.call("SET", "k", "2")
        b.call("SET", "k", "3")
        a.hears(push("k"))
        a.call("MGET", "k", "other", "k")
        b.call("DEL", "other", "k")
        a.hears(push("other"), push("k"))


@test
def a_missing_key_is_read_too_and_a_write_reads_nothing():
    with Daemon() as daemon, Caller(daemon, "NOLOOP") as a, Caller(daemon) as b:
        a.call("GET", "k")
        a.call("SET", "w", "1")
        a.call("LPOP", "w")
        b.call("SET", "k", "1")
        b.call("SET", "w", "1")
        a.hears(push("k"))


@test
def scripts_read_by_their_commands_only():
    library = ("#!lua name=lib\nredis.register_function{function_name='get', flags={'no-writes'}, "
               "callback=function(keys) return redis.call('GET', keys[1]) end}\n"
               "redis.register_function{function_name='none', flags={'no-writes'}, "
               "callback=function() return 1 end}")
    reads = "return redis.call('GET', KEYS[1])"
    with Daemon() as daemon, daemon.raw() as writer:
        writer.call("FUNCTION", "LOAD", library)
        for words, message in ((("EVAL_RO", reads), push("k")), (("EVAL", reads), push("k")),
                               (("FCALL_RO", "get"), push("k")), (("FCALL", "get"), push("k")),
                               (("EVAL_RO", "return 1"), b""), (("EVAL", "return 1"), b""),
                               (("FCALL_RO", "none"), b""), (("FCALL", "none"), b""),
                               (("EVAL_RO", "error('x')"), b"")):
            writer.call("SET", "k", "v")
            caller = Caller(daemon, "NOLOOP")
            caller.raw.call(*words, 1, "k")
            writer.call("SET", "k", "w")
            caller.raw.send(encode("PING"))
            equal(caller.raw.reply() if message else b"", message, str(words))
            equal(caller.raw.reply(), b"+PONG\r\n", str(words))
            caller.raw.close()


@test
def tracking_ignores_the_database_of_a_key():
    with Daemon() as daemon, Caller(daemon, "NOLOOP") as a, Caller(daemon) as b:
        a.call("GET", "k")
        b.call("SELECT", "3")
        b.call("SET", "k", "1")
        a.hears(push("k"))


@test
def every_way_to_change_a_key_invalidates_it():
    changes = (("RENAME k n", "k", "n"), ("COPY k n REPLACE", "n"), ("MOVE k 1", "k"),
               ("EXPIRE k 100", "k"), ("PERSIST k", "k"), ("APPEND k x", "k"), ("GETDEL k", "k"),
               ("GETEX k EX 9", "k"), ("EXPIRE k -1", "k"), ("SETRANGE k 9 x", "k"))
    with Daemon() as daemon, Caller(daemon, "NOLOOP") as a, Caller(daemon) as b:
        for line, *keys in changes:
            b.call("FLUSHALL")
            b.call("SET", "k", "v", "EX", "50")
            a.heard()
            a.call("MGET", "k", "n")
            b.call(*line.split())
            equal(a.heard(), b"".join(map(push, keys)), line)


@test
def flushing_invalidates_all_keys_of_tracking_clients():
    with Daemon() as daemon, Caller(daemon, "NOLOOP") as a, Caller(daemon, "BCAST") as b:
        with Caller(daemon) as c:
            c.call("FLUSHALL")
            c.call("FLUSHDB", "ASYNC")
            a.hears(push(), push())
            b.hears(push(), push())
            c.hears()
            a.call("GET", "k")
            a.says(b"+OK\r\n", "FLUSHALL")
            a.hears(push())
            c.call("SET", "k", "1")
            a.hears()


@own
def swapping_databases_notifies_every_client():
    with Daemon() as daemon, Caller(daemon, "NOLOOP") as a, Caller(daemon) as b:
        a.call("GET", "k")
        b.call("SWAPDB", "0", "1")
        a.hears(push())


@test
def invalidations_by_own_changes_come_after_the_reply():
    with Daemon() as daemon, Caller(daemon, "OPTOUT") as a:
        a.call("GET", "k")
        a.says(b"+OK\r\n", "SET", "k", "1")
        a.hears(push("k"))


@test
def a_session_hears_of_its_own_changes_last():
    for binary in (BINARY, oracle()):
        with Daemon(binary=binary) as daemon, Caller(daemon, "OPTOUT") as a:
            with Caller(daemon, "REDIRECT", str(a.id)) as b:
                b.call("GET", "own")
                a.call("GET", "other")
                b.says(b"+OK\r\n", "MSET", "own", "1", "other", "2")
                a.hears(push("other"), push("own"))


@test
def invalidations_of_a_transaction_come_after_its_array():
    with Daemon() as daemon, Caller(daemon, "OPTOUT") as a, Caller(daemon, "NOLOOP") as b:
        b.call("GET", "k")
        for line in ("MULTI", "GET k", "SET k 1", "GET k", "SET k 2", "FLUSHDB"):
            a.call(*line.split())
        a.says(b"*5\r\n_\r\n+OK\r\n$1\r\n1\r\n+OK\r\n+OK\r\n", "EXEC")
        a.hears(push("k"), push("k"), push())
        b.hears(push("k"), push())


@test
def tracking_may_begin_inside_a_transaction():
    with Daemon() as daemon, Caller(daemon) as a:
        for line in ("MULTI", "CLIENT TRACKING ON", "GET k", "SET k 1"):
            a.call(*line.split())
        a.call("EXEC")
        a.hears(push("k"))


@test
def optin_tracks_only_commands_after_caching_yes():
    with Daemon() as daemon, Caller(daemon, "OPTIN") as a, Caller(daemon) as b:
        a.call("GET", "k")
        b.call("SET", "k", "1")
        a.hears()
        a.call("CLIENT", "CACHING", "YES")
        a.call("CLIENT", "ID")
        a.call("GET", "k")
        a.call("GET", "l")
        b.call("MSET", "k", "1", "l", "1")
        a.hears(push("k"))
        a.call("CLIENT", "CACHING", "YES")
        for line in ("MULTI", "GET k", "GET l", "EXEC", "GET m"):
            a.call(*line.split())
        b.call("MSET", "k", "1", "l", "1", "m", "1")
        a.hears(push("k"), push("l"))


@test
def optout_tracks_all_but_commands_after_caching_no():
    with Daemon() as daemon, Caller(daemon, "OPTOUT") as a, Caller(daemon) as b:
        a.call("CLIENT", "CACHING", "NO")
        a.call("GET", "k")
        a.call("GET", "l")
        b.call("MSET", "k", "1", "l", "1")
        a.hears(push("l"))


@test
def broadcast_sends_all_changes_of_a_turn_together_in_order():
    with Daemon() as daemon, Caller(daemon, "BCAST", "PREFIX", "y", "PREFIX", "x") as a:
        with Caller(daemon) as b:
            b.raw.send(b"".join(encode(*line.split()) for line in
                                ("SET y1 1", "SET xb 1", "SET xa 1", "DEL xb", "SET other 1")))
            for _ in range(5):
                b.raw.reply()
            a.hears(push("xa", "xb"), push("y1"))
            b.call("SET", "x", "1")
            a.hears(push("x"))


@test
def broadcast_without_a_prefix_covers_all_keys():
    with Daemon() as daemon, Caller(daemon, "BCAST") as a, Caller(daemon) as b:
        b.call("SET", "", "1")
        a.hears(push(""))
        a.says(b"%3\r\n$5\r\nflags\r\n~2\r\n$2\r\non\r\n$5\r\nbcast\r\n$8\r\nredirect\r\n:0\r\n"
               b"$8\r\nprefixes\r\n*1\r\n$0\r\n\r\n", "CLIENT", "TRACKINGINFO")


@test
def noloop_leaves_out_own_changes():
    with Daemon() as daemon, Caller(daemon, "BCAST", "NOLOOP") as a, Caller(daemon) as b:
        a.call("SET", "own", "1")
        a.hears()
        b.call("SET", "other", "1")
        a.hears(push("other"))


@test
def a_redirection_sends_invalidations_to_a_resp2_subscriber():
    with Daemon() as daemon, Caller(daemon, version=2) as s, Caller(daemon) as b:
        s.call("SUBSCRIBE", CHANNEL)
        with Caller(daemon, "REDIRECT", str(s.id), version=2) as a:
            a.says(b":%d\r\n" % s.id, "CLIENT", "GETREDIR")
            a.call("GET", "k")
            b.call("SET", "k", "1")
            equal(s.raw.reply(), as_message("k"))
            b.call("FLUSHALL")
            equal(s.raw.reply(), as_message())
            assert b" flags=tU " in a.call("CLIENT", "INFO")
            assert b" redir=%d " % s.id in a.call("CLIENT", "INFO")


@test
def a_broken_redirection_is_reported():
    with Daemon() as daemon, Caller(daemon) as b, Caller(daemon, version=2) as s:
        with Caller(daemon, "REDIRECT", str(s.id)) as a:
            a.call("GET", "k")
            s.says(b"+OK\r\n", "QUIT")
            s.raw.rest()
            b.call("SET", "k", "1")
            a.hears(b">2\r\n$21\r\ntracking-redir-broken\r\n:%d\r\n" % s.id)
            assert b"broken_redirect" in a.call("CLIENT", "TRACKINGINFO")
            assert b" flags=tRU " in a.call("CLIENT", "INFO")


@test
def resp2_without_a_redirection_gets_no_invalidations():
    with Daemon() as daemon, Caller(daemon, "OPTOUT", version=2) as a, Caller(daemon) as b:
        a.call("GET", "k")
        b.call("SET", "k", "1")
        a.hears()
        a.call("HELLO", "3")
        b.call("SET", "k", "1")
        a.hears()


@test
def tracked_keys_stay_while_tracking_is_off_and_on():
    with Daemon() as daemon, Caller(daemon, "NOLOOP") as a, Caller(daemon, "NOLOOP") as b:
        a.call("GET", "k")
        a.call("CLIENT", "TRACKING", "OFF")
        a.call("CLIENT", "TRACKING", "ON")
        b.call("SET", "k", "1")
        a.hears(push("k"))


@test
def reset_and_replies_off():
    with Daemon() as daemon, Caller(daemon, "NOLOOP") as a, Caller(daemon) as b:
        a.call("GET", "k")
        a.raw.send(encode("CLIENT", "REPLY", "OFF"))
        a.raw.send(encode("GET", "l"))
        a.says(b"+OK\r\n", "CLIENT", "REPLY", "ON")
        a.raw.send(encode("CLIENT", "REPLY", "OFF"))
        a.raw.send(encode("CLIENT", "TRACKING", "ON", "NOLOOP"))
        b.call("SET", "k", "1")
        b.call("SET", "l", "1")
        equal(a.raw.reply() + a.raw.reply(), push("k") + push("l"))
        a.says(b"+OK\r\n", "CLIENT", "REPLY", "ON")
        a.call("GET", "k")
        a.says(b"+RESET\r\n", "RESET")
        b.call("SET", "k", "1")
        a.hears()
        assert b"redir=-1" in a.call("CLIENT", "INFO")


@test
def lowering_the_limit_forgets_keys_without_a_further_command():
    with Daemon() as daemon, Caller(daemon, "OPTOUT") as a:
        for i in range(3000):
            a.raw.send(encode("GET", f"k{i}"))
        a.raw.send(encode("CONFIG", "SET", "tracking-table-max-keys", "10"))
        received = b""
        while received.count(b"invalidate") < 2990:
            received += a.raw.reply()
        with Caller(daemon) as b:
            assert b"\r\ntracking_total_keys:10\r\n" in b.call("INFO", "stats")


@test
def keys_beyond_the_limit_are_forgotten_and_invalidated():
    with Daemon("--tracking-table-max-keys", "10") as daemon, Caller(daemon, "OPTOUT") as a:
        for i in range(30):
            a.raw.send(encode("GET", f"k{i}"))
        a.raw.send(encode("ECHO", "end"))
        received = b""
        while b"end" not in received:
            received += a.raw.reply()
        forgotten = re.findall(rb"invalidate\r\n\*1\r\n\$\d+\r\n(k\d+)", received)
        equal(len(set(forgotten)), 20)
        kept = {b"k%d" % i for i in range(30)} - set(forgotten)
        with Caller(daemon) as b:
            info = b.call("INFO", "stats")
            assert b"\r\ntracking_total_keys:10\r\n" in info, info
            b.call("DEL", "nosuch")
            for key in sorted(kept):
                b.call("SET", key, "1")
            a.hears(*map(push, sorted(kept)))


def figures(caller):
    """tracking_clients and tracking_total_*"""
    text = caller.call("INFO", "clients") + caller.call("INFO", "stats")
    return [int(number) for number in
            re.findall(rb"tracking_(?:clients|total_\w+):(\d+)", text)]


@test
def info_counts_sessions_keys_readers_and_prefixes():
    with Daemon() as daemon, Caller(daemon) as b:
        equal(figures(b), [0, 0, 0, 0])
        with Caller(daemon, "NOLOOP") as a, Caller(daemon, "NOLOOP") as c:
            with Caller(daemon, "BCAST", "PREFIX", "x", "PREFIX", "y") as d:
                a.call("MGET", "k", "l")
                c.call("GET", "k")
                equal(figures(b), [3, 2, 3, 2])
                b.call("SET", "k", "1")
                equal(figures(b), [3, 1, 1, 2])
                d.call("CLIENT", "TRACKING", "OFF")
                equal(figures(b), [2, 1, 1, 0])


@stepped
def a_key_that_expires_is_invalidated():
    with Daemon() as daemon:
        daemon.hold()
        with Caller(daemon, "NOLOOP") as a, Caller(daemon, "BCAST", "NOLOOP") as b:
            a.call("SET", "k", "v", "PX", "100")
            b.hears(push("k"))
            a.call("GET", "k")
            daemon.step(100)
            a.hears()
            daemon.step(1)
            a.hears(push("k"))
            b.hears(push("k"))


# --- random programs ---------------------------------------------------------------------------

KEYS = ("a", "ab", "b", "ba", "c", "")
CALLERS = "xyz"
READS = ("GET {}", "GET {}", "MGET {} {} {}", "EXISTS {}", "TTL {}", "TYPE {}", "LRANGE {} 0 -1",
         "STRLEN {}", "SCARD {}", "OBJECT ENCODING {}", "GETRANGE {} 0 1")
WRITES = ("SET {} v", "SET {} v", "SET {} v PX -1", "MSET {} 1 {} 2", "DEL {}", "DEL {} {} {}",
          "APPEND {} x", "RENAME {} {}", "COPY {} {}", "COPY {} {} DB 1 REPLACE", "MOVE {} 1",
          "EXPIRE {} 100", "EXPIRE {} -1", "PERSIST {}", "RPUSH {} e", "LPOP {}", "SADD {} m n",
          "SREM {} m n", "INCR {}", "GETDEL {}", "GETEX {} EX 100", "GETEX {}", "SETRANGE {} 0 zz",
          "HSET {} f v", "ZADD {} 1 m", "ZADD {} NX 1 m", "UNLINK {}", "GETSET {} q", "SETNX {} q")
MODES = ("BCAST", "BCAST", "OPTIN", "OPTOUT", "NOLOOP", "PREFIX {}", "PREFIX {}", "REDIRECT @x",
         "REDIRECT @y", "REDIRECT @s", "REDIRECT @s", "FOO", "PREFIX")
OTHERS = ("CLIENT CACHING YES", "CLIENT CACHING NO", "CLIENT GETREDIR", "CLIENT TRACKINGINFO",
          "CLIENT TRACKINGINFO", "HELLO 3", "HELLO 3", "HELLO 2", "RESET", "SELECT 1", "SELECT 0",
          "MULTI", "MULTI", "EXEC", "EXEC", "EXEC", "DISCARD", "FLUSHALL", "FLUSHDB")
LISTENS = ("SUBSCRIBE __redis__:invalidate", "HELLO 3", "HELLO 2",
           "UNSUBSCRIBE __redis__:invalidate", "RESET")


def random_call(rng):
    """(who, arguments)"""
    if rng.random() < .05:
        return "s", rng.choice(LISTENS).split()
    roll, parts = rng.random(), [rng.choice(READS)]
    if roll < .18:
        parts = ["CLIENT TRACKING " + rng.choice(("ON", "ON", "ON", "OFF"))]
        parts += [rng.choice(MODES) for _ in range(rng.randrange(4))]
    elif roll < .42:
        parts = [rng.choice(OTHERS)]
    elif roll < .7:
        parts = [rng.choice(WRITES)]
    words = " ".join(parts).split()
    return rng.choice(CALLERS), [rng.choice(KEYS) if word == "{}" else word for word in words]


class Server:
    """One of the two servers, with a connection for each caller."""

    def __init__(self, daemon):
        self.daemon, self.callers = daemon, {}
        for name in CALLERS + "s":
            self.connect(name)

    def connect(self, name):
        if name in self.callers:
            self.callers[name].raw.close()
        self.callers[name] = Caller(self.daemon, version=2)

    def close(self):
        for caller in self.callers.values():
            caller.raw.close()

    def normal(self, data):
        """Replaces ids by the callers' order, and nulls: Redis sends one of the wrong protocol if the
        tracking client and the redirected one use different protocols."""
        for number, caller in enumerate(self.callers.values()):
            data = re.sub(rb"(redirect|broken|id)\r\n:%d\r" % caller.id,
                          rb"\1\r\n:-%d\r" % number, data)
        return data.replace(b"invalidate\r\n$-1\r\n", b"invalidate\r\n_\r\n")

    def run(self, who, words):
        """What each caller receives: replies, and separately pushes. A push that another client
        redirects to the caller comes before the reply in Redis, and after it here. Replies that are
        only ids are left out."""
        words = [str(self.callers[word[1:]].id) if word[:1] == "@" else word for word in words]
        first = self.callers[who].call(*words)  # broadcasts are sent at the end of this turn
        found, order = [], sorted(self.callers, key=lambda name: name != who)
        for caller in (self.callers[name] for name in order):  # the caller's reply comes first
            heard, at = self.normal(first + caller.heard()), 0
            first = b""
            replies, pushes = [], []
            while at < len(heard):
                end = read_reply(heard, at)[1]
                one, at = heard[at:end], end
                (pushes if b"invalidate\r\n" in one or one[:1] == b">" else replies).append(one)
            found.append((replies, pushes))
        if words[:2] == ["CLIENT", "GETREDIR"] or words[0] == "EXEC":
            return [pair[1] for pair in found]
        return found


@own
def random_programs_tell_the_same_as_in_redis():
    binary = oracle()
    seed = random_seed()
    rng = random.Random(seed)
    with Daemon(binary=BINARY) as daemon, Daemon(binary=binary) as reference:
        for _ in range(60):  # ids of one digit would be mistaken for other numbers
            daemon.raw().close()
            reference.raw().close()
        for program in range(12):
            for side in (daemon, reference):
                with side.raw() as raw:
                    raw.call("FLUSHALL")
            ours, theirs, lines = Server(daemon), Server(reference), []
            for _ in range(100):
                who, words = random_call(rng)
                lines.append(f"{who} {' '.join(words)}")
                got, wanted = ours.run(who, words), theirs.run(who, words)
                assert got == wanted, (f"TEST_SEED={seed}, program {program}:\n" +
                                       "\n".join(lines[-15:]) + f"\nredis {wanted}\nhere  {got}")
            ours.close()
            theirs.close()


main()
