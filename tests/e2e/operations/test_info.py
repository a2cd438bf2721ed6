#!/usr/bin/python3 -B
"""INFO: its sections and fields compared with those of redis-server 7.0.15, and counters that must be equal
after the same calls."""
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, beside_redis, encode, equal, main, oracle, own, plain, read_reply, wait_for
from monitor_fields import ABSENT, DATADOG, EXPORTER, OPENTELEMETRY

# Fields that Redis 7.0 lacks: our own, and those that later versions have and monitoring tools read.
OWN = set("""
    acl_access_denied_tls_cert aof_kept_files aof_kept_size aof_reachable_since clock
    dead_letter_errors expired_log_errors expired_members
    expired_version keys_with_deadlines keyspace_deletion_misses keyspace_eviction_misses
    keyspace_expiration_misses lag_count lag_msec mem_pool_waste next_due_in_msec
    next_due_msec overdue_keys overdue_members paced_msec policies policies_pending
    reclaim_pending replica_copy_cow_size tls_port
    """.split())
LATER = set("""
    acl_access_denied_auth acl_access_denied_channel acl_access_denied_cmd acl_access_denied_key
    allocator_muzzy client_output_buffer_limit_disconnections
    client_query_buffer_limit_disconnections eventloop_cycles eventloop_duration_cmd_sum
    eventloop_duration_max eventloop_duration_sum evicted_scripts expired_subkeys
    instantaneous_eventloop_cycles_per_sec instantaneous_eventloop_duration_usec
    mem_overhead_db_hashtable_rehashing pubsub_clients total_blocking_keys
    total_blocking_keys_on_nokey total_watched_keys used_memory_peak_time watching_clients
    """.split())
# Those of the tools' fields that are no numbers.
TEXTS = set("""
    maxmemory_policy master_replid os redis_build_id redis_mode redis_version role run_id
    """.split())
# INFO shows these to Redis' clients with the same names and meanings.
COUNTED = """
    blocked_clients connected_clients evicted_keys expired_keys keyspace_hits keyspace_misses
    pubsub_channels pubsub_patterns pubsubshard_channels rejected_connections
    total_connections_received total_error_replies tracking_clients tracking_total_items
    tracking_total_keys tracking_total_prefixes
    """.split()


def sections_of(raw, *names):
    """{section: {field: value}}"""
    found, fields = {}, None
    for line in raw.call("INFO", *names).decode().split("\r\n")[1:]:
        if line.startswith("# "):
            fields = found[line[2:]] = {}
        elif ":" in line:
            field, _, value = line.partition(":")
            fields[field] = value
    return found


def fields_of(raw, *names):
    """{field: section}"""
    return {field: section for section, fields in sections_of(raw, *names).items()
            for field in fields if section not in ("Commandstats", "Latencystats", "Errorstats")}


def on_both(*options):
    return Daemon(*options), Daemon(*options, binary=oracle())


@beside_redis
def every_field_of_redis_is_in_its_section():
    here, there = on_both("--appendonly", "yes")
    with here, there, here.raw() as our, there.raw() as their:
        for raw in (our, their):
            raw.call("SET", "k", "v")
        ours, theirs = fields_of(our, "everything"), fields_of(their, "everything")
        equal(set(theirs) - set(ours), set(), "missing here")
        equal(set(ours) - set(theirs), OWN | LATER, "only here")
        for field in set(ours) & set(theirs):
            equal(ours[field], theirs[field], field)


@beside_redis
def values_that_describe_the_build_are_those_of_redis():
    here, there = on_both()
    with here, there, here.raw() as our, there.raw() as their:
        ours, theirs = (sections_of(raw, "server")["Server"] for raw in (our, their))
        for field in ("redis_version", "redis_git_sha1", "redis_git_dirty", "redis_mode", "os", "arch_bits",
                      "monotonic_clock", "multiplexing_api", "atomicvar_api", "process_supervised",
                      "hz", "configured_hz", "io_threads_active"):
            equal(ours[field], theirs[field], field)


