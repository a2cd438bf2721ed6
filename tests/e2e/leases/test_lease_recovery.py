#!/usr/bin/python3 -B
"""Leases and tokens after a stop, a crash, a loss of power and a promotion. Tokens grow; a server that may
not have seen all leases grants none until they have ended."""
import os
import shutil

from leases import KEY, TRYAGAIN, await_waiting, granted, info, take, wait
from daemon import NOON, Daemon, equal, main, own
from followers import await_caught_up
from replicas import check_same, group, step_all

JOURNAL = ("--appendonly", "yes", "--lease-max-ttl", "5000")
QUIET = b"-TRYAGAIN Leases may be held that this server has not seen. No lease is granted for 5000 ms\r\n"


@own
def a_clean_stop_keeps_leases_and_grants_at_once():
    with Daemon(*JOURNAL) as daemon:
        daemon.hold()
        with daemon.raw() as raw:
            token, end = take(raw, "a", 5000)
            raw.call("LEASE.EXTEND", KEY, token, 4000)
        daemon.stop()
        daemon.start()
        daemon.hold()
        with daemon.raw() as raw:
            equal(raw.call("LEASE.CHECK", KEY, token), b":4000\r\n")
            equal(take(raw, "b"), None)
            assert take(raw, "b", 100, key="free")[0] > token
            daemon.step(4001)
            assert take(raw, "b")[0] > token


@own
def a_crash_grants_nothing_until_unseen_leases_have_ended():
    with Daemon(*JOURNAL) as daemon:
        daemon.hold()
        with daemon.raw() as raw:
            token, _ = take(raw, "a", 5000)
            raw.call("LEASE.DROP", KEY, token)
        daemon.kill()
        daemon.start()
        raw, waiter = daemon.raw(), daemon.raw()
        assert raw.call("LEASE.TAKE", KEY, "b", 100).startswith(TRYAGAIN)
        assert 0 < info(raw)["grants-in-ms"] <= 5000
        wait(waiter, "b", 100)
        await_waiting(raw, 1)
        daemon.hold(NOON + 5000)  # the machine's clock, by which it is quiet, is behind
        assert granted(waiter.reply())[0] > token
        raw.close()
        waiter.close()


@own
def a_clean_stop_soon_after_a_crash_does_not_end_the_wait():
    with Daemon(*JOURNAL) as daemon:
        daemon.hold()
        with daemon.raw() as raw:
            take(raw, "a", 5000)
        daemon.kill()
        daemon.start()
        daemon.stop()
        daemon.start()
        with daemon.raw() as raw:
            assert raw.call("LEASE.TAKE", "other", "b", 100).startswith(TRYAGAIN)


@own
def a_server_that_never_granted_starts_at_once_after_a_crash():
    with Daemon(*JOURNAL) as daemon:
        with daemon.raw() as raw:
            raw.call("SET", "k", "v")
        daemon.kill()
        daemon.start()
        with daemon.raw() as raw:
            token, _ = take(raw, "a", 100)
        daemon.stop()
        daemon.start()
        daemon.kill()  # a run without grants after a clean stop
        daemon.start()
        with daemon.raw() as raw:
            assert take(raw, "b", 100, key="other")[0] > token


@own
def a_start_from_a_snapshot_alone_waits_after_a_clean_stop():
    """Without a journal nothing tells how the last run ended; a run without grants changes nothing."""
    with Daemon("--appendonly", "no", "--save", "3600 1") as daemon:
        with daemon.raw() as raw:
            take(raw, "a", 100)
        for _ in range(2):
            daemon.stop()
            daemon.start()
            with daemon.raw() as raw:
                assert raw.call("LEASE.TAKE", "other", "b", 100).startswith(TRYAGAIN)


@own
def tokens_grow_although_the_end_of_the_journal_is_lost():
    with Daemon(*JOURNAL, "--lease-max-ttl", "1") as daemon:
        daemon.hold()
        with daemon.raw() as raw:
            take(raw, "a", 1)
            before = os.path.join(daemon.dir, "before")
            raw.call("WAITAOF", 1, 0, 0)
            shutil.copytree(os.path.join(daemon.dir, "appendonlydir"), before)
            last = 0
            for number in range(200):
                last, _ = take(raw, "b", 1, key=f"k{number}")
        for _ in range(3):
            daemon.kill()
            shutil.rmtree(os.path.join(daemon.dir, "appendonlydir"))
            shutil.copytree(before, os.path.join(daemon.dir, "appendonlydir"))
            daemon.start()
            daemon.hold(NOON + 10_000)
            daemon.step(10)
            with daemon.raw() as raw:
                token, _ = take(raw, "c", 1, key="after")
                assert token > last, (token, last)


