#!/usr/bin/python3 -B
"""What operators and tools see of replication: INFO, CLIENT LIST and KILL, MEMORY STATS, the metrics
port; the fields are those of a redis-server pair."""
import re
import sys
import urllib.request

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import REPLY_SECONDS, Daemon, Raw, beside_redis, equal, free_port, main, oracle, own, wait_for
from peers import FakeMaster

FAST = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")


class Redis(Daemon):
    def __init__(self, *options):
        super().__init__(*options, binary=oracle(), tcp=True)


def replica_of(kind, master, *options):
    return kind(*FAST, "--replicaof", f"127.0.0.1 {master.port}", *options)


def tcp_daemon(*options):
    return Daemon(*options, tcp=True)


def info(server, section="replication"):
    return server.redis().info(section)


def is_online(master, replica):
    return info(replica).get("master_link_status") == "up" and \
        info(master).get("slave0", {}).get("state") == "online"


def fields(server, *sections):
    """The names, in order, with the words of slave0."""
    with Raw(server.path) as raw:
        lines = raw.call("INFO", *sections).decode().split("\r\n")
    names = [line.split(":")[0] for line in lines[1:] if ":" in line]
    return names + [re.sub(r"=[^,]*", "", line) for line in lines if line.startswith("slave0:")]


def both_roles(make):
    """The fields of a master, of its replica, and of a replica whose master is gone."""
    kind = Redis if make is Redis else tcp_daemon
    with kind(*FAST, "--min-replicas-to-write", "1") as master:
        with replica_of(kind, master) as replica:
            assert wait_for(lambda: is_online(master, replica))
            found = [fields(master, "replication"), fields(replica, "replication")]
            replica.redis().execute_command("REPLICAOF", "127.0.0.1", free_port())
            assert wait_for(lambda: info(replica)["master_link_status"] == "down")
            return [*found, fields(replica, "replication")]


@beside_redis
def info_has_the_fields_of_redis_in_both_roles():
    equal(both_roles(tcp_daemon), both_roles(Redis))


def down_seconds(replica):
    """Seconds without a link, -1 if it was never up, or None while it is up."""
    return info(replica).get("master_link_down_since_seconds")


def down_seconds_around_failed_attempts(make):
    """`make` counts in real time, so this takes the three seconds that it waits for."""
    found = []
    with FakeMaster() as refusing, make(*FAST, "--replicaof", f"127.0.0.1 {refusing.port}") as replica:
        for _ in range(2):  # the second attempt shows that the first one has failed
            refusing.accept()
        found.append(down_seconds(replica))
        with make(*FAST) as master:
            replica.redis().execute_command("REPLICAOF", "127.0.0.1", master.port)
            assert wait_for(lambda: is_online(master, replica))
            found.append(down_seconds(replica))
        assert wait_for(lambda: (down_seconds(replica) or 0) >= 3), info(replica)
        replica.redis().execute_command("REPLICAOF", "127.0.0.1", refusing.port)
        for _ in range(2):
            refusing.accept()
        found.append(down_seconds(replica) >= 3)
        replica.redis().execute_command("REPLICAOF", "NO", "ONE")
        replica.redis().execute_command("REPLICAOF", "127.0.0.1", refusing.port)
        for _ in range(2):
            refusing.accept()
        found.append(down_seconds(replica))
    return found


@beside_redis
def failed_attempts_do_not_restart_the_seconds_without_a_link():
    found = down_seconds_around_failed_attempts(tcp_daemon)
    equal(found, down_seconds_around_failed_attempts(Redis))
    equal(found, [-1, None, True, -1])


@own
def the_log_prints_1_key_and_not_1_keys():
    with tcp_daemon(*FAST, "--appendonly", "yes") as master:
        equal(master.redis().set("key", "value"), True)
        equal(master.redis().save(), True)
        with replica_of(tcp_daemon, master, "--appendonly", "yes") as replica:
            assert wait_for(lambda: "Journal rewritten: 1 key," in replica.log()), replica.log()
            said = master.log() + replica.log()
    assert "Snapshot written: 1 key, " in said and "Full copy from the master loaded: 1 key, " in said, said
    equal(re.findall(r"\b1 (?:keys|clients|commands)\b", said), [])


