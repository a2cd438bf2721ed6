#!/usr/bin/python3 -B
"""Masters that send false data, or are the wrong servers: an error in the log names the peer, the old
data stays until a whole new copy is loaded, and the daemon continues."""
import random
import sys
from contextlib import contextmanager

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import encode, equal, main, own, wait_for
from followers import await_linked, is_linked, offset
from made_rdb import hash_record, rdb, text
from peers import ID, MARK, FakeMaster, FakeReplica
from replicas import Member, check_same, group
OLD = (b"k", b"old value")
VALKEY_HASH = b"\x16" + text(b"h") + b"\x01" + text(b"f") + text(b"v") + bytes(8)


@contextmanager
def replica_with_data(*options):
    with Member(*options) as replica:
        replica.ok("SET", *OLD)
        yield replica


def check_survived(replica, fake, *said):
    """It has its data, and said what was wrong with this master."""
    def is_said():
        lines = [line for line in replica.log().split("\n") if f"Master 127.0.0.1:{fake.port}: " in line]
        return any(all(word in line for word in said) for line in lines)
    assert wait_for(is_said), f"no {said} in\n{replica.log()[-2000:]}"
    equal(replica.call("GET", OLD[0]), b"$%d\r\n%s\r\n" % (len(OLD[1]), OLD[1]))
    equal(replica.call("DBSIZE"), b":1\r\n")


def copy_of(*calls, ours=True):
    """A true full copy of a server that ran these."""
    with Member() as server:
        for words in calls or (("SET", "new", "value"), ("SADD", "s", *range(50)),
                               ("SADDEX", "e", "PX", 10 ** 6, "MEMBERS", 1, "m")):
            server.call(*words)
        with FakeReplica(server, ours) as raw:
            return raw.copy()[0]


@own
def a_loaded_copy_is_acknowledged_until_the_stream_begins():
    """A Redis forgets the acknowledgements before the end of its child. A replica that waits for a copy of its
    own shows the seconds: it hears an empty line in each, and the master an acknowledgement."""
    with Member("--repl-diskless-sync-delay", "1000") as replica, FakeMaster() as master:
        replica.follow(master)
        master.copy(copy_of())
        await_linked(replica)
        with FakeReplica(replica) as clock:
            clock.send(encode("PSYNC", "?", -1))
            for _ in range(3):
                clock.line()
        acknowledged = 0
        master.socket.setblocking(False)
        try:
            while master.request()[1] == b"ACK":
                acknowledged += 1
        except BlockingIOError:
            pass
        assert acknowledged >= 8, acknowledged
        master.socket.setblocking(True)
        master.send(encode("SET", "begun", 1))
        assert wait_for(lambda: replica.call("GET", "begun") == b"$1\r\n1\r\n")


@own
def nonsense_in_the_handshake_is_named_in_the_log():
    with replica_with_data() as replica:
        for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\1\2\r\n", b"-ERR go away\r\n",
                       b"x" * 5000, b"$5\r\nhello\r\n"):
            with FakeMaster() as fake:
                replica.follow(fake)
                fake.accept()
                fake.request()
                fake.send(answer)
                fake.await_closed()
                check_survived(replica, fake, "")
        assert "HTTP/1.1 400 Bad Request" in replica.log()
        for answer in (b"+FULLRESYNC short 5\r\n", b"+FULLRESYNC " + ID + b" -5\r\n",
                       b"+FULLRESYNC " + ID + b" 99999999999999999999\r\n", b"+FULLRESYNC\r\n",
                       b"+FULLRESYNC " + ID + b" 9223372036854775807\r\n", b"+OK\r\n",
                       b"-NOMASTERLINK no\r\n", b"x" * 3000):
            with FakeMaster() as fake:
                replica.follow(fake)
                fake.shake()
                fake.send(answer)
                fake.await_closed()
                check_survived(replica, fake, "")


@own
def copies_that_end_early_are_asked_for_less_often():
    whole = copy_of(ours=False)
    with replica_with_data() as replica, FakeMaster(ours=False) as fake:
        replica.follow(fake)
        for seconds in (1, 2, 4):
            fake.copy(whole[:30], tail=b"")
            fake.hang_up()
            assert wait_for(lambda wait=seconds: f"another full copy in {wait} s" in replica.log()), replica.log()
        check_survived(replica, fake, "closed by the master before the end of its full copy")


