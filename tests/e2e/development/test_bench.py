#!/usr/bin/python3 -B
"""The benchmark tools with small numbers: every mix runs, errors fail, nothing is left behind."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import (BINARY, IS_REDIS, ROOT, Daemon, Skipped, die_with_parent, equal, folder, main, test,
                    wait_for)

TOOLS = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tools", "bench")
RUN = os.path.join(ROOT, "tools", "bench", "run")
ONLY_HERE = {"saddex", "hsetex", "zaddex", "rede-push", "rede-cycle", "lease", "throttle", "sliding"}


def load(path, *arguments):
    """(status, figures of each phase, standard error)"""
    done = subprocess.run([os.path.join(TOOLS, "load"), "-s", path, "-j", *map(str, arguments)],
                          capture_output=True, text=True, preexec_fn=die_with_parent)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def mixes():
    said = subprocess.run([os.path.join(TOOLS, "load")], capture_output=True, text=True)
    return said.stderr.split("mixes:")[1].split()


@contextlib.contextmanager
def bare(*options):
    with folder() as where:
        path = os.path.join(where, "socket")
        process = subprocess.Popen([os.path.join(TOOLS, "bare"), "-s", path, *options],
                                   preexec_fn=die_with_parent)
        try:
            assert wait_for(lambda: os.path.exists(path))
            yield path
            process.terminate()
            equal(process.wait(), 0)
            equal(os.listdir(where), [], "its socket is left")
        finally:
            process.kill()
            process.wait()


@test
def every_mix_fills_and_runs_without_an_error():
    # The kernel adds up the time of a busy process at its ticks, every four milliseconds.
    with Daemon() as daemon:
        for mix in mixes():
            if IS_REDIS and mix in ONLY_HERE:
                continue
            with daemon.raw() as raw:
                raw.call("FLUSHALL")
            status, found, said = load(daemon.path, "-n", 500, "-c", 3, "-P", 7, "-r", 10000,
                                       "-i", daemon.process.pid, mix, "fill", "run")
            equal((status, said), (0, ""), mix)
            assert found[1]["requests"] >= 10000 and found[1]["cpu_ns"] > 0, found
            assert 0 < found[1]["p50_us"] <= found[1]["p99_us"] <= found[1]["max_us"], found


@test
def the_bare_responder_answers_every_mix():
    with bare("-d", "100") as path:
        for mix in mixes():
            status, found, said = load(path, "-d", 100, "-P", 16, "-r", 2000, mix)
            equal((status, said, found[0]["errors"]), (0, "", 0), mix)


@test
def fill_stores_the_requested_keys_and_shrink_removes_them():
    with Daemon() as daemon, daemon.raw() as raw:
        load(daemon.path, "-n", 3200, "set", "fill")
        equal(raw.call("DBSIZE"), b":3200\r\n")
        equal(raw.call("STRLEN", "key:000000003199"), b":8\r\n")
        load(daemon.path, "-n", 6400, "-F", 3200, "set", "fill")
        equal(raw.call("DBSIZE"), b":6400\r\n")
        load(daemon.path, "-n", 6400, "set", "halve")
        left = int(raw.call("DBSIZE")[1:])
        assert 2900 < left < 3500, left
        load(daemon.path, "-n", 6400, "-S", "set", "shrink")
        equal(raw.call("DBSIZE"), b":0\r\n")


@test
def large_values_are_complete_through_small_sockets():
    with Daemon() as daemon, daemon.raw() as raw:
        status, found, said = load(daemon.path, "-n", 64, "-d", 30000, "-c", 2, "-P", 64, "-r", 256,
                                   "get", "fill", "run")
        equal((status, said, found[1]["errors"]), (0, "", 0))
        equal(raw.call("STRLEN", "key:000000000063"), b":30000\r\n")


@test
def a_lease_is_dropped_with_the_token_of_its_reply():
    with Daemon() as daemon, daemon.raw() as raw:
        for pipeline in (1, 7, 16):
            raw.call("FLUSHALL")
            status, found, said = load(daemon.path, "-n", 10**6, "-c", 3, "-P", pipeline, "-r", 6720, "lease")
            equal((status, said, found[0]["errors"]), (0, "", 0))
            held = int(raw.call("DBSIZE")[1:])
            assert held <= 3 * pipeline, (held, "more than the last takes, behind which no drop was sent")


@test
def a_template_on_the_command_line_is_a_mix():
    with Daemon() as daemon, daemon.raw() as raw:
        status, found, said = load(daemon.path, "-c", 2, "-P", 4, "-r", 100, "-n", 10, "INCR c\nSET k:{k3} {n9}")
        equal((status, said, found[0]["commands"]), (0, "", 2))
        equal(raw.call("EXISTS", "k:000", "k:009", "c"), b":3\r\n")


@test
def an_error_in_a_reply_fails_the_run():
    with Daemon() as daemon, daemon.raw() as raw:
        raw.call("SET", "zset", "x")
        status, found, said = load(daemon.path, "-P", 4, "-r", 100, "zadd")
        equal((status, found[0]["errors"]), (1, found[0]["requests"]))
        assert "WRONGTYPE" in said, said


@test
def the_expiry_tool_gets_an_event_of_every_key():
    with Daemon() as daemon:
        done = subprocess.run([os.path.join(TOOLS, "expiry"), "-s", daemon.path, "-j", "-n", "1000",
                               "-d", "50", "-w", "1050"], capture_output=True, text=True, preexec_fn=die_with_parent)
        equal(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        equal((found["events"], found["early"]), (1000, 0))
        assert found["gone_ms"] is not None and found["ping_p50_ms"] > 0, found


@test
def the_pages_have_the_words_of_their_templates():
    for name in ("performance", "durability", "newest"):
        with open(os.path.join(ROOT, "tools", "bench", name + ".md.in"), encoding="utf-8") as file:
            parts = re.split(r"\{\{\w+\}\}", file.read())
        with open(os.path.join(ROOT, "doc", name + ".md"), encoding="utf-8") as file:
            page = file.read()
        pattern = "(.+?)".join(map(re.escape, parts))
        assert re.fullmatch(pattern, page, re.S), f"make bench would change the words of {name}.md"


# --- the driver --------------------------------------------------------------------------------


@contextlib.contextmanager
def driver(*arguments):
    """The driver, with this daemon in redis-server's place; it must leave no files."""
    with folder() as where:
        process = subprocess.Popen([RUN, "--redis", BINARY, "--ours", BINARY, "--keys", "1000",
                                    *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env={**os.environ, "TMPDIR": where},
                                   preexec_fn=die_with_parent)
        try:
            yield process
            equal(os.listdir(where), [], "left behind")
        finally:
            process.kill()
            process.communicate()


def output_of(*arguments):
    """What the driver prints with these arguments."""
    with driver(*arguments) as process:
        out, err = process.communicate()
        equal((process.returncode, err), (0, ""))
    return out


def shows(out, *rows):
    for row in rows:
        assert row in out, out


@test
def the_driver_compares_two_servers_and_a_bare_one():
    shows(output_of("get", "--pipeline", "16", "--rounds", "1", "--seconds", "0.05", "--warm-up", "0.01", "--unix"),
          "get         pipeline 16", "| get | 16 |")


@test
def the_driver_measures_stalls():
    shows(output_of("stalls", "--quick", "--no-bare"),
          "| DBSIZE all the while 1,000 keys expire | ",
          "| 1,000 clients ask SCARD of a set of which 1,000 members have expired | ",
          "| BZTSPOP is woken at such a sorted set | ",
          "| ZADD under a new MAXLEN of half, 500 members | ")


@test
def the_driver_measures_many_keys_and_jobs():
    shows(output_of("many", "--quick", "--no-bare", "--redis", "", "--snapshot-keys", "1000", "--far-jobs", "2000"),
          "| 1,000 keys with a TTL | ", "| 2,000 jobs of 76 bytes, due over two years | in one | in a thousand |",
          "| full copy to a replica | ", "| fork for the rewrite | ")


@test
def the_driver_measures_tasks_of_celery():
    shows(output_of("celery", "--quick", "--no-bare", "--redis", ""), "| 200 tasks with an ETA | ", "| late: p99 | ",
          "| run more than once | 0 |", "| not run two minutes after the last ETA | 0 |")


@test
def the_driver_measures_leases():
    shows(output_of("lease", "--quick", "--no-bare", "--pipeline", "16", "--seconds", "0.05"),
          "| LEASE.TAKE, LEASE.DROP, expired | 16 | ", "| SET NX PX, EVALSHA, redis | 16 | ",
          "| SET NX PX, EVAL (redlock-py), redis | 16 | ")


@test
def the_driver_measures_limits_if_there_is_their_package():
    out = output_of("throttle", "--quick", "--no-bare", "--pipeline", "16", "--seconds", "0.05")
    if "left out" in out:
        raise Skipped("rate-limiter-flexible is not installed: make test-all installs it")
    shows(out, "| CL.THROTTLE, expired | 16 | ", "| CL.WINDOW, expired | 16 | ",
          "| rate-limiter-flexible, redis | 16 | ")


@test
def the_driver_measures_queues_if_there_is_their_package():
    out = output_of("queues", "--quick", "--no-bare", "--jobs", "500")
    if "BullMQ is left out" in out:
        raise Skipped("BullMQ is not installed: make test-all installs it")
    shows(out, "| dehydrator, expired | ", "| BullMQ, redis | ", "| BullMQ, expired | ",
          "| BullMQ, redis, always | ", "| claim and acknowledge, pipeline 1, expired, always | ")


@test
def the_driver_measures_stampedes():
    shows(output_of("stampede", "--quick", "--no-bare"),
          "| GETFRESH, expired | 1 | 101 | ", "| SET NX PX, GET every 5 ms, redis | ",
          "| SET NX PX, GET every 50 ms, redis | ")


@test
def the_driver_measures_tenants():
    shows(output_of("tenants", "--quick", "--no-bare", "--redis", ""),
          "| one queue, REDE.CLAIM | ", "| a queue each, REDE.FAIRCLAIM | ",
          "| REDE.FAIRCLAIM at pipeline 16, 2,000 tenants of 10 elements, a second of CPU time | ",
          "| the first REDE.FAIRCLAIM, 2,000 tenants | ", "| bytes for each tenant ")


@test
def the_driver_measures_scripts():
    shows(output_of("scripts", "--quick", "--no-bare", "--pipeline", "16", "--seconds", "0.05"),
          "| server | pipeline | SET, GET, DEL | ", "| expired | 16 | ", "| redis | 16 | ")


@test
def the_driver_measures_cycles():
    shows(output_of("cycles", "--quick", "--no-bare", "--seconds", "0.05"),
          "| request | expired | redis |", "| get | ", "| expire | ")


@test
def the_driver_measures_cores():
    shows(output_of("cores", "--quick", "--no-bare", "--redis", ""), "| expired, 1 | ", "| expired, 3 | ")


@test
def the_driver_measures_crowds():
    shows(output_of("crowds", "--quick", "--no-bare"),
          "| 500 connections, 250 of them send a byte a second | ",
          "| a value of 16 MB is written and read | ",
          "| 5,000 subscriptions, 4,000 messages a second | ",
          "| 5,000 keys expire at once, and a subscriber reads 50,000 events a second | ",
          "| expired | 5,000 of 5,000 | ", "| redis | 5,000 of 5,000 | ")


@test
def the_driver_measures_what_durability_costs():
    shows(output_of("durability", "--quick", "--keys", "10000", "--snapshot-keys", "1000",
                    "--start-keys", "3000", "--rounds", "1"),
          "| set P16, expired | ", "| rede-push P64, expired | ", "| rede-cycle P16, redis | ",
          "| 1,000 strings, journal | ", "| 3,000 strings, snapshot | ", " elements of a dehydrator, journal | ",
          "| file, not compressed | ")


@test
def an_interrupted_driver_leaves_no_server_and_no_file():
    with driver("get", "--pipeline", "1", "--rounds", "1000", "--seconds", "0.01") as process:
        children = f"/proc/{process.pid}/task/{process.pid}/children"

        def servers():
            with open(children, encoding="ascii") as file:
                found = file.read().split()
            return found if len(found) >= 3 else None
        started = wait_for(servers)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        equal((process.returncode, out, err), (130, "", ""))
        assert wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in started)), started


main(120)