@beside_redis
def sections_are_chosen_as_in_redis():
    here, there = on_both()
    with here, there, here.raw() as our, there.raw() as their:
        for raw in (our, their):
            raw.call("SET", "k", "v")
            raw.call("NONE")
        for names in ((), ("default",), ("all",), ("everything",), ("cpu", "CLIENTS"), ("none",),
                      ("commandstats",), ("modules",), ("errorstats", "keyspace"),
                      ("cluster", "all")):
            ours = set(sections_of(our, *names)) - {"Expired", "Expiry", "TLS"}
            equal(ours, set(sections_of(their, *names)), f"INFO {names}")


def work(daemon, admin):
    """Makes connections, hits, misses, errors, subscriptions and tracked keys."""
    with daemon.raw() as passing:
        passing.call("PING")
    assert wait_for(lambda: b"connected_clients:1\r\n" in admin.call("INFO", "clients"))
    raw, waiter, subscriber = daemon.raw(), daemon.raw(), daemon.raw()
    for line in ("HELLO 3", "CLIENT TRACKING ON BCAST PREFIX a: PREFIX b:", "SET a:1 v"):
        subscriber.call(*line.split())
    subscriber.send(encode("SUBSCRIBE", "c1", "c2") + encode("PSUBSCRIBE", "p*") +
                    encode("SSUBSCRIBE", "s1"))
    for line in ("CLIENT TRACKING ON REDIRECT 1", "HELLO 3", "CLIENT TRACKING ON", "SET k v PX 1",
                 "SET l v", "GET l", "GET l", "GET none", "HGET l f", "NONE", "INCR l"):
        raw.call(*line.split())
    waiter.send(encode("BLPOP", "list", "0"))
    return raw, waiter, subscriber


def refused(daemon):
    """Connects once too often."""
    extra = daemon.raw()
    reply = extra.rest()
    extra.close()
    assert reply.startswith(b"-ERR max number of clients reached"), reply


@beside_redis
def counters_are_those_of_redis():
    figures = []
    for daemon in on_both("--maxclients", "4"):
        with daemon:
            with daemon.raw() as admin:
                admin.call("CONFIG", "RESETSTAT")
                clients = work(daemon, admin)
                assert wait_for(lambda: b"expired_keys:1\r\n" in admin.call("INFO", "stats"))
                assert wait_for(lambda: b"blocked_clients:1" in admin.call("INFO", "clients"))
                assert wait_for(lambda: b"pubsubshard_channels:1" in admin.call("INFO", "stats"))
                refused(daemon)
                every = {field: value for fields in sections_of(admin, "everything").values()
                         for field, value in fields.items()}
                figures.append({field: every[field] for field in
                                [*COUNTED, *(field for field in every if field[:2] == "db" or
                                             field.startswith("errorstat_"))]})
                for raw in clients:
                    raw.close()
    for figure in figures:
        figure["db0"] = figure["db0"].split(",avg_ttl")[0]
    equal(figures[0], figures[1])


@own
def every_field_that_monitoring_tools_read_exists():
    with Daemon("--appendonly", "yes") as daemon, daemon.raw() as raw:
        values = {field: value for section, fields in sections_of(raw, "all").items()
                  for field, value in fields.items() if "stats" not in section}
        there = set(fields_of(raw, "all"))
        for tool, fields in (("redis_exporter", EXPORTER), ("redisdb check", DATADOG),
                             ("redis receiver", OPENTELEMETRY)):
            equal(set(fields.split()) - there - set(ABSENT), set(), tool)
            for field in set(fields.split()) & set(values) - TEXTS:
                value = values[field]
                assert re.fullmatch(r"-?[0-9]+(\.[0-9]+)?|ok|err", value), (field, value)
        equal({field for field in there & set(ABSENT) if "acl" not in field}, set(), "absent")


def names_in(pairs):
    """The names of MEMORY STATS; those of a database as db.0/name."""
    for name, value in zip(pairs[::2], pairs[1::2]):
        if isinstance(value, list):
            yield from (f"{name.decode()}/{inner}" for inner in names_in(value))
        else:
            yield name.decode()


