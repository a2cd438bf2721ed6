#!/usr/bin/python3 -B
"""The journal is turned on and off by CONFIG SET while the daemon runs."""
from crash import (CHILDREN, COME_LATE, EIO, EVER, HOLD, LOADING, MAKE_DIR, NOON, OPEN, RENAME, SYNC,
                   WRITE, Kept, await_rewritten, calls, encode, equal, fill_large, run,
                   start_slowly, test, wait_for)

OK = b"+OK\r\n"


@test
def journal_is_turned_on_and_off_while_it_runs():
    with Kept(appendonly="no") as daemon, daemon.raw() as raw:
        equal(raw.call("SET", "a", "1"), OK)
        equal(raw.call("CONFIG", "SET", "appendonly", "yes"), OK)
        await_rewritten(daemon)
        for number in range(100):
            equal(raw.call("SET", f"b{number}", number), OK)
        daemon.appendonly = "yes"
        daemon.again()
        equal(daemon.call("DBSIZE"), b":101\r\n")
        equal(daemon.call("CONFIG", "SET", "appendonly", "no"), OK)
        equal(daemon.info()["aof_enabled"], "0")
        equal(daemon.call("SET", "c", "1"), OK)
        daemon.again()
        equal(daemon.call("DBSIZE"), b":101\r\n", "without what came when it was off")


@test
def connections_stay_open_while_the_journal_is_turned_off_and_on():
    for fsync in ("always", "everysec"):
        with Kept(fsync=fsync) as daemon, daemon.raw() as raw:
            for number in range(6):
                for _ in range(20):
                    equal(raw.call("APPEND", "a", "x" * 100)[:1], b":")
                equal(raw.call("CONFIG", "SET", "appendonly", ("no", "yes")[number % 2]), OK)
                equal(raw.call("RPUSH", "b", number), b":%d\r\n" % (number + 1))
                if number % 2:
                    await_rewritten(daemon)
                    equal(raw.call("GET", "none"), b"$-1\r\n")
            live = daemon.digest()
            daemon.again()
            equal(daemon.digest(), live)


@test
def journal_turned_off_and_on_during_a_rewrite_is_complete():
    with Kept(fault=True) as daemon, daemon.raw() as raw:
        raw.call("SET", "a", "1")
        daemon.plan.set(1, COME_LATE, calls(WRITE), last=EVER, late=50_000, whose=CHILDREN)
        for _ in range(3):
            raw.call("BGREWRITEAOF")
            raw.call("INCR", "n")
            equal(raw.call("CONFIG", "SET", "appendonly", "no"), OK)
            raw.call("INCR", "n")
            equal(raw.call("CONFIG", "SET", "appendonly", "yes"), OK)
            raw.call("INCR", "n")
        await_rewritten(daemon)
        equal(raw.call("INCR", "n"), b":10\r\n")
        daemon.plan.heal()
        live = daemon.digest()
        daemon.again()
        equal(daemon.digest(), live)


@test
def first_rewrite_ends_when_the_changes_since_its_fork_are_written():
    """They are more than the journal writes in one turn."""
    count, value = 500, "x" * 100_000
    with Kept(appendonly="no", fsync="everysec", fault=True) as daemon, daemon.raw() as raw:
        daemon.plan.set(1, HOLD, calls(WRITE), last=EVER, whose=CHILDREN)
        equal(raw.call("CONFIG", "SET", "appendonly", "yes"), OK)
        for number in range(count):
            equal(raw.call("SET", number, value), OK)
        daemon.plan.heal()
        await_rewritten(daemon)
        daemon.appendonly = "yes"
        daemon.again()
        equal(daemon.call("DBSIZE"), b":%d\r\n" % count)


@test
def transaction_may_turn_off_the_journal_or_rewrite_it():
    with Kept() as daemon, daemon.raw() as raw:
        for words in (("MULTI",), ("SET", "a", "1"), ("RPUSH", "l", "x"), ("BGREWRITEAOF",),
                      ("RPUSH", "l", "y"), ("BGSAVE",), ("SET", "b", "1"), ("EXEC",)):
            assert not raw.call(*words).startswith(b"-"), words
        daemon.await_quiet()
        live = daemon.digest()
        equal(raw.call("DEBUG", "LOADAOF"), OK)
        equal(daemon.digest(), live)
        daemon.again()
        equal(daemon.digest(), live)
    with Kept() as daemon, daemon.raw() as raw:
        for words in (("MULTI",), ("SET", "a", "1"), ("CONFIG", "SET", "appendonly", "no"),
                      ("SET", "b", "1"), ("CONFIG", "SET", "appendonly", "yes"), ("SET", "c", "1"),
                      ("CONFIG", "SET", "appendonly", "no"), ("EXEC",)):
            assert not raw.call(*words).startswith(b"-"), words
        equal(raw.call("DBSIZE"), b":3\r\n")
        equal(raw.call("CONFIG", "SET", "appendonly", "yes"), OK)
        await_rewritten(daemon)
        daemon.again()
        equal(daemon.call("DBSIZE"), b":3\r\n")


@test
def journal_that_cannot_be_written_may_be_turned_off():
    with Kept(fault=True) as daemon, daemon.raw() as raw:
        raw.call("SET", "a", "1")
        daemon.plan.set(1, EIO, calls(WRITE), last=EVER)
        raw.send(encode("SET", "b", "1"))
        assert wait_for(lambda: daemon.info()["aof_last_write_status"] == "err")
        assert daemon.call("SET", "c", "1").startswith(b"-MISCONF Errors writing to the AOF file")
        assert daemon.call("PING").startswith(b"-MISCONF"), "PING fails too, as in Redis"
        equal(daemon.call("GET", "a"), b"$1\r\n1\r\n")
        equal(daemon.call("CONFIG", "SET", "appendonly", "no"), OK)
        equal(raw.reply(), OK)
        equal(daemon.call("SET", "c", "1"), OK)
        equal(daemon.info()["aof_last_write_status"], "ok")


