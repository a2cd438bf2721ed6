"""stream_data: fills a server with streams of every shape, and reads all that a stream has, for tests of
imports and payloads."""
import random
import re

import redis

from daemon import Raw, equal

LAST = 2**64 - 1


def plain(server):
    """A client of the same server that returns replies as they are."""
    client = redis.Redis(connection_pool=server.connection_pool)
    client.response_callbacks.clear()
    return client


def add(server, key, entries):
    """Adds (id, [name, value, ...])."""
    with server.pipeline(transaction=False) as pipe:
        for identity, parts in entries:
            pipe.execute_command("XADD", key, identity, *parts)
        pipe.execute()


def fill_entries(server, generator):
    """Only XADD: entries whose nodes Redis and we choose alike."""
    add(server, "entries:one", [("1-1", ["f", "v"])])
    add(server, "entries:many", [(f"{1000 + i // 3}-{i}", ["name", f"user {i}", "n", i])
                                 for i in range(5000)])
    add(server, "entries:mixed", [
        (f"{i}-{10000 - i}", [generator.choice(("a", "b", 5, -7)), generator.randbytes(i % 90)] *
         (1 + i % 4)) for i in range(1, 1500)])
    add(server, "entries:numbers", [
        (f"{i}-0", [generator.randrange(-2**62, 2**62) >> generator.randrange(62) for _ in range(2)])
        for i in range(1, 700)])
    add(server, "entries:ids", [("0-1", ["f", "v"]), (f"0-{LAST}", ["f", "v"]), ("1-0", ["f", "v"]),
                                (f"{2**63}-{2**63}", ["f", "w"]), (f"{LAST}-{LAST}", ["f", "v"])])
    add(server, "entries:huge", [(f"{i}-1", ["f", b"x" * (i * 100000), b"\0" * 3000, ""])
                                 for i in range(1, 6)])
    add(server, "entries:wide", [(f"{i}-1", range(2 * 3000 * i)) for i in range(1, 4)])
    for size in (4000, 4050, 4060, 4070, 4080, 4090, 4096, 5000):
        add(server, f"entries:{size}", [(f"{i}-1", ["f", b"y" * size]) for i in range(1, 4)])


def fill_changed(server):
    """Entries that are deleted or trimmed, and streams without entries."""
    for key in ("deleted", "trimmed", "cleared"):
        add(server, key, [(f"{i}-0", ["f", i]) for i in range(1, 1001)])
    server.execute_command("XDEL", "deleted", "1-0", "1000-0",
                           *[f"{i}-0" for i in range(2, 900, 3)])
    server.execute_command("XTRIM", "trimmed", "MINID", "456-0")
    server.execute_command("XADD", "trimmed", "MAXLEN", "~", "300", "2000-0", "f", "v")
    server.execute_command("XTRIM", "cleared", "MAXLEN", "0")
    server.execute_command("XGROUP", "CREATE", "cleared", "g", "$")
    server.execute_command("XGROUP", "CREATE", "unused", "g", "0", "MKSTREAM")
    add(server, "emptied", [("7-7", ["f", "v"])])
    server.execute_command("XDEL", "emptied", "7-7")
    add(server, "set", [("1-1", ["f", "v"])])
    server.execute_command("XSETID", "set", "900-5", "ENTRIESADDED", "77", "MAXDELETEDID", "800-3")


def fill_groups(server):
    """Groups with all that they can have."""
    add(server, "groups", [(f"{i}-0", ["f", i]) for i in range(1, 501)])
    for group in ("one", "12", "-5", b"\0\xff", "", "later"):
        server.execute_command("XGROUP", "CREATE", "groups", group, "0", "ENTRIESREAD", "0")
    server.execute_command("XGROUP", "SETID", "groups", "later", "400-7")
    for consumer in ("a", "b", "77", b"\n"):
        server.execute_command("XREADGROUP", "GROUP", "one", consumer, "COUNT", "60", "STREAMS",
                               "groups", ">")
    server.execute_command("XREADGROUP", "GROUP", "12", "all", "STREAMS", "groups", ">")
    server.execute_command("XACK", "groups", "one", *[f"{i}-0" for i in range(1, 240, 7)])
    server.execute_command("XGROUP", "CREATECONSUMER", "groups", "one", "idle")
    server.execute_command("XCLAIM", "groups", "one", "late", "0", "3-0", "70-0", "TIME",
                           "1700000000123", "RETRYCOUNT", "9", "JUSTID")
    server.execute_command("XDEL", "groups", "3-0", "4-0", "500-0")


def fill_consumers(server):
    """10,000 consumers in 20 groups, each with a pending entry."""
    add(server, "consumers", [(f"{i}-0", ["f", i]) for i in range(1, 501)])
    with server.pipeline(transaction=False) as pipe:
        for group in range(20):
            pipe.execute_command("XGROUP", "CREATE", "consumers", f"g{group}", "0")
            for consumer in range(500):
                pipe.execute_command("XREADGROUP", "GROUP", f"g{group}", f"c{consumer}", "COUNT",
                                     "1", "STREAMS", "consumers", ">")
        pipe.execute()


def fill_streams(server, seed=1):
    client = plain(server)
    fill_entries(client, random.Random(seed))
    fill_changed(client)
    fill_groups(client)
    fill_consumers(client)
    server.pexpireat("set", 4_000_000_000_000)


# --- reading -------------------------------------------------------------------------------------


def pairs(flat, without=()):
    return {name: value for name, value in zip(flat[::2], flat[1::2]) if name not in without}


def read_group(flat):
    group = pairs(flat)
    group[b"consumers"] = [pairs(each, without=(b"seen-time",)) for each in group[b"consumers"]]
    return group


def read_stream(server, key):
    """All that a stream has, but when its consumers were seen."""
    client = plain(server)
    info = pairs(client.execute_command("XINFO", "STREAM", key, "FULL", "COUNT", "0"),
                 without=(b"radix-tree-keys", b"radix-tree-nodes", b"entries"))
    info[b"groups"] = [read_group(each) for each in info[b"groups"]]
    return info, client.execute_command("XRANGE", key, "-", "+"), server.pexpiretime(key)


def stream_keys(server):
    return [key for key in server.keys() if server.type(key) == b"stream"]


def read_streams(server):
    """As {key: parsed replies}, for servers that differ."""
    return {key: read_stream(server, key) for key in stream_keys(server)}


NOT_DATA = re.compile(rb"\$(9\r\nseen-time|1[56]\r\nradix-tree-(keys|nodes))\r\n:\d+\r\n")


def stream_replies(server):
    """The same as {key: replies as they came}, for servers of one version: redis-py computes seconds to parse them."""
    how, found = server.connection_pool.connection_kwargs, {}
    with Raw(how["path"]) as raw:
        equal(raw.call("SELECT", how["db"]), b"+OK\r\n")
        for key in stream_keys(server):
            info, deadline = raw.calls([("XINFO", "STREAM", key, "FULL", "COUNT", "0"), ("PEXPIRETIME", key)])
            assert info[:1] == b"*" and deadline[:1] == b":", (key, info[:100], deadline)
            found[key] = NOT_DATA.sub(b"", info), deadline
    return found


def same_streams(got, wanted):
    equal(sorted(got), sorted(wanted), "the keys")
    for key, value in wanted.items():
        assert got[key] == value, f"{key}: {repr(got[key])[:500]} instead of {repr(value)[:500]}"


def carry_streams(giver, taker):
    """Copies all streams by DUMP and RESTORE."""
    for key in giver.keys():
        at = giver.pexpiretime(key)
        taker.restore(key, max(at, 0), giver.dump(key), absttl=at > 0)
