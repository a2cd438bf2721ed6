#!/usr/bin/python3 -B
"""LMOVEM and BLMOVEM, which Redis 7.0 lacks: order, replies, blocked clients, and what a restart and a replica keep."""
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, main, own, random_seed, wait_for
from followers import await_caught_up, await_linked

NOTHING = b"*-1\r\n"


def array(*items):
    return b"*%d\r\n" % len(items) + b"".join(b"$%d\r\n%s\r\n" % (len(item), item) for item in items)


def moved(lists, words):
    """The reply, by the documentation: changes lists, which has a and b."""
    source, target, pop, push = lists[words[1]], lists[words[2]], words[3], words[4]
    how = words[5:] or ["COUNT", 1, "OBO"]
    if how[0] == "EXACTLY" and len(source) < how[1]:
        return NOTHING
    taken = [source.pop(0 if pop == "LEFT" else -1) for _ in range(min(how[1], len(source)))]
    if how[2] == "BULK":
        block = taken if pop == "LEFT" else taken[::-1]
    else:
        block = taken[::-1] if push == "LEFT" else taken
    target[:] = block + target if push == "LEFT" else target + block
    return array(*block)


def random_moves(seed, count):
    generator = random.Random(seed)
    for number in range(count):
        if generator.random() < 0.3:
            yield [generator.choice(("LPUSH", "RPUSH")), generator.choice("ab"),
                   *(b"%d" % (number * 100 + i) for i in range(generator.choice((1, 3, 20))))]
            continue
        how = [generator.choice(("COUNT", "EXACTLY")), generator.choice((1, 2, 3, 7, 50)),
               generator.choice(("OBO", "BULK"))]
        yield ["LMOVEM", generator.choice("ab"), generator.choice("ab"), generator.choice(("LEFT", "RIGHT")),
               generator.choice(("LEFT", "RIGHT")), *(how if generator.random() < 0.8 else [])]


def elements(server, key):
    with server.redis() as client:
        return client.lrange(key, 0, -1)


@own
def order_is_the_documented_one_in_journal_and_replica_too():
    lists = {"a": [], "b": []}
    with Daemon("--appendonly", "yes", tcp=True) as daemon:
        with Daemon("--replicaof", f"127.0.0.1 {daemon.port}", tcp=True) as replica, daemon.raw() as raw:
            await_linked(replica)
            for words in random_moves(random_seed(), 400):
                reply = raw.call(*words)
                if words[0] == "LMOVEM":
                    equal(reply, moved(lists, words), words)
                else:
                    for element in words[2:]:
                        lists[words[1]].insert(0 if words[0] == "LPUSH" else len(lists[words[1]]), element)
                for key, wanted in lists.items():
                    equal(elements(daemon, key), wanted, words)
            await_caught_up(daemon, replica)
            equal([elements(replica, key) for key in "ab"], [lists["a"], lists["b"]])
            equal(raw.call("DEBUG", "CHECK")[:1], b"+")
        daemon.kill()
        daemon.start()
        equal([elements(daemon, key) for key in "ab"], [lists["a"], lists["b"]])


@own
def wrong_calls_move_nothing():
    with Daemon() as daemon, daemon.raw() as raw:
        raw.call("RPUSH", "l", "a", "b", "c")
        raw.call("SET", "s", "v")
        for words in ("COUNT 2", "COUNT 2 OBO extra", "BAD 2 OBO", "COUNT 2 BAD", "OBO", "COUNT OBO 2"):
            equal(raw.call("LMOVEM", "l", "d", "LEFT", "RIGHT", *words.split()), b"-ERR syntax error\r\n", words)
        for count in ("0", "-1", "x"):
            equal(raw.call("LMOVEM", "l", "d", "LEFT", "RIGHT", "EXACTLY", count, "OBO"),
                  b"-ERR count should be greater than 0\r\n")
        equal(raw.call("LMOVEM", "l", "d", "UP", "LEFT"), b"-ERR syntax error\r\n")
        equal(raw.call("LMOVEM", "l", "s", "LEFT", "LEFT")[:10], b"-WRONGTYPE")
        equal(raw.call("LMOVEM", "s", "l", "LEFT", "LEFT")[:10], b"-WRONGTYPE")
        equal(raw.call("LMOVEM", "none", "s", "LEFT", "LEFT"), array())
        equal(raw.call("LMOVEM", "none", "d", "LEFT", "LEFT", "EXACTLY", 1, "OBO"), NOTHING)
        equal(elements(daemon, "l"), [b"a", b"b", b"c"])


