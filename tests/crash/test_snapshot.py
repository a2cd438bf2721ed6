#!/usr/bin/python3 -B
"""Snapshots: SAVE, BGSAVE, save points, FLUSHALL, and how SHUTDOWN saves."""
import errno
import signal

from crash import (CHILDREN, COME_LATE, EIO, EVER, NOON, REMOVE, WRITE, Kept, calls, encode, equal, run,
                   test, wait_for)

OK = b"+OK\r\n"


@test
def snapshot_is_loaded_if_there_is_no_journal():
    with Kept(appendonly="no") as daemon:
        daemon.hold()
        daemon.call("SET", "a", "1")
        daemon.call("REDE.PUSH", "rede", 100, "payload", "id")
        live = daemon.digest()
        equal(daemon.call("SAVE"), OK)
        daemon.call("SET", "b", "1")
        daemon.again()
        daemon.hold()
        equal(daemon.digest(), live)
        daemon.call("SET", "c", "1")
        equal(daemon.call("BGSAVE"), b"+Background saving started\r\n")
        daemon.await_quiet()
        equal(daemon.info()["rdb_last_bgsave_status"], "ok")
        daemon.again()
        equal(daemon.call("GET", "c"), b"$1\r\n1\r\n")
        daemon.appendonly = "yes"
        daemon.again()
        equal(daemon.call("DBSIZE"), b":3\r\n", "the first journal begins with it")
        daemon.again()
        equal(daemon.call("DBSIZE"), b":3\r\n")


