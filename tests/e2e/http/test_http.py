#!/usr/bin/python3 -B
"""The metrics port: the text for Prometheus, and its figures compared with those of INFO, EXPIRY and REDE."""
import json
import re
import shutil
import subprocess
import sys
import urllib.parse

sys.path.insert(1, sys.path[0] + "/../../lib")
import prometheus
from daemon import REPLY_SECONDS, Daemon, Skipped, equal, free_port, main, own, plain, read_reply, wait_for
from http_port import Port, rows_of_page
from prometheus import value_of, values_by

# Metrics with one sample, and the field of INFO that has the same value.
SAME = {
    "expired_clients": "connected_clients", "expired_clients_limit": "maxclients",
    "expired_clients_blocked": "blocked_clients", "expired_clients_tracking": "tracking_clients",
    "expired_tracking_keys": "tracking_total_keys", "expired_loading": "loading",
    "expired_memory_limit_bytes": "maxmemory",
    "expired_connections_total": "total_connections_received",
    "expired_connections_rejected_total": "rejected_connections",
    "expired_keyspace_hits_total": "keyspace_hits", "expired_keyspace_misses_total": "keyspace_misses",
    "expired_keys_expired_total": "expired_keys", "expired_members_expired_total": "expired_members",
    "expired_keys_evicted_total": "evicted_keys", "expired_error_replies_total": "total_error_replies",
    "expired_keys_with_deadline": "keys_with_deadlines", "expired_keys_overdue": "overdue_keys",
    "expired_members_overdue": "overdue_members", "expired_policies": "policies",
    "expired_policies_pending": "policies_pending", "expired_journal_enabled": "aof_enabled",
    "expired_journal_size_bytes": "aof_current_size",
    "expired_journal_base_size_bytes": "aof_base_size",
    "expired_journal_buffer_bytes": "aof_buffer_length",
    "expired_journal_kept_files": "aof_kept_files",
    "expired_journal_kept_size_bytes": "aof_kept_size",
    "expired_journal_rewriting": "aof_rewrite_in_progress",
    "expired_journal_syncs_delayed_total": "aof_delayed_fsync",
    "expired_snapshot_saving": "rdb_bgsave_in_progress",
    "expired_snapshot_last_timestamp_seconds": "rdb_last_save_time",
    "expired_snapshot_unsaved_changes": "rdb_changes_since_last_save",
    "expired_forks_total": "total_forks", "expired_scripts": "number_of_cached_scripts",
    "expired_functions": "number_of_functions", "expired_function_libraries": "number_of_libraries",
    "expired_pubsub_channels": "pubsub_channels", "expired_pubsub_patterns": "pubsub_patterns",
}


def some_of_everything(client):
    """Calls that leave no figure at 0 that they can change."""
    client.mset({f"k{i}": "v" for i in range(20)})
    client.set("soon", "v", px=90_000)
    client.execute_command("SADDEX", "set", 500, "a", "b")
    client.execute_command("POLICY", "SET", "rule*", "TTL", "1000")
    client.get("k1")
    client.get("nothing")
    client.eval("return 1", 0)
    client.function_load("#!lua name=lib\nredis.register_function('f', function() return 1 end)")
    for words in (("NOSUCH",), ("LPUSH", "k1", "x"), ("GET",)):
        try:
            client.execute_command(*words)
        except Exception:  # pylint: disable=broad-except
            pass


@own
def port_is_off_by_default():
    with Daemon() as daemon, daemon.raw() as raw:
        assert "HTTP" not in daemon.log(), daemon.log()
        equal(raw.call("CONFIG", "GET", "metrics-port"), b"*2\r\n$12\r\nmetrics-port\r\n$1\r\n0\r\n")


