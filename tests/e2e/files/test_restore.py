#!/usr/bin/python3 -B
"""A restored backup delivers jobs that were acknowledged after it, at once or once they are resumed
(restore-paused), and does not grant leases that somebody may still hold."""
import glob
import os
import shutil
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, folder, main, own
from followers import await_caught_up, await_linked
from replicas import check_same, group

JOURNAL = ("--appendonly", "yes", "--lease-max-ttl", "5000")
TRYAGAIN = b"-TRYAGAIN Leases may be held that this server has not seen."


def backed_up(daemon, raw):
    """Takes a snapshot and keeps it as the backup."""
    equal(raw.call("SAVE"), b"+OK\r\n")
    os.rename(os.path.join(daemon.dir, "dump.exp"), os.path.join(daemon.dir, "backup"))


def restore(daemon, *options):
    """Starts the daemon with nothing but the backup."""
    daemon.stop()
    shutil.rmtree(os.path.join(daemon.dir, "appendonlydir"), ignore_errors=True)
    for left in glob.glob(os.path.join(daemon.dir, "*.backlog")):
        os.unlink(left)
    shutil.copy(os.path.join(daemon.dir, "backup"), os.path.join(daemon.dir, "dump.exp"))
    daemon.options += options
    daemon.start()


def put_jobs(raw):
    """Of `jobs` one element is claimed; `later` is in another database; `paused` is paused for a while."""
    raw.call("REDE.MPUSH", "jobs", 0, "pa", "a", 0, "pb", "b", 60_000, "pc", "c")
    raw.call("REDE.CLAIM", "jobs", 60_000, "COUNT", 1)
    raw.call("REDE.PUSH", "paused", 0, "p", "id")
    raw.call("REDE.PAUSE", "paused", "UNTIL", 4_000_000_000_000)
    raw.call("SELECT", 3)
    raw.call("REDE.PUSH", "later", 0, "p", "id")
    raw.call("SELECT", 0)


def ids(raw, key, lease=60_000):
    claimed = raw.call("REDE.CLAIM", key, lease)
    return [name for name in (b"a", b"b", b"c", b"id") if b"\r\n" + name + b"\r\n" in claimed]


@own
def jobs_acknowledged_after_the_backup_are_delivered_again():
    with Daemon(*JOURNAL) as daemon:
        with daemon.raw() as raw:
            raw.call("REDE.MPUSH", "jobs", 0, "pa", "a", 0, "pb", "b")
            backed_up(daemon, raw)
            equal(ids(raw, "jobs"), [b"a", b"b"])
            raw.call("REDE.XACK", "jobs", "a", "b")
        restore(daemon)
        with daemon.raw() as raw:
            equal(ids(raw, "jobs"), [b"a", b"b"])


@own
def restore_paused_delivers_nothing_until_resumed():
    for appendonly in ("yes", "no"):
        with Daemon("--appendonly", appendonly) as daemon:
            with daemon.raw() as raw:
                put_jobs(raw)
                raw.call("SET", "k", "v")
                backed_up(daemon, raw)
            restore(daemon, "--restore-paused")
            assert "Paused 3 dehydrators of the restored data" in daemon.log(), daemon.log()
            with daemon.raw() as raw:
                for database, key in ((0, "jobs"), (0, "paused"), (3, "later")):
                    raw.call("SELECT", database)
                    equal(raw.call("REDE.CLAIM", key, 60_000), b"*0\r\n")
                    assert b"paused-until\r\n:-1\r\n" in raw.call("REDE.INFO", key), key
                    raw.call("REDE.RESUME", key)
                    equal(ids(raw, key), [b"b"] if key == "jobs" else [b"id"])


@own
def pauses_of_a_restore_survive_a_crash_and_end_for_good():
    with Daemon(*JOURNAL) as daemon:
        with daemon.raw() as raw:
            put_jobs(raw)
            backed_up(daemon, raw)
        restore(daemon, "--restore-paused", "yes")
        daemon.kill()
        daemon.start()
        with daemon.raw() as raw:
            equal(raw.call("REDE.CLAIM", "jobs", 60_000), b"*0\r\n")
            raw.call("REDE.RESUME", "jobs")
        daemon.stop()
        daemon.start()  # the journal is loaded, so this is no restore
        with daemon.raw() as raw:
            equal(ids(raw, "jobs"), [b"b"])


@own
def an_import_is_a_restore():
    with folder() as place:
        path = os.path.join(place, "redis.aof")
        with open(path, "wb") as file:
            file.write(encode("REDE.PUSH", "jobs", 0, "pa", "a"))
        with Daemon("--import", path, "--restore-paused", "yes") as daemon, daemon.raw() as raw:
            equal(raw.call("REDE.LEN", "jobs"), b":1\r\n")
            equal(raw.call("REDE.CLAIM", "jobs", 1000), b"*0\r\n")


@own
def replicas_of_a_restored_master_get_its_pauses():
    with group(2, "--save", "1000 1") as (master, replica):
        put_jobs(master.conn)
        await_caught_up(master, replica)
        master.conn.close()
        master.options += ["--restore-paused", "yes"]
        master.stop()
        master.start()
        await_linked(replica)
        await_caught_up(master, replica)
        assert b"paused-until\r\n:-1\r\n" in replica.call("REDE.INFO", "jobs")
        check_same(master, replica)


@own
def a_snapshot_of_a_server_that_stopped_cleanly_grants_no_lease_at_once():
    with Daemon(*JOURNAL) as daemon:
        with daemon.raw() as raw:
            raw.call("LEASE.TAKE", "first", "a", 100)
        daemon.stop()
        daemon.start()
        with daemon.raw() as raw:
            backed_up(daemon, raw)
            assert raw.call("LEASE.TAKE", "lock", "a", 5000).startswith(b"*2")
        restore(daemon)
        with daemon.raw() as raw:
            assert raw.call("LEASE.TAKE", "lock", "b", 5000).startswith(TRYAGAIN)
        daemon.kill()
        daemon.start()
        with daemon.raw() as raw:
            assert raw.call("LEASE.TAKE", "lock", "b", 5000).startswith(TRYAGAIN)


if __name__ == "__main__":
    sys.exit(main())
