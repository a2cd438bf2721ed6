#!/usr/bin/python3 -B
"""Members with deadlines through redis-py and redis-cli, on hashes, sets and sorted sets; the clock
is stepped. tests/unit/server/cmd/member/member_expire_test.c checks every error."""
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, REPLY_SECONDS, Daemon, equal, main, own

SECOND = 1000


class Type:
    """The names of a type's commands, and functions that read and write its keys."""

    def __init__(self, letter, word, fill, count, names, event):
        self.letter, self.word, self.fill, self.event = letter, word, fill, event
        self.count, self.names = count, names

    def call(self, client, name, key, *arguments):
        """Sends a command of the family; a tuple in its arguments is the block of members."""
        *before, members = arguments
        return client.execute_command(self.letter + name, key, *before, self.word, len(members),
                                      *members)


TYPES = (
    Type("H", "FIELDS", lambda client, key, members: client.hset(key, mapping=dict.fromkeys(members, 1)),
         lambda client, key: client.hlen(key), lambda client, key: client.hkeys(key), "hdel"),
    Type("S", "MEMBERS", lambda client, key, members: client.sadd(key, *members),
         lambda client, key: client.scard(key), lambda client, key: client.smembers(key), "srem"),
    Type("Z", "MEMBERS", lambda client, key, members: client.zadd(key, dict.fromkeys(members, 1)),
         lambda client, key: client.zcard(key), lambda client, key: client.zrange(key, 0, -1), "zrem"),
)


class World:
    """A daemon whose clock is held, and a client."""

    def __enter__(self):
        self.daemon = Daemon()
        self.daemon.__enter__()
        self.daemon.hold()
        self.client = self.daemon.redis()
        return self

    def __exit__(self, *exception):
        self.client.close()
        return self.daemon.__exit__(*exception)

    def run(self, line):
        return self.client.execute_command(*line.split())


def each_type(function):
    """Runs the test once for each type, each time with a new daemon."""
    def run():
        for kind in TYPES:
            with World() as world:
                function(world, world.client, kind)
    run.__name__ = function.__name__
    return own(run)


# --- the families ------------------------------------------------------------------------------

