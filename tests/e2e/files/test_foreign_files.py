#!/usr/bin/python3 -B
"""Files of Redis or another program in the data folder: none is deleted, replaced or changed, and the
start says how to import Redis' data."""
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import (BINARY, ORACLE, Daemon, beside_redis, die_with_parent, equal, folder, main, own,
                    wait_for)

OK = b"+OK\r\n"


@contextlib.contextmanager
def redis_folder(*options):
    """A folder that redis-server has left, with the keys a, b and n."""
    with Daemon("--appendonly", "yes", *options, binary=ORACLE) as source:
        with source.redis() as server:
            server.set("a", "theirs")
            server.save()
            server.rpush("b", 1, 2, 3)
            server.incr("n")
        source.stop()
        os.remove(source.log_path)
        yield source.dir


@contextlib.contextmanager
def old_folder():
    """An append-only file of Redis before 7: one file."""
    with redis_folder() as made, folder() as path:
        inner = made + "/appendonlydir/"
        with open(path + "/appendonly.aof", "wb") as whole:
            for name in ("appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof"):
                with open(inner + name, "rb") as file:
                    whole.write(file.read())
        yield path


def state(path):
    """{name: (inode, content)} of all files."""
    found = {}
    for inner, _, names in os.walk(path):
        for name in names:
            full = os.path.join(inner, name)
            if os.path.isfile(full):
                with open(full, "rb") as file:
                    found[os.path.relpath(full, path)] = (
                        os.stat(full).st_ino, hashlib.sha256(file.read()).hexdigest())
    return found


def unharmed(before, path):
    now = state(path)
    for name, what in before.items():
        equal(now.get(name), what, name)


def refused(path, *options):
    """The daemon must not start, nor change the folder. Returns its output."""
    before = state(path)
    done = subprocess.run(
        [BINARY, "--port", "0", "--unixsocket", path + "/refused", "--dir", path, *options],
        capture_output=True, text=True, preexec_fn=die_with_parent)
    equal(done.returncode, 1, done.stdout + done.stderr)
    equal(done.stderr.count("\n"), 1, done.stderr)
    equal(state(path), before)
    return done.stderr


def on(path, *options):
    return Daemon("--dir", path, "--appendonly", "yes", *options)


def has_their_data(daemon):
    with daemon.redis() as server:
        assert wait_for(lambda: server.info()["loading"] == 0)
        equal(server.get("a"), b"theirs")
        equal(server.lrange("b", 0, -1), [b"1", b"2", b"3"])
        equal(server.get("n"), b"1")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


# --- an append-only file --------------------------------------------------------------------------


@beside_redis
def start_on_a_folder_of_redis_is_refused_with_the_command():
    with redis_folder() as path:
        manifest = path + "/appendonlydir/appendonly.aof.manifest"
        for options in ((), ("--appendonly", "yes"), ("--appendfilename", "other.aof")):
            said = refused(path, *options)
            for word in (manifest, "appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof",
                         "--import " + manifest):
                assert word in said, (word, said)
    with old_folder() as path:
        assert "--import " + path + "/appendonly.aof " in refused(path)


@beside_redis
def import_reads_a_manifest_a_file_or_a_folder_and_changes_none():
    with redis_folder() as made:
        inner = os.path.join(made, "appendonlydir")
        for name in (os.path.join(inner, "appendonly.aof.manifest"), inner, made,
                     "appendonly.aof.manifest", "appendonlydir/appendonly.aof.manifest"):
            with folder() as path:
                shutil.copytree(made, path + "/data")
                path += "/data"
                before = state(path)
                given = name.replace(made, path)
                with on(path, "--import", given) as daemon:
                    has_their_data(daemon)
                    with daemon.redis() as server:
                        server.set("ours", "too")
                        server.bgrewriteaof()
                        wait_for(lambda: server.info()["aof_rewrite_in_progress"] == 0)
                    daemon.stop()
                    unharmed(before, path)
                    for options in (["--import", given], []):  # later starts
                        daemon.options = ["--dir", path, "--appendonly", "yes", *options]
                        daemon.start()
                        has_their_data(daemon)
                        with daemon.redis() as server:
                            equal(server.get("ours"), b"too")
                        daemon.stop()
                    unharmed(before, path)
                    names = set(state(path)) - set(before)
                    assert all(name.startswith("appendonlydir.exp/") for name in names), names
                    # Our journal is found even if files of Redis' journal are missing.
                    os.remove(path + "/appendonlydir/appendonly.aof.manifest")
                    daemon.start()
                    has_their_data(daemon)
                    daemon.stop()
                    shutil.rmtree(path + "/appendonlydir")
                    daemon.start()
                    has_their_data(daemon)
    with old_folder() as path:
        before = state(path)
        for given in (path, path + "/appendonly.aof"):
            with on(path, "--import", given) as daemon:
                has_their_data(daemon)
            unharmed(before, path)
            shutil.rmtree(path + "/appendonlydir")


