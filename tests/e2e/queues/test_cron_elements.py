#!/usr/bin/python3 -B
"""Elements with CRON: when they are due, restarts, replicas, payloads, newer tzdata, and zones that are gone."""
import os
import shutil
import signal
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from calendar_check import SYSTEM, instant
from daemon import Daemon, equal, folder, main, plain, read_reply, test, wait_for
from followers import await_caught_up, await_linked
from replicas import group, step_all

ZONE = ("ZONE", "Europe/Berlin")
HOUR = 3_600_000
EVENING = instant("2026-03-28 20:00")  # before the night in which 2:30 is missing
RUNS = [instant("2026-03-29 01:00"), instant("2026-03-30 00:30"), instant("2026-03-31 00:30")]


def ask(raw, *words):
    return plain(read_reply(raw.call(*words))[0])


def deadlines(raw, key="d"):
    return {ident.decode(): at for ident, at in ask(raw, "REDE.RANGE", key, "-", "+")}


def work(raw):
    """Claims and acknowledges what is due; returns the ids."""
    ids = [claim[0] for claim in ask(raw, "REDE.CLAIM", "d", HOUR)]
    for ident in ids:
        ask(raw, "REDE.XACK", "d", ident)
    return [ident.decode() for ident in ids]


@test
def an_element_runs_once_in_the_night_of_the_missing_hour():
    with Daemon() as daemon, daemon.raw() as raw:
        daemon.hold(EVENING)
        equal(ask(raw, "REDE.PUSH", "d", 0, "report", "nightly", "CRON", "30 2 * * *", *ZONE), b"OK")
        ran = []
        for _ in range(60):
            daemon.step(HOUR // 2)
            at = ask(raw, "TIME")
            ran += [int(at[0]) * 1000 for _ in work(raw)]
        equal(ran, RUNS[:2])
        equal(deadlines(raw), {"nightly": RUNS[2]})


@test
def missed_instants_collapse_into_one():
    with Daemon() as daemon, daemon.raw() as raw:
        daemon.hold(EVENING)
        ask(raw, "REDE.PUSH", "d", 0, "p", "a", "CRON", "*/5 * * * *")
        daemon.step(7 * HOUR + 1)
        equal(work(raw), ["a"])
        equal(work(raw), [])
        equal(deadlines(raw), {"a": EVENING + 7 * HOUR + 300_000})


def fill(raw):
    ask(raw, "REDE.PUSH", "d", 0, "p", "plain")
    ask(raw, "REDE.PUSH", "d", 0, "p", "nightly", "CRON", "30 2 * * *", *ZONE, "REMEMBER", 5)
    ask(raw, "REDE.PUSH", "d", 0, "p", "hourly", "CRON", "@hourly")
    ask(raw, "REDE.PUSH", "d", 0, "p", "follows")
    ask(raw, "REDE.CLAIM", "d", 3 * HOUR)
    ask(raw, "REDE.PUSH", "d", 0, "q", "follows", "REPLACE", "CRON", "30 2 * * *", *ZONE)


def continues(daemon, raw, now):
    """The rest of fill: the next acknowledgement of each continues its schedule."""
    equal(ask(raw, "REDE.XACK", "d", "plain", "follows"), [b"p", b"p"])
    daemon.hold(max(now, RUNS[0]))
    equal(sorted(work(raw)), ["follows", "hourly", "nightly"])
    equal(deadlines(raw), {"nightly": RUNS[1], "follows": RUNS[1], "hourly": RUNS[0] + HOUR})


@test
def schedules_continue_after_a_restart():
    for options in (["--appendonly", "yes"], ["--save", "3600 1000000"]):
        with Daemon(*options) as daemon:
            with daemon.raw() as raw:
                daemon.hold(EVENING)
                fill(raw)
                digest = ask(raw, "DEBUG", "DIGEST")
                if "yes" in options:
                    ask(raw, "BGREWRITEAOF")
                    assert wait_for(lambda: b"aof_rewrite_in_progress:0" in raw.call("INFO", "persistence"))
                    ask(raw, "REDE.PUSH", "d", 0, "p", "late", "CRON", "@daily")
                    ask(raw, "REDE.PULL", "d", "late")
                else:
                    ask(raw, "SAVE")
            daemon.kill()
            daemon.launch()
            assert daemon.is_ready(), daemon.log()
            with daemon.raw() as raw:
                daemon.hold(EVENING)
                equal(ask(raw, "DEBUG", "DIGEST"), digest, options)
                continues(daemon, raw, EVENING)


@test
def a_replica_that_is_promoted_continues_schedules():
    with group(2, linked=False) as (master, replica):
        for member in (master, replica):
            member.hold(EVENING)
        fill(master.conn)
        replica.follow(master)
        await_linked(replica)
        step_all(master, replica, msec=HOUR)
        equal(work(master.conn), ["hourly"])
        await_caught_up(master, replica)
        equal(deadlines(replica.conn), deadlines(master.conn))
        equal(ask(replica.conn, "DEBUG", "DIGEST"), ask(master.conn, "DEBUG", "DIGEST"))
        ask(replica.conn, "REPLICAOF", "NO", "ONE")
        continues(replica, replica.conn, EVENING + HOUR)


@test
def payloads_have_schedules():
    with Daemon() as daemon, daemon.raw() as raw, Daemon() as other, other.raw() as there:
        daemon.hold(EVENING)
        other.hold(EVENING)
        fill(raw)
        payload = ask(raw, "DUMP", "d")
        equal(ask(there, "RESTORE", "d", 0, payload), b"OK")
        ask(raw, "COPY", "d", "e")
        ask(raw, "RENAME", "e", "d")
        equal(ask(there, "DEBUG", "DIGEST"), ask(raw, "DEBUG", "DIGEST"))
        continues(other, there, EVENING)
        continues(daemon, raw, EVENING)


@test
def newer_zones_count_from_the_next_acknowledgement_on():
    with folder() as path, Daemon(env={**os.environ, "TZDIR": path}) as daemon, daemon.raw() as raw:
        daemon.hold(instant("2026-01-01 00:00"))
        shutil.copy(f"{SYSTEM}/Asia/Tokyo", f"{path}/Here")
        ask(raw, "REDE.PUSH", "d", 0, "p", "a", "CRON", "0 12 * * *", "ZONE", "Here")
        equal(deadlines(raw), {"a": instant("2026-01-01 03:00")})
        shutil.copy(f"{SYSTEM}/Etc/GMT-1", f"{path}/Here")
        daemon.process.send_signal(signal.SIGHUP)
        assert wait_for(lambda: ask(raw, "CRON.NEXT", "0 12 * * *", "ZONE", "Here") ==
                        [instant("2026-01-01 11:00")])
        equal(deadlines(raw), {"a": instant("2026-01-01 03:00")})
        daemon.hold(instant("2026-01-01 03:00"))
        equal(work(raw), ["a"])
        equal(deadlines(raw), {"a": instant("2026-01-01 11:00")})


@test
def a_zone_that_is_gone_counts_as_utc():
    with folder() as path, Daemon(env={**os.environ, "TZDIR": path}) as daemon, daemon.raw() as raw:
        daemon.hold(instant("2026-01-01 00:00"))
        shutil.copy(f"{SYSTEM}/Asia/Tokyo", f"{path}/Here")
        ask(raw, "REDE.PUSH", "d", 0, "p", "a", "CRON", "0 12 * * *", "ZONE", "Here")
        os.remove(f"{path}/Here")
        daemon.process.send_signal(signal.SIGHUP)
        assert wait_for(lambda: b"no such zone" in raw.call("CRON.NEXT", "@daily", "ZONE", "Here"))
        assert b"tzdata" in raw.call("REDE.PUSH", "d", 0, "p", "b", "CRON", "@daily", "ZONE", "Here")
        daemon.hold(instant("2026-01-01 03:00"))
        equal(work(raw), ["a"])
        equal(deadlines(raw), {"a": instant("2026-01-01 12:00")})


@test
def a_schedule_costs_its_text_once():
    with Daemon() as daemon, daemon.raw() as raw:
        def usage(key, *options):
            for number in range(1000):
                ask(raw, "REDE.PUSH", key, 0, "p", f"{number:04}", *options)
            return ask(raw, "MEMORY", "USAGE", key)

        every = usage("e", "EVERY", 1000)
        cron = usage("c", "CRON", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14 0 1 1 *")
        assert cron - every < 1500, (every, cron)


if __name__ == "__main__":
    main()
