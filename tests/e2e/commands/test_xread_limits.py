#!/usr/bin/python3 -B
"""MAXCOUNT and MAXSIZE of XREAD and XREADGROUP: over several streams, with COUNT, BLOCK, CLAIM and histories. What one
stream gives is also in tests/model."""
import random
import sys

sys.path[1:1] = [sys.path[0] + "/../../" + name for name in ("lib", "model")]
from daemon import Daemon, encode, equal, main, own, random_seed, wait_for
from stream_model import size_of

KEYS = [b"a", b"bb", b"ccc"]


def replies(client, *words):
    """The reply as it is."""
    client.response_callbacks.pop(words[0], None)
    return client.execute_command(*words)


def fill(client, generator):
    for key in KEYS:
        for number in range(generator.choice((0, 1, 3, 12))):
            fields = [b"f", b"x" * generator.choice((0, 1, 9, 10, 99, 120))] * generator.choice((1, 1, 6))
            replies(client, "XADD", key, f"{number + 1}-0", *fields)


def random_limits(generator):
    count, most = generator.choice((None, 1, 3, 11)), generator.choice((None, 11, 14, 40))
    size = generator.choice((None, 1, generator.randrange(1, 3000)))
    return count, most, size


def words_of(count, most, size):
    return [part for word, value in (("COUNT", count), ("MAXCOUNT", most), ("MAXSIZE", size)) if value
            for part in (word, value)]


def limited(full, count, most, size):
    """What remains of the reply without limits: at least one entry."""
    found, used, entries, is_over = [], 0, 0, False
    for key, there in full or []:
        taken, name = [], size_of(key)
        for entry in there[:count]:
            need = name + size_of(entry)
            is_over = is_over or entries == (most or -1) or (size is not None and entries > 0 and used + need > size)
            if is_over:
                break
            taken.append(entry)
            used, entries, name = used + need, entries + 1, 0
        if taken:
            found.append([key, taken])
    return found or None


@own
def streams_share_the_limits_in_the_order_of_the_call():
    generator = random.Random(random_seed())
    with Daemon() as daemon, daemon.redis() as client:
        for _ in range(40):
            replies(client, "FLUSHALL")
            fill(client, generator)
            for key in KEYS:
                replies(client, "XGROUP", "CREATE", key, "g", 0, "MKSTREAM")
            full = replies(client, "XREAD", "STREAMS", *KEYS, 0, 0, 0)
            for _ in range(8):
                limits = random_limits(generator)
                read = replies(client, "XREAD", *words_of(*limits), "STREAMS", *KEYS, 0, 0, 0)
                equal(read, limited(full, *limits), limits)
            limits = random_limits(generator)
            first = limited(full, *limits)
            equal(replies(client, "XREADGROUP", "GROUP", "g", "c", *words_of(*limits), "STREAMS", *KEYS, ">", ">", ">"),
                  first, limits)
            replies(client, "XREADGROUP", "GROUP", "g", "c", "STREAMS", *KEYS, ">", ">", ">")
            again = random_limits(generator)
            history = replies(client, "XREADGROUP", "GROUP", "g", "c", *words_of(*again), "STREAMS", *KEYS, 0, 0, 0)
            equal([part for part in history if part[1]] or None, limited(full, *again), again)


def pending(client, name):
    return [len(replies(client, "XPENDING", key, "g", "-", "+", 9, name)) for key in KEYS]


@own
def what_is_left_out_is_neither_delivered_nor_claimed():
    with Daemon() as daemon, daemon.redis() as client:
        for key in KEYS:
            replies(client, "XGROUP", "CREATE", key, "g", 0, "MKSTREAM")
            for number in (1, 2, 3):
                replies(client, "XADD", key, f"{number}-0", "f", "v")
        replies(client, "XREADGROUP", "GROUP", "g", "c", "MAXCOUNT", 4, "STREAMS", *KEYS, ">", ">", ">")
        equal(pending(client, "c"), [3, 1, 0])
        claimed = replies(client, "XREADGROUP", "GROUP", "g", "d", "MAXCOUNT", 5, "CLAIM", 0, "STREAMS", *KEYS, ">",
                          ">", ">")
        equal([(key, [entry[0] for entry in entries]) for key, entries in claimed],
              [(b"a", [b"1-0", b"2-0", b"3-0"]), (b"bb", [b"1-0", b"2-0"])])
        equal(pending(client, "d"), [3, 2, 0])


@own
def a_blocked_client_has_its_limits():
    with Daemon() as daemon, daemon.raw() as raw, daemon.redis() as client:
        raw.send(encode("XREAD", "BLOCK", 0, "MAXSIZE", 1, "STREAMS", "a", "bb", "$", "$"))
        assert wait_for(lambda: client.info("clients")["blocked_clients"] == 1)
        with client.pipeline(transaction=True) as pipe:
            pipe.execute_command("XADD", "a", "1-0", "f", "v")
            pipe.execute_command("XADD", "a", "2-0", "f", "v")
            pipe.execute()
        equal(raw.reply(), b"*1\r\n*2\r\n$1\r\na\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n")


@own
def limits_are_positive_integers():
    with Daemon() as daemon, daemon.raw() as raw:
        raw.call("XGROUP", "CREATE", "a", "g", "0", "MKSTREAM")
        for start in ("XREAD", "XREADGROUP GROUP g c"):
            for word, values in (("MAXCOUNT", "0 -1 x 1.5 9223372036854775808"), ("MAXSIZE", "0 -1 x")):
                for value in values.split():
                    equal(raw.call(*f"{start} {word} {value} STREAMS a 0".split()),
                          b"-ERR %s must be a positive integer\r\n" % word.encode())
            equal(raw.call(*f"{start} MAXCOUNT 2 COUNT 3 STREAMS a 0".split()),
                  b"-ERR MAXCOUNT must be greater than or equal to COUNT\r\n")
        equal(raw.call("COMMAND", "GETKEYS", "XREAD", "MAXSIZE", "STREAMS", "STREAMS", "a", "0"),
              b"*1\r\n$1\r\na\r\n")


main()