@test
def expiry_does_not_fill_the_memory_while_the_disk_is_full():
    with Kept(fsync="no", fault=True) as daemon:
        daemon.hold()
        name = "n" * 2000
        with daemon.raw() as raw:
            for first in range(0, 20_000, 500):
                writes = [("SET", f"{name}{number}", "", "PX", 1000) for number in range(first, first + 500)]
                equal(raw.calls(writes), 500 * [OK])
            raw.call("SET", "lasting", "1")
        daemon.plan.set(1, EIO, calls(WRITE), last=EVER)
        daemon.hold(NOON + 1001)
        assert wait_for(lambda: daemon.call("DBSIZE") == b":1\r\n")
        assert wait_for(lambda: daemon.info()["aof_last_write_status"] == "err")
        assert wait_for(lambda: int(daemon.info()["aof_buffer_length"]) < 33 << 20), daemon.info()
        daemon.plan.heal()
        assert wait_for(lambda: daemon.call("SET", "b", "1") == OK), daemon.log()
        live = daemon.digest()
        daemon.again()
        daemon.hold(NOON + 1001)
        equal(daemon.digest(), live)


@test
def journal_is_not_turned_on_if_its_folder_cannot_be_written():
    for which in (OPEN, MAKE_DIR, SYNC):
        with Kept(appendonly="no", fault=True) as daemon, daemon.raw() as raw:
            equal(raw.call("SET", "a", "1"), OK)
            daemon.plan.set(1, EIO, calls(which), last=EVER)
            reply = raw.call("CONFIG", "SET", "appendonly", "yes")
            assert reply.startswith(b"-ERR CONFIG SET failed"), reply
            assert "Can't start the journal in " + daemon.journal_dir in daemon.log(), daemon.log()
            equal(raw.call("CONFIG", "GET", "appendonly"), b"*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n")
            equal(daemon.info()["aof_enabled"], "0")
            equal(raw.call("SET", "b", "1"), OK)
            daemon.plan.heal()
            equal(raw.call("CONFIG", "SET", "appendonly", "yes"), OK)
            await_rewritten(daemon)
            daemon.appendonly = "yes"
            daemon.again()
            equal(daemon.call("DBSIZE"), b":2\r\n")


@test
def writes_are_refused_while_the_first_base_cannot_be_written():
    for which in (OPEN, WRITE, SYNC, RENAME):
        with Kept(appendonly="no", fault=True) as daemon, daemon.raw() as raw:
            equal(raw.call("SET", "a", "1"), OK)
            daemon.plan.set(1, EIO, calls(which), last=EVER, whose=CHILDREN)
            equal(raw.call("CONFIG", "SET", "appendonly", "yes"), OK)
            assert wait_for(lambda: daemon.info()["aof_last_write_status"] == "err"), daemon.info()
            info = daemon.info()
            equal(info["aof_enabled"], "1")
            equal(info["aof_last_bgrewrite_status"], "err")
            assert "1" in (info["aof_rewrite_scheduled"], info["aof_rewrite_in_progress"]), info
            reply = raw.call("SET", "b", "1")
            assert reply.startswith(b"-MISCONF Errors writing to the AOF file"), reply
            equal(raw.call("GET", "a"), b"$1\r\n1\r\n")
            daemon.plan.heal()
            assert wait_for(lambda: raw.call("SET", "b", "1") == OK), daemon.log()
            equal(daemon.info()["aof_last_write_status"], "ok")
            daemon.appendonly = "yes"
            daemon.again()
            equal(daemon.call("DBSIZE"), b":2\r\n", "what was acknowledged after that is kept")


@test
def journal_whose_first_base_fails_may_be_turned_off():
    with Kept(appendonly="no", fault=True) as daemon, daemon.raw() as raw:
        daemon.plan.set(1, EIO, calls(WRITE), last=EVER, whose=CHILDREN)
        equal(raw.call("CONFIG", "SET", "appendonly", "yes"), OK)
        assert wait_for(lambda: daemon.info()["aof_last_write_status"] == "err")
        equal(raw.call("CONFIG", "SET", "appendonly", "no"), OK)
        equal(raw.call("SET", "a", "1"), OK)
        equal(daemon.info()["aof_last_write_status"], "ok")


@test
def appendonly_cannot_be_changed_while_data_is_loading():
    with Kept(fsync="no", fault=True) as daemon:
        fill_large(daemon)
        daemon.kill()
        start_slowly(daemon)
        with daemon.raw() as raw:
            raw.send(b"".join(encode("CONFIG", *words) for words in (
                ("SET", "appendonly", "no"), ("SET", "appendonly", "yes"),
                ("SET", "maxmemory", "0", "appendonly", "no"), ("SET", "maxmemory", "0"),
                ("GET", "appendonly"))) + encode("PING"))
            for wanted in (LOADING, LOADING, LOADING, OK,
                           b"*2\r\n$10\r\nappendonly\r\n$3\r\nyes\r\n", LOADING):
                equal(raw.reply(), wanted)
        daemon.plan.heal()
        daemon.await_loaded()
        equal(daemon.info()["aof_enabled"], "1")


run()
