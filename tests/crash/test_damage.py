#!/usr/bin/python3 -B
"""Truncated and damaged files: a torn end of the journal is cut at its last complete record; other
damage is refused with the file's name and the offset. What was synced is never torn, even if its damage looks like
the end that a crash leaves. expired-check says the same as the daemon."""
import os
import re
import shutil
import subprocess

from crash import CHILDREN, EIO, EVER, NOON, ROOT, WRITE, Budget, Kept, calls, equal, run, seeded, test, wait_for
from programs import DATABASES, Program


def one_record(program):
    """A command whose effects are one record. (A new policy writes a second one when it is applied.)"""
    while True:
        command = program.command()
        if command[:2] != ["POLICY", "SET"]:
            return command


SECTOR = 512
CHECK = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tools", "expired-check")


class Recorded:
    """A journal of a random program, and the digest of the data after each of its records."""

    def __init__(self, daemon, seed, records):
        self.daemon = daemon
        daemon.hold()
        self.rng = seeded("damage", seed)
        program = Program(self.rng, "p", NOON)
        with daemon.raw() as raw:
            for _ in range(60):
                raw.call(*program.command())
            raw.call("DEBUG", "CLOCK", "STEP", 0)
            assert daemon.rewrite(), daemon.log()
            self.name = daemon.segment()
            self.base = self.name.replace(".2.incr.aof", ".2.base.exp")
            self.ends, self.digests = [], []
            self.note(raw)
            while len(self.ends) <= records:
                raw.call("SELECT", self.rng.randrange(DATABASES))
                if self.rng.randrange(8) > 0:
                    raw.call(*one_record(program))
                else:
                    raw.call("MULTI")
                    raw.call(*one_record(program))
                    raw.call(*one_record(program))
                    raw.call("EXEC")
                self.note(raw)
        daemon.kill()
        self.pristine = os.path.join(daemon.dir, "pristine")
        shutil.copytree(daemon.data, self.pristine)

    def note(self, raw):
        raw.call("DEBUG", "CLOCK", "STEP", 0)
        end = os.path.getsize(self.name)
        if not self.ends or end > self.ends[-1]:
            self.ends.append(end)
            self.digests.append(raw.call("DEBUG", "DIGEST"))

    def restore(self):
        shutil.rmtree(self.daemon.data)
        shutil.copytree(self.pristine, self.daemon.data)

    def cut(self, length):
        self.restore()
        os.truncate(self.name, length)

    def units_at(self, length):
        return sum(end <= length for end in self.ends) - 1

    def flip(self, path, offset):
        self.restore()
        with open(path, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0] ^ 1 << self.rng.randrange(8)
            file.seek(offset)
            file.write(bytes((byte,)))

    def starts_with(self, records, what):
        """The daemon must have the data after `count` records, and accept writes."""
        daemon = self.daemon
        daemon.start()
        daemon.hold()
        equal(daemon.digest(), self.digests[records], what)
        equal(daemon.call("SET", "more", what), b"+OK\r\n")
        after = daemon.digest()
        daemon.again()
        daemon.hold()
        equal(daemon.digest(), after, f"{what}, and then some more")
        daemon.kill()


def each(daemon, least, records=40):
    """Recorded journals, one after another while there is time."""
    budget = Budget(0.2)
    while budget.more(least):
        if daemon.process is None:
            shutil.rmtree(daemon.data)
            shutil.rmtree(os.path.join(daemon.dir, "pristine"))
            daemon.start()
        yield Recorded(daemon, budget.done, records), budget


@test
def journal_cut_at_any_byte_keeps_its_complete_records():
    with Kept(fsync="no") as daemon:
        for recorded, budget in each(daemon, 1):
            whole = range(recorded.ends[-4], recorded.ends[-1] + 1)
            some = recorded.rng.sample(whole, min(len(whole), 40))
            for length in sorted(some) if budget.done == 1 else whole:
                recorded.cut(length)
                recorded.starts_with(recorded.units_at(length), f"cut at byte {length}")