@own
def deadline_of_a_list_that_moves_within_itself_stays():
    with Daemon() as daemon, daemon.redis() as client:
        client.rpush("l", 1, 2, 3)
        client.pexpireat("l", 4_000_000_000_000)
        for pop in ("LEFT", "RIGHT"):
            for push in ("LEFT", "RIGHT"):
                client.execute_command("LMOVEM", "l", "l", pop, push, "COUNT", 9, "OBO")
                equal(client.pexpiretime("l"), 4_000_000_000_000)


def blocked(daemon):
    with daemon.redis() as client:
        return client.info("clients")["blocked_clients"]


def waits(daemon, *words):
    before = blocked(daemon)
    raw = daemon.raw()
    raw.send(encode(*words))
    assert wait_for(lambda: blocked(daemon) == before + 1)
    return raw


GROWTHS = (("RPUSH", "l", "c"), ("LINSERT", "l", "AFTER", "b", "c"), ("LMOVE", "feed", "l", "LEFT", "RIGHT"),
           ("SORT", "three", "ALPHA", "STORE", "l"), ("RENAME", "three", "l"), ("COPY", "three", "l", "REPLACE"))


@own
def exactly_waits_until_the_source_is_long_enough_however_it_grows():
    for growth in GROWTHS:
        with Daemon() as daemon, daemon.redis() as client:
            client.rpush("l", "a")
            client.rpush("feed", "c")
            client.rpush("three", "a", "b", "c")
            with waits(daemon, "BLMOVEM", "l", "d", "LEFT", "RIGHT", 0, "EXACTLY", 3, "BULK") as raw:
                client.rpush("l", "b")
                equal((blocked(daemon), client.exists("d")), (1, 0))
                client.execute_command(*growth)
                equal(raw.reply(), array(b"a", b"b", b"c"), growth)
                equal((client.lrange("d", 0, -1), client.exists("l")), ([b"a", b"b", b"c"], 0))


@own
def clients_that_need_fewer_elements_are_served_before_one_that_waits_for_more():
    with Daemon() as daemon, daemon.redis() as client:
        many = waits(daemon, "BLMOVEM", "l", "d", "LEFT", "RIGHT", 0, "EXACTLY", 5, "OBO")
        same = waits(daemon, "BLMOVEM", "l", "d", "LEFT", "RIGHT", 0, "EXACTLY", 5, "OBO")
        two = waits(daemon, "BLMOVEM", "l", "d", "LEFT", "RIGHT", 0, "EXACTLY", 2, "OBO")
        pop = waits(daemon, "BLPOP", "l", 0)
        upto = waits(daemon, "BLMOVEM", "l", "d", "LEFT", "RIGHT", 0, "COUNT", 9, "BULK")
        with many, same, two, pop, upto:
            client.rpush("l", 1, 2, 3, 4)
            equal(two.reply(), array(b"1", b"2"))
            equal(pop.reply(), array(b"l", b"3"))
            equal(upto.reply(), array(b"4"))
            client.rpush("l", *range(10))
            equal(many.reply(), array(b"0", b"1", b"2", b"3", b"4"))
            equal(same.reply(), array(b"5", b"6", b"7", b"8", b"9"))
            equal((client.exists("l"), blocked(daemon)), (0, 0))


@own
def timeout_transaction_and_script_reply_null():
    with Daemon() as daemon, daemon.redis() as client, daemon.raw() as raw:
        daemon.hold()
        with waits(daemon, "BLMOVEM", "l", "d", "LEFT", "RIGHT", "0.05", "EXACTLY", 2, "BULK") as late:
            client.rpush("l", "a")
            daemon.step(50)
            equal(late.reply(), NOTHING)
        raw.call("MULTI")
        raw.call("BLMOVEM", "l", "d", "LEFT", "RIGHT", 0, "EXACTLY", 2, "BULK")
        raw.call("BLMOVEM", "none", "d", "LEFT", "RIGHT", 0)
        equal(raw.call("EXEC"), b"*2\r\n" + NOTHING * 2)
        equal(client.lrange("l", 0, -1), [b"a"])


main()
