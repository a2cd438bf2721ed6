#!/usr/bin/python3 -B
"""Start, end, and what is turned on and off between: what is loaded, what dies of it, who is told."""
import os
import signal
import time

from crash import (CHILDREN, COME_LATE, EIO, EVER, MAKE_DIR, NOON, OPEN, READ, RENAME, SYNC, WRITE,
                   Daemon, Kept, calls, encode, equal, run, test, wait_for)

OK = b"+OK\r\n"
LOADING = b"-LOADING Redis is loading the dataset in memory\r\n"
MANY = 20_000


def start_slowly(daemon, late=60_000):
    """Every read from a file takes its time: there is a while to look at the loading."""
    daemon.plan.set(1, COME_LATE, calls(READ), last=EVER, late=late)
    Daemon.start(daemon)


def await_rewritten(daemon):
    """The journal is on, and has its base."""
    assert wait_for(lambda: daemon.info()["aof_enabled"] == "1"), daemon.log()
    daemon.await_quiet()
    assert wait_for(lambda: daemon.info()["aof_base_size"] != "0"), daemon.log()


# ---- loading --------------------------------------------------------------------------------------


@test
def clients_are_told_of_the_loading_while_it_lasts():
    with Kept(fsync="no", fault=True) as daemon:
        with daemon.raw() as raw:
            for number in range(80):
                raw.call("SET", f"k{number}", b"x" * 100_000)
        daemon.kill()
        start_slowly(daemon)
        with daemon.raw() as raw:
            for words in (("PING",), ("SET", "a", "b"), ("GET", "k1"), ("INFO", "persistence")):
                raw.send(encode(*words))
            for words in ("PING", "SET", "GET"):
                equal(raw.reply(), LOADING, words)
            info = dict(line.split(":", 1) for line in raw.reply().decode().split("\r\n")
                        if ":" in line)
        equal(info["loading"], "1")
        assert int(info["loading_total_bytes"]) > 8_000_000, info
        assert int(info["loading_loaded_bytes"]) <= int(info["loading_total_bytes"]), info
        daemon.plan.heal()
        daemon.await_loaded()
        info = daemon.info()
        equal(info["loading"], "0")
        equal("loading_total_bytes" in info, False)
        equal(daemon.call("DBSIZE"), b":80\r\n")


@test
def daemon_that_is_asked_to_stop_while_it_loads_leaves_its_files_alone():
    for way in ("signal", "command"):
        with Kept("--save", "3600 1", fsync="no", fault=True) as daemon:
            with daemon.raw() as raw:
                for number in range(80):
                    raw.call("SET", f"k{number}", b"x" * 100_000)
                raw.call("SAVE")
            daemon.kill()
            before = {name: os.path.getsize(os.path.join(daemon.data, name))
                      for name in daemon.files()}
            start_slowly(daemon)
            if way == "command":
                with daemon.raw() as raw:
                    raw.send(encode("SHUTDOWN"))
                    raw.rest()
                process, daemon.process = daemon.process, None
                equal(process.wait(timeout=10), 0)
            else:
                daemon.stop()
            daemon.plan.heal()
            equal({name: os.path.getsize(os.path.join(daemon.data, name))
                   for name in daemon.files()}, before, way)
            daemon.start()
            equal(daemon.call("DBSIZE"), b":80\r\n")


@test
def overdue_keys_die_after_loading_with_events_and_records():
    with Kept("--notify-keyspace-events", "Ex", fsync="no", fault=True) as daemon:
        at = daemon.hold() + 1000
        with daemon.raw() as raw:
            raw.send(b"".join(encode("SET", f"k{number}", b"x" * 150, "PXAT", at)
                              for number in range(MANY)))
            for _ in range(MANY):
                equal(raw.reply(), OK)
            raw.call("SET", "lasting", "x")
            raw.call("CONFIG", "SET", "notify-keyspace-events", "Ex")
        daemon.again()
        with daemon.raw() as raw:
            raw.call("SUBSCRIBE", "__keyevent@0__:expired")
            equal(daemon.call("DBSIZE"), b":%d\r\n" % (MANY + 1))
            daemon.hold(at)
            equal(daemon.call("DBSIZE"), b":%d\r\n" % (MANY + 1))
            daemon.hold(at + 1)
            names = {raw.reply().split(b"\r\n")[-2] for _ in range(MANY)}
            equal(len(names), MANY)
        equal(daemon.call("DBSIZE"), b":1\r\n")
        equal(daemon.info("stats")["expired_keys"], f"{MANY}")
        live = daemon.digest()
        daemon.again()
        equal(daemon.call("DBSIZE"), b":1\r\n", "their records are in the journal")
        daemon.hold(at + 1)
        equal(daemon.digest(), live)