@test
def journal_cut_in_its_first_line_is_refused():
    """The line is synced before the manifest lists the file, as the manifest notes."""
    with Kept(fsync="no") as daemon:
        for recorded, _ in each(daemon, 1, records=3):
            for length in range(recorded.ends[0]):
                recorded.cut(length)
                daemon.refuses("appendonly.aof.2.incr.aof", "first line is incomplete")
            recorded.cut(recorded.ends[0])
            recorded.starts_with(0, "without records")


@test
def journal_of_another_version_is_refused_and_kept():
    with Kept(fsync="no") as daemon:
        daemon.call("SET", "key", "value")
        daemon.kill()
        name = daemon.segment()
        text = content(name)
        assert text.startswith(b"#EXPIRED-JOURNAL 2\r\n"), text[:20]
        later = text.replace(b"JOURNAL 2", b"JOURNAL 3", 1)
        put(name, later)
        daemon.refuses(os.path.basename(name), "begins as a journal of another version")
        equal(content(name), later, "the journal")
        status, said = checked(daemon.journal_dir)
        equal(status, 2, said)
        assert "a journal of another version" in said, said


@test
def first_line_may_be_torn_if_the_manifest_is_of_an_older_version():
    with Kept(fsync="no") as daemon:
        for recorded, _ in each(daemon, 1, records=3):
            for length in range(recorded.ends[0] + 1):
                recorded.cut(length)
                change_manifest(recorded, strip_notes)
                recorded.starts_with(0, f"cut at byte {length}")


@test
def base_of_another_server_is_refused():
    with Kept(fsync="no") as other, Kept(fsync="no") as daemon:
        for one in (other, daemon):
            one.call("SET", "key", "value")
            assert one.rewrite(), one.log()
            one.kill()
        name = "appendonly.aof.2.base.exp"
        shutil.copy(os.path.join(other.journal_dir, name), os.path.join(daemon.journal_dir, name))
        daemon.refuses(name, "not the file that the manifest lists")
        status, text = checked(daemon.journal_dir)
        equal(status, 2, text)
        assert "not the file that the manifest lists" in text, text


@test
def journal_of_another_server_is_refused():
    with Kept(fsync="always") as other, Kept(fsync="always") as daemon:
        for one in (other, daemon):
            one.call("SET", "key", "value")
            one.kill()
        name = os.path.basename(daemon.segment())
        own = content(daemon.segment())
        theirs = content(os.path.join(other.journal_dir, name))
        put(daemon.segment(), theirs)
        daemon.refuses(name, "not the file that the manifest lists", "Restore all files of appendonlydir")
        for path in (daemon.journal_dir, daemon.segment()):
            status, text = checked(path)
            equal(status, 2, text)
            assert "not the file that the manifest lists" in text, text
        put(daemon.segment(), own)
        daemon.start()
        equal(keys_of(daemon), [b"key"], "keys")


def failed_rewrites(daemon, numbers):
    """Each failed rewrite leaves a journal behind those before it. Writes a key into each."""
    daemon.plan.set(1, EIO, calls(WRITE), last=EVER, whose=CHILDREN)
    for number in numbers:
        daemon.rewrite()
        assert f".{number}.incr" in daemon.segment(), daemon.files()
        fill(daemon, [str(number)])
    daemon.kill()
    daemon.plan.heal()


@test
def manifest_from_which_a_file_was_left_out_is_refused():
    with Kept(fsync="always", fault=True) as daemon:
        fill(daemon, "a")
        failed_rewrites(daemon, (2, 3))
        path = os.path.join(daemon.journal_dir, "appendonly.aof.manifest")
        with open(path, encoding="ascii") as file:
            lines = [line for line in file if not line.startswith("#")]
        equal(len(lines), 4, lines)
        for left_out in range(3):  # the base, and each journal but the last
            put(path, "".join(lines[:left_out] + lines[left_out + 1:]).encode())
            daemon.refuses("continues a file that is not listed before it", "'after ")
            equal(checked(daemon.data)[0], 2, lines[left_out])
        put(path, "".join(lines).encode())
        daemon.start()
        equal(keys_of(daemon), [b"2", b"3", b"a"], "keys")


