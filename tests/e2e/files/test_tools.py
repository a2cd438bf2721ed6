#!/usr/bin/python3 -B
"""expired-check and expired-export: their reports on data files, repairs, and exports that a
redis-server loads."""
import contextlib
import ctypes
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lib")
from crc32c import crc32c
from daemon import BINARY, NOON, ROOT, Daemon, die_with_parent, equal, folder, main, oracle, own, wait_for

TOOLS = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tools")
WHOLE, TORN, DAMAGED, UNREADABLE, LOSSES = range(5)
BASE, TAIL = ".base.exp", ".incr.aof"
FAR = 4_102_444_800_000


def tool(name, *arguments, before=die_with_parent):
    """(status, standard output, standard error)"""
    done = subprocess.run([os.path.join(TOOLS, name), *arguments], capture_output=True,
                          preexec_fn=before)
    return done.returncode, done.stdout, done.stderr.decode()


def check(*arguments):
    status, out, err = tool("expired-check", *arguments)
    assert all(c in b"\n" or 32 <= c < 127 for c in out), out
    return status, out.decode() + err


# --- data --------------------------------------------------------------------------------------


@contextlib.contextmanager
def data(work, *options):
    """A folder with the data of a daemon that was killed after `work` ran and was written; and the
    result of `work`."""
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Daemon("--appendonly", "yes", *options))
        with daemon.redis() as client:
            found = work(client)
        daemon.kill()
        where = stack.enter_context(folder())
        for name in ("appendonlydir", "dump.exp"):
            path = os.path.join(daemon.dir, name)
            if os.path.isdir(path):
                shutil.copytree(path, os.path.join(where, name))
            elif os.path.exists(path):
                shutil.copy(path, where)
        yield where, found


def part(folder, ending):
    inner = os.path.join(folder, "appendonlydir")
    names = sorted(name for name in os.listdir(inner) if name.endswith(ending))
    return os.path.join(inner, names[-1])


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def hundred(client):
    """Writes a hundred records."""
    for i in range(100):
        client.set(f"key:{i}", f"value {i}")


def everything(client):
    client.set("string", "a \x01 b\r\n")
    client.rpush("list", *range(200))
    client.sadd("set", *range(300))
    client.execute_command("SADDEX", "set", 1000, "timed")
    client.zadd("zset", {"a": 1.5, "b": float("inf"), "c": -0.1})
    client.hset("hash", mapping={"f": "1", "g": "2"})
    client.execute_command("BGREWRITEAOF")
    wait_for(lambda: client.info("persistence")["aof_rewrite_in_progress"] == 0)
    client.expire("hash", 1000)
    client.execute_command("REDE.PUSH", "later", 100000, "payload", "id")
    client.execute_command("POLICY", "SET", "x:*", "TTL", 100000)
    wait_for(lambda: client.info("expiry")["policies_pending"] == 0)
    return client.execute_command("DEBUG", "DIGEST").decode()


def ends_of_records(content):
    return [match.end() for match in re.finditer(rb"#[0-9a-f]{8}\r\n", content)]


def with_a_wrong_byte(content, unit):
    """Changes a byte of a value in the middle of that record."""
    at = content.index(b"value %d" % unit) + 2
    return content[:at] + b"\x1b" + content[at + 1:]


# --- expired-check -----------------------------------------------------------------------------


@own
def whole_files_are_called_whole_and_digested_as_by_the_daemon():
    with data(everything) as (folder, digest):
        status, said = check("--deep", folder)
        equal(status, WHOLE, said)
        equal(said.count("\n  whole\n"), 3, said)
        assert f"total: 6 keys, digest {digest}\n" in said, (said, digest)
        assert "snapshot, version 1, made 20" in said and ": 5 keys in " in said, said
        assert re.search(r"journal, version 2, \d+ bytes: 4 records, 4 changes\n", said), said
        equal(check(part(folder, BASE))[0], WHOLE)
        equal(check(part(folder, ".manifest"))[1].replace("\n  ", ": "),
              check(folder)[1].replace("\n  ", ": "))


