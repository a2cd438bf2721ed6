#!/usr/bin/python3 -B
"""What was synced is never torn: damage of it is refused, although it looks like the end that a crash
leaves. expired-check says the same as the daemon."""
import os
import re
import subprocess

from crash import CHILDREN, EIO, EVER, ROOT, WRITE, Kept, calls, equal, run, test

CHECK = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tools", "expired-check")
SECTOR = 512


def fill(daemon, keys, value="value"):
    with daemon.raw() as raw:
        for key in keys:
            equal(raw.call("SET", key, value), b"+OK\r\n", key)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def put(path, text):
    with open(path, "wb") as file:
        file.write(text)


def ends_of(text):
    """Where the records of a journal end."""
    return [at + 11 for at in range(len(text)) if re.match(rb"#[0-9a-f]{8}\r\n", text[at:at + 11])]


def checked(path, *options):
    """The exit status of expired-check: 0 whole, 1 torn, 2 damaged, 3 unreadable."""
    done = subprocess.run([CHECK, *options, path], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def keys_of(daemon):
    with daemon.raw() as raw:
        return sorted(raw.call("KEYS", "*").split(b"\r\n")[2::2])


@test
def tail_that_is_missing_after_a_clean_stop_is_refused():
    """Cut at each record's end, where nothing else shows that records are missing."""
    with Kept(fsync="everysec") as daemon:
        fill(daemon, "abc")
        daemon.stop()
        name = daemon.segment()
        text = content(name)
        ends = ends_of(text)
        assert len(ends) == 3, text
        for end in ends[:-1]:
            put(name, text[:end])
            for path in (daemon.data, name):
                equal(checked(path)[0], 2, f"cut at byte {end}")
            daemon.refuses(os.path.basename(name), f"ends here, but {len(text)} bytes of it were synced")
        equal(checked(name, "--fix", "--cut-at-damage")[0], 0, "repaired")
        daemon.start()
        equal(keys_of(daemon), [b"a", b"b"], "keys")
        fill(daemon, "d")
        daemon.stop()
        equal(checked(daemon.data)[0], 0, "after more writes")


@test
def flip_in_the_last_record_after_a_clean_stop_is_refused():
    with Kept(fsync="no") as daemon:
        fill(daemon, "ab")
        daemon.stop()
        name = daemon.segment()
        text = content(name)
        for at in range(ends_of(text)[-2], len(text)):
            for bit in range(8):
                put(name, text[:at] + bytes((text[at] ^ 1 << bit,)) + text[at + 1:])
                equal(checked(name)[0], 2, f"bit {bit} of byte {at}")
            if at % 16 == 0:
                daemon.refuses(os.path.basename(name), "byte")


@test
def sector_of_zeros_in_a_synced_part_is_refused():
    """A sector that never reached the disk reads as zeros; one that was synced did reach it."""
    with Kept(fsync="always") as daemon:
        fill(daemon, "abcdef", "v" * 700)
        daemon.kill()
        name = daemon.segment()
        text = content(name)
        synced = ends_of(text)[-3]
        for at in range(SECTOR, synced - SECTOR, SECTOR):
            put(name, text[:at] + bytes(SECTOR) + text[at + SECTOR:])
            equal(checked(daemon.data)[0], 2, f"zeros at byte {at}")
            daemon.refuses(os.path.basename(name), "damaged at byte")
        put(name, text)
        daemon.start()
        equal(len(keys_of(daemon)), 6, "keys")


@test
def earlier_segment_that_lost_records_is_refused():
    """Each failed rewrite leaves a segment. The second one has no records that tell what it continues."""
    with Kept(fsync="everysec", fault=True) as daemon:
        fill(daemon, "abc")
        first = daemon.segment()
        daemon.plan.set(1, EIO, calls(WRITE), last=EVER, whose=CHILDREN)
        for number in (2, 3):
            daemon.rewrite()
            assert f".{number}.incr" in daemon.segment(), daemon.files()
        fill(daemon, "d")
        daemon.kill()
        daemon.plan.heal()
        daemon.start()
        fill(daemon, "e")
        daemon.kill()
        text = content(first)
        for end in [20] + ends_of(text)[:-1]:
            put(first, text[:end])
            equal(checked(daemon.data)[0], 2, f"cut at byte {end}")
            daemon.refuses(os.path.basename(daemon.segment()), f"continues a file of {len(text)} bytes",
                           "expired-check on appendonlydir")
        put(first, text)
        equal(checked(daemon.data)[0], 0, "whole")
        daemon.start()
        equal(len(keys_of(daemon)), 5, "keys")


@test
def segment_continues_an_empty_one_behind_a_base():
    """The base replaced what the empty segment continued, so the next segment must not name that."""
    with Kept(fsync="everysec", fault=True) as daemon:
        fill(daemon, "abc")
        assert daemon.rewrite(), daemon.log()
        daemon.plan.set(1, EIO, calls(WRITE), last=EVER, whose=CHILDREN)
        assert not daemon.rewrite(), daemon.log()
        fill(daemon, "d")
        assert len([name for name in daemon.files() if name.endswith(".incr.aof")]) > 1, daemon.files()
        daemon.kill()
        daemon.plan.heal()
        for end in (daemon.kill, daemon.stop, daemon.kill):
            equal(checked(daemon.data)[0], 0, "whole")
            daemon.start()
            equal(len(keys_of(daemon)), 4, "keys")
            end()


@test
def torn_value_with_journal_records_is_cut_off():
    """The value of the torn record is itself a journal, with checksum lines that match."""
    with Kept(fsync="no") as daemon:
        fill(daemon, "abc")
        daemon.kill()
        journal = content(daemon.segment())
        daemon.start()
        good = len(journal)
        fill(daemon, "d", journal)
        daemon.kill()
        name = daemon.segment()
        text = content(name)
        for length in (good + 60 + len(journal) // 2, text.index(journal, good) + len(journal) + 1):
            put(name, text[:length])
            equal(checked(name)[0], 1, f"cut at byte {length}")
        daemon.start()
        equal(keys_of(daemon), [b"a", b"b", b"c"], "keys")


run()