@test
def bytes_after_the_last_complete_record_are_cut_off():
    with Kept(fsync="no") as daemon:
        for recorded, _ in each(daemon, 1, records=10):
            for junk in (bytes(5000), b"*1\r\n", b"#01234567\r\n", recorded.rng.randbytes(3000)):
                recorded.restore()
                with open(recorded.name, "ab") as file:
                    file.write(junk)
                recorded.starts_with(len(recorded.ends) - 1, f"with {junk[:20]} behind")
                assert f"torn at byte {recorded.ends[-1]}" in daemon.log(), daemon.log()
                kept = f"{recorded.name}.cut-{recorded.ends[-1]}"
                with open(kept, "rb") as file:
                    equal(file.read(), junk, kept)
                assert f"cut off are in appendonlydir/{os.path.basename(kept)}" in daemon.log(), daemon.log()


def change_manifest(recorded, change):
    """Writes the manifest's lines without comments, as another program could have."""
    with open(os.path.join(recorded.daemon.journal_dir, "appendonly.aof.manifest"), "r+",
              encoding="ascii") as manifest:
        files = [line for line in manifest if not line.startswith("#")]
        manifest.seek(0)
        manifest.truncate()
        manifest.writelines(change(files))


def strip_notes(files):
    return [" ".join(line.split()[:6]) + "\n" for line in files]


def add_segment(recorded, records):
    """Adds a third segment with `records` records, as if a rewrite had just begun."""
    name = recorded.name.replace(".2.incr.", ".3.incr.")
    with open(recorded.name, "rb") as file:
        text = file.read(recorded.ends[records])
    with open(name, "wb") as file:
        file.write(text)
    change_manifest(recorded, lambda files: files + ["file appendonly.aof.3.incr.aof seq 3 type i\n"])


@test
def torn_segment_is_accepted_only_if_all_later_ones_are_empty():
    with Kept(fsync="no") as daemon:
        for recorded, _ in each(daemon, 1, records=10):
            for length in (recorded.ends[0], recorded.ends[0] + 3, recorded.ends[-1] - 1, recorded.ends[-1]):
                recorded.cut(length)
                add_segment(recorded, 0)
                recorded.starts_with(max(0, recorded.units_at(length)), f"cut at byte {length}")
            recorded.cut(recorded.ends[-1] - 1)
            add_segment(recorded, 1)
            daemon.refuses("appendonly.aof.2.incr.aof", f"byte {recorded.ends[-2]}")


@test
def journal_that_was_changed_in_its_middle_is_refused():
    with Kept(fsync="no") as daemon:
        for recorded, _ in each(daemon, 1):
            for _ in range(30):
                offset = recorded.rng.randrange(recorded.ends[-4])
                recorded.flip(recorded.name, offset)
                place = ("byte",) if offset >= recorded.ends[0] else ()
                daemon.refuses("appendonly.aof.2.incr.aof", *place)


@test
def flip_in_any_record_but_the_last_is_refused():
    """Every bit of the last but one record, with its checksum line."""
    with Kept(fsync="always") as daemon:
        with daemon.raw() as raw:
            for key in ("a", "b", "c"):
                raw.call("SET", key, "value")
        daemon.kill()
        name = daemon.segment()
        text = content(name)
        ends = ends_of(text)
        assert len(ends) >= 3, text
        for at in range(ends[-3], ends[-2]):
            for bit in range(8):
                put(name, text[:at] + bytes((text[at] ^ 1 << bit,)) + text[at + 1:])
                equal(checked(name)[0], 2, f"bit {bit} of byte {at}")
                if at >= ends[-2] - 11 and bit == 0:
                    daemon.refuses(os.path.basename(name), "byte")