@test
def keys_that_are_overdue_at_the_start_die_in_the_first_turns():
    with Kept("--notify-keyspace-events", "Ex", fsync="no", fault=True) as daemon:
        at = int(time.time() * 1000) + 1500
        with daemon.raw() as raw:
            raw.send(b"".join(encode("SET", f"k{number}", b"x" * 150, "PXAT", at)
                              for number in range(MANY)))
            raw.send(encode("SADDEX", "set", "PXAT", at, "MEMBERS", 1, "m"))
            for _ in range(MANY + 1):
                raw.reply()
        daemon.kill()
        assert wait_for(lambda: time.time() * 1000 > at)
        start_slowly(daemon, late=20_000)
        with daemon.raw() as raw:
            raw.call("SUBSCRIBE", "__keyevent@0__:expired")
            daemon.plan.heal()
            names = {raw.reply().split(b"\r\n")[-2] for _ in range(MANY)}
            equal(len(names), MANY, "who subscribed during the loading hears of all")
        assert wait_for(lambda: daemon.call("DBSIZE") == b":0\r\n"), daemon.call("DBSIZE")
        with daemon.raw() as raw:
            equal(raw.call("DEBUG", "CHECK"), OK)
        daemon.again()
        equal(daemon.info("stats")["expired_keys"], "0", "they died before, and for good")


@test
def downtime_lengthens_no_life():
    with Kept(fsync="no") as daemon:
        daemon.hold()
        with daemon.raw() as raw:
            for words in (("SET", "key", "v", "PX", 5000), ("HSET", "hash", "f", "v"),
                          ("HPEXPIRE", "hash", 5000, "FIELDS", 1, "f"),
                          ("SADDEX", "set", "PX", 5000, "MEMBERS", 1, "m"),
                          ("ZADDEX", "zset", "PX", 5000, 1, "m"),
                          ("REDE.PUSH", "rede", 5000, "payload", "id"),
                          ("REDE.PUSH", "claims", 0, "payload", "id"),
                          ("REDE.CLAIM", "claims", 5000)):
                assert not raw.call(*words).startswith(b"-"), words
        asked = (("PEXPIRETIME", "key"), ("HPEXPIRETIME", "hash", "FIELDS", 1, "f"),
                 ("SPEXPIRETIME", "set", "MEMBERS", 1, "m"),
                 ("ZPEXPIRETIME", "zset", "MEMBERS", 1, "m"),
                 ("REDE.RANGE", "rede", 0, NOON * 2), ("REDE.RANGE", "claims", 0, NOON * 2))
        answers = [daemon.call(*words) for words in asked]
        for way in ("kill", "rewrite", "snapshot"):
            if way == "rewrite":
                assert daemon.rewrite()
            if way == "snapshot":
                equal(daemon.call("DEBUG", "RELOAD"), OK)
            else:
                daemon.again()
            daemon.hold(NOON + 4000)
            for words, answer in zip(asked, answers):
                equal(daemon.call(*words), answer, f"{words} after {way}")
        daemon.again()
        daemon.hold(NOON + 5001)
        for key in ("key", "hash", "set", "zset"):
            equal(daemon.call("EXISTS", key), b":0\r\n", key)
        equal(daemon.call("REDE.LEN", "rede", "DUE"), b":1\r\n")
        equal(daemon.call("REDE.LEN", "claims", "DUE"), b":1\r\n", "its lease is over")


@test
def what_a_crash_left_behind_is_swept_at_the_start():
    with Kept(fsync="no") as daemon:
        daemon.call("SET", "a", "1")
        daemon.kill()
        left = ("appendonlydir/temp-appendonly.aof.manifest", "appendonlydir/appendonly.aof.7.incr.aof",
                "appendonlydir/temp-appendonly.aof.9.base.exp", "temp-dump.exp",
                "appendonlydir/appendonly.aof.9.base.exp", "appendonlydir/temp-appendonly.aof.first")
        kept = ("appendonlydir/notes.txt", "temp-other", "appendonlydir/other.aof.1.base.exp",
                "appendonlydir/appendonly.aof.8.incr.aof", "appendonlydir/appendonly.aof.3.base.exp")
        for name in left + kept:
            content = b"x" * 100
            if name in left and "first" in name:
                content = b""
            elif name in left:
                content = b"#EXPIRED-JOURNAL 1\r\n" if "incr" in name else bytes(100)
            with open(os.path.join(daemon.data, name), "wb") as file:
                file.write(content)
        daemon.start()
        equal(daemon.call("GET", "a"), b"$1\r\n1\r\n")
        names = daemon.files()
        equal([name for name in left if name in names], [], "swept")
        equal([name for name in kept if name not in names], [], "not ours")


