#!/usr/bin/python3 -B
"""Large values and many keys: stored, changed, dumped, journaled and loaded while others are served.
`make crash` uses values of 512 MB and five million keys. Prints the longest PING of another client.
"""
import hashlib
import mmap
import os
import socket
import struct
import time

from crash import NOON, SECONDS, Kept, Raw, encode, equal, fork, kill_child, run, test, wait_for

MB = 1 << 20
SIZE = (512 if SECONDS else 64) * MB
KEYS = 5_000_000 if SECONDS else 100_000
OK = b"+OK\r\n"
LONG = 600  # seconds for one reply


class Pinger:
    """Another client, in a process of its own: measures the longest wait for a PING since the last
    question."""

    def __init__(self, daemon):
        self.page = mmap.mmap(-1, 8)  # microseconds, shared
        self.pid = fork(lambda: self.run(Raw(daemon.path, LONG)))

    def run(self, raw):
        while True:
            began = time.monotonic()
            raw.call("PING")
            took = int((time.monotonic() - began) * 1e6)
            if took > struct.unpack("q", self.page[:])[0]:
                self.page[:] = struct.pack("q", took)
            time.sleep(0.001)  # so that PINGs do not keep the daemon busy; results do not depend on it

    def say(self, what):
        print(f"longest PING while {what}: {struct.unpack('q', self.page[:])[0] / 1000:.1f} ms",
              flush=True)
        self.page[:] = bytes(8)

    def end(self):
        kill_child(self.pid)


class Large(Kept):
    START_SECONDS = LONG


class Patient:
    """A connection for replies of hundreds of megabytes, which Raw would copy."""

    def __init__(self, daemon):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LONG)
        self.socket.connect(daemon.path)
        self.file = self.socket.makefile("rb", MB)

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, *words):
        """Encodes without copying large arguments."""
        head = b"*%d\r\n" % len(words)
        for word in words:
            word = word if isinstance(word, (bytes, bytearray)) else str(word).encode()
            self.socket.sendall(head + b"$%d\r\n" % len(word))
            self.socket.sendall(word)
            head = b"\r\n"
        self.socket.sendall(head)

    def reply(self):
        line = self.file.readline()
        if line[:1] != b"$" or line == b"$-1\r\n":
            return line
        data = self.file.read(int(line[1:]))
        assert self.file.read(2) == b"\r\n"
        return data

    def call(self, *words):
        self.send(*words)
        return self.reply()

    def sum_of(self, key):
        return hashlib.sha1(self.call("GET", key)).hexdigest()