@own
def copies_that_do_not_begin_are_asked_for_less_often():
    with replica_with_data() as replica, FakeMaster(ours=False) as fake:
        replica.follow(fake)
        for seconds, answer in ((1, b""), (2, b"-ERR BGSAVE failed, replication can't continue\r\n"),
                                (4, b"\n\n$EOF:" + MARK + b"\r\nRED")):
            fake.shake()
            fake.send(b"+FULLRESYNC " + ID + b" 5\r\n" + answer)
            fake.hang_up()
            assert wait_for(lambda wait=seconds: f"another full copy in {wait} s" in replica.log()), replica.log()
        check_survived(replica, fake, ": can't make a full copy: ERR BGSAVE failed, replication can't continue")
        equal(replica.log().count("before the end of its full copy"), 2, replica.log())


@own
def refusal_of_psync_is_logged_with_its_reason():
    with replica_with_data() as replica, FakeMaster(ours=False) as fake:
        replica.follow(fake)
        for reason in ("-LOADING the dataset", "-NOPERM no rights", "-ERR max number of replicas"):
            fake.shake()
            fake.send(reason.encode() + b"\r\n")
            fake.await_closed()
            check_survived(replica, fake, f"answered PSYNC with '{reason}'. Trying again")


@own
def lost_stream_is_no_lost_copy():
    whole = copy_of(("SET", *OLD))
    with Member() as replica, FakeMaster() as fake:
        replica.follow(fake)
        fake.copy(whole)
        assert wait_for(lambda: is_linked(replica))
        fake.hang_up()
        check_survived(replica, fake, "connection lost: ")
        assert "full copy. Its log" not in replica.log() and "another full copy" not in replica.log()


@own
def version_for_valkey_is_sent_to_masters_that_are_not_ours():
    version = [b"REPLCONF", b"version", b"9.1.0"]
    for ours in (False, True):
        with replica_with_data() as replica, FakeMaster(ours) as fake:
            replica.follow(fake)
            fake.shake()
            equal(version in fake.said, not ours, fake.said)


@own
def stream_without_a_position_is_refused():
    with replica_with_data() as replica, FakeMaster() as fake:
        replica.follow(fake)
        fake.shake()
        equal(fake.asked[1:3], [b"?", b"-1"])
        fake.send(b"+CONTINUE " + ID + b"\r\n" + encode("SET", OLD[0], "wrong"))
        fake.await_closed()
        check_survived(replica, fake, "not requested")


@own
def wrong_heads_of_copies_are_refused():
    with replica_with_data() as replica:
        for head in (b"$0\r\n", b"$-1\r\n", b"$x\r\n", b"$EOF:short\r\n", b"*1\r\n", b"$EOF:\r\n",
                     b"$99999999999999999999\r\n",
                     b"$EOF:" + MARK + b"m\r\n", b"$5 \r\n"):
            with FakeMaster() as fake:
                replica.follow(fake)
                fake.copy(b"", head=head, tail=b"")
                fake.await_closed()
                check_survived(replica, fake, "announced a copy")


def offers(replica, ours, data, head=None, tail=MARK, close=False, said="can't be loaded"):
    with FakeMaster(ours) as fake:
        replica.follow(fake)
        fake.copy(data, head=head, tail=tail)
        if close:
            fake.hang_up()
        else:
            fake.await_closed()
        check_survived(replica, fake, said)