@own
def transactions_of_a_turn_share_records():
    def pipelined(client):
        pipeline = client.pipeline(transaction=False)
        for i in range(1000):
            pipeline.set(f"key:{i}", "value")
        pipeline.execute()

    with data(pipelined) as (folder, _):
        status, said = check(folder)
        equal(status, WHOLE, said)
        records, changes = map(int, re.search(r"(\d+) records?, (\d+) changes", said).groups())
        assert changes >= 1000 and records <= 100, said


@own
def a_torn_journal_is_reported_and_cut():
    with data(hundred) as (folder, _):
        path = part(folder, TAIL)
        content = read(path)
        ends = ends_of_records(content)
        equal(len(ends), 100)
        for size in (ends[-2] + 1, ends[-1] - 1, ends[0] - 1, 20):
            write(path, content[:size])
            good = max([end for end in ends if end <= size], default=20)
            status, said = check(folder)
            if size == 20:
                equal(status, WHOLE, said)
                continue
            equal(status, TORN, said)
            assert (f"torn: the last complete record ends at byte {good}, {size - good} bytes" in said
                    ), (said, size, good)
            status, said = check("--fix", folder)
            equal(status, WHOLE, said)
            equal(check("--deep", folder)[0], WHOLE)
            equal(read(path), content[:good])


@own
def a_journal_cut_in_its_first_line_is_damaged_and_begun_again():
    with data(hundred) as (folder, _):
        path = part(folder, TAIL)
        content = read(path)
        for size in (19, 0):
            write(path, content[:size])
            equal(check("--fix", folder)[0], DAMAGED)
            equal(read(path), content[:size])
            status, said = check("--fix", "--cut-at-damage", folder)
            equal(status, WHOLE, said)
            equal(read(path), content[:20])


@own
def damage_inside_is_reported_with_its_offset_and_escaped():
    with data(hundred) as (folder, _):
        path = part(folder, TAIL)
        content = read(path)
        ends = ends_of_records(content)
        write(path, with_a_wrong_byte(content, 50))
        status, said = check(folder)
        equal(status, DAMAGED, said)
        good = ends[49]
        assert f"damaged at byte {ends[50] - 11}: wrong checksum: computed " in said, said
        assert f"good up to byte {good}, {len(content) - good} bytes" in said, said
        write(path, content[:good] + b"\x1b[2J" + content[good + 4:])
        status, said = check(folder)
        equal(status, DAMAGED, said)
        assert f"damaged at byte {good}: command is malformed" in said, said
        assert r'it begins "\x1b[2J' in said, said


@own
def notes_are_shown_without_control_characters():
    with data(hundred) as (folder, _):
        path = part(folder, TAIL)
        content = read(path) + b"#\x1b[31mred\r\n"
        write(path, content + b"#%08x\r\n" % crc32c(content))
        status, said = check("--show", path)
        equal(status, WHOLE, said)
        assert " #?[31mred\n" in said, said


@own
def a_file_of_the_data_that_begins_otherwise_is_damaged():
    with data(hundred) as (folder, _):
        path = part(folder, TAIL)
        write(path, b"\0" + read(path)[1:])
        status, said = check(folder)
        equal(status, DAMAGED, said)
        assert r'it begins "\x00EXPIRED-JOURNAL 2\r\n' in said, said
        equal(check("--fix", "--cut-at-damage", folder)[0], DAMAGED)
        os.unlink(path)
        equal(check(folder)[0], UNREADABLE)


@own
def cut_at_damage_cuts_the_journal_and_keeps_the_rest():
    with data(hundred) as (folder, _):
        path = part(folder, TAIL)
        content = read(path)
        good = ends_of_records(content)[49]
        bad = with_a_wrong_byte(content, 50)
        write(path, bad)
        equal(check("--cut-at-damage", folder)[0], UNREADABLE, "without --fix")
        equal(check("--fix", folder)[0], DAMAGED)
        equal(read(path), bad)
        status, said = check("--fix", "--cut-at-damage", folder)
        equal(status, WHOLE, said)
        assert f"cut at byte {good}: {len(content) - good} bytes with about 50 records" in said, said
        equal((read(path), read(f"{path}.cut-{good}")), (content[:good], bad[good:]))
        write(path, bad)
        status, said = check("--fix", "--cut-at-damage", folder)
        equal(status, WHOLE, said)
        equal(read(f"{path}.cut-{good}"), bad[good:], "what was kept is not overwritten")
        equal(read(f"{path}.cut-{good}.2"), bad[good:])
        write(path, content[:good])
        with Daemon("--appendonly", "yes", "--dir", folder) as daemon, daemon.redis() as client:
            equal(client.dbsize(), 50)


