#!/usr/bin/python3 -B
"""redis-cli's modes: key statistics, latency, its terminal, and its output formats."""
import contextlib
import json
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from redis_cli import Terminal, run
from daemon import Daemon, encode, equal, main, own, read_reply, test, wait_for

LFU = ("--maxmemory-policy", "allkeys-lfu")


def kinds(client):
    """A key or two of each type."""
    client.set("long", "x" * 1000)
    client.set("short", "x")
    client.rpush("list", *range(100))
    client.rpush("smaller", *range(10))
    client.zadd("zset", {str(i): i for i in range(50)})
    client.hset("hash", mapping={str(i): i for i in range(20)})
    client.sadd("set", 1, 2, 3)


def biggest(out):
    """{type: (key, size)} of a summary."""
    found = re.findall(r"^Biggest +(\w+) found '\"(.*)\"' has (\d+) (?:\w+)$", out, re.M)
    return {kind: (key, int(size)) for kind, key, size in found}


# --- statistics of a keyspace ------------------------------------------------------------------


@test
def bigkeys_names_the_biggest_of_each_type_and_the_shares():
    with Daemon() as daemon:
        with daemon.redis() as client:
            kinds(client)
        out = run(daemon, "--bigkeys")
        equal(biggest(out), {"string": ("long", 1000), "list": ("list", 100),
                             "zset": ("zset", 50), "hash": ("hash", 20), "set": ("set", 3)})
        for line in ("Sampled 7 keys in the keyspace!",
                     "Total key length in bytes is 31 (avg len 4.43)",
                     "2 strings with 1001 bytes (28.57% of keys, avg size 500.50)",
                     "2 lists with 110 items (28.57% of keys, avg size 55.00)",
                     "1 zsets with 50 members (14.29% of keys, avg size 50.00)",
                     "1 hashs with 20 fields (14.29% of keys, avg size 20.00)",
                     "1 sets with 3 members (14.29% of keys, avg size 3.00)"):
            assert line + "\n" in out, f"{line}\n{out}"


@test
def bigkeys_visits_a_keyspace_of_many_scans():
    with Daemon() as daemon:
        with daemon.redis(db=2) as client:
            client.mset({f"key:{i}": "x" * (i % 50) for i in range(3000)})
            client.set("the biggest", "x" * 50)
        out = run(daemon, "-n", "2", "-i", "0.001", "--bigkeys")
        assert "Sampled 3001 keys" in out, out
        equal(biggest(out), {"string": ("the biggest", 50)})
        assert "Sampled 0 keys" in run(daemon, "--bigkeys")


@own
def bigkeys_counts_dehydrators():
    with Daemon() as daemon, daemon.raw() as raw:
        for i in range(5):
            raw.call("REDE.PUSH", "waiting", 1000, "element", i)
        raw.call("SET", "k", "v")
        out = run(daemon, "--bigkeys")
        assert "Sampled 2 keys" in out, out
        assert re.search(r"^1 \S+s with .*\(50\.00% of keys", out, re.M), out
        assert "1 strings with 1 bytes (50.00% of keys" in out, out
        assert "waiting" in run(daemon, "--memkeys")


@test
def memkeys_shows_the_figures_of_memory_usage():
    with Daemon() as daemon, daemon.redis() as client:
        kinds(client)
        for arguments, samples in ((["--memkeys"], None), (["--memkeys-samples", "0"], 0),
                                   (["--memkeys-samples", "3"], 3)):
            out = run(daemon, *arguments)
            wanted = {kind: (key, client.memory_usage(key, samples=samples))
                      for kind, key in (("string", "long"), ("list", "list"), ("zset", "zset"),
                                        ("hash", "hash"), ("set", "set"))}
            equal(biggest(out), wanted, arguments)
            assert wanted["string"][1] >= 1000, out