@test
def save_points_make_snapshots():
    with Kept("--save", "60 3", appendonly="no") as daemon:
        daemon.hold()
        equal(daemon.call("SAVE"), OK)
        equal(daemon.call("LASTSAVE"), b":%d\r\n" % (NOON // 1000))
        for number in range(3):
            daemon.call("SET", f"k{number}", number)
        equal(daemon.info()["rdb_changes_since_last_save"], "3")
        daemon.step(59_000)
        equal(daemon.call("LASTSAVE"), b":%d\r\n" % (NOON // 1000))
        daemon.step(1_000)
        assert wait_for(lambda: daemon.call("LASTSAVE") == b":%d\r\n" % (NOON // 1000 + 60))
        equal(daemon.info()["rdb_changes_since_last_save"], "0")
        daemon.again()
        equal(daemon.call("DBSIZE"), b":3\r\n")


@test
def flushall_rewrites_the_snapshot_if_save_points_are_set():
    for words in (("FLUSHALL",), ("FLUSHALL", "ASYNC")):
        with Kept("--save", "3600 100", appendonly="no") as daemon, daemon.raw() as raw:
            equal(raw.call("SET", "a", "1"), OK)
            equal(raw.call("SAVE"), OK)
            raw.call("SET", "b", "1")
            raw.send(encode(*words) + encode("INFO", "persistence"))
            equal(raw.reply(), OK)
            assert b"rdb_changes_since_last_save:0\r\n" in raw.reply()
            equal(daemon.info()["rdb_changes_since_last_save"], "0")
            daemon.again()
            equal(daemon.call("DBSIZE"), b":0\r\n", "nothing comes back")
    with Kept("--save", "3600 100", appendonly="no") as daemon, daemon.raw() as raw:
        equal(raw.call("SET", "a", "1"), OK)
        equal(raw.call("SAVE"), OK)
        for words in (("MULTI",), ("FLUSHALL",), ("SET", "b", "1"), ("EXEC",)):
            raw.call(*words)
        daemon.again()
        equal(daemon.call("GET", "a"), b"$-1\r\n")
        equal(daemon.call("SET", "c", "1"), OK)
        equal(daemon.call("SAVE"), OK)
        equal(daemon.call("CONFIG", "SET", "save", ""), OK)
        equal(daemon.call("FLUSHALL"), OK)
        daemon.again()
        equal(daemon.call("GET", "c"), b"$1\r\n1\r\n", "as in Redis, without save points")


@test
def flushall_ends_a_snapshot_that_is_being_written():
    with Kept("--save", "3600 100", appendonly="no", fault=True) as daemon, daemon.raw() as raw:
        equal(raw.call("SET", "a", "1"), OK)
        daemon.plan.set(1, COME_LATE, calls(WRITE), last=EVER, late=200_000, whose=CHILDREN)
        equal(raw.call("BGSAVE")[:1], b"+")
        equal(raw.call("FLUSHALL"), OK)
        equal(daemon.info()["rdb_bgsave_in_progress"], "0")
        equal(daemon.info()["rdb_last_bgsave_status"], "ok")
        daemon.plan.heal()
        daemon.again()
        equal(daemon.call("DBSIZE"), b":0\r\n")


@test
def failed_snapshot_stops_changes_until_one_succeeds():
    with Kept("--save", "3600 1", appendonly="no", fault=True) as daemon:
        daemon.call("SET", "a", "1")
        daemon.plan.set(1, EIO, calls(WRITE), last=EVER)
        assert daemon.call("BGSAVE").startswith(b"+"), "it begins"
        assert wait_for(lambda: daemon.info()["rdb_last_bgsave_status"] == "err")
        assert daemon.call("SET", "b", "1").startswith(b"-MISCONF"), "stop-writes-on-bgsave-error"
        equal(daemon.call("GET", "a"), b"$1\r\n1\r\n")
        equal(daemon.call("CONFIG", "SET", "stop-writes-on-bgsave-error", "no"), OK)
        equal(daemon.call("SET", "b", "1"), OK)
        equal(daemon.call("CONFIG", "SET", "stop-writes-on-bgsave-error", "yes"), OK)
        daemon.plan.heal()
        assert wait_for(lambda: daemon.call("BGSAVE").startswith(b"+")), daemon.log()
        assert wait_for(lambda: daemon.info()["rdb_last_bgsave_status"] == "ok")
        equal(daemon.call("SET", "c", "1"), OK)


def shut_down(daemon, *how):
    with daemon.raw() as raw:
        raw.send(encode("SHUTDOWN", *how))
        said = raw.rest()
    equal(said, b"", "SHUTDOWN")
    process, daemon.process = daemon.process, None
    equal(process.wait(), 0, "the status at the end")


@test
def shutdown_saves_as_its_option_requires():
    with Kept(appendonly="no") as daemon:
        for how, wanted in (((), 0), (("SAVE",), 1), (("NOSAVE",), 1)):
            daemon.call("SET", f"k{how}", "1")
            shut_down(daemon, *how)
            daemon.start()
            equal(daemon.call("DBSIZE"), b":%d\r\n" % wanted, f"after SHUTDOWN {how}")
        daemon.call("CONFIG", "SET", "save", "3600 1")
        daemon.call("SET", "with-save-points", "1")
        shut_down(daemon)
        daemon.start()
        equal(daemon.call("DBSIZE"), b":2\r\n", "after SHUTDOWN with save points")
        daemon.call("CONFIG", "SET", "save", "3600 1")
        daemon.call("SET", "by-signal", "1")
        daemon.stop()
        daemon.start()
        equal(daemon.call("DBSIZE"), b":3\r\n", "after SIGTERM with save points")
    with Kept(fsync="no") as daemon:
        daemon.call("SET", "a", "1")
        shut_down(daemon, "NOSAVE")
        daemon.start()
        equal(daemon.call("DBSIZE"), b":1\r\n", "the journal has it")


@test
def no_request_runs_after_the_last_snapshot():
    with Kept("--save", "3600 1", appendonly="no") as daemon:
        with daemon.raw() as raw:
            raw.send(encode("SET", "a", "1") + encode("SHUTDOWN") + encode("SET", "b", "1"))
            equal(raw.rest(), OK, "an answer only to what the snapshot has")
        process, daemon.process = daemon.process, None
        equal(process.wait(), 0)
        daemon.start()
        equal(daemon.call("DBSIZE"), b":1\r\n")


@test
def failed_save_is_tried_again_so_that_changes_are_accepted():
    with Kept("--save", "3600 100", appendonly="no", fault=True) as daemon:
        daemon.call("SET", "a", "1")
        daemon.plan.set(1, EIO, calls(WRITE), last=EVER)
        assert daemon.call("SAVE").startswith(b"-"), "it fails"
        assert daemon.call("SET", "b", "1").startswith(b"-MISCONF")
        daemon.plan.heal()
        assert wait_for(lambda: daemon.call("SET", "b", "1") == OK), daemon.log()


@test
def shutdown_does_not_rely_on_a_snapshot_that_is_being_written():
    for by_signal in (False, True):
        with Kept("--save", "3600 1", appendonly="no", fault=True) as daemon:
            daemon.call("SET", "a", "1")
            daemon.plan.set(1, COME_LATE, calls(WRITE), last=EVER, late=300_000, whose=CHILDREN)
            daemon.call("BGSAVE")
            daemon.call("SET", "b", "1")
            if by_signal:
                daemon.stop()
            else:
                shut_down(daemon)
            daemon.plan.heal()
            daemon.start()
            equal(daemon.call("DBSIZE"), b":2\r\n")


@test
def start_on_a_read_only_disk_reports_no_missing_file():
    """There unlink fails with EROFS, whether the file exists or not."""
    with Kept(appendonly="no", fault=True) as daemon:
        daemon.call("SET", "a", "1")
        equal(daemon.call("SAVE"), OK)
        daemon.kill()
        daemon.plan.set(1, errno.EROFS, calls(REMOVE), last=EVER)
        daemon.start()
        equal(daemon.call("GET", "a"), b"$1\r\n1\r\n")
        assert "Can't remove" not in daemon.log(), daemon.log()


@test
def shutdown_fails_if_its_snapshot_fails():
    with Kept("--save", "3600 1", appendonly="no", fault=True) as daemon:
        daemon.call("SET", "a", "1")
        daemon.plan.set(1, EIO, calls(WRITE), last=EVER)
        assert daemon.call("SHUTDOWN").startswith(b"-ERR Errors trying to SHUTDOWN"), "refused"
        daemon.process.send_signal(signal.SIGTERM)
        assert wait_for(lambda: "Not stopping" in daemon.log()), daemon.log()
        for times in (2, 3):  # a second SIGINT kills the process only while it stops
            daemon.process.send_signal(signal.SIGINT)
            assert wait_for(lambda: daemon.log().count("Not stopping") == times), daemon.log()
        equal(daemon.call("GET", "a"), b"$1\r\n1\r\n")
        daemon.plan.heal()
        daemon.stop()
        daemon.start()
        equal(daemon.call("DBSIZE"), b":1\r\n")


@test
def forced_stop_ends_without_the_snapshot_that_fails():
    with Kept("--save", "3600 1", "--shutdown-on-sigterm", "force", appendonly="no", fault=True) as daemon:
        daemon.call("SET", "a", "1")
        daemon.plan.set(1, EIO, calls(WRITE), last=EVER)
        daemon.process.send_signal(signal.SIGTERM)
        equal(daemon.process.wait(), 0)
        assert "Stopping without a snapshot" in daemon.log(), daemon.log()
        daemon.plan.heal()
        daemon.start()
        equal(daemon.call("DBSIZE"), b":0\r\n")


run()