@test
def manifest_that_was_cut_is_refused():
    with Kept(fsync="no") as daemon:
        for recorded, _ in each(daemon, 1, records=3):
            path = os.path.join(daemon.journal_dir, "appendonly.aof.manifest")
            for length in range(os.path.getsize(path)):
                recorded.restore()
                os.truncate(path, length)
                daemon.refuses()
                equal(os.path.getsize(recorded.name), recorded.ends[-1], f"cut at byte {length}")
            break


@test
def journal_that_the_manifest_does_not_list_is_kept():
    with Kept(fsync="no") as daemon:
        for recorded, _ in each(daemon, 1, records=3):
            with open(recorded.name, "rb") as file:
                text = file.read()
            with open(os.path.join(daemon.journal_dir, "appendonly.aof.manifest"), "w",
                      encoding="ascii") as manifest:
                manifest.write("file appendonly.aof.2.base.exp seq 2 type b\n")
            daemon.start()
            assert daemon.rewrite(), daemon.log()
            with open(recorded.name, "rb") as file:
                equal(file.read(), text, recorded.name)
            daemon.kill()
            break


@test
def base_that_was_changed_anywhere_is_refused():
    with Kept(fsync="no") as daemon:
        for recorded, _ in each(daemon, 1, records=3):
            size = os.path.getsize(recorded.base)
            offsets = [0, 17, 21, 25, 33, 41, 49, 57, 65, 69, 73, 77, 81, size - 1]
            offsets += [recorded.rng.randrange(size) for _ in range(20)]
            for offset in offsets:
                recorded.flip(recorded.base, offset)
                daemon.refuses("appendonly.aof.2.base.exp")
            for length in (0, 1, 71, 72, size // 2, size - 1):
                recorded.restore()
                os.truncate(recorded.base, length)
                daemon.refuses("appendonly.aof.2.base.exp")


@test
def file_that_is_missing_is_refused():
    with Kept(fsync="no") as daemon:
        for recorded, _ in each(daemon, 1, records=3):
            for name in (recorded.base, recorded.name):
                recorded.restore()
                os.remove(name)
                daemon.refuses(os.path.basename(name), "missing")
            recorded.restore()
            os.remove(os.path.join(daemon.journal_dir, "appendonly.aof.manifest"))
            daemon.refuses("missing")


@test
def torn_end_is_refused_if_the_options_demand_it():
    with Kept("--aof-load-truncated", "no", fsync="no") as daemon:
        for recorded, _ in each(daemon, 1, records=5):
            recorded.cut(recorded.ends[-1] - 1)
            daemon.refuses(os.path.basename(recorded.name), f"byte {recorded.ends[-2]}",
                           "aof-load-truncated")
            recorded.restore()
            recorded.starts_with(len(recorded.ends) - 1, "whole")


# ---- synced parts

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


@test
def a_journal_that_another_program_shortens_is_replaced():
    """The next sync fails, and a base with the data in memory takes the journal's place."""
    for fsync in ("always", "everysec"):
        for length in (0, 60):
            with Kept(fsync=fsync) as daemon:
                with daemon.raw() as raw:
                    raw.calls([("SET", key, "value") for key in "abc"])
                    equal(raw.call("WAITAOF", 1, 0, 20_000), b"*2\r\n:1\r\n:0\r\n")
                os.truncate(daemon.segment(), length)
                fill(daemon, "d")
                assert wait_for(lambda: "another program has shortened the file" in daemon.log()), daemon.log()
                assert wait_for(lambda: daemon.info()["aof_last_write_status"] == "ok"), daemon.log()
                daemon.await_quiet()
                fill(daemon, "e")
                daemon.kill()
                equal(checked(daemon.data)[0], 0, f"{fsync}, cut at byte {length}")
                daemon.start()
                equal(keys_of(daemon), [b"a", b"b", b"c", b"d", b"e"], f"{fsync}, cut at byte {length}")


run()