@test
def hotkeys_names_the_keys_read_most():
    with Daemon(*LFU) as daemon, daemon.redis() as client:
        client.mset({f"cold:{i}": "v" for i in range(40)})
        client.hset("hot:hash", "f", "v")
        client.mset({"hot:a": "v", "hot:b": "v"})
        with client.pipeline(transaction=False) as pipe:
            for _ in range(1000):
                pipe.get("hot:a").get("hot:b").hget("hot:hash", "f")
            pipe.execute()
        out = run(daemon, "--hotkeys")
        found = re.findall(r'^hot key found with counter: (\d+)\tkeyname: "(.*)"$', out, re.M)
        assert "Sampled 43 keys" in out and len(found) == 16, out  # it keeps the hottest 16
        equal(sorted(key for _, key in found[:3]), ["hot:a", "hot:b", "hot:hash"], out)
        coldest_hot, hottest_cold = int(found[2][0]), int(found[3][0])
        assert coldest_hot > hottest_cold, out


@test
def hotkeys_reports_that_no_frequencies_are_kept():
    with Daemon() as daemon:
        run(daemon, "set", "k", "v")
        assert "Error: ERR An LFU maxmemory policy is not selected" in run(
            daemon, "--hotkeys", status=1)


@test
def scan_takes_quoted_patterns_databases_and_pauses():
    with Daemon() as daemon:
        with daemon.redis(db=3) as client:
            client.mset({f"key:{i}": "v" for i in range(300)})
            client.set(b"nul\0one", "v")
            client.set(b"nul one", "v")
        equal(run(daemon, "--scan"), "")
        equal(len(run(daemon, "-n", "3", "-i", "0.001", "--scan").split("\n")), 303)
        equal(sorted(run(daemon, "-n", "3", "--scan", "--pattern", "*:29[0-2]").split()),
              ["key:290", "key:291", "key:292"])
        equal(run(daemon, "-n", "3", "--no-raw", "--scan", "--quoted-pattern", r'"nul\x00*"'),
              '"nul\\x00one"\n')
        equal(run(daemon, "-n", "3", "--scan", "--pattern", "nosuch*"), "")
        with Terminal(daemon, "-n", "3", "--scan", "--pattern", "nul*") as terminal:
            equal(sorted(terminal.rest().split("\r\n")), ["", '"nul one"', r'"nul\x00one"'])


# --- measuring ---------------------------------------------------------------------------------

STAT = (r"^(?P<keys>\d+) +(?P<mem>[\d.]+[BKMG]) +(?P<clients>\d+) +(?P<blocked>\d+) +"
        r"(?P<requests>\d+) \(\+(?P<more>\d+)\) +(?P<connections>\d+) +\r$")


@test
def stat_shows_keys_clients_and_requests_line_by_line():
    with Daemon() as daemon, daemon.redis() as client, daemon.raw() as blocked:
        blocked.send(encode("BLPOP", "nosuch", 0))
        wait_for(lambda: client.info("clients")["blocked_clients"] == 1)
        client.mset({f"key:{i}": "v" for i in range(70)})
        run(daemon, "-n", "5", "mset", "a", "1", "b", "2")
        with Terminal(daemon, "--stat", "-i", "0.02") as terminal:
            terminal.wait(r"data .* load .* child")
            terminal.wait(r"keys +mem +clients +blocked +requests +connections")
            first = terminal.wait(STAT)
            equal((first["keys"], first["clients"], first["blocked"]), ("72", "3", "1"))
            client.delete("key:1")
            last = int(first["requests"])
            for _ in range(4):
                line = terminal.wait(STAT)
                equal(int(line["requests"]) - last, int(line["more"]), line[0])
                assert int(line["more"]) >= 1, line[0]
                equal(line["connections"], first["connections"])
                last = int(line["requests"])
            assert terminal.wait(r"^71 .*\r$")
            terminal.end()
        wait_for(lambda: client.info("clients")["connected_clients"] == 2)


@test
def latency_is_measured_once_without_a_terminal():
    with Daemon() as daemon:
        for option, separator in (("--raw", " "), ("--csv", ",")):
            out = run(daemon, option, "--latency", "-i", "0.05")
            least, most, average, samples = out.strip().split(separator)
            assert float(least) <= float(average) <= float(most), out
            assert int(samples) >= 1, out


@test
def latency_is_measured_repeatedly_in_a_terminal():
    with Daemon() as daemon, Terminal(daemon, "--latency") as terminal:
        last = 0
        for _ in range(5):
            shown = terminal.wait(r"min: (\d+), max: (\d+), avg: [\d.]+ \((\d+) samples\)")
            assert int(shown[3]) > last and int(shown[1]) <= int(shown[2]), shown[0]
            last = int(shown[3])
        terminal.end()