@beside_redis
def redis_can_use_its_files_after_the_import():
    with redis_folder() as path:
        with on(path, "--import", path) as daemon, daemon.redis() as server:
            server.set("a", "ours")
            server.save()
        with Daemon("--dir", path, "--appendonly", "yes", binary=ORACLE) as daemon:
            has_their_data(daemon)


@beside_redis
def files_of_a_running_redis_are_refused_and_imported_unharmed():
    with Daemon("--appendonly", "yes", "--appendfsync", "no", binary=ORACLE) as source, source.redis() as theirs:
        theirs.set("a", "theirs")
        theirs.rpush("b", 1, 2, 3)
        theirs.incr("n")
        inner = source.dir + "/appendonlydir"
        before = state(inner)
        assert "--import" in refused(source.dir)
        with on(source.dir, "--import", source.dir) as daemon:
            has_their_data(daemon)
            unharmed(before, inner)
            theirs.set("later", "v")
            theirs.bgrewriteaof()
            assert wait_for(lambda: theirs.info()["aof_rewrite_in_progress"] == 0)
            with daemon.redis() as server:
                equal(server.exists("later"), 0)
        source.stop()
        source.start()
        with source.redis() as again:
            assert wait_for(lambda: again.info()["loading"] == 0)
            equal(again.get("later"), b"v")


@beside_redis
def crash_amid_the_import_leaves_a_folder_that_imports_again():
    with redis_folder() as path:
        before = state(path)
        os.mkdir(path + "/appendonlydir.exp")
        write(path + "/appendonlydir.exp/temp-appendonly.aof.first", b"")
        write(path + "/appendonlydir.exp/temp-appendonly.aof.1.base.exp", bytes(100))
        assert "--import" in refused(path)
        with on(path, "--import", path) as daemon:
            has_their_data(daemon)
            unharmed(before, path)
            equal(sorted(os.listdir(path + "/appendonlydir.exp")),
                  ["appendonly.aof.1.base.exp", "appendonly.aof.1.incr.aof",
                   "appendonly.aof.manifest"])


@beside_redis
def damaged_append_only_file_leaves_all_files_as_they_were():
    with redis_folder() as path:
        name = path + "/appendonlydir/appendonly.aof.1.base.rdb"
        with open(name, "r+b") as file:
            file.seek(-3, os.SEEK_END)
            file.write(b"xxx")
        assert "can't be imported" in refused(path, "--import", path)
        os.remove(name)
        assert "appendonly.aof.1.base.rdb is missing" in refused(path, "--import", path)


@beside_redis
def two_journals_of_ours_are_refused():
    with redis_folder() as path:
        with on(path, "--import", path) as daemon:
            has_their_data(daemon)
        shutil.rmtree(path + "/appendonlydir")
        shutil.copytree(path + "/appendonlydir.exp", path + "/appendonlydir")
        assert "both hold a journal" in refused(path)


@beside_redis
def journal_that_is_turned_on_begins_beside_redis_files():
    with redis_folder() as path:
        before = state(path)
        with Daemon("--dir", path, "--appendonly", "no") as daemon, daemon.raw() as raw:
            assert "--import " + path in daemon.log(), daemon.log()
            equal(raw.call("SET", "k", "v"), OK)
            equal(raw.call("CONFIG", "SET", "appendonly", "yes"), OK)
            with daemon.redis() as server:
                assert wait_for(lambda: server.info()["aof_base_size"] > 0)
            daemon.stop()
            daemon.options += ["--appendonly", "yes"]
            daemon.start()
            with daemon.redis() as server:
                equal(server.keys(), [b"k"])
            unharmed(before, path)