@own
def a_journal_that_continues_from_a_damaged_one_is_emptied():
    with data(hundred) as (folder, _):
        path = part(folder, TAIL)
        content = read(path)
        next_path = path.replace(".1.", ".2.")
        assert next_path != path, path
        write(next_path, content)
        manifest = part(folder, ".manifest")
        files = [line for line in read(manifest).splitlines(True) if not line.startswith(b"#")]
        write(manifest, b"".join(files) + b"file %s seq 2 type i\n" % os.path.basename(next_path).encode())
        equal(check("--deep", folder)[0], WHOLE)
        write(path, content[:-3])
        status, said = check("--fix", folder)
        equal(status, DAMAGED, said)
        assert "another file continues the journal" in said, said
        status, said = check("--fix", "--cut-at-damage", folder)
        equal(status, WHOLE, said)
        equal((read(next_path), read(next_path + ".cut-20")), (content[:20], content[20:]))
        status, said = check("--deep", folder)
        assert status == WHOLE and "total: 99 keys" in said, said


@contextlib.contextmanager
def old_data():
    """A folder that version 0.1 wrote."""
    with folder() as where:
        shutil.copytree(os.path.join(ROOT, "tests", "kept", "0.1", "journal"), where, dirs_exist_ok=True)
        yield where


def write_on(where):
    """Starts a daemon in the folder and makes changes, of which some have a brief form."""
    with Daemon("--appendonly", "yes", "--dir", where) as daemon, daemon.redis() as client:
        client.set("new", "value")
        client.hset("newhash", mapping={f"f{number}": number for number in range(50)})
        client.zadd("newzset", {f"m{number}": number for number in range(50)})
        client.sadd("newset", *range(50))
        client.delete("new", "newhash")
        daemon.stop()


def changes_of(path):
    status, said = check(path)
    equal(status, WHOLE, said)
    return int(re.search(r"records?, (\d+) changes\n", said).group(1))


@own
def same_changes_are_counted_alike_in_each_form_of_a_journal():
    with old_data() as old, data(lambda client: None) as (new, _):
        found = []
        for where in (old, new):
            before = changes_of(part(where, TAIL))
            write_on(where)
            found.append(changes_of(part(where, TAIL)) - before)
        equal(read(part(old, TAIL))[:18], b"#EXPIRED-JOURNAL 1")
        equal(read(part(new, TAIL))[:18], b"#EXPIRED-JOURNAL 2")
        equal(found, [1 + 50 + 50 + 50 + 2] * 2)


@own
def a_cut_journal_of_version_1_remains_one():
    with old_data() as where:
        path = part(where, TAIL)
        content = read(path)
        ends = ends_of_records(content)
        for size in (ends[0] - 1, 19, 18):
            write(path, content[:size])
            status, said = check("--fix", "--cut-at-damage", where)
            equal(status, WHOLE, said)
            equal(read(path), content[:20], size)
            write_on(where)
            after = read(path)
            assert after[:20] == content[:20] and b"$3\r\nSET\r\n$3\r\nnew\r\n" in after, "0.1 could read it"
        write(path, content[:17])
        equal(check("--fix", "--cut-at-damage", where)[0], WHOLE)
        equal(read(path), content[:17] + b"2\r\n")