@test
def latency_history_begins_a_line_at_each_interval():
    with Daemon() as daemon, Terminal(daemon, "--latency-history", "-i", "0.03") as terminal:
        for _ in range(3):
            terminal.wait(r"avg: [\d.]+ \(\d+ samples\) -- [\d.]+ seconds range\r\n")
        terminal.end()


@test
def latency_dist_draws_a_spectrum():
    with Daemon() as daemon, Terminal(daemon, "--latency-dist", "-i", "0.03") as terminal:
        terminal.wait("from 1 to 9 +milliseconds")
        for _ in range(3):
            terminal.wait(r"\x1b\[48;5;\d+m.*\x1b\[0m\r\n")
        terminal.end()


@test
def intrinsic_latency_needs_no_more_than_its_second():
    with Daemon() as daemon:
        out = run(daemon, "--intrinsic-latency", "1")
        assert re.search(r"^\d+ total runs \(avg latency: .* per run\)\.$", out, re.M), out
        assert "Worst run took" in out, out


# --- loading -----------------------------------------------------------------------------------


@test
def pipe_loads_commands_of_every_kind():
    with Daemon() as daemon:
        load, count = [], 0
        for i in range(1000):
            commands = (("SET", f"string:{i}", b"\r\n\0" * (i % 7)), ("RPUSH", "list", i),
                        ("ZADD", "zset", i / 7, i), ("HSET", f"hash:{i % 10}", i, i),
                        ("MULTI",), ("SADD", "set", i % 100), ("INCR", "count"), ("EXEC",))
            load += [encode(*command) for command in commands]
            count += len(commands)
        out = run(daemon, "--pipe", given=b"".join(load))
        assert f"errors: 0, replies: {count}\n" in out, out
        with daemon.redis() as client:
            equal((client.dbsize(), client.llen("list"), client.zcard("zset"), client.scard("set"),
                   client.get("count"), client.hlen("hash:3"), client.get("string:6")),
                  (1014, 1000, 1000, 100, b"1000", 100, b"\r\n\0" * 6))


@test
def pipe_continues_after_errors_and_prints_them():
    with Daemon() as daemon:
        load = b"".join(encode("INCR", "n" if i % 5 else "text") for i in range(2000))
        out = run(daemon, "--pipe", given=encode("SET", "text", "x") + load, status=1)
        equal(out.count("ERR value is not an integer or out of range"), 400)
        assert "errors: 400, replies: 2001\n" in out, out
        equal(run(daemon, "get", "n"), "1600\n")


@test
def a_value_or_a_tagged_argument_comes_from_standard_input():
    with Daemon() as daemon:
        data = b"\0\r\n\xff" * 1000
        equal(run(daemon, "-X", "here", "set", "k", "here", "nx", given=data), "OK\n")
        with daemon.redis() as client:
            equal(client.get("k"), data)


# --- how replies are printed -------------------------------------------------------------------


@contextlib.contextmanager
def few_keys():
    with Daemon() as daemon:
        with daemon.redis() as client:
            client.rpush("list", "a", "b c", 'quote " and \n')
            client.hset("hash", mapping={"f": "v", "g": "1"})
            client.zadd("zset", {"a": 1, "b": 2.5})
            client.sadd("set", "a")
            client.set(b"nul\0", "v")
        yield daemon


@test
def csv_prints_one_line_of_quoted_values():
    with few_keys() as daemon:
        for arguments, wanted in (
                ("lrange list 0 -1", '"a","b c","quote \\" and \\n"'),
                ("hgetall hash", '"f","v","g","1"'),
                ("zrange zset 0 -1 withscores", '"a","1","b","2.5"'),
                ("mget nosuch nosuch", "NULL,NULL"),
                ("get nosuch", "NULL"),
                ("llen list", "3"),
                ("incr list", 'ERROR,"WRONGTYPE Operation against a key holding the wrong kind of '
                              'value"')):
            equal(run(daemon, "--csv", *arguments.split()), wanted + "\n", arguments)
        equal(run(daemon, "-3", "--csv", "hgetall", "hash"), '"f","v","g","1"\n')
        equal(run(daemon, "-3", "--csv", "sismember", "set", "a"), "1\n")