# ---- on and off ------------------------------------------------------------------------------------


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
def connections_live_on_while_the_journal_is_turned_off_and_on():
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
def journal_turned_off_and_on_amid_a_rewrite_is_whole():
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
def transaction_may_end_the_journal_or_rewrite_it():
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
def journal_that_can_not_be_written_may_be_turned_off():
    with Kept(fault=True) as daemon, daemon.raw() as raw:
        raw.call("SET", "a", "1")
        daemon.plan.set(1, EIO, calls(WRITE), last=EVER)
        raw.send(encode("SET", "b", "1"))
        assert wait_for(lambda: daemon.info()["aof_last_write_status"] == "err")
        assert daemon.call("SET", "c", "1").startswith(b"-MISCONF Errors writing to the AOF file")
        assert daemon.call("PING").startswith(b"-MISCONF"), "PING tells, as in Redis"
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
            raw.send(b"".join(encode("SET", f"{name}{number}", "", "PX", 1000)
                              for number in range(20_000)))
            for _ in range(20_000):
                equal(raw.reply(), OK)
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
def journal_is_not_turned_on_where_its_folder_can_not_be_written():
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
def writes_are_refused_while_the_first_base_can_not_be_written():
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
def appendonly_can_not_be_changed_while_data_are_loading():
    with Kept(fsync="no", fault=True) as daemon:
        with daemon.raw() as raw:
            for number in range(80):
                raw.call("SET", f"k{number}", b"x" * 100_000)
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


# ---- reloading --------------------------------------------------------------------------------------


@test
def failed_reload_changes_nothing():
    with Kept(fault=True) as daemon, daemon.raw() as raw:
        for number in range(100):
            raw.call("SADDEX", f"k{number}", "EX", 100000, "MEMBERS", 1, "m")
        equal(raw.call("POLICY", "SET", "x*", "TTL", "100000"), OK)
        equal(raw.call("SAVE"), OK)
        live, info = daemon.digest(), daemon.info()
        daemon.plan.set(1, EIO, calls(READ), last=EVER)
        for how in ("LOADAOF", "RELOAD"):
            reply = raw.call("DEBUG", how)
            assert reply.startswith(b"-ERR"), reply
            equal(daemon.digest(), live, how)
        daemon.plan.heal()
        with open(daemon.segment(), "r+b") as file:
            whole = file.read()
            file.seek(len(whole) // 2)
            file.write(b"x")
        reply = raw.call("DEBUG", "LOADAOF")
        assert b"is damaged" in reply, reply
        equal(daemon.digest(), live)
        with open(daemon.segment(), "r+b") as file:
            file.write(whole)
        for name in ("aof_base_size", "loading", "rdb_changes_since_last_save"):
            equal(daemon.info()[name], info[name], name)
        equal(raw.call("DEBUG", "LOADAOF"), OK)
        equal(daemon.digest(), live)
        equal(raw.call("SET", "after", "1"), OK)
        live = daemon.digest()
        daemon.again()
        equal(daemon.digest(), live)


# ---- snapshots --------------------------------------------------------------------------------------


@test
def snapshot_is_what_is_loaded_where_no_journal_is_kept():
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
def flushall_writes_the_snapshot_anew_where_there_are_save_points():
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
        equal(daemon.call("BGSAVE")[:1], b"+")
        assert wait_for(lambda: daemon.info()["rdb_last_bgsave_status"] == "ok")
        equal(daemon.call("SET", "c", "1"), OK)


def shut_down(daemon, *how):
    with daemon.raw() as raw:
        raw.send(encode("SHUTDOWN", *how))
        said = raw.rest()
    equal(said, b"", "SHUTDOWN")
    process, daemon.process = daemon.process, None
    equal(process.wait(timeout=10), 0, "the status at the end")


@test
def shutdown_saves_as_it_is_told():
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
def nobody_ends_it_without_the_snapshot_that_was_asked_for():
    with Kept("--save", "3600 1", appendonly="no", fault=True) as daemon:
        daemon.call("SET", "a", "1")
        daemon.plan.set(1, EIO, calls(WRITE), last=EVER)
        assert daemon.call("SHUTDOWN").startswith(b"-ERR Errors trying to SHUTDOWN"), "refused"
        daemon.process.send_signal(signal.SIGTERM)
        assert wait_for(lambda: "Not stopping" in daemon.log()), daemon.log()
        equal(daemon.call("GET", "a"), b"$1\r\n1\r\n")
        daemon.plan.heal()
        daemon.stop()
        daemon.start()
        equal(daemon.call("DBSIZE"), b":1\r\n")


run()
