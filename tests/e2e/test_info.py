#!/usr/bin/python3 -B
"""INFO: its sections and fields beside those of redis-server 7.0.15, and counters that must be equal
after the same calls."""
from daemon import Daemon, beside_redis, encode, equal, main, oracle, own, wait_for

# Fields of Redis that do not exist here: of scripts, modules, replicas, I/O threads and buffers.
MISSING = set("""
    allocator_active allocator_allocated allocator_frag_bytes allocator_frag_ratio
    allocator_resident allocator_rss_bytes allocator_rss_ratio aof_rewrites
    aof_rewrites_consecutive_failures atomicvar_api client_recent_max_input_buffer
    client_recent_max_output_buffer clients_in_timeout_table current_active_defrag_time
    current_eviction_exceeded_time dump_payload_sanitizations
    executable expire_cycle_cpu_milliseconds instantaneous_input_repl_kbps
    instantaneous_output_repl_kbps io_threaded_reads_processed io_threaded_writes_processed
    io_threads_active lazyfreed_objects lru_clock master_replid master_replid2 mem_aof_buffer
    mem_clients_normal mem_clients_slaves mem_cluster_links mem_replication_backlog
    mem_total_replication_buffers module_fork_in_progress module_fork_last_cow_size monotonic_clock
    process_supervised rdb_last_load_keys_expired rdb_saves redis_build_id redis_git_dirty
    redis_git_sha1 reply_buffer_expands reply_buffer_shrinks rss_overhead_bytes rss_overhead_ratio
    total_active_defrag_time total_eviction_exceeded_time total_net_repl_input_bytes
    total_net_repl_output_bytes total_reads_processed total_writes_processed
    unexpected_error_replies used_cpu_sys_main_thread used_cpu_user_main_thread used_memory_dataset
    used_memory_dataset_perc used_memory_overhead used_memory_startup
""".split())
OWN = set("""
    acl_access_denied_auth acl_access_denied_channel acl_access_denied_cmd acl_access_denied_key
    acl_access_denied_tls_cert client_output_buffer_limit_disconnections
    client_query_buffer_limit_disconnections clock
    expired_members expired_subkeys expired_version keys_with_deadlines lag_count lag_msec
    mem_pool_waste next_due_in_msec next_due_msec overdue_keys overdue_members policies
    policies_pending reclaim_pending tls_port
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
def every_field_of_redis_is_in_its_section_unless_listed():
    here, there = on_both("--appendonly", "yes")
    with here, there, here.raw() as our, there.raw() as their:
        for raw in (our, their):
            raw.call("SET", "k", "v")
        ours, theirs = fields_of(our, "everything"), fields_of(their, "everything")
        equal(set(theirs) - set(ours), MISSING, "missing here")
        equal(set(ours) - set(theirs), OWN, "only here")
        for field in set(ours) & set(theirs):
            equal(ours[field], theirs[field], field)


@beside_redis
def sections_are_chosen_as_in_redis():
    here, there = on_both()
    with here, there, here.raw() as our, there.raw() as their:
        for raw in (our, their):
            raw.call("SET", "k", "v")
            raw.call("NONE")
        for names in ((), ("default",), ("all",), ("everything",), ("cpu", "CLIENTS"), ("none",),
                      ("commandstats",), ("errorstats", "keyspace"), ("cluster", "all")):
            ours = set(sections_of(our, *names)) - {"Expired", "Expiry", "TLS"}
            equal(ours, set(sections_of(their, *names)) - {"Modules"}, f"INFO {names}")


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
def fields_of_its_own_follow_the_data():
    with Daemon() as daemon, daemon.raw() as raw:
        now = daemon.hold()
        raw.call("SET", "k", "v", "PX", 1000)
        raw.call("SADDEX", "set", "PX", 500, "MEMBERS", 2, "a", "b")
        raw.call("POLICY", "SET", "p:*", "TTL", "5s")
        found = sections_of(raw)
        equal(found["Expired"], {"clock": "held", "next_due_msec": str(now + 501),
                                 "reclaim_pending": "0"})
        expiry = found["Expiry"]
        equal((expiry["keys_with_deadlines"], expiry["next_due_in_msec"]), ("2", "501"))
        equal(expiry["policies"], "1")
        assert wait_for(lambda: sections_of(raw)["Expiry"]["policies_pending"] == "0")
        daemon.step(501)
        assert wait_for(lambda: sections_of(raw)["Expiry"]["expired_members"] == "2")
        equal(sections_of(raw, "stats")["Stats"]["expired_subkeys"], "2")
        daemon.clock("REAL")
        equal(sections_of(raw)["Expired"]["clock"], "real")


main()