@own
def every_flipped_bit_of_a_snapshot_is_seen():
    with data(everything) as (folder, _):
        path = part(folder, BASE)
        content = read(path)
        rng = random.Random(7)
        for _ in range(40):
            at, bit = rng.randrange(len(content)), 1 << rng.randrange(8)
            write(path, content[:at] + bytes([content[at] ^ bit]) + content[at + 1:])
            status, said = check(path)
            assert status == (DAMAGED if at >= 16 else UNREADABLE), (at, bit, said)
            write(path, content[:at])
            status, said = check(path)
            assert status == (DAMAGED if at >= 16 else UNREADABLE) or at == 0, (at, said)
        write(path, content)
        equal(check(path)[0], WHOLE)


@own
def what_is_open_elsewhere_is_not_cut():
    with data(hundred) as (folder, _):
        path = part(folder, TAIL)
        content = read(path)[:-1]
        write(path, content)
        with open(path, "rb"):
            status, said = check("--fix", folder)
        equal(status, TORN, said)
        assert "not cut: another process has it open" in said, said
        equal(read(path), content)


@own
def files_that_are_not_data_have_their_own_exit_status():
    with folder() as where:
        other = os.path.join(where, "other")
        write(other, b"something else")
        for arguments in ([], [where], [os.path.join(where, "none")], [other], ["--what"]):
            equal(check(*arguments)[0], UNREADABLE, arguments)
            equal(tool("expired-export", *arguments)[0], UNREADABLE, arguments)
    for name in ("expired-check", "expired-export"):
        status, said, err = tool(name, "--help")
        assert status == 0 and said.startswith(b"Usage: " + name.encode()) and not err, said


def without_override():
    """In a child that will call exec: also for root, the modes of files then decide what it may read."""
    die_with_parent()
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@own
def what_cannot_be_read_is_named_and_hides_no_data():
    def work(client):
        hundred(client)
        client.bgsave()
        assert wait_for(lambda: client.info()["rdb_bgsave_in_progress"] == 0)

    with data(work) as (where, _):
        inner = os.path.join(where, "appendonlydir")
        manifest = os.path.join(inner, "appendonly.aof.manifest")
        lost = os.path.join(where, "lost+found")
        os.makedirs(lost, 0)
        equal(tool("expired-check", where, before=without_override)[0], WHOLE)
        os.rmdir(lost)
        for closed, why in ((inner, "Permission denied"), (manifest, "Permission denied"),
                            (os.path.join(where, "dump.exp"), "Permission denied"),
                            (os.path.join(where, "other"), "No such file or directory")):
            mode = os.lstat(closed).st_mode if os.path.lexists(closed) else None
            if mode is None:
                os.symlink("nowhere", closed)
            else:
                os.chmod(closed, 0)
            status, out, _ = tool("expired-check", where, before=without_override)
            exported = tool("expired-export", where, before=without_override)
            if mode is not None:
                os.chmod(closed, mode)
            equal(status, UNREADABLE, closed)
            assert f"{closed}\n".encode() in out and f"can't be read: {why}\n".encode() in out, out
            # With the journal it exports the journal; it never takes the snapshot instead.
            equal(exported[0], UNREADABLE if closed in (inner, manifest) else WHOLE, exported[2])


@own
def nobody_waits_for_the_writer_of_a_named_pipe():
    """Instead of a file of the data."""
    with data(hundred) as (where, _):
        inner = os.path.join(where, "appendonlydir")
        for name in os.listdir(inner):
            path = os.path.join(inner, name)
            os.rename(path, where + "/aside")
            os.mkfifo(path)
            equal(check(where)[0], DAMAGED, name)
            equal(tool("expired-export", where)[0], DAMAGED, name)
            done = subprocess.run([BINARY, "--port", "0", "--unixsocket", os.path.join(where, "s"), "--dir", where],
                                  capture_output=True, text=True, preexec_fn=die_with_parent)
            equal(done.returncode, 1, name)
            assert f"expired: {where}/appendonlydir" in done.stderr or name in done.stderr, done.stderr
            os.rename(where + "/aside", path)
        equal(check(where)[0], WHOLE)


@own
def files_of_redis_are_not_called_whole():
    with folder() as where:
        write(f"{where}/dump.rdb", b"REDIS0010\xff" + bytes(8))
        status, out = check(f"{where}/dump.rdb")
        equal(status, WHOLE, out)
        assert "not checked, use redis-check-rdb" in out, out
        assert "0 whole, 0 torn, 0 damaged, 0 unreadable; 1 of Redis not checked\n" in out, out