@own
def a_rewrite_and_a_snapshot_keep_the_counter():
    with Daemon(*JOURNAL, "--save", "3600 1") as daemon:
        daemon.hold()
        with daemon.raw() as raw:
            token, _ = take(raw, "a", 5000, "PERMITS", 2)
            raw.call("FLUSHALL")
            equal(take(raw, "b", 5000, "PERMITS", 2)[0], token + 1)
            digest = raw.call("DEBUG", "DIGEST")
            equal(raw.call("DEBUG", "RELOAD"), b"+OK\r\n")
            equal(raw.call("DEBUG", "DIGEST"), digest)
            equal(raw.call("DEBUG", "LOADAOF"), b"+OK\r\n")
            equal(raw.call("DEBUG", "DIGEST"), digest)
            raw.call("BGREWRITEAOF")
            equal(info(raw)["holders"], {b"b": (token + 1, 5000)})
            assert take(raw, "c", 100, "PERMITS", 2)[0] > token + 1


@own
def a_replica_has_leases_and_tokens_and_grants_after_its_promotion():
    with group(2, "--lease-max-ttl", "5000") as (master, replica):
        token, _ = take(master.conn, "a", 4000)
        other, _ = take(master.conn, "b", 3000, key="other")
        master.call("LEASE.DROP", "other", other)
        check_same(master, replica)
        equal(info(replica.conn)["holders"], {b"a": (token, 4000)})
        equal(replica.call("LEASE.CHECK", KEY, token), b":4000\r\n")
        replica.follow(None)
        equal(replica.call("LEASE.TAKE", "free", "x", 10), QUIET)
        equal(info(replica.conn, "free")["grants-in-ms"], 5000)
        equal(replica.call("LEASE.EXTEND", KEY, token, 5000), b":%d\r\n" % (NOON + 5000))
        with replica.raw() as waiter:
            wait(waiter, "x", 10, key="free")
            await_waiting(replica.conn, 1, "free")
            step_all(replica, msec=4999)
            assert not waiter.has_more()
            step_all(replica, msec=1)
            new, end = granted(waiter.reply())
        equal(end, NOON + 5010)
        assert new > other, (new, other)
        lost, _ = take(master.conn, "late", 10, key="free")
        assert lost < new


@own
def a_writable_replica_grants_no_lease_and_no_token():
    """Its master may grant the same key at the same time."""
    with group(2) as (master, replica):
        token, _ = take(master.conn, "a", 1000)
        await_caught_up(master, replica)
        replica.call("CONFIG", "SET", "replica-read-only", "no")
        refused = b"-READONLY You can't write against a read only replica.\r\n"
        for words in (("free", "x", 10), ("free", "x", 10, "WAIT", 0), (KEY, "a", 10)):
            equal(replica.call("LEASE.TAKE", *words), refused, words)
        equal(replica.call("EVAL", "return redis.pcall('LEASE.TAKE', KEYS[1], 'x', 10).err", 1, "free")[:13],
              b"$53\r\nREADONLY")
        replica.call("REDE.PUSH", "jobs", 0, "job", "id")
        equal(replica.call("REDE.CLAIM", "jobs", 100, "TOKENS"), refused)
        equal(replica.call("REDE.CLAIM", "none", 100, "TOKENS", "BLOCK", 0), refused)
        equal(replica.call("REDE.CLAIM", "jobs", 100), b"*1\r\n*3\r\n$2\r\nid\r\n$3\r\njob\r\n:1\r\n")
        equal(take(master.conn, "b", 100, key="free")[0], token + 1)


@own
def a_promotion_after_a_promotion_grants_larger_tokens():
    with group(3, "--lease-max-ttl", "1") as (first, second, third):
        token, _ = take(first.conn, "a", 1)
        await_caught_up(first, second, third)
        for member in (second, third):  # the third does not hear of the second's promotion
            member.follow(None)
            step_all(first, second, third, msec=100_000)
            new, _ = take(member.conn, "b", 1, key="k2")
            assert new > token, (new, token)
            token = new


@own
def ended_leases_are_hidden_on_a_replica_whose_master_is_away():
    with group(2) as (master, replica):
        token, _ = take(master.conn, "a", 100, "PERMITS", 2)
        take(master.conn, "b", 500, "PERMITS", 2)
        check_same(master, replica)
        master.kill()
        step_all(replica, msec=101)
        equal(replica.call("LEASE.CHECK", KEY, token), b"$-1\r\n")
        equal(set(info(replica.conn)["holders"]), {b"b"})
        step_all(replica, msec=400)
        equal(info(replica.conn)["held"], 0)
        master.start()


if __name__ == "__main__":
    main()