@own
def journal_that_is_turned_on_over_no_data_is_data():
    with folder() as path, folder() as other:
        write(other + "/x.aof", b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n")
        given = ["--dir", path, "--import", other + "/x.aof"]
        with Daemon(*given) as daemon:
            with daemon.redis() as server:
                equal(server.get("a"), b"1")
                server.save()
                server.flushall()
                server.config_set("appendonly", "yes")
                assert wait_for(lambda: server.info()["aof_base_size"] > 0)
            for dump in (True, False):
                daemon.stop()
                if not dump:
                    os.remove(path + "/dump.exp")
                daemon.options = [*given, "--appendonly", "yes"]
                daemon.start()
                with daemon.redis() as server:
                    equal(server.keys(), [])


# --- a snapshot -----------------------------------------------------------------------------------


@beside_redis
def dump_of_redis_is_named_with_the_command_that_works():
    for appendonly in ("yes", "no"):
        for name in ("dump.rdb", "mine.rdb"):
            with redis_folder() as made, folder() as path:
                shutil.copy(made + "/dump.rdb", os.path.join(path, name))
                before = state(path)
                options = ["--dir", path, "--appendonly", appendonly, "--dbfilename", name]
                with Daemon(*options) as daemon:
                    given = f"--import {path}/{name}"
                    assert given in daemon.log(), daemon.log()
                    with daemon.redis() as server:
                        equal(server.keys(), [])
                    daemon.stop()
                    unharmed(before, path)
                    daemon.options += given.split()
                    daemon.start()
                    with daemon.redis() as server:
                        equal(server.get("a"), b"theirs")
                    daemon.stop()
                    unharmed(before, path)


@own
def import_comes_no_more_when_something_was_written():
    with folder() as path, folder() as other:
        write(other + "/x.aof", b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n")
        with on(path) as daemon:
            with daemon.redis() as server:
                server.set("k", "v")
                server.delete("k")
            daemon.stop()
            daemon.options += ["--import", other + "/x.aof"]
            daemon.start()
            with daemon.redis() as server:
                equal(server.keys(), [])
            assert "Not importing" in daemon.log(), daemon.log()


@own
def snapshot_never_replaces_a_file_that_is_none():
    kinds = {"dump.rdb": b"REDIS0010\xfa", "mine.conf": b"port 6379\n", "appendonly.aof": b"*1\r\n",
             "empty": b""}
    for name, content in kinds.items():
        with folder() as path:
            with Daemon("--dir", path, "--enable-protected-configs", "yes") as daemon, \
                    daemon.raw() as raw:
                equal(raw.call("SET", "k", "v"), OK)
                equal(raw.call("SAVE"), OK)
                write(os.path.join(path, name), content)
                equal(raw.call("CONFIG", "SET", "dbfilename", name), OK)
                before = state(path)
                for words in (("SAVE",), ("BGSAVE",), ("BGSAVE", "SCHEDULE"), ("DEBUG", "RELOAD")):
                    reply = raw.call(*words)
                    assert reply.startswith(b"-ERR"), (words, reply)
                assert raw.call("SHUTDOWN", "SAVE").startswith(b"-ERR Errors trying to SHUTDOWN")
                assert os.path.join(path, name) in daemon.log(), daemon.log()
                equal(raw.call("CONFIG", "SET", "save", "3600 1", "stop-writes-on-bgsave-error",
                               "no"), OK)
                equal(raw.call("FLUSHALL"), OK)
                equal(raw.call("CONFIG", "SET", "save", ""), OK)
                unharmed(before, path)


@own
def folder_or_pipe_or_link_to_nowhere_is_not_replaced():
    def make(path):
        os.mkdir(path + "/folder")
        os.mkfifo(path + "/pipe")
        os.symlink("nowhere", path + "/link")
    for name in ("folder", "pipe", "link"):
        with folder() as path:
            make(path)
            options = ("--dbfilename", name)
            said = refused(path, *options)
            assert path + "/" + name in said, said
            with Daemon("--dir", path, "--enable-protected-configs", "local") as daemon, \
                    daemon.raw() as raw:
                equal(raw.call("CONFIG", "SET", "dbfilename", name), OK)
                assert raw.call("SAVE").startswith(b"-ERR")
                equal(sorted(os.listdir(path)), ["folder", "link", "pipe"])


@own
def start_refuses_unknown_files_in_the_places_of_its_own():
    for name, content in (("dump.exp", b""), ("dump.exp", b"text"), ("dump.exp", b"file a seq 1"),
                          ("appendonlydir/appendonly.aof.manifest", b""),
                          ("appendonlydir/appendonly.aof.manifest", b"text"),
                          ("appendonlydir/appendonly.aof.1.incr.aof", b"*2\r\n$6\r\nSELECT\r\n")):
        with folder() as path:
            os.mkdir(path + "/appendonlydir")
            write(os.path.join(path, name), content)
            said = refused(path)
            assert os.path.join(path, os.path.dirname(name)) in said, said


@own
def protected_configs_are_set_only_where_that_is_allowed():
    protected = (b"-ERR CONFIG SET failed (possibly related to argument 'dbfilename') - can't set "
                 b"protected config\r\n")
    for allowed, reply in ((None, protected), ("no", protected), ("yes", OK), ("local", OK)):
        options = ["--enable-protected-configs", allowed] if allowed else []
        with Daemon(*options) as daemon, daemon.raw() as raw:
            equal(raw.call("CONFIG", "SET", "dbfilename", "x.exp"), reply, allowed)
            equal(raw.call("CONFIG", "SET", "maxmemory", "1gb", "dbfilename", "x.exp"), reply)
            assert b"can't set immutable config" in raw.call("CONFIG", "SET",
                                                             "enable-protected-configs", "yes")


main()