def instant(msec):
    seconds, rest = divmod(msec, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:03}Z"


@own
def points_in_time_end_with_the_latest_instant():
    """It is not the last one if the clock was set back."""
    with Daemon("--clock", "stepped", "--appendonly", "yes") as daemon:
        with daemon.redis() as client:
            began = daemon.clock()
            for step in (0, 5000, -3000):
                daemon.step(step)
                client.incr("a")
            daemon.kill()
        status, report = check(daemon.dir)
        equal(status, WHOLE, report)
        assert f"  changes from {instant(began)} to {instant(began + 2000)}; the clock was set back" in report, report
        assert f"\npoints in time: from {instant(began)} to {instant(began + 5000)}\n" in report, report


@own
def kept_files_and_points_in_time_are_listed():
    with Daemon("--clock", "stepped", "--appendonly", "yes", "--journal-keep", "1h") as daemon:
        with daemon.redis() as client:
            client.set("a", "1")
            daemon.step(5000)
            client.set("b", "2")
            client.execute_command("BGREWRITEAOF")
            assert wait_for(lambda: client.info("persistence")["aof_kept_files"] == 2)
            daemon.step(1000)
            client.set("c", "3")
            began = daemon.clock() - 6000
            daemon.kill()
        status, report = check("--deep", daemon.dir)
        equal(status, WHOLE, report)
        assert re.search(r"1\.base\.exp\n  kept snapshot, ", report), report
        assert re.search(r"1\.incr\.aof\n  kept journal, .*: 2 records, .*\n"
                         rf"  changes from {instant(began)} to {instant(began + 5000)}\n", report), report
        assert f"\npoints in time: from {instant(began)} to {instant(began + 6000)}\n" in report, report
        assert "\ntotal: 3 keys," in report, report
        path = os.path.join(daemon.dir, "appendonlydir", "appendonly.aof.1.incr.aof")
        with open(path, "r+b") as file:
            file.seek(60)
            file.write(b"x")
        status, report = check("--deep", "--fix", "--cut-at-damage", daemon.dir)
        equal(status, DAMAGED, report)
        assert "\ntotal: 3 keys," in report and "  cut at" not in report, report
        assert f"points in time: from {instant(began + 5000)} to {instant(began + 6000)}\n" in report, report
        status, out, _ = tool("expired-export", "--text", daemon.dir)
        equal((status, out.count(b"SET")), (0, 3), out)


@own
def records_are_shown_as_commands():
    def changes(client):
        run = client.execute_command
        client.set("string", "a\r\n", pxat=FAR)
        client.set("string", "b")
        client.zadd("zset", {"one": 1.5})
        client.hset("hash", "field", "")
        run("REDE.PUSHAT", "jobs", FAR, "payload", "id")
        run("REDE.PULL", "jobs", "id")
        client.pexpireat("hash", FAR)
        client.rpush("list", "x", "y")
        client.delete("string")
        run("SELECT", 1)
        client.set("string", "in 1")
        client.delete("string")

    with data(changes) as (folder, _):
        status, said = check("--show", folder)
        equal(status, WHOLE, said)
        shown = [line.split(" ", 3)[3] for line in said.splitlines() if re.match(r"  \d+ ", line)]
        equal([line for line in shown if not line.startswith("#") and not line.startswith("SELECT 0")], [
            rf'SET string "a\r\n" PXAT {FAR}', "SET string b", "ZADD zset 1.5 one", 'HSET hash field ""',
            f"REDE.PUSHAT jobs {FAR} payload id", "REDE.PULL jobs id", f"PEXPIREAT hash {FAR}", "RPUSH list x y",
            "DEL string", "SELECT 1", 'SET string "in 1"', "DEL string"])
        assert shown[0] == "#EXPIRED-JOURNAL 2" and any(re.match(r"#@\d+$", line) for line in shown), shown
        offsets = [int(line.split()[0]) for line in said.splitlines() if re.match(r"  \d+ ", line)]
        content = read(part(folder, TAIL))
        assert offsets[0] == 0 and content[offsets[-1]:].startswith(b"#"), offsets