@test
def json_distinguishes_maps_numbers_and_nulls():
    with few_keys() as daemon:
        for arguments, wanted in (
                ("hgetall hash", {"f": "v", "g": "1"}),
                ("zrange zset 0 -1 withscores", [["a", 1], ["b", 2.5]]),
                ("zscore zset b", 2.5),
                ("lrange list 0 -1", ["a", "b c", 'quote " and \n']),
                ("smembers set", ["a"]),
                ("mget nosuch nosuch", [None, None]),
                ("get nosuch", None),
                ("llen list", 3),
                ("ping", "PONG")):
            equal(json.loads(run(daemon, "-3", "--json", *arguments.split())), wanted, arguments)
            equal(json.loads(run(daemon, "--json", *arguments.split())), wanted, arguments)
        equal(json.loads(run(daemon, "-2", "--json", "hgetall", "hash")), ["f", "v", "g", "1"])
        equal(json.loads(run(daemon, "-2", "--json", "zscore", "zset", "b")), "2.5")
        equal(run(daemon, "--json", "keys", "nul*"), '["nul\\u0000"]\n')
        equal(run(daemon, "--quoted-json", "keys", "nul*"), '["nul\\\\x00"]\n')
        documented = json.loads(run(daemon, "-3", "--json", "command", "docs", "get"))
        equal(documented["get"]["arguments"][0]["name"], "key")
        assert "maxmemory" in json.loads(run(daemon, "-3", "--json", "config", "get", "max*"))


@test
def delimiters_and_exit_statuses_can_be_chosen():
    with few_keys() as daemon:
        equal(run(daemon, "-d", "; ", "hgetall", "hash"), "f; v; g; 1\n")
        equal(run(daemon, "-D", "|", "llen", "list"), "3|")
        equal(run(daemon, "-e", "llen", "list"), "3\n")
        assert "WRONGTYPE" in run(daemon, "-e", "incr", "list", status=1)
        assert "WRONGTYPE" in run(daemon, "incr", "list")


@test
def quoted_input_names_bytes():
    with few_keys() as daemon:
        equal(run(daemon, "--quoted-input", "get", r'"nul\x00"'), "v\n")
        equal(run(daemon, "--quoted-input", "set", r'"\xff\x01"', "'single quotes'"), "OK\n")
        equal(run(daemon, "--no-raw", "--quoted-input", "get", r'"\xff\x01"'), '"single quotes"\n')
        equal(run(daemon, "get", r'"nul\x00"'), "\n")
        equal(run(daemon, "--quoted-input", "get", '"never closed', status=1),
              "Invalid quoted string\n")


# --- in a terminal -----------------------------------------------------------------------------


@test
def the_prompt_shows_database_transaction_and_repeats():
    with Daemon() as daemon, Terminal(daemon) as terminal:
        terminal.type("3 incr n")
        terminal.wait(r"^\(integer\) 1\r\n\(integer\) 2\r\n\(integer\) 3\r\n")
        terminal.type("select 2")
        terminal.wait(r"^OK\r\n")
        terminal.type("multi", "[2]")
        terminal.wait(r"^OK\r\n")
        terminal.type("set k 'a b'", "[2](TX)")
        terminal.wait(r"^QUEUED\r\n")
        terminal.type("get k", "[2](TX)")
        terminal.wait(r"^QUEUED\r\n")
        terminal.type("exec", "[2](TX)")
        terminal.wait(r'^1\) OK\r\n2\) "a b"\r\n')
        terminal.type("incr k", "[2]")
        terminal.wait(r"^\(error\) ERR value is not an integer or out of range\r\n")
        terminal.type("hello 3", "[2]")
        terminal.wait(r"^\d+# \"proto\" => \(integer\) 3\r\n")
        terminal.type("quit", "[2]")
        equal(terminal.process.wait(), 0)


@test
def repeats_with_an_interval_run_until_interrupted():
    with Daemon() as daemon, Terminal(daemon, "-r", "-1", "-i", "0.01", "incr", "n") as terminal:
        for i in range(1, 6):
            terminal.wait(r"^\(integer\) %d\r\n" % i)
        terminal.end()


