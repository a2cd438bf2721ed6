#!/usr/bin/python3 -B
"""Files and payloads of Redis 8.8 and 8.10, which no server on this machine writes: built by their description."""
import os
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, folder, main, own
from import_data import ours, refused
from made_rdb import (MODULE_RECORD, array_record, hash_record, listpack, packed_hash_record, rdb,
                      string_record, template_record, text)

WHOLE = (template_record(7, b"age", b"name"), template_record(2, b"x"),
         packed_hash_record(b"packed", 7, b"42", b"Ada"), hash_record(b"strings", 7, b"43", b"Grace"),
         hash_record(b"one", 2, b"1"))


def written(directory, data):
    path = os.path.join(directory, "made.rdb")
    with open(path, "wb") as file:
        file.write(data)
    return path


@own
def hashes_with_templates_arrive_and_stay_after_a_restart():
    with folder() as directory:
        with ours("--import", written(directory, rdb(15, *WHOLE))) as daemon:
            for _ in range(2):
                with daemon.redis() as client:
                    equal(client.hgetall("packed"), {b"age": b"42", b"name": b"Ada"})
                    equal(client.hgetall("strings"), {b"age": b"43", b"name": b"Grace"})
                    equal(client.hgetall("one"), {b"x": b"1"})
                    equal(client.dbsize(), 3)
                daemon.stop()
                daemon.start()


@own
def payloads_with_names_of_fields_are_restored_without_a_checksum():
    """As HIMPORT of a Redis 8.10 arrives at its replicas."""
    names = b"\x01\x02" + text(b"age") + text(b"name")
    packed = b"\x1d" + names + text(listpack(0, b"42", b"Ada")) + b"\x0f\0" + bytes(8)
    strings = b"\x1f" + names + text(b"43") + text(b"Grace") + b"\x0f\0" + bytes(8)
    with Daemon() as daemon, daemon.redis() as client, daemon.raw() as raw:
        client.restore("packed", 0, packed)
        client.restore("strings", 0, strings)
        equal(client.hgetall("packed"), {b"age": b"42", b"name": b"Ada"})
        equal(client.hgetall("strings"), {b"age": b"43", b"name": b"Grace"})
        for bad in (packed[:-10] + b"\x0e\0" + bytes(8), b"\x20\x07" + strings[-12:],
                    b"\x1c\0\0" + strings[-10:]):
            assert raw.call("RESTORE", "bad", 0, bad).startswith(b"-ERR "), bad


@own
def types_that_are_named_are_left_out_and_others_refused():
    data = rdb(15, string_record(b"k", b"v"), array_record(b"list", b"a", b"b"), MODULE_RECORD,
               array_record(b"more", b"c"))
    with folder() as directory:
        path = written(directory, data)
        said = refused(directory, "--import", path)
        assert "'list' is of the unsupported type array. Use --import-skip array AQIDBAUGB to " in said, said
        said = refused(directory, "--import", path, "--import-skip", "array")
        assert "'graph' is of the unsupported type module AQIDBAUGB. Use --import-skip AQIDBAUGB" in said, said
        with ours("--import", path, "--import-skip", "array", "AQIDBAUGB") as daemon, daemon.redis() as client:
            equal(client.dbsize(), 1)
            for line in ("Import: skipped 2 of the unsupported type array, the first is 'list'",
                         "Import: skipped 1 of the unsupported type module AQIDBAUGB, the first is 'graph'"):
                assert line in daemon.log(), daemon.log()


@own
def types_whose_end_is_unknown_are_refused_even_if_all_are_skipped():
    with folder() as directory:
        for version, magic, kind, name in ((16, b"REDIS", 33, " (a bitmap or a rate limit) of Redis"),
                                           (16, b"REDIS", 34, " of Redis"),
                                           (81, b"VALKEY", 23, " (a path hash) of Valkey")):
            data = rdb(version, bytes([kind]) + text(b"strange") + b"\0", magic=magic)
            said = refused(directory, "--import", written(directory, data), "--import-skip-unsupported")
            assert f"the key 'strange' has the unknown type {kind}{name}. Delete it there" in said, said


@own
def every_cut_and_changed_byte_is_refused_or_harmless():
    data = bytearray(rdb(15, *WHOLE))
    with Daemon() as daemon, daemon.redis() as client, folder() as directory:
        # A payload of each form, with each byte changed.
        names = b"\0" + text(listpack(5, b"name"))
        whole = (b"\x1d" + names + text(listpack(0, b"42", b"Ada")), b"\x1f" + names + text(b"1") + text(b"2"))
        for payload in whole:
            for at in range(len(payload)):
                for value in (0, 1, payload[at] ^ 0x80, 0xff):
                    bad = payload[:at] + bytes([value]) + payload[at + 1:]
                    client.execute_command("DEL", "k")
                    try:
                        client.restore("k", 0, bad + b"\x0f\0" + bytes(8))
                        client.dump("k")
                    except Exception as error:  # noqa: any error of the server
                        assert "Bad data format" in str(error), error
        equal(client.ping(), True)
        for cut in range(9, len(data), 7):
            said = refused(directory, "--import", written(directory, bytes(data[:cut])))
            assert "can't be imported: at byte " in said, said


@own
def entries_of_idempotent_producers_arrive_from_an_append_only_file():
    lines = (("SELECT", 0), ("XADD", "s", "IDMP", "producer", "one", "1-1", "f", "v"),
             ("XADD", "s", "NOMKSTREAM", "KEEPREF", "IDMPAUTO", "producer", "MAXLEN", "~", 100, "LIMIT", 10, "2-1", "IDMP", "x"),
             ("XADD", "s", "MAXLEN", "=", 2, "3-1", "g", "w"), ("XIDMPRECORD", "s", "producer", "two", "3-1"))
    with folder() as directory:
        path = written(directory, b"".join(encode(*line) for line in lines))
        with ours("--import", path) as daemon, daemon.redis() as client:
            equal(client.xrange("s"), [(b"2-1", {b"IDMP": b"x"}), (b"3-1", {b"g": b"w"})])
            equal(client.xinfo_stream("s")["iids-added"], 3)
        # Its ID is not the one that Redis gave it.
        said = refused(directory, "--import", written(directory, encode("XADD", "s", "IDMP", "p", "i", "*", "f", "v")))
        assert "the command XADD is unknown here, or it failed" in said, said


main()