@beside_redis
def memory_stats_has_the_names_of_redis():
    here, there = on_both("--appendonly", "yes")
    with here, there, here.raw() as our, there.raw() as their:
        names = []
        for raw in (our, their):
            raw.call("SET", "k", "v", "EX", "100")
            names.append(list(names_in(plain(read_reply(raw.call("MEMORY", "STATS"))[0]))))
        equal(names[0], names[1])


@own
def memory_figures_add_up():
    with Daemon("--appendonly", "yes", "--why-memory", "0") as daemon, daemon.raw() as raw:
        raw.call("SET", "k", "v" * 1_000_000)
        found = {field: int(value) for field, value in sections_of(raw, "memory")["Memory"].items()
                 if value.isdigit()}
        equal(found["used_memory_dataset"], found["used_memory"] - found["used_memory_overhead"])
        assert 1_000_000 <= found["used_memory_dataset"] < 1_200_000, found
        assert found["used_memory_startup"] < found["used_memory_overhead"] < 1_000_000, found
        assert 0 < found["mem_clients_normal"] < 100_000, found
        if "allocator_muzzy" in found and found["allocator_active"] != found["allocator_resident"]:
            assert found["used_memory"] <= found["allocator_allocated"], found
            assert found["allocator_allocated"] <= found["allocator_active"], found
            assert found["allocator_active"] <= found["allocator_resident"], found


@own
def turns_reads_and_writes_are_counted():
    with Daemon() as daemon, daemon.raw() as raw:
        raw.call("CONFIG", "RESETSTAT")
        calls = 20
        for _ in range(calls):
            raw.call("PING")
        stats = sections_of(raw, "stats")["Stats"]
        for field in ("total_reads_processed", "total_writes_processed", "eventloop_cycles"):
            assert calls <= int(stats[field]) < 5 * calls, (field, stats[field])
        spent = int(stats["eventloop_duration_sum"])
        assert 0 < int(stats["eventloop_duration_cmd_sum"]) <= spent < 60_000_000, stats
        assert 0 < int(stats["eventloop_duration_max"]) <= spent, stats


@own
def time_of_a_slow_command_counts_once_as_time_of_turns():
    with Daemon() as daemon, daemon.raw() as raw:
        raw.call("CONFIG", "RESETSTAT")
        raw.send(encode("MULTI") + encode("DEBUG", "SLEEP", "0.05") + encode("EXEC"))
        for _ in range(3):
            raw.reply()
        stats = sections_of(raw, "stats")["Stats"]
        for field in ("eventloop_duration_sum", "eventloop_duration_cmd_sum",
                      "eventloop_duration_max"):
            assert 50_000 <= int(stats[field]), (field, stats[field])
        assert int(stats["eventloop_duration_cmd_sum"]) <= int(stats["eventloop_duration_sum"])


@own
def recent_peaks_are_those_of_buffers():
    with Daemon() as daemon, daemon.raw() as raw:
        raw.call("SET", "k", "v" * 200_000)
        raw.call("GET", "k")
        found = sections_of(raw, "clients")["Clients"]
        for field in ("client_recent_max_input_buffer", "client_recent_max_output_buffer"):
            assert 200_000 <= int(found[field]) < 1_000_000, (field, found[field])


@own
def sessions_that_watch_wait_and_listen_are_counted():
    with Daemon() as daemon, daemon.raw() as raw, daemon.raw() as one, daemon.raw() as other, \
            daemon.raw() as listener:
        one.call("WATCH", "a", "b")
        listener.call("SUBSCRIBE", "c")
        other.send(encode("BLPOP", "x", "y", "100"))
        assert wait_for(lambda: b"blocked_clients:1" in raw.call("INFO", "clients"))
        found = sections_of(raw, "clients")["Clients"]
        equal({field: found[field] for field in
               ("watching_clients", "total_watched_keys", "pubsub_clients", "total_blocking_keys",
                "clients_in_timeout_table")},
              {"watching_clients": "1", "total_watched_keys": "2", "pubsub_clients": "1",
               "total_blocking_keys": "2", "clients_in_timeout_table": "1"})
        one.call("UNWATCH")
        raw.call("RPUSH", "y", "v")
        raw.call("CLIENT", "KILL", "TYPE", "pubsub")
        assert wait_for(lambda: b"pubsub_clients:0\r\nwatching_clients:0\r\n"
                        b"clients_in_timeout_table:0\r\ntotal_watched_keys:0\r\n"
                        b"total_blocking_keys:0\r\n" in raw.call("INFO", "clients"))