def damaged_copies_are_refused(ours):
    rng = random.Random(8)
    whole = copy_of(ours=ours)
    with replica_with_data() as replica:
        for _ in range(40):
            at = rng.randrange(len(whole))
            flipped = whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1:]
            offers(replica, ours, flipped, close=True, said="")
        for _ in range(15):
            part = whole[:rng.randrange(5, len(whole))]
            offers(replica, ours, part, tail=b"", close=True, said="")
            offers(replica, ours, part + MARK, tail=b"", close=True, said="")
            offers(replica, ours, part + rng.randbytes(100), close=True, said="")
        offers(replica, ours, whole + b"more")
        offers(replica, ours, rng.randbytes(1000))
        offers(replica, ours, b"REDIS" + rng.randbytes(1000))
        offers(replica, ours, b"REDIS9999" + rng.randbytes(1000))
        offers(replica, ours, b"REDIS0080" + rng.randbytes(1000), said="unsupported RDB version 80 of Redis: ")
        offers(replica, ours, b"VALKEY080" + rng.randbytes(1000), said="")
        # Types of the other program.
        offers(replica, ours, rdb(12, VALKEY_HASH))
        offers(replica, ours, rdb(80, hash_record(b"h", 1, b"v"), magic=b"VALKEY"), said="has the unknown type 32 of Valkey")
        offers(replica, ours, b"VALKEY099" + rng.randbytes(1000),
               said="unsupported RDB version 99 of Valkey: versions 80 to ")
        offers(replica, ours, whole[:30], tail=b"", close=True,
               said="closed by the master before the end of its full copy")
        if not ours:
            offers(replica, ours, whole + b"xxx", head=b"$%d\r\n" % (len(whole) + 3), tail=b"")
            offers(replica, ours, whole[:-9], head=b"$%d\r\n" % (len(whole) - 9), tail=b"")
            offers(replica, ours, whole, head=b"$999999999999999999\r\n", tail=b"", close=True,
                   said="connection lost")
        check = replica.call("DEBUG", "CHECK")
        equal(check, b"+OK\r\n")


@own
def damaged_copies_of_our_own_form_leave_the_old_data():
    damaged_copies_are_refused(True)


@own
def damaged_rdbs_leave_the_old_data():
    damaged_copies_are_refused(False)


@own
def whole_copy_of_a_scripted_master_is_taken():
    for ours in (True, False):
        whole = copy_of(ours=ours)
        with replica_with_data() as replica, FakeMaster(ours) as fake:
            replica.follow(fake)
            fake.copy(whole, offset=100)
            assert wait_for(lambda: replica.call("GET", "new") == b"$5\r\nvalue\r\n")
            equal(replica.call("EXISTS", OLD[0]), b":0\r\n")
            fake.send(encode("SELECT", 0) + encode("SET", "streamed", 1))
            assert wait_for(lambda: replica.call("EXISTS", "streamed") == b":1\r\n")
            equal(offset(replica), 100 + len(encode("SELECT", 0) + encode("SET", "streamed", 1)))


@own
def stream_after_a_copy_is_kept_by_a_stop_before_the_base_is_written():
    whole = copy_of(*(("SET", f"key:{number}", "x" * 1000) for number in range(20_000)), ours=True)
    with Member("--appendonly", "yes") as replica, FakeMaster() as fake:
        replica.follow(fake)
        fake.copy(whole)
        assert wait_for(lambda: is_linked(replica))
        fake.send(encode("SELECT", 0) + encode("SET", "streamed", 1))
        assert wait_for(lambda: replica.call("EXISTS", "streamed") == b":1\r\n")
        replica.follow(None)
        replica.ok("SET", "own", 1)
        replica.stop()
        replica.start()
        equal(replica.call("MGET", "streamed", "own"), b"*2\r\n$1\r\n1\r\n$1\r\n1\r\n")
        equal(replica.call("DBSIZE"), b":20002\r\n")


@own
def broken_streams_lead_to_a_full_copy():
    whole = copy_of(("SET", *OLD))
    with Member("--client-query-buffer-limit", "1mb") as replica:
        for stream in (b"nonsense\r\n", b"*1\r\n$999999999999\r\n", b"*-1\r\n", b"*1\r\n:5\r\n",
                       b"*99999999999\r\n", b"\r\nxxx", encode("NOSUCH", "a"),
                       encode("SELECT", 99999) + encode("SET", "x", 1),
                       encode("RPUSH", OLD[0], "wrong"), encode("GET", "k"),
                       encode("MULTI") + encode("SET", "x", "1") + encode("RPUSH", OLD[0], "wrong")
                       + encode("EXEC")):
            with FakeMaster() as fake:
                replica.follow(fake)
                fake.copy(whole)
                replica_shows = wait_for(lambda: is_linked(replica))
                assert replica_shows, replica.log()
                fake.send(stream)
                assert wait_for(lambda: f"Master 127.0.0.1:{fake.port}: the stream at offset" in
                                replica.log()), (stream, replica.log()[-500:])
                equal(replica.call("GET", OLD[0]), b"$%d\r\n%s\r\n" % (len(OLD[1]), OLD[1]))
                fake.await_closed()
                fake.shake()
                equal(fake.asked[1:3], [b"?", b"-1"])


