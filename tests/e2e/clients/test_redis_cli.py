#!/usr/bin/python3 -B
"""redis-cli without a terminal: one command, a pipe, bulk loading, scans, RESP3."""

import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from redis_cli import run
from daemon import Daemon, encode, equal, main, test


def cli(daemon, *arguments, **how):
    return run(daemon, *arguments, status=None, **how)


@test
def one_command_prints_its_reply():
    with Daemon(tcp=True) as daemon:
        for tcp in (False, True):
            equal(cli(daemon, "ping", tcp=tcp), "PONG\n")
            equal(cli(daemon, "set", "k", "v", tcp=tcp), "OK\n")
            equal(cli(daemon, "get", "k", tcp=tcp), "v\n")
            equal(cli(daemon, "get", "nosuch", tcp=tcp), "\n")
            equal(cli(daemon, "--no-raw", "get", "nosuch", tcp=tcp), "(nil)\n")
            equal(cli(daemon, "incr", "k", tcp=tcp),
                  "ERR value is not an integer or out of range\n\n")


@test
def options_of_the_connection_are_understood():
    with Daemon("--requirepass", "secret") as daemon:
        equal(cli(daemon, "ping"), "NOAUTH Authentication required.\n\n")
        equal(cli(daemon, "--no-auth-warning", "-a", "secret", "ping"), "PONG\n")
        equal(cli(daemon, "--no-auth-warning", "--user", "default", "--pass", "secret", "ping"),
              "PONG\n")
        equal(cli(daemon, "--no-auth-warning", "-a", "secret", "-n", "3", "set", "k", "three"),
              "OK\n")
        equal(cli(daemon, "--no-auth-warning", "-a", "secret", "-n", "3", "get", "k"), "three\n")
        equal(cli(daemon, "--no-auth-warning", "-a", "secret", "exists", "k"), "0\n")
        assert "WRONGPASS" in cli(daemon, "--no-auth-warning", "-a", "wrong", "ping")


@test
def x_takes_the_last_argument_from_standard_input():
    with Daemon() as daemon:
        data = bytes(range(256)) * 100
        equal(cli(daemon, "-x", "set", "k", given=data), "OK\n")
        equal(cli(daemon, "strlen", "k"), "25600\n")
        with daemon.redis() as client:
            equal(client.get("k"), data)


@test
def scan_walks_all_keys_and_can_choose():
    with Daemon() as daemon:
        with daemon.redis() as client:
            for i in range(500):
                client.set(f"key:{i}", "v")
            client.sadd("members", *range(50))
        found = cli(daemon, "--scan").split()
        equal(sorted(found), sorted([f"key:{i}" for i in range(500)] + ["members"]))
        found = cli(daemon, "--scan", "--pattern", "key:1?").split()
        equal(sorted(found), [f"key:1{i}" for i in range(10)])


@test
def pipe_mode_loads_commands_and_counts_errors():
    with Daemon() as daemon:
        load = b"".join(encode("SET", f"k{i}", f"value {i}\r\n") for i in range(20_000))
        out = cli(daemon, "--pipe", given=load)
        assert "errors: 0, replies: 20000" in out, out
        with daemon.redis() as client:
            equal(client.dbsize(), 20_000)
            equal(client.get("k19999"), b"value 19999\r\n")
        out = cli(daemon, "--pipe", given=encode("SET", "a", 1) + encode("LPUSH", "a", "x") +
                  encode("NOSUCH") + encode("INCR", "a"))
        assert "errors: 2, replies: 4" in out, out
        out = cli(daemon, "--pipe", given=b"SET inline 1\r\nINCR inline\r\n")
        assert "errors: 0, replies: 2" in out, out
        equal(cli(daemon, "get", "inline"), "2\n")


@test
def resp3_prints_maps_doubles_and_nulls():
    with Daemon() as daemon:
        cli(daemon, "hset", "h", "f", "v")
        cli(daemon, "zadd", "z", "1.5", "a")
        equal(cli(daemon, "-3", "--no-raw", "hgetall", "h"), '1# "f" => "v"\n')
        equal(cli(daemon, "-3", "--no-raw", "zscore", "z", "a"), "(double) 1.5\n")
        equal(cli(daemon, "-3", "--no-raw", "get", "nosuch"), "(nil)\n")
        equal(cli(daemon, "-3", "--no-raw", "smembers", "nosuch"), "(empty set)\n")
        equal(cli(daemon, "-2", "--no-raw", "hgetall", "h"), '1) "f"\n2) "v"\n')
        assert "proto 3\n" in cli(daemon, "-3", "hello")


@test
def a_session_runs_from_a_pipe():
    with Daemon() as daemon:
        session = ("MULTI\nSET k 1\nINCR k\nEXEC\nset text \"with \\\"quotes\\\" and \\x41\\n\"\n"
                   "get text\nGET\nSELECT 2\nDBSIZE\n")
        equal(cli(daemon, "--no-raw", given=session),
              'OK\nQUEUED\nQUEUED\n1) OK\n2) (integer) 2\nOK\n"with \\"quotes\\" and A\\n"\n'
              "(error) ERR wrong number of arguments for 'get' command\nOK\n(integer) 0\n")


@test
def a_command_can_be_repeated():
    with Daemon() as daemon:
        equal(cli(daemon, "-r", "3", "incr", "n"), "1\n2\n3\n")
        equal(cli(daemon, "-r", "2", "-i", "0.01", "incr", "n"), "4\n5\n")


@test
def help_of_commands_comes_from_the_server():
    with Daemon() as daemon:
        assert "expire" in cli(daemon, "command", "list")
        assert "(integer)" in cli(daemon, "--no-raw", "command", "count")
        assert "seconds" in cli(daemon, "command", "docs", "expire")
        assert "redis_version:7.0.15" in cli(daemon, "info", "server")


@test
def big_keys_and_memory_of_keys_can_be_looked_for():
    with Daemon() as daemon:
        with daemon.redis() as client:
            client.set("string", "x" * 1000)
            client.rpush("list", *range(100))
            client.zadd("zset", {str(i): i for i in range(50)})
            client.hset("hash", "f", "v")
            client.sadd("set", 1, 2, 3)
        out = cli(daemon, "--bigkeys")
        assert '1 lists with 100 items' in out and '1 zsets with 50 members' in out, out
        out = cli(daemon, "--memkeys")
        assert "Sampled 5 keys in the keyspace" in out, out


main()