def monitors(daemon):
    with daemon.redis() as client:
        return sum("O" in line["flags"] for line in client.client_list())


@test
def monitor_shows_what_others_do_until_interrupted():
    with Daemon() as daemon, Terminal(daemon) as terminal, daemon.raw() as other:
        terminal.type("monitor")
        terminal.wait(r"^OK\r\n")
        other.call("SET", "k", b"v\0\n\"")
        who = r"^\d+\.\d{6} \[%d (unix:[^\]]+|lua)\] "
        terminal.wait(who % 0 + r'"SET" "k" "v\\x00\\n\\""\r\n')
        other.send(encode("SELECT", 2) + encode("MULTI") + encode("INCR", "n") + encode("EXEC"))
        terminal.wait(who % 2 + r'"MULTI"\r\n')
        terminal.wait(who % 2 + r'"INCR" "n"\r\n')
        terminal.wait(who % 2 + r'"EXEC"\r\n')
        equal(monitors(daemon), 1)
        terminal.interrupt()
        assert wait_for(lambda: monitors(daemon) == 0), "the monitor is still there"
        terminal.type("ping")
        terminal.wait(r"^PONG\r\n")


@test
def subscribe_shows_messages_until_interrupted():
    for version in ("-2", "-3"):
        with Daemon() as daemon, Terminal(daemon, version) as terminal, daemon.raw() as other:
            terminal.type("subscribe news 'other news'")
            terminal.wait(r"^Reading messages\.\.\. \(press Ctrl-C to quit\)\r\n")
            terminal.wait(r'^1\) "subscribe"\r\n2\) "news"\r\n3\) \(integer\) 1\r\n')
            terminal.wait(r'^1\) "subscribe"\r\n2\) "other news"\r\n3\) \(integer\) 2\r\n')
            equal(read_reply(other.call("PUBLISH", "news", b"a\0b"))[0], (b":", b"1"))
            terminal.wait(r'^1\) "message"\r\n2\) "news"\r\n3\) "a\\x00b"\r\n')
            other.call("PUBLISH", "other news", "")
            terminal.wait(r'^1\) "message"\r\n2\) "other news"\r\n3\) ""\r\n')
            terminal.interrupt()
            assert wait_for(lambda other=other: other.call("PUBLISH", "news", "x") == b":0\r\n")
            terminal.type("ping")
            terminal.wait(r"^PONG\r\n")


@test
def psubscribe_shows_keyspace_events():
    with Daemon("--notify-keyspace-events", "KA") as daemon, \
            Terminal(daemon, "--csv", "psubscribe", "__keyspace@*__:k") as terminal, \
            daemon.raw() as other:
        terminal.wait(r'^"psubscribe","__keyspace@\*__:k",1\r\n')
        other.send(encode("SET", "k", "v") + encode("PEXPIRE", "k", 1))
        for event in ("set", "expire", "expired"):
            other.send(encode("GET", "k"))
            terminal.wait(r'^"pmessage","__keyspace@\*__:k","__keyspace@0__:k","%s"\r\n' % event)


@test
def invalidations_are_shown_between_commands():
    with Daemon() as daemon, Terminal(daemon, "-3") as terminal, daemon.raw() as other:
        terminal.type("client tracking on")
        terminal.wait(r"^OK\r\n")
        terminal.type("get watched")
        terminal.wait(r"^\(nil\)\r\n")
        other.call("SET", "watched", "v")
        terminal.type("get watched")
        terminal.wait(r"^-> invalidate: 'watched'\r\n")
        terminal.wait(r'^"v"\r\n')


@test
def redis_cli_connects_again_after_the_server_closed():
    with Daemon() as daemon, Terminal(daemon) as terminal, daemon.raw() as other:
        terminal.type("set k v")
        terminal.wait(r"^OK\r\n")
        other.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        terminal.type("get k")
        # It may notice the closed connection only now; then it connects again for the next command.
        if not terminal.wait(r'^"v"\r\n|(?=not connected> )')[0]:
            terminal.type("get k")
            terminal.wait(r'^"v"\r\n')
        terminal.type("ping")
        terminal.wait(r"^PONG\r\n")


main()
