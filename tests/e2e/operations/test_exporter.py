#!/usr/bin/python3 -B
"""Debian's prometheus-redis-exporter reads the daemon as it reads redis-server 7.0.15."""
import os
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, Daemon, beside_redis, equal, main, oracle, own
from exporter import Exporter, samples, scrape, series


@beside_redis
def every_metric_of_redis_is_exported_with_its_labels():
    ours, theirs = series(scrape()), series(scrape(oracle()))
    equal(set(theirs) - set(ours), set(), "missing")
    for name in set(ours) & set(theirs):
        equal(ours[name], theirs[name], f"labels of {name}")


@own
def exported_values_are_those_of_the_server():
    found = {(name, tuple(labels.values())): value for name, labels, value in samples(scrape())}
    for name, labels, value in (
            ("redis_up", (), 1), ("redis_exporter_last_scrape_error", ("",), 0),
            ("redis_db_keys", ("db0",), 7), ("redis_db_keys_expiring", ("db0",), 1),
            ("redis_db_keys", ("db3",), 1), ("redis_key_size", ("db0", "l"), 2),
            ("redis_keys_count", ("db0", "s*"), 2), ("redis_blocked_clients", (), 1),
            ("redis_pubsub_channels", (), 1), ("redis_memory_max_bytes", (), 2 ** 30),
            ("redis_aof_enabled", (), 1), ("redis_aof_last_write_status", (), 1),
            ("redis_rdb_last_bgsave_status", (), 1), ("redis_connected_slaves", (), 0),
            ("redis_keyspace_misses_total", (), 1)):
        equal(found.get((name, labels)), value, f"{name} {labels}")
    assert found["redis_slowlog_length", ()] > 10
    assert found["redis_latency_spike_duration_seconds", ("command",)] >= 0.05
    assert found["redis_commands_total", ("get",)] >= 2
    assert 0 < found["redis_memory_used_dataset_bytes", ()] < found["redis_memory_used_bytes", ()]
    assert found["redis_client_recent_max_input_buffer_bytes", ()] > 0


@own
def a_user_with_the_rights_in_the_readme_suffices():
    with open(os.path.join(ROOT, "tools", "monitor", "README.md"), encoding="utf-8") as file:
        [rules] = re.findall(r"^ACL SETUSER exporter (.*?)^```", file.read(), re.M | re.S)
    with Daemon(tcp=True) as daemon, daemon.raw() as raw:
        equal(raw.call("ACL", "SETUSER", "exporter", *rules.split()), b"+OK\r\n")
        raw.call("SET", "k", "v")
        with Exporter(daemon, "-redis.user", "exporter", "-redis.password", "secret",
                      "-export-client-list", "-set-client-name", "-ping-on-connect") as exporter:
            found = {name: value for name, _, value in samples(exporter.get("/metrics"))}
            equal(exporter.complaints(), [], "the exporter's log")
        equal(found["redis_exporter_last_scrape_error"], 0)
        assert {"redis_slowlog_length", "redis_connected_clients_details",
                "redis_config_maxclients", "redis_db_keys"} <= set(found), found
        assert raw.call("ACL", "LOG") == b"*0\r\n"


main()