@own
def bad_record_with_a_brief_effect_is_shown_as_a_command():
    with data(hundred) as (folder, _):
        path = part(folder, TAIL)
        content = read(path)
        write(path, content[:ends_of_records(content)[-1] - 3])
        status, said = check(folder)
        equal(status, TORN, said)
        assert '  it begins SET key:99 "value 99"\n' in said, said


# --- expired-export ----------------------------------------------------------------------------


@contextlib.contextmanager
def redis_with(*arguments):
    """A redis-server with the tool's output loaded, and the tool's messages."""
    with Daemon(binary=oracle()) as server:
        export = subprocess.Popen([os.path.join(TOOLS, "expired-export"), *arguments],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  preexec_fn=die_with_parent)
        pipe = subprocess.run(["redis-cli", "-s", server.path, "--pipe"], stdin=export.stdout,
                              capture_output=True, text=True)
        said = export.stderr.read().decode()
        export.stdout.close()
        export.stderr.close()
        equal(export.wait(), 0, said)
        assert pipe.returncode == 0 and "errors: 0," in pipe.stdout, pipe
        with server.redis() as client:
            yield client, said


def contents(client):
    """{key: (type, value, deadline)} of a database"""
    found = {}
    for key in client.scan_iter(count=1000):
        kind = client.type(key).decode()
        value = {"string": lambda: client.get(key),
                 "list": lambda: client.lrange(key, 0, -1),
                 "set": lambda: client.smembers(key),
                 "zset": lambda: client.zrange(key, 0, -1, withscores=True),
                 "hash": lambda: client.hgetall(key)}[kind]()
        found[key] = (kind, value, client.pexpiretime(key))
    return found


def fill(client, rng):
    """Creates keys of Redis' types, with any bytes, in a few databases."""
    def text():
        return rng.randbytes(rng.choice((0, 1, 3, 8, 40, 300, 20000 if rng.random() < 0.1 else 9)))

    def some():
        return [text() for _ in range(rng.choice((1, 2, 5, 70, 400)))]
    pipe = client.pipeline(transaction=False)
    for i in range(300):
        key = b"key:%d:" % i + text()[:40]
        kind = i % 5
        if kind == 0:
            pipe.set(key, text())
        elif kind == 1:
            pipe.rpush(key, *some())
        elif kind == 2:
            pipe.sadd(key, *some())
        elif kind == 3:
            scores = [rng.choice((rng.random() * 10 ** rng.randrange(-300, 300), 3, -1e300,
                                  float("inf"), float("-inf"), 0.1)) for _ in range(100)]
            pipe.zadd(key, dict(zip(some(), scores)))
        else:
            pipe.hset(key, mapping={field: text() for field in some()})
        if rng.random() < 0.3:
            pipe.pexpireat(key, rng.randrange(4 * NOON, 5 * NOON))
    pipe.pfadd("hll", *range(1000))
    pipe.setbit("bits", 1000, 1)
    pipe.execute()


@own
def redis_has_the_same_keys_values_and_deadlines():
    rng = random.Random(20261121)

    def work(client):
        for db in (0, 3, 15):
            client.execute_command("SELECT", db)
            fill(client, rng)
            if db == 3:
                client.execute_command("BGREWRITEAOF")
                wait_for(lambda: client.info("persistence")["aof_rewrite_in_progress"] == 0)
        client.set("soon", 1, px=1)
        found = {}
        for db in (0, 3, 15):
            client.execute_command("SELECT", db)
            found[db] = {key: value for key, value in contents(client).items() if key != b"soon"}
        return found
    with data(work, "--save", "") as (folder, wanted):
        with redis_with(folder) as (client, said):
            equal(said, "906 keys written, 0 left out\n")
            for db, its in wanted.items():
                client.execute_command("SELECT", db)
                got = contents(client)
                wrong = [key for key in {*got, *its} if got.get(key) != its.get(key)]
                equal(wrong, [], f"in database {db}")
            equal(sum(client.info("keyspace")[f"db{db}"]["keys"] for db in wanted), 906)