@own
def counters_and_memory_follow_the_stream():
    with tcp_daemon(*FAST) as master, replica_of(tcp_daemon, master) as replica:
        assert wait_for(lambda: is_online(master, replica))
        master.redis().set("k", "v" * 1000)
        equal(master.redis().execute_command("WAIT", 1, 0), 1)
        stats = info(master, "stats")
        equal((stats["sync_full"], stats["sync_partial_ok"], stats["sync_partial_err"]), (1, 0, 0))
        equal(stats["total_forks"], 1)
        assert stats["latest_fork_usec"] > 0, stats
        assert stats["total_net_repl_output_bytes"] > 1000, stats
        assert stats["total_net_output_bytes"] > stats["total_net_repl_output_bytes"], stats
        assert info(replica, "stats")["total_net_repl_input_bytes"] > 1000
        equal(info(master, "clients")["connected_clients"], 1)
        memory = info(master, "memory")
        assert memory["mem_replication_backlog"] > 1000 and memory["mem_clients_slaves"] > 0, memory
        stats = master.redis().memory_stats()
        equal(stats["replication.backlog"], memory["mem_replication_backlog"])
        equal(stats["clients.slaves"], memory["mem_clients_slaves"])
        shown = info(master)
        equal(shown["master_repl_offset"], shown["repl_backlog_histlen"])
        equal(info(replica)["master_replid"], shown["master_replid"])


def lines_of(server, kind):
    return server.redis().client_list(_type=kind)


@own
def client_list_shows_and_kills_both_ends_of_the_link():
    with tcp_daemon(*FAST) as master, replica_of(tcp_daemon, master) as replica:
        assert wait_for(lambda: is_online(master, replica))
        (end,) = lines_of(master, "replica")
        equal(end["flags"], "S")
        (link,) = lines_of(replica, "master")
        equal((link["flags"], link["addr"]), ("M", f"127.0.0.1:{master.port}"))
        equal(link["laddr"], end["addr"])
        equal([one["flags"] for one in lines_of(master, "normal")], ["U"])
        equal(master.redis().execute_command("CLIENT", "KILL", "TYPE", "normal"), 0)
        for server, kind in ((master, "replica"), (replica, "master")):
            equal(server.redis().execute_command("CLIENT", "KILL", "TYPE", kind), 1)
            assert wait_for(lambda: info(master, "stats")["sync_partial_ok"] > 0)
            assert wait_for(lambda: is_online(master, replica))
            master.redis().config_resetstat()


def metrics(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=REPLY_SECONDS) as page:
        lines = page.read().decode().splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
            for line in lines if not line.startswith("#")}


@own
def the_metrics_port_shows_both_ends():
    ports = [free_port(), free_port()]
    with tcp_daemon(*FAST, "--metrics-port", str(ports[0])) as master, \
            replica_of(tcp_daemon, master, "--metrics-port", str(ports[1])) as replica:
        assert wait_for(lambda: is_online(master, replica))
        equal(master.redis().execute_command("WAIT", 1, 0), 1)
        ours = metrics(ports[0])
        equal([ours["expired_" + name] for name in
               ("replica", "connected_replicas", "replica_syncs_full_total", "master_link_up")],
              [0, 1, 1, 0])
        equal(ours["expired_forks_total"], 1)
        assert ours["expired_last_fork_seconds"] > 0, ours
        equal(metrics(ports[1])["expired_replica"], 1)
        equal(metrics(ports[1])["expired_master_link_up"], 1)
        assert ours["expired_replication_sent_bytes_total"] > 0
        assert ours["expired_replica_lag_bytes"] <= ours["expired_replication_offset_bytes"], ours



@own
def replica_keeps_the_pushes_of_a_dehydrator_that_became_empty():
    with tcp_daemon(*FAST) as master, replica_of(tcp_daemon, master) as replica:
        assert wait_for(lambda: is_online(master, replica))
        client, other = master.redis(), replica.redis()
        for _ in range(3):
            client.execute_command("REDE.PUSH", "d", 0, "payload", "id")
            client.execute_command("REDE.POLL", "d")
        equal(client.wait(1, 0), 1)
        found = other.execute_command("REDE.INFO", "d")
        counts = dict(zip(found[::2], found[1::2]))
        equal((other.exists("d"), counts[b"length"], counts[b"pushed"], counts[b"delivered"]), (0, 0, 3, 0))


if __name__ == "__main__":
    main()