@each_type
def every_unit_sets_the_same_deadline(world, client, kind):
    kind.fill(client, "k", "abcd")
    equal(kind.call(client, "EXPIRE", "k", 10, "a"), [1])
    equal(kind.call(client, "PEXPIRE", "k", 10 * SECOND, "b"), [1])
    equal(kind.call(client, "EXPIREAT", "k", NOON // SECOND + 10, "c"), [1])
    equal(kind.call(client, "PEXPIREAT", "k", NOON + 10 * SECOND, "dx"), [1, -2])
    equal(kind.call(client, "TTL", "k", "abcdx"), [10] * 4 + [-2])
    equal(kind.call(client, "PTTL", "k", "abcd"), [10 * SECOND] * 4)
    equal(kind.call(client, "EXPIRETIME", "k", "abcd"), [NOON // SECOND + 10] * 4)
    equal(kind.call(client, "PEXPIRETIME", "k", "abcd"), [NOON + 10 * SECOND] * 4)
    world.daemon.step(10 * SECOND)
    equal(kind.count(client, "k"), 4)
    world.daemon.step(1)
    equal(client.dbsize(), 0)


@each_type
def a_dead_member_is_nowhere_though_nobody_reads(world, client, kind):
    for size in (5, 500):  # small and large
        names = [f"{i}" for i in range(size)]
        kind.fill(client, "k", names)
        equal(kind.call(client, "PEXPIRE", "k", 50, names[1:]), [1] * (size - 1))
        bytes_before = client.memory_usage("k")
        world.daemon.step(50)
        equal(kind.count(client, "k"), size)
        world.daemon.step(1)
        equal(kind.count(client, "k"), 1)
        equal(sorted(kind.names(client, "k")), [b"0"])
        scan = {"H": client.hscan, "S": client.sscan, "Z": client.zscan}[kind.letter]
        equal(len(scan("k")[1]), 1)
        assert client.memory_usage("k") < bytes_before
        equal(kind.call(client, "PEXPIRE", "k", 1, "0"), [1])
        world.daemon.step(2)
        equal((client.exists("k"), client.type("k"), client.dbsize()), (0, b"none", 0))


@each_type
def conditions_compare_with_the_current_deadline(_world, client, kind):
    kind.fill(client, "k", "ab")
    equal(kind.call(client, "EXPIRE", "k", 100, "NX", "a"), [1])
    equal(kind.call(client, "EXPIRE", "k", 200, "NX", "ab"), [0, 1])
    equal(kind.call(client, "EXPIRE", "k", 150, "GT", "ab"), [1, 0])
    equal(kind.call(client, "EXPIRE", "k", 160, "LT", "ab"), [0, 1])
    equal(kind.call(client, "PERSIST", "k", "abb"), [1, 1, -1])
    equal(kind.call(client, "EXPIRE", "k", 10, "XX", "a"), [0])
    equal(kind.call(client, "EXPIRE", "k", 10, "GT", "a"), [0])
    equal(kind.call(client, "EXPIRE", "k", 10, "LT", "a"), [1])
    equal(kind.call(client, "TTL", "k", "ab"), [10, -1])


@each_type
def a_deadline_in_the_past_removes_at_once(_world, client, kind):
    kind.fill(client, "k", "abc")
    equal(kind.call(client, "EXPIRE", "k", 0, "ax"), [2, -2])
    equal(kind.call(client, "PEXPIREAT", "k", 1, "b"), [2])
    equal(kind.count(client, "k"), 1)
    equal(kind.call(client, "EXPIREAT", "k", NOON // SECOND, "cc"), [2, -2])
    equal(client.exists("k"), 0)


@each_type
def a_member_that_comes_again_has_no_deadline_left(world, client, kind):
    kind.fill(client, "k", "ab")
    kind.call(client, "EXPIRE", "k", 1, "a")
    client.execute_command({"H": "HDEL", "S": "SREM", "Z": "ZREM"}[kind.letter], "k", "a")
    kind.fill(client, "k", "a")
    world.daemon.step(10 * SECOND)
    equal(kind.count(client, "k"), 2)
    kind.call(client, "EXPIRE", "k", 1, "ab")
    client.delete("k")
    kind.fill(client, "k", "ab")
    world.daemon.step(10 * SECOND)
    equal(kind.count(client, "k"), 2)


@each_type
def deadlines_go_along_with_the_key(world, client, kind):
    kind.fill(client, "k", "ab")
    kind.call(client, "EXPIRE", "k", 10, "a")
    client.copy("k", "copied")
    client.rename("k", "renamed")
    client.select(1)
    kind.fill(client, "moved", "ab")
    kind.call(client, "EXPIRE", "moved", 10, "a")
    client.move("moved", 0)
    client.select(0)
    for key in ("copied", "renamed", "moved"):
        equal(kind.call(client, "TTL", key, "ab"), [10, -1], key)
    world.daemon.step(10 * SECOND + 1)
    for key in ("copied", "renamed", "moved"):
        equal(list(kind.names(client, key)), [b"b"], key)


@each_type
def events_tell_what_became_of_members(world, client, kind):
    letter = kind.letter.lower()
    client.config_set("notify-keyspace-events", "KEA")
    with client.pubsub() as listener:
        listener.psubscribe("__keyspace@0__:k")
        listener.get_message(timeout=REPLY_SECONDS)
        heard = lambda: listener.get_message(timeout=REPLY_SECONDS)["data"].decode()
        kind.fill(client, "k", "abc")
        heard()
        kind.call(client, "EXPIRE", "k", 10, "ab")
        equal(heard(), letter + "expire")
        kind.call(client, "PERSIST", "k", "ab")
        equal(heard(), letter + "persist")
        kind.call(client, "EXPIRE", "k", 0, "ax")
        equal(heard(), kind.event)
        kind.call(client, "EXPIRE", "k", 10, "bc")
        equal(heard(), letter + "expire")
        world.daemon.step(10 * SECOND + 1)
        equal([heard(), heard()], [letter + "expired", "del"])


@each_type
def a_watched_key_is_touched_by_the_death_of_a_member(world, client, kind):
    with world.daemon.raw() as raw:
        kind.fill(client, "k", "ab")
        kind.call(client, "EXPIRE", "k", 10, "a")
        for step, wanted in ((10 * SECOND, b"*1\r\n+PONG\r\n"), (1, b"*-1\r\n")):
            raw.call("WATCH", "k")
            raw.call("MULTI")
            raw.call("PING")
            world.daemon.step(step)
            equal(raw.call("EXEC"), wanted)


# --- values and deadlines at once --------------------------------------------------------------

@own
def hsetex_hgetex_and_hgetdel():
    with World() as world:
        run = world.run
        equal(run("HSETEX h FNX EX 10 FIELDS 2 a 1 b 2"), 1)
        equal(run("HSETEX h FNX FIELDS 1 a 9"), 0)
        equal(run("HSETEX h FXX KEEPTTL FIELDS 1 a 3"), 1)
        equal(run("HGETEX h FIELDS 3 a b x"), [b"3", b"2", None])
        equal(run("HTTL h FIELDS 2 a b"), [10, 10])
        equal(run("HGETEX h PERSIST FIELDS 1 a"), [b"3"])
        equal(run("HGETEX h PX 500 FIELDS 1 b"), [b"2"])
        equal(run("HPTTL h FIELDS 2 a b"), [-1, 500])
        equal(run("HSETEX h 20 b 5 c 6"), 1, "as Dragonfly: the new are counted")
        equal(run("HTTL h FIELDS 3 a b c"), [-1, 20, 20])
        equal(run("HGETDEL h FIELDS 2 a x"), [b"3", None])
        equal(run("HSETEX h EXAT 1 FIELDS 1 d 1"), 1)
        equal(run("HGETDEL h FIELDS 3 b c d"), [b"5", b"6", None])
        equal(run("EXISTS h"), 0)


@own
def saddex_and_zaddex():
    with World() as world:
        run = world.run
        equal(run("SADDEX s 10 a b"), 2)
        equal(run("SADDEX s KEEPTTL 20 a c"), 1)
        equal(run("SADDEX s PX 30000 MEMBERS 2 b d"), 1)
        equal(run("STTL s MEMBERS 4 a b c d"), [10, 30, 20, 30])
        equal(run("ZADDEX z EX 10 1 a 2 b"), 2)
        equal(run("ZADDEX z PX 20000 KEEPTTL XX CH 3 a 2 b 1 c"), 1)
        equal(run("ZTTL z MEMBERS 3 a b c"), [10, 10, -2])
        world.daemon.step(10 * SECOND + 1)
        equal(world.client.smembers("s"), {b"b", b"c", b"d"})
        equal(run("EXISTS z"), 0)


@own
def saddex_in_the_form_of_redis():
    with World() as world:
        run = world.run
        equal(run("SADDEX s MXX EX 10 MEMBERS 1 a"), 0)
        equal(run("EXISTS s"), 0)
        equal(run("SADDEX s MEMBERS 3 a b MNX MNX EX 10"), 1, "the member MNX, and the option")
        equal(run("STTL s MEMBERS 3 a b MNX"), [10, 10, 10])
        equal(run("SADDEX s MNX EX 10 MEMBERS 2 a x"), 0)
        equal(run("SISMEMBER s x"), 0)
        equal(run("SADDEX s EX 20 MEMBERS 2 a b MXX"), 1)
        equal(run("SADDEX s MXX MEMBERS 1 b"), 1, "without a deadline an existing one is removed")
        equal(run("SADDEX s KEEPTTL MEMBERS 2 a new"), 1)
        equal(run("STTL s MEMBERS 4 a b MNX new"), [20, -1, 10, -1])
        equal(run("SADDEX s MEMBERS 2 a z"), 1)
        equal(run("STTL s MEMBERS 2 a z"), [-1, -1])
        equal(run("SADDEX s PXAT 1 MXX MEMBERS 2 a b"), 1)
        equal(run("SADDEX none MNX PXAT 1 MEMBERS 2 a b"), 1)
        equal(world.client.smembers("s"), {b"MNX", b"new", b"z"})
        equal(run("EXISTS none"), 0)


@own
def condition_may_follow_the_members():
    with World() as world:
        run = world.run
        run("SADD s a NX")
        run("HSET h a 1 NX 2")
        run("ZADD z 1 a 2 NX")
        for letter, key, word in (("S", "s", "MEMBERS"), ("H", "h", "FIELDS"), ("Z", "z", "MEMBERS")):
            equal(run(f"{letter}EXPIRE {key} 10 {word} 1 a NX"), [1])
            equal(run(f"{letter}EXPIRE {key} 20 {word} 2 a x nx"), [0, -2])
            equal(run(f"{letter}EXPIRE {key} 20 {word} 2 a NX"), [1, 1], "a member named NX")
            equal(run(f"{letter}PEXPIRE {key} 30000 GT {word} 2 a NX"), [1, 1])
            equal(run(f"{letter}TTL {key} {word} 2 a NX"), [30, 30])
            equal(run(f"{letter}EXPIREAT {key} 1 {word} 2 a NX LT"), [2, 2])
            equal(run(f"EXISTS {key}"), 0)


@own
def other_spellings():
    with World() as world:
        run = world.run
        run("SADD s a b")
        run("HSET h a 1 b 2")
        run("ZADD z 1 a 2 b")
        for key in "shz":
            equal(run(f"EXPIREMEMBER {key} a 10"), 1)
            equal(run(f"EXPIREMEMBER {key} b 10 ms"), 1)
            equal(run(f"TTL {key} a"), 10)
            equal(run(f"PTTL {key} b"), 10)
            equal(run(f"PERSIST {key} a"), 1)
            equal(run(f"TTL {key} a"), -1)
            equal(run(f"PEXPIREMEMBERAT {key} a {NOON + 5}"), 1)
            equal(run(f"EXPIREMEMBERAT {key} x 1"), 0)
            equal(world.client.ttl(key), -1, "the key itself has none")
        for key in "sh":
            equal(run(f"FIELDEXPIRE {key} 20 a x"), [1, -2])
            equal(run(f"FIELDTTL {key} a"), 20)
        world.daemon.step(11)
        equal(sorted(world.client.keys()), [b"h", b"s"])
        equal(run("FIELDTTL h b"), -3)


# --- redis-cli ---------------------------------------------------------------------------------

@own
def redis_cli_prints_the_codes():
    with World() as world:
        def cli(line):
            return subprocess.run(["redis-cli", "-s", world.daemon.path, "--no-raw", *line.split()],
                                  capture_output=True, text=True).stdout
        cli("HSET h a 1 b 2")
        equal(cli("HEXPIRE h 10 FIELDS 2 a x"), "1) (integer) 1\n2) (integer) -2\n")
        equal(cli("HTTL h FIELDS 2 a b"), "1) (integer) 10\n2) (integer) -1\n")
        equal(cli("HGETDEL h FIELDS 2 a x"), '1) "1"\n2) (nil)\n')
        equal(cli("SEXPIRE h 10 MEMBERS 1 a"), "(error) WRONGTYPE Operation against a key holding "
                                               "the wrong kind of value\n")
        equal(cli("HEXPIRE h 10 FIELDS 2 b"), "(error) ERR The `numfields` parameter must match "
                                              "the number of arguments\n")


@each_type
def nearly_all_members_die_and_who_reads_the_rest_counts_right(world, client, kind):
    members = [f"m{i}" for i in range(5000)]
    kind.fill(client, "k", [*members, "alive"])
    kind.call(client, "PEXPIRE", "k", 1000, members)
    with world.daemon.raw() as raw:
        line = {"H": "HLEN k", "S": "SCARD k", "Z": "ZCARD k"}[kind.letter]
        raw.send(f"DEBUG CLOCK STEP 1001\r\n{line}\r\nPING\r\n".encode())
        raw.reply()
        equal((raw.reply(), raw.reply()), (b":1\r\n", b"+PONG\r\n"))
    equal(kind.count(client, "k"), 1)


main()
