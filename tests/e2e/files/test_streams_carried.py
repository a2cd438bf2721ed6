#!/usr/bin/python3 -B
"""Streams between redis-server and the daemon: payloads in both directions, and RDB files."""
import os
import shutil
import subprocess
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, Daemon, beside_redis, die_with_parent, equal, folder, main
from import_data import ours, theirs
from stream_data import carry_streams, fill_streams, same_streams, stream_replies


def read_by_redis(server):
    """The streams of our server as redis-server sees them after DUMP and RESTORE."""
    with theirs() as other, other.redis() as taker:
        carry_streams(server, taker)
        return stream_replies(taker)


@beside_redis
def streams_that_redis_dumps_are_restored_here_and_go_back():
    for options in ([], ["--rdbcompression", "no"], ["--stream-node-max-entries", "3"],
                    ["--stream-node-max-bytes", "0", "--stream-node-max-entries", "0"]):
        with theirs(*options) as source, Daemon() as daemon:
            with source.redis() as giver, daemon.redis() as taker:
                fill_streams(giver)
                wanted = stream_replies(giver)
                carry_streams(giver, taker)
                same_streams(read_by_redis(taker), wanted)


@beside_redis
def payloads_of_streams_are_redis_own_to_the_byte():
    with theirs("--rdbcompression", "no") as source, Daemon() as daemon:
        with source.redis() as giver, daemon.redis() as taker:
            fill_streams(giver)
            carry_streams(giver, taker)
            seen = 0
            for key in giver.keys():
                # Redis keeps deleted entries in its nodes, and cuts only whole nodes off.
                if key in (b"deleted", b"trimmed", b"groups"):
                    continue
                equal(taker.dump(key), giver.dump(key), key)
                seen += 1
            assert seen > 15, seen


@beside_redis
def payload_of_a_stream_with_any_wrong_byte_is_refused_or_a_stream():
    with theirs() as source, Daemon() as daemon:
        with source.redis() as giver, daemon.redis() as taker:
            giver.xadd("s", {"f": "v"}, id="1-1")
            payload = giver.dump("s")
            for at in range(len(payload)):
                bad = bytearray(payload)
                bad[at] ^= 1
                try:
                    taker.restore("s", 0, bytes(bad))
                    raise AssertionError(f"byte {at} is not checked")
                except redis.ResponseError as error:
                    equal(str(error), "DUMP payload version or checksum are wrong")


@beside_redis
def an_rdb_with_streams_arrives_whole():
    for options in ([], ["--rdbcompression", "no", "--stream-node-max-entries", "1000"]):
        with theirs(*options) as source, source.redis() as server, folder() as directory:
            fill_streams(server)
            server.save()
            path = shutil.copy(os.path.join(source.dir, "dump.rdb"), directory)
            wanted = stream_replies(server)
            with ours("--import", path) as daemon:
                with daemon.redis() as client:
                    same_streams(read_by_redis(client), wanted)


EXPORT = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tools/expired-export")


@beside_redis
def exported_streams_are_loaded_by_redis():
    with theirs() as source, source.redis() as server, folder() as directory:
        fill_streams(server)
        wanted = stream_replies(server)
        server.save()
        path = shutil.copy(os.path.join(source.dir, "dump.rdb"), directory)
        with ours("--import", path) as daemon:
            daemon.stop()
            done = subprocess.run([EXPORT, os.path.join(daemon.dir, "appendonlydir")],
                                  capture_output=True, preexec_fn=die_with_parent)
        said = done.stderr.decode()
        equal(done.returncode, 0, said)
        assert "pending entries that were deleted: 5 in \"groups\"; left out" in said, said
        with theirs() as other, other.redis() as taker:
            pipe = subprocess.run(["redis-cli", "-s", other.path, "--pipe"], input=done.stdout,
                                  capture_output=True, preexec_fn=die_with_parent)
            assert pipe.returncode == 0 and b"errors: 0," in pipe.stdout, pipe
            found = stream_replies(taker)
            found.pop(b"groups")
            wanted.pop(b"groups")
            same_streams(found, wanted)


main()