@own
def copies_whose_stream_fails_are_asked_for_less_often():
    whole = copy_of(("SET", *OLD))
    with Member() as replica, FakeMaster() as fake:
        replica.follow(fake)
        for seconds in (1, 2, 4):
            fake.copy(whole)
            assert wait_for(lambda: is_linked(replica))
            fake.send(encode("NOSUCH", "a"))
            fake.await_closed()
            assert wait_for(lambda wait=seconds: f"another full copy in {wait} s" in replica.log()), replica.log()


@own
def hashes_with_templates_arrive_in_the_stream_of_redis():
    """HIMPORT is replicated as RESTORE of a payload without a checksum."""
    whole = copy_of(("SET", *OLD), ours=False)
    payload = b"\x1f\x01\x01" + text(b"name") + text(b"Ada") + b"\x0f\0" + bytes(8)
    with Member() as replica, FakeMaster(ours=False) as fake:
        replica.follow(fake)
        fake.copy(whole)
        assert wait_for(lambda: is_linked(replica))
        fake.send(encode("SELECT", 0) + encode("RESTORE", "h", 0, payload, "REPLACE")
                  + encode("RESTORE", "h", 0, payload, "REPLACE") + encode("HSET", "h", "age", 42))
        assert wait_for(lambda: replica.call("HLEN", "h") == b":2\r\n"), replica.log()
        equal(replica.call("HMGET", "h", "name", "age"), b"*2\r\n$3\r\nAda\r\n$2\r\n42\r\n")
        assert "failed here" not in replica.log(), replica.log()


@own
def entries_of_idempotent_producers_arrive_in_the_stream_of_redis():
    whole = copy_of(("SET", *OLD), ours=False)
    with Member() as replica, FakeMaster(ours=False) as fake:
        replica.follow(fake)
        fake.copy(whole)
        assert wait_for(lambda: is_linked(replica))
        fake.send(b"".join(encode(*words) for words in (
            ("SELECT", 0), ("XADD", "s", "IDMP", "p", "i", "5-1", "f", "v"), ("XCFGSET", "s", "IDMP-MAXSIZE", 9),
            ("XADD", "s", "IDMPAUTO", "p", "6-1", "f", "w"), ("SET", "after", 1))))
        assert wait_for(lambda: replica.call("EXISTS", "after") == b":1\r\n")
        equal(replica.call("XLEN", "s"), b":2\r\n", replica.log())
        assert b"iids-added\r\n:2\r\n" in replica.call("XINFO", "STREAM", "s")
        # An entry that the master may have refused, and nonsense.
        for words in (("IDMP", "p", "i", "*", "f", "v"), ("IDMP", "p"), ("IDMP", "p", "i", "IDMPAUTO", "p", "9-1", "f", "v"),
                      ("IDMP", "p", "i", "8-1")):
            fake.send(encode("XADD", "s", *words))
        fake.send(encode("SET", "last", 1))
        assert wait_for(lambda: replica.call("EXISTS", "last") == b":1\r\n")
        equal(replica.call("XLEN", "s"), b":2\r\n")
        assert "failed here and was skipped: 'XADD'. 1 so far" in replica.log(), replica.log()


@own
def master_that_changes_its_mind_about_abilities_is_followed_or_refused():
    ours, theirs = copy_of(("SET", *OLD)), copy_of(("SET", *OLD), ours=False)
    stream = encode("SELECT", 0) + encode("SET", "streamed", 1)
    with replica_with_data() as replica:
        for first, copy in ((b"+OK expired", theirs), (b"+OK", ours), (b"-ERR unknown option", ours),
                            (b"+OK expired 5", theirs), (b"+OK expired 99999999999999999999", ours),
                            (b"+OK expired -7", theirs), (b"+OK expiredx", ours), (b"$3", theirs)):
            with FakeMaster() as fake:
                fake.answer = first
                replica.follow(fake)
                fake.copy(copy)
                assert wait_for(lambda: is_linked(replica)), replica.log()
                fake.send(stream)
                assert wait_for(lambda: replica.call("EXISTS", "streamed") == b":1\r\n"), replica.log()
                # A link that is cut: the next answer is another one, and the stream continues.
                fake.hang_up()
                fake.answer = b"+OK" if first.startswith(b"+OK expired") else b"+OK expired"
                fake.shake()
                fake.send(b"+CONTINUE\r\n" + encode("SELECT", 0) + encode("DEL", "streamed"))
                assert wait_for(lambda: replica.call("EXISTS", "streamed") == b":0\r\n"), replica.log()
                equal(replica.call("DEBUG", "CHECK"), b"+OK\r\n")