@own
def text_is_strict_and_named_by_the_conventions():
    with Port("--appendonly", "yes") as daemon:
        some_of_everything(daemon.redis())
        reply = daemon.ask("/metrics")
        equal(reply.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
        families = prometheus.parse(reply.text())
        prometheus.check(families)
        assert all(family.samples for family in families.values()
                   if not family.name.startswith("expired_dehydrator_")), "an empty family"


@own
def promtool_has_no_complaint():
    promtool = shutil.which("promtool")
    if promtool is None:
        raise Skipped("promtool is missing")
    with Port() as daemon:
        some_of_everything(daemon.redis())
        done = subprocess.run([promtool, "check", "metrics"], input=daemon.ask("/metrics").body,
                              capture_output=True, check=False)
        equal((done.returncode, done.stdout + done.stderr), (0, b""))


@own
def state_shows_whether_data_is_kept_on_disk():
    with Port("--appendonly", "no", "--save", "") as daemon, daemon.raw() as raw:
        def keeps():
            return json.loads(daemon.ask("/state.json").body)["journal"]["keeps"]
        equal(keeps(), False)
        for option, value in (("save", "900 1"), ("save", ""), ("appendonly", "yes"), ("appendonly", "no")):
            equal(raw.call("CONFIG", "SET", option, value), b"+OK\r\n")
            assert wait_for(lambda kept=value not in ("", "no"): keeps() == kept), (option, value)


@own
def figures_equal_those_of_info():
    with Port("--appendonly", "yes") as daemon:
        client = daemon.redis()
        some_of_everything(client)
        subscriber = client.pubsub()
        subscriber.subscribe("channel")
        subscriber.psubscribe("pattern*")
        subscriber.get_message(timeout=REPLY_SECONDS)

        def differing():
            info, families = client.info("everything"), daemon.metrics()
            return {name: (value_of(families, name), info[field]) for name, field in SAME.items()
                    if value_of(families, name) != info[field]}
        assert wait_for(lambda: not differing()), differing()  # the journal's are those of a second
        assert daemon.value("expired_policies") == 1 and daemon.value("expired_functions") == 1


@own
def calls_and_errors_equal_those_of_info():
    with Port() as daemon:
        client = daemon.redis()
        some_of_everything(client)
        families = daemon.metrics()
        info = client.info("commandstats")
        for command, calls in values_by(families, "expired_command_calls_total", "command").items():
            if command == "info":
                continue
            fields = info["cmdstat_" + command]
            equal(calls, fields["calls"], command)
            for name, field in (("failures", "failed_calls"), ("rejections", "rejected_calls")):
                equal(value_of(families, f"expired_command_{name}_total", command=command),
                      fields[field], command)
        errors = client.info("errorstats")
        equal(values_by(families, "expired_errors_total", "code"),
              {field[len("errorstat_"):]: float(value.removeprefix("count="))
               for field, value in errors.items()})


@own
def durations_equal_the_histograms_of_latency():
    with Port() as daemon, daemon.raw() as raw:
        for i in range(500):
            raw.call("SADD", "s", *range(i + 1))
        families = daemon.metrics()
        name = "expired_command_duration_seconds"
        equal(value_of(families, name + "_count", command="sadd"), 500)
        counts = daemon.redis().execute_command("LATENCY", "HISTOGRAM", "sadd")
        while isinstance(counts, list):  # [name, [..., "histogram_usec", [...]]]
            counts = counts[-1] if not isinstance(counts[0], int) else dict(zip(counts[::2], counts[1::2]))
        for usec, count in counts.items():
            bound = f"{(usec + 1) / 1e6:.6f}"
            if ("le", bound) in {pair for _, labels in families[name].samples for pair in labels}:
                equal(value_of(families, name + "_bucket", command="sadd", le=bound), count, bound)
        total = daemon.redis().info("commandstats")["cmdstat_sadd"]["usec"]
        assert abs(value_of(families, name + "_sum", command="sadd") - total / 1e6) < 1e-9


@own
def lag_is_a_histogram_of_what_expiry_reports():
    with Port() as daemon, daemon.raw() as raw:
        daemon.hold()
        for i in range(40):
            raw.call("SET", f"k{i}", "v", "PX", 1000 + i)
        daemon.step(1020)
        assert wait_for(lambda: daemon.redis().info("expiry")["lag_count"] == 20)
        families = daemon.metrics()
        name = "expired_expiry_lag_seconds"
        # The deadlines were 1000 to 1019 ms after the clock was held: they are 1 to 20 ms late.
        equal([value_of(families, name + "_bucket", le=bound)
               for bound in ("0.001", "0.002", "0.004", "0.008", "0.016", "0.032", "+Inf")],
              [1, 2, 4, 8, 16, 20, 20])
        equal(value_of(families, name + "_sum"), sum(range(1, 21)) / 1000)


# ---- the forecast and dehydrators ----

def forecast(client, families, db):
    """(EXPIRY FORECAST, the same from the metrics), each {span: (keys, members, elements)}"""
    wanted = {span.decode(): tuple(counts) for span, *counts in client.execute_command("EXPIRY", "FORECAST")}
    found = {span: tuple(families[f"expired_forecast_{what}"].samples.get(
        (f"expired_forecast_{what}", frozenset({("db", db), ("within", span)})))
        for what in ("keys", "members", "elements")) for span in wanted}
    return wanted, found


@own
def forecast_equals_that_of_expiry():
    with Port() as daemon:
        daemon.hold()
        client, other = daemon.redis(), daemon.redis(db=3)
        for i, msec in enumerate((500, 1000, 1001, 9000, 59_000, 61_000, 3_000_000, 80_000_000, 10**10)):
            client.set(f"k{i}", "v", px=msec)
            client.execute_command("SADDEX", "set", msec // 1000 + 1, f"m{i}")
            client.execute_command("REDE.PUSH", "queue", msec, "payload", f"id{i}")
        client.execute_command("REDE.PUSH", "queue", 0, "payload", "due")
        client.set("never", "v")
        other.set("k", "v", px=700)

        def equals():
            families = daemon.metrics()
            return all(one == two for one, two in (forecast(client, families, "0"),
                                                   forecast(other, families, "3")))
        # A count is kept for a second.
        assert wait_for(equals), forecast(client, daemon.metrics(), "0")
        equal(values_by(daemon.metrics(), "expired_keys", "db"), {"0": 12.0, "3": 1.0})
        equal(sum(daemon.metrics()["expired_forecast_elements"].samples.values()), 9)
        daemon.step(600)
        assert wait_for(equals), forecast(client, daemon.metrics(), "0")


@own
def forecast_of_many_keys_is_counted_in_slices():
    with Port() as daemon:
        client = daemon.redis()
        client.execute_command("DEBUG", "CLOCK", "HOLD", 1_900_000_000_000)
        client.eval("for i = 1, 100000 do redis.call('SET', 'k' .. i, 'v', 'PX', 5000 + i) end", 0)

        def counted():
            families = daemon.metrics()
            if "expired_forecast_age_seconds" not in families or not families["expired_keys"].samples:
                return False
            wanted, found = forecast(client, families, "0")
            return wanted == found
        assert wait_for(counted), forecast(client, daemon.metrics(), "0")


@own
def dehydrators_equal_what_rede_reports():
    with Port("--metrics-dehydrators", "q:*") as daemon:
        daemon.hold()
        client = daemon.redis()
        for name in ("q:one", "q:two\\\"\n é", "other"):
            for i in range(9):
                client.execute_command("REDE.PUSH", name, 0 if i < 6 else 1000, "payload", f"id{i}")
        for lease in (100, 100, 5000):
            client.execute_command("REDE.CLAIM", "q:one", lease, "COUNT", 4)
            daemon.step(200)

        def found():
            families = daemon.metrics()
            return {name: values_by(families, f"expired_dehydrator_{name}elements", "key")
                    for name in ("", "due_", "claimed_", "redelivered_")}
        assert wait_for(lambda: len(found()[""]) == 2), found()
        for key in ("q:one", "q:two\\\"\n é"):
            fields = client.execute_command("REDE.INFO", key)
            info = dict(zip(fields[::2], fields[1::2]))
            equal([found()[name][key] for name in ("", "due_", "claimed_", "redelivered_")],
                  [info[field] for field in (b"length", b"due", b"claimed", b"redelivered")], key)
        assert found()["redelivered_"]["q:one"] > 0 and found()["claimed_"]["q:one"] > 0
        client.delete("q:one")
        equal(list(found()[""]), ["q:two\\\"\n é"], "those that exist")


@own
def counts_of_a_dehydrator_continue_while_it_is_empty():
    with Port() as daemon:
        daemon.hold()
        client = daemon.redis()

        def figures(*names):
            families = daemon.metrics()
            return [value_of(families, f"expired_dehydrator_{name}", db="0", key="q") for name in names]
        client.execute_command("REDE.MPUSH", "q", 0, "payload", "a", 0, "payload", "b")
        daemon.step(1500)
        assert wait_for(lambda: daemon.metrics()["expired_dehydrator_elements"].samples)
        equal(figures("elements", "oldest_due_seconds", "pushed_total"), [2, 1.5, 2])
        equal(len(daemon.metrics()["expired_dehydrator_lateness_seconds"].samples), 0)
        client.execute_command("REDE.CLAIM", "q", 10, "COUNT", 1)
        client.execute_command("REDE.XACK", "q", "a")
        daemon.step(1500)
        client.execute_command("REDE.CLAIM", "q", 10, "COUNT", 1)
        client.execute_command("REDE.XACK", "q", "b")
        equal(client.exists("q"), 0)
        wanted = [0, 0, 2, 2, 2, 2]
        names = ("elements", "oldest_due_seconds", "pushed_total", "delivered_total", "acked_total",
                 "lateness_seconds_count")
        equal(figures(*names), wanted)
        families = daemon.metrics()
        equal([value_of(families, "expired_dehydrator_lateness_seconds_bucket", db="0", key="q", le=bound)
               for bound in ("1.024", "4.096", "+Inf")], [0, 2, 2])
        began = daemon.value("expired_forecast_age_seconds")
        daemon.step(10000)
        assert wait_for(lambda: daemon.value("expired_forecast_age_seconds") <= began), "another count"
        equal(figures(*names), wanted)
        equal([(one["key"], one["pushed"], one["acked"])
               for one in json.loads(daemon.ask("/state.json").body)["dehydrators"]], [("q", 2, 2)])


@own
def dehydrators_are_limited_by_number_and_name():
    with Port("--metrics-dehydrators-max", "3") as daemon:
        client = daemon.redis()
        for name in ("e", "d", "c", "b", "a", b"\xff", "a" * 500):
            client.execute_command("REDE.PUSH", name, 0, "payload", "id")
        assert wait_for(lambda: daemon.value("expired_dehydrators_omitted") == 4)
        equal(list(values_by(daemon.metrics(), "expired_dehydrator_elements", "key")), ["a", "b", "c"])
        client.config_set("metrics-dehydrators", "[de]")
        assert wait_for(lambda: daemon.value("expired_dehydrators_omitted") == 0)
        equal(list(values_by(daemon.metrics(), "expired_dehydrator_elements", "key")), ["d", "e"])


@own
def the_ten_that_wait_longest_are_reported_of_any_number():
    with Port("--metrics-dehydrators-max", "3") as daemon:
        client = daemon.redis()
        daemon.hold()
        for number in range(30):
            client.execute_command("REDE.PUSH", f"q:{29 - number:02}", 0, "payload", "id")
            daemon.step(1000)
        client.execute_command("REDE.PUSH", "q:30", 10**6, "payload", "id")

        def longest():
            return values_by(daemon.metrics(), "expired_dehydrator_longest_wait_seconds", "key")
        assert wait_for(lambda: len(longest()) == 10)
        equal(longest(), {f"q:{29 - number:02}": 30 - number for number in range(10)})
        page = json.loads(daemon.ask("/state.json").body)
        equal([one["key"] for one in page["dehydrators"]][:10], [f"q:{29 - number:02}" for number in range(10)])
        equal(page["dehydratorCount"], 31)
        client.execute_command("REDE.CLAIM", "q:29", 10**6)
        equal(list(longest()), [f"q:{29 - number:02}" for number in range(1, 10)])


# ---- times at which little can be shown ----

@own
def port_answers_while_a_script_runs_long():
    with Port("--busy-reply-threshold", "50") as daemon, daemon.raw() as raw, daemon.raw() as other:
        raw.call("SET", "k", "v")
        daemon.metrics()
        raw.send(b"EVAL 'while true do end' 0\r\n")
        assert wait_for(lambda: daemon.value("expired_busy") == 1)
        equal(daemon.value("expired_keys", db="0"), 1)
        equal(other.call("SCRIPT", "KILL"), b"+OK\r\n")
        assert b"killed" in raw.reply()
        equal(daemon.value("expired_busy"), 0)


@own
def bad_addresses_end_the_start_with_the_reason():
    with Port() as daemon:
        for options, reason in (
                (("--metrics-port", str(daemon.http[1])), "Address already in use"),
                (("--metrics-port", str(free_port()), "--metrics-bind", "192.0.2.1"),
                 "Cannot assign requested address"),
                (("--metrics-port", str(free_port()), "--metrics-bind", ""), "no address to listen on"),
                (("--metrics-port", str(free_port()), "--metrics-bind", "-192.0.2.1"),
                 "Cannot assign requested address")):
            refused = Daemon(*options)
            try:
                refused.open()
                raise AssertionError(f"{options}: it started")
            except AssertionError as error:
                assert "metrics-" in str(error) and reason in str(error), f"{options}: {error}"
            finally:
                refused.clean()


@own
def page_lists_every_metric_and_no_other():
    with Port("--appendonly", "yes") as daemon:
        some_of_everything(daemon.redis())
        families = daemon.metrics()
        rows = rows_of_page()
        found = {name: (kind, help_text) for name, kind, _, _, help_text in rows}
        equal(len(found), len(rows), "a metric twice")
        equal(found, {family.name: (family.type, family.help) for family in families.values()})
        for name, _, _, labels, _ in rows:
            shown = {label for _, pairs in families[name].samples for label, _ in pairs} - {"le"}
            if shown:
                equal(shown, set(re.findall(r"`(\w+)`", labels)), name)


# ---- why is this key gone? ----

def why(port, query):
    reply = port.ask("/why.json" + query)
    equal((reply.status, reply.headers["content-type"]), (200, "application/json"), query)
    return json.loads(reply.body)


@own
def the_answer_is_that_of_expiry_why():
    with Port() as daemon, daemon.redis(db=3, client_name="shop") as client, daemon.raw() as third:
        daemon.hold()
        third.call("HELLO", 3)
        third.call("SELECT", 3)
        client.execute_command("POLICY", "SET", "s:*", "MAXTTL", "2m")
        client.set("a b&c=%+\u00e9", "v", px=100)
        client.set("s:1", "v", ex=600)
        client.execute_command("HSETEX", "hash", "EX", 600, "FIELDS", 1, "field", "v")
        client.execute_command("REDE.PUSH", "jobs", 600, "payload", "id")
        client.set("moved", "v", ex=600)
        client.move("moved", 5)
        client.rename("s:1", "s:2")
        daemon.step(200)
        client.flushdb()
        client.set("live", "v", ex=60)
        for key, member in (("a b&c=%+\u00e9", None), ("s:1", None), ("s:2", None), ("hash", "field"), ("jobs", "id"),
                            ("moved", None), ("live", None), ("never", None), ("", None), ("hash", "")):
            words = [] if member is None else ["MEMBER", member]
            query = {"key": key, "db": "3"} | ({} if member is None else {"member": member})
            equal(why(daemon, "?" + urllib.parse.urlencode(query)),
                  plain(read_reply(third.call("EXPIRY", "WHY", key, *words))[0], "utf-8"), f"{key} {member}")
        equal(why(daemon, "?key=live")["state"], "missing")
        equal(why(daemon, "?key=moved&db=5")["state"], "live")


@own
def names_of_any_bytes_can_be_asked_for():
    with Port() as daemon, daemon.redis() as client:
        name = bytes(range(256))
        client.set(name, "v", ex=60)
        equal(why(daemon, "?key=" + urllib.parse.quote(name))["state"], "live")
        equal(why(daemon, "?key=" + "%61" * 2000)["state"], "missing")


@own
def question_removes_no_overdue_key():
    with Port() as daemon, daemon.redis() as client:
        daemon.hold()
        client.set("k", "v", px=100)
        client.execute_command("HSETEX", "h", "PX", 100, "FIELDS", 1, "f", "v")
        client.hset("h", "g", "v")
        client.execute_command("CLIENT", "PAUSE", 100_000, "WRITE")
        daemon.step(200)
        equal(why(daemon, "?key=k")["state"], "overdue")
        equal(why(daemon, "?key=h&member=f")["state"], "overdue")
        equal(why(daemon, "?key=h&member=g")["state"], "live")


@own
def wrong_questions_get_a_reason():
    with Port() as daemon, daemon.redis() as client:
        for query in ("", "?", "?db=0", "?key", "?key=a&db=16", "?key=a&db=-1", "?key=a&db=x", "?key=a&db=", "?akey=a"):
            reply = daemon.ask("/why.json" + query)
            equal((reply.status, reply.text().startswith("Ask for a key")), (400, True), query)
        equal(daemon.ask("/why.json?key=" + "x" * 9000).status // 100, 4)
        for query in ("?key=%", "?key=%4", "?key=%zz&db=0", "?key=a&key=b&x=y&", "?&&key=a"):
            equal(why(daemon, query)["state"], "missing", query)
        client.config_set("why-memory", 0)
        reply = daemon.ask("/why.json?key=a")
        equal((reply.status, "why-memory is 0" in reply.text()), (400, True))


@own
def why_needs_the_rights_of_the_page():
    with Port("--requirepass", "secret") as daemon:
        equal(daemon.ask("/why.json?key=a").status, 401)
        equal(daemon.login("default", "secret", "/why.json?key=a").status, 200)
        equal(daemon.login("default", "wrong", "/why.json?key=a").status, 401)
        client = daemon.redis(password="secret")
        client.execute_command("ACL", "SETUSER", "ann", "on", ">pw", "%R~s:*", "+info", "+expiry", "+slowlog")
        equal(daemon.login("ann", "pw", "/why.json?key=s:1").status, 401)


if __name__ == "__main__":
    main()