@own
def freed_values_are_counted_when_they_are_freed_in_slices():
    with Daemon() as daemon, daemon.raw() as raw:
        for key in ("small", "large"):
            raw.call("RPUSH", key, *range(10_000 if key == "large" else 10))
        raw.call("DEL", "small", "large")
        assert wait_for(lambda: b"lazyfree_pending_objects:0\r\nlazyfreed_objects:1\r\n"
                        in raw.call("INFO", "memory"))
        for key in range(50):
            raw.call("SET", key, "v")
        raw.call("FLUSHALL")
        assert wait_for(lambda: b"lazyfree_pending_objects:0\r\nlazyfreed_objects:51\r\n"
                        in raw.call("INFO", "memory"))


@own
def time_over_maxmemory_ends_when_memory_is_free():
    with Daemon("--maxmemory-policy", "noeviction", "--why-memory", "0") as daemon, daemon.raw() as raw:
        raw.call("SET", "k", "v" * 1_000_000)
        raw.call("CONFIG", "SET", "maxmemory", "700kb")
        assert raw.call("SET", "x", "y").startswith(b"-OOM")
        assert wait_for(lambda: int(stat_of(raw, "current_eviction_exceeded_time")) > 0)
        raw.call("DEL", "k")
        assert wait_for(lambda: stat_of(raw, "current_eviction_exceeded_time") == "0")
        assert int(stat_of(raw, "total_eviction_exceeded_time")) > 0


def stat_of(raw, field):
    return sections_of(raw, "stats")["Stats"][field]


@own
def snapshots_and_rewrites_are_counted():
    with Daemon("--appendonly", "yes") as daemon, daemon.raw() as raw:
        for key in range(100):
            raw.call("SET", key, "v")
        raw.call("SAVE")
        raw.call("BGSAVE")
        assert wait_for(lambda: b"rdb_bgsave_in_progress:0\r\n" in raw.call("INFO", "persistence"))
        raw.call("BGREWRITEAOF")
        assert wait_for(lambda: b"aof_rewrite_in_progress:0\r\n" in raw.call("INFO", "persistence")
                        and b"aof_last_rewrite_time_sec:0\r\n" in raw.call("INFO", "persistence"))
        found = sections_of(raw, "persistence")["Persistence"]
        equal([found[field] for field in ("rdb_saves", "aof_rewrites", "current_save_keys_total",
                                          "aof_rewrites_consecutive_failures")],
              ["2", "1", "0", "0"])
        assert int(found["rdb_last_cow_size"]) > 0 < int(found["aof_last_cow_size"]), found


@own
def fields_of_its_own_follow_the_data():
    with Daemon() as daemon, daemon.raw() as raw:
        now = daemon.hold()
        raw.call("SET", "k", "v", "PX", 1000)
        raw.call("SADDEX", "set", "PX", 500, "MEMBERS", 2, "a", "b")
        raw.call("POLICY", "SET", "p:*", "TTL", "5s")
        found = sections_of(raw)
        equal(found["Server"]["clock"], "held")
        equal(found["Expired"], {"next_due_msec": str(now + 501),
                                 "reclaim_pending": "0",
           "replica_copy_cow_size": "0"})
        expiry = found["Expiry"]
        equal((expiry["keys_with_deadlines"], expiry["next_due_in_msec"]), ("2", "501"))
        equal(expiry["policies"], "1")
        assert wait_for(lambda: sections_of(raw)["Expiry"]["policies_pending"] == "0")
        daemon.step(501)
        assert wait_for(lambda: sections_of(raw)["Expiry"]["expired_members"] == "2")
        equal(sections_of(raw, "stats")["Stats"]["expired_subkeys"], "2")
        daemon.clock("REAL")
        equal(sections_of(raw)["Server"]["clock"], "real")


main()