@own
def endless_units_and_bulks_are_bounded():
    whole = copy_of(("SET", *OLD))
    with Member("--client-query-buffer-limit", "1mb") as replica:
        for begin, more in ((encode("MULTI"), encode("SET", "x", "y" * 1000)),
                            (b"\r\n", encode("SET", "x", "y" * 1000)),
                            (b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$500000000\r\n", b"z" * 1000)):
            with FakeMaster() as fake:
                replica.follow(fake)
                fake.copy(whole)
                assert wait_for(lambda: is_linked(replica))
                before = int(replica.info("memory")["used_memory"])
                fake.send(begin)
                for _ in range(64):
                    fake.send(more * 1000)
                fake.await_closed()
                check_survived(replica, fake, "client-query-buffer-limit")
                after = int(replica.info("memory")["used_memory"])
                assert after < before + (4 << 20), (before, after)


@own
def silent_master_is_given_up():
    whole = copy_of(("SET", *OLD))
    with Member("--repl-timeout", "1") as replica, FakeMaster() as fake:
        replica.follow(fake)
        fake.copy(whole)
        assert wait_for(lambda: is_linked(replica))
        fake.await_closed()
        check_survived(replica, fake, "silent for longer than repl-timeout")
        fake.shake()
        fake.send(b"+FULLRESYNC " + ID + b" 5\r\n")
        fake.await_closed()
        fake.shake()
        fake.send(b"+FULLRESYNC " + ID + b" 5\r\n$EOF:" + MARK + b"\r\n" + whole[:20])
        fake.await_closed()
        check_survived(replica, fake, "silent for longer than repl-timeout")


@own
def replica_of_itself_and_loops_are_named_and_harmless():
    with group(2, linked=False) as (one, two):
        one.ok("SET", *OLD)
        one.follow(one)
        check_survived(one, one, "PSYNC", "-NOMASTERLINK")
        two.follow(one)
        check_survived(one, one, "PSYNC")
        one.follow(two)
        assert wait_for(lambda: f"Master 127.0.0.1:{two.port}: answered PSYNC" in one.log())
        equal(one.call("GET", OLD[0]), b"$9\r\nold value\r\n")
        one.follow(None)
        await_linked(two)
        check_same(one, two)


@own
def replica_that_gets_another_master_has_that_ones_data():
    with group(2) as (one, replica), Member() as other:
        one.ok("SET", "a", 1)
        check_same(one, replica)
        other.ok("SET", "b", 2)
        replica.follow(other)
        await_linked(replica)
        check_same(other, replica)
        one.ok("SET", "c", 3)
        equal(replica.call("MGET", "a", "b", "c"), b"*3\r\n$-1\r\n$1\r\n2\r\n$-1\r\n")


@own
def another_master_can_be_followed_while_a_copy_is_loaded():
    for ours in (True, False):
        whole = copy_of(*(("RPUSH", f"l{number}", *range(200)) for number in range(300)), ours=ours)
        with replica_with_data() as replica, Member() as other, FakeMaster(ours) as fake:
            other.ok("SET", "other", "data")
            replica.follow(fake)
            fake.copy(whole[:-30], tail=b"")
            assert wait_for(lambda: "full copy begins" in replica.log())
            equal(replica.call("GET", OLD[0]), b"$9\r\nold value\r\n")
            replica.follow(other)
            await_linked(replica, seconds=5)
            check_same(other, replica)
            assert "can't be loaded" not in replica.log(), replica.log()


@own
def master_that_can_not_be_reached_is_named():
    with replica_with_data() as replica, FakeMaster() as fake:
        fake.listener.close()
        replica.follow(fake)
        check_survived(replica, fake, "can't connect", "Connection refused")
        replica.call("REPLICAOF", "no.such.host.invalid", 1)
        assert wait_for(lambda: "Master no.such.host.invalid:1: can't connect" in replica.log())
        equal(replica.call("GET", OLD[0]), b"$9\r\nold value\r\n")


main()