@own
def redis_has_the_same_libraries_of_functions():
    code = "#!lua name=lib\nredis.register_function('f', function() return 'yes' end)"

    def work(client):
        client.function_load("#!lua name=gone\nredis.register_function('g', function() end)")
        client.function_load(code)
        client.function_delete("gone")
        client.set("k", "v")
    with data(work, "--save", "") as (folder, _), redis_with(folder) as (client, said):
        equal(said, "1 key written, 0 left out\n")
        equal(client.function_list(withcode=True)[0][-1], code.encode())
        equal(client.fcall("f", 0), b"yes")


@own
def a_snapshot_is_exported_as_the_folder_is():
    def work(client):
        hundred(client)
        client.save()
    with data(work) as (folder, _):
        path = os.path.join(folder, "dump.exp")
        status, plain, said = tool("expired-export", path)
        equal((status, said), (0, "100 keys written, 0 left out\n"))
        assert plain.startswith(b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n"), plain[:100]
        lines = [sorted(tool("expired-export", "--text", name)[1].splitlines())
                 for name in (path, folder, part(folder, TAIL), part(folder, ".manifest"))]
        equal(lines[0][:2], [b"SELECT 0", b'SET key:0 "value 0"'])
        assert lines[0] == lines[1] == lines[2] == lines[3], lines


@own
def what_redis_does_not_have_is_listed_and_left_out():
    def work(client):
        everything(client)
        client.execute_command("SADDEX", "only", 1000, "timed")
        client.execute_command("REDE.PUSH", "later", 0, "payload", "due")
        client.execute_command("REDE.CLAIM", "later", 100000)
        client.execute_command("LEASE.TAKE", "lock", "owner", 60000)
        client.execute_command("SET", "string", b"a \x01 b\r\n", "SOFT", 1000)
    listed = ("members with their own deadline: 2 in \"",
              'elements of dehydrators: 2 in "later"; ', 'claims of elements: 1 in "later"; ',
              'holders of leases: 1 in "lock"; ', 'soft deadlines: 1 in "string"; ', 'policies: 1 in "x:*"; ')
    with data(work) as (folder, _):
        status, out, said = tool("expired-export", "--text", folder)
        lines = out.decode().splitlines()
        equal(status, 0, said)
        assert all(text in said for text in listed), said
        assert "6 keys written, 2 left out" in said and "SADD only timed" in lines, (said, lines)
        assert 'SET string "a \\x01 b\\r\\n"' in lines and "ZADD zset -0.1 c 1.5 a inf b" in lines
        assert not any("later" in line or "x:*" in line for line in lines), lines
        assert re.search(r"\nPEXPIREAT hash \d{13}\n", out.decode()), out
        status, out, said = tool("expired-export", "--drop-members", "--text", folder)
        assert status == 0 and b"timed" not in out and "5 keys written, 3 left out" in said, said
        status, out, said = tool("expired-export", "--strict", folder)
        equal((status, out), (LOSSES, b""))
        assert all(text in said for text in listed) and "--strict" in said, said


@own
def a_torn_journal_is_exported_and_a_damaged_one_is_not():
    with data(hundred) as (folder, _):
        path = part(folder, TAIL)
        content = read(path)
        write(path, content[:-1])
        status, out, said = tool("expired-export", "--text", folder)
        assert (status, out.count(b"\nSET ")) == (TORN, 99) and "torn" in said, (status, said)
        write(path, with_a_wrong_byte(content, 7))
        status, out, said = tool("expired-export", folder)
        assert (status, out) == (DAMAGED, b"") and "damaged at byte " in said, (status, said)


@own
def a_reader_that_goes_away_ends_the_export():
    with data(hundred) as (folder, _):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as gone:
            status = subprocess.run([os.path.join(TOOLS, "expired-export"), folder], stdout=gone,
                                    stderr=subprocess.DEVNULL, check=False,
                                    preexec_fn=die_with_parent).returncode
        assert status in (UNREADABLE, -signal.SIGPIPE), status


main()