def value_of(size):
    """Bytes that do not compress, quickly generated."""
    block = os.urandom(MB)
    return bytearray(block * (size // MB))


def begin(daemon):
    return Patient(daemon), Pinger(daemon)


@test
def large_values_are_stored_changed_and_read():
    value = value_of(SIZE)
    whole = hashlib.sha1(value).hexdigest()
    with Large("--auto-aof-rewrite-percentage", "0", fsync="everysec") as daemon:
        client, pinger = begin(daemon)
        equal(client.call("SET", "a", value), OK)
        pinger.say(f"SET of {SIZE // MB} MB")
        equal(client.sum_of("a"), whole, "GET")
        pinger.say("GET")
        too_long = client.call("APPEND", "a", "x") if SIZE == 512 * MB else b"-ERR string exceeds"
        assert too_long.startswith(b"-ERR string exceeds"), too_long
        equal(client.call("SETRANGE", "a", SIZE - 3, "end"), b":%d\r\n" % SIZE)
        value[-3:] = b"end"
        pinger.say("SETRANGE")
        equal(client.call("SETRANGE", "gap", SIZE - 1, "x"), b":%d\r\n" % SIZE)
        pinger.say("SETRANGE of a new key")
        equal(client.call("DEL", "gap"), b":1\r\n")
        for _ in range(4):
            client.call("APPEND", "parts", value[:SIZE // 4])
        equal(client.call("STRLEN", "parts"), b":%d\r\n" % SIZE)
        pinger.say("APPEND in four parts")
        equal(client.call("DEL", "parts"), b":1\r\n")
        whole = hashlib.sha1(value).hexdigest()
        del value
        come_back(daemon, client, pinger, whole)


def come_back(daemon, client, pinger, whole):
    pinger.end()
    client.close()
    daemon.again()
    client, pinger = begin(daemon)
    equal(client.sum_of("a"), whole, "after kill -9")
    pinger.say("GET after kill -9")
    equal(client.call("BGREWRITEAOF")[:1], b"+")
    assert_quiet(daemon)
    pinger.say("BGREWRITEAOF")
    equal(client.call("SAVE"), OK)
    pinger.end()
    client.close()
    daemon.again()
    client, pinger = begin(daemon)
    equal(client.sum_of("a"), whole, "after BGREWRITEAOF and kill -9")
    pinger.end()
    client.close()


def assert_quiet(daemon):
    daemon.await_quiet(LONG)
    equal(daemon.info()["aof_last_bgrewrite_status"], "ok")


@test
def large_values_are_dumped_and_restored():
    size = SIZE // 2  # the payload has to fit into an argument
    value = value_of(size)
    whole = hashlib.sha1(value).hexdigest()
    with Large("--auto-aof-rewrite-percentage", "0", fsync="everysec") as daemon:
        client, pinger = begin(daemon)
        equal(client.call("SET", "a", value), OK)
        del value
        payload = client.call("DUMP", "a")
        assert len(payload) > size, payload[:60]
        pinger.say(f"DUMP of {size // MB} MB")
        equal(client.call("DEL", "a"), b":1\r\n")
        equal(client.call("RESTORE", "b", 0, payload), OK)
        pinger.say("RESTORE")
        del payload
        equal(client.sum_of("b"), whole, "what was restored")
        pinger.end()
        client.close()


def load(daemon, count, at=None):
    """Keys with small values; with `at`, all expire at that time."""
    with Raw(daemon.path, LONG) as raw:
        for first in range(0, count, 5000):
            ending = ("PXAT", at) if at else ()
            raw.send(b"".join(encode("SET", f"key:{number}", f"value {number}", *ending)
                              for number in range(first, min(first + 5000, count))))
            equal(set(raw.replies(min(5000, count - first))), {OK})


@test
def many_keys_are_loaded_flushed_and_expire_at_one_instant():
    with Large(fsync="everysec") as daemon:
        pinger = Pinger(daemon)
        load(daemon, KEYS)
        pinger.say(f"{KEYS} keys are set")
        assert_quiet(daemon)
        pinger.end()
        began = time.monotonic()
        daemon.again()
        print(f"started with {KEYS} keys in {time.monotonic() - began:.1f} s", flush=True)
        equal(daemon.call("DBSIZE"), b":%d\r\n" % KEYS)
        pinger = Pinger(daemon)
        equal(daemon.call("FLUSHALL"), OK)
        equal(daemon.call("DBSIZE"), b":0\r\n")
        assert wait_for(lambda: daemon.info("memory")["lazyfree_pending_objects"] == "0", LONG)
        pinger.say("FLUSHALL")
        daemon.hold(NOON)
        load(daemon, KEYS, NOON)
        pinger.say(f"{KEYS} keys with one deadline are set")
        equal(daemon.call("EXISTS", "key:0"), b":1\r\n", "at the deadline")
        daemon.step(1)
        equal(daemon.call("GET", "key:1"), b"$-1\r\n")
        equal(daemon.call("DBSIZE"), b":0\r\n")
        assert wait_for(lambda: daemon.info("stats")["expired_keys"] == str(KEYS), LONG)
        pinger.say(f"{KEYS} keys end")
        pinger.end()
        equal(daemon.call("DEBUG", "CHECK"), OK)
        daemon.again()
        equal(daemon.call("DBSIZE"), b":0\r\n")


run(900 if SECONDS else 120)
