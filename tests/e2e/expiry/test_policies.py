#!/usr/bin/python3 -B
"""POLICY and the policies of the configuration file."""
import os
import re
import subprocess
import sys
import tempfile

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, ROOT, Daemon, equal, main, own, wait_for
from policies import WEEK, Policies, Refused

SPAN_MAX = 2**62 - 1

@own
def a_policy_is_set_shown_and_removed():
    with Policies() as po:
        po.rule("rv:*", "MAXLEN", 30, "TTL", WEEK, "REFRESH", "WRITE")
        po.rule("activities", "memberttl", 5184000000)
        po.rule("z", "KEEP", "LOW", "MAXLEN", 3, "JITTER", 10, "TTL", 5, "MAXTTL", 6)
        equal(po.run("POLICY", "GET", "rv:*"),
              {b"TTL": WEEK, b"REFRESH": b"WRITE", b"MAXLEN": 30})
        equal(po.run("POLICY", "GET", "rv:"), None)
        equal(po.run("POLICY", "LIST"), {
            b"activities": {b"MEMBERTTL": 5184000000},
            b"rv:*": {b"TTL": WEEK, b"REFRESH": b"WRITE", b"MAXLEN": 30},
            b"z": {b"TTL": 5, b"MAXTTL": 6, b"JITTER": 10, b"MAXLEN": 3, b"KEEP": b"LOW"}})
        equal(list(po.run("POLICY", "LIST")), [b"activities", b"rv:*", b"z"], "in order")
        equal(po.run("POLICY", "DEL", "rv:*"), 1)
        equal(po.run("POLICY", "DEL", "rv:*"), 0)
        equal(po.run("POLICY", "OF", "rv:1"), None)
        equal(len(po.run("POLICY", "LIST")), 2)


@own
def options_that_are_not_named_stay():
    with Policies() as po:
        po.rule("s:*", "TTL", 500, "REFRESH", "ACCESS")
        po.rule("s:*", "EXPIRED", "TO", "ended", "VALUE", "MAX", 9)
        po.rule("s:*", "MAXDELIVERIES", 3, "TO", "dead", "JITTER", 5)
        whole = {b"TTL": 500, b"JITTER": 5, b"REFRESH": b"ACCESS", b"MAXDELIVERIES": 3,
                 b"MAXDELIVERIES TO": b"dead", b"EXPIRED TO": b"ended", b"EXPIRED VALUE MAX": 9}
        equal(po.run("POLICY", "GET", "s:*"), whole)
        po.rule("s:*", "REFRESH", "NONE")
        del whole[b"REFRESH"]
        equal(po.run("POLICY", "GET", "s:*"), whole)
        po.rule("s:*", "expired", "to", "log", "MAXDELIVERIES", "none")
        equal(po.run("POLICY", "GET", "s:*"), {b"TTL": 500, b"JITTER": 5, b"EXPIRED TO": b"log"})
        po.rule("s:*", "TTL", 900, "JITTER", "NONE", "EXPIRED", "NONE")
        equal(po.run("POLICY", "GET", "s:*"), {b"TTL": 900})


@own
def the_digest_covers_back_off():
    with Policies() as po:
        digests = set()
        for words in ((100, 5000), (200, 5000), (100, 6000), (100, 5000, "JITTER", 10)):
            po.run("POLICY", "DEL", "d")
            po.rule("d", "BACKOFF", *words)
            digests.add(po.run("DEBUG", "DIGEST"))
        equal(len(digests), 4)


@own
def what_would_be_left_is_checked_as_a_whole():
    empty = (b"-ERR a policy needs one of TTL, MAXTTL, MEMBERTTL, MAXLEN, RETAIN, MAXDELIVERIES, "
             b"BACKOFF, RATE, CLAIMED, FAIR and EXPIRED. POLICY DEL removes it\r\n")
    with Policies() as po:
        po.rule("k", "TTL", 500, "REFRESH", "WRITE")
        for words, wanted in ((["TTL", "NONE"], b"-ERR REFRESH requires TTL\r\n"),
                              (["MAXTTL", 499], b"-ERR TTL is longer than MAXTTL\r\n"),
                              (["TTL", "NONE", "TTL", 5], b"-ERR duplicate option TTL\r\n"),
                              (["TTL", "NONE", "REFRESH", "NONE"], empty)):
            po.says(wanted, "POLICY", "SET", "k", *words)
            equal(po.run("POLICY", "GET", "k"), {b"TTL": 500, b"REFRESH": b"WRITE"}, words)
        po.says(empty, "POLICY", "SET", "new", "TTL", "NONE")
        equal(po.run("POLICY", "GET", "new"), None)


@own
def a_changed_policy_is_the_same_after_a_restart_and_on_a_replica():
    with Daemon("--appendonly", "yes", tcp=True) as daemon, Daemon() as replica:
        with daemon.redis() as client, replica.redis() as copy:
            client.execute_command("POLICY", "SET", "s:*", "TTL", "5s", "REFRESH", "WRITE")
            copy.replicaof("127.0.0.1", daemon.port)
            client.execute_command("POLICY", "SET", "s:*", "MAXLEN", 7, "REFRESH", "NONE")
            wanted = client.execute_command("POLICY", "LIST")
            assert wait_for(lambda: copy.execute_command("POLICY", "LIST") == wanted)
        daemon.kill()
        daemon.start()
        with daemon.redis() as client:
            equal(client.execute_command("POLICY", "LIST"), wanted)


@own
def replies_are_flat_arrays_in_resp2():
    with Policies() as po:
        po.says(b"*0\r\n", "POLICY", "LIST")
        po.says(b"$-1\r\n", "POLICY", "GET", "a*")
        po.says(b"+OK\r\n", "POLICY", "SET", "a*", "TTL", 5, "REFRESH", "access")
        wanted = b"*4\r\n$3\r\nTTL\r\n:5\r\n$7\r\nREFRESH\r\n$6\r\nACCESS\r\n"
        po.says(wanted, "POLICY", "GET", "a*")
        po.says(b"*2\r\n$2\r\na*\r\n" + wanted, "POLICY", "LIST")
        po.says(b"$2\r\na*\r\n", "POLICY", "OF", "abc")
        po.says(b"$-1\r\n", "POLICY", "OF", "b")


@own
def the_longest_prefix_wins_and_an_exact_name_over_any():
    with Policies() as po:
        for name in ("*", "user:*", "user:1*", "user:1"):
            po.rule(name, "TTL", 1000 * len(name))
        for key, name in (("x", "*"), ("user", "*"), ("user:", "user:*"), ("user:2", "user:*"),
                          ("user:1", "user:1"), ("user:10", "user:1*"), ("", "*")):
            equal(po.run("POLICY", "OF", key), name.encode(), key)
            po.run("SET", key, "v")
            equal(po.ttl(key), 1000 * len(name), key)


@own
def names_are_any_bytes():
    with Policies() as po:
        name = bytes(byte for byte in range(256) if byte != ord("*")) + b"*"
        po.rule(name, "TTL", 1000)
        equal(list(po.run("POLICY", "LIST")), [name])
        po.run("SET", name[:-1] + b"\0", "v")
        equal(po.ttl(name[:-1] + b"\0"), 1000)
        equal(po.run("POLICY", "DEL", name), 1)


@own
def a_failed_read_does_not_refresh_a_deadline():
    with Daemon() as daemon, daemon.redis() as redis:
        daemon.hold()
        redis.execute_command("POLICY", "SET", "s:*", "TTL", "100s", "REFRESH", "ACCESS")
        redis.set("s:1", "v", ex=5)
        for words in (["LLEN", "s:1"], ["HGETALL", "s:1"], ["SINTERSTORE", "to", "s:1"]):
            with daemon.raw() as raw:
                assert raw.call(*words).startswith(b"-WRONGTYPE"), words
            equal(redis.ttl("s:1"), 5, words)
        redis.get("s:1")
        equal(redis.ttl("s:1"), 100)


@own
def options_of_streams_and_logs_are_replied_as_they_were_set():
    with Policies() as po:
        po.rule("j:*", "RETAIN", "7d", "maxdeliveries", 5, "to", "dead")
        po.rule("s:*", "expired", "to", b"log\0", "TTL", 5)
        po.rule("v:*", "EXPIRED", "TO", "log", "VALUE")
        po.rule("w:*", "EXPIRED", "TO", "w:log", "VALUE", "MAX", "1MB", "RETAIN", 3)
        equal(po.run("POLICY", "GET", "j:*"),
              {b"RETAIN": 604_800_000, b"MAXDELIVERIES": 5, b"MAXDELIVERIES TO": b"dead"})
        equal(po.run("POLICY", "GET", "s:*"), {b"TTL": 5, b"EXPIRED TO": b"log\0"})
        equal(po.run("POLICY", "GET", "v:*"), {b"EXPIRED TO": b"log", b"EXPIRED VALUE MAX": 65536})
        equal(po.run("POLICY", "GET", "w:*"),
              {b"RETAIN": 3, b"EXPIRED TO": b"w:log", b"EXPIRED VALUE MAX": 1 << 20})


@own
def a_policy_is_refused_while_its_target_has_another_type():
    with Policies() as po:
        po.run("SET", "log", "text")
        po.run("REDE.PUSH", "deh", 5, "payload", "id")
        po.says(b"-ERR EXPIRED: key 'log' in database 0 is a string. It must be absent, or a stream or "
                b"dehydrator\r\n", "POLICY", "SET", "s:*", "EXPIRED", "TO", "log")
        po.says(b"-ERR MAXDELIVERIES: key 'log' in database 0 is a string. It must be absent, or a stream or "
                b"dehydrator\r\n", "POLICY", "SET", "s:*", "MAXDELIVERIES", 3, "TO", "log")
        equal(po.run("POLICY", "LIST"), {})
        po.rule("s:*", "EXPIRED", "TO", "deh")
        po.run("DEL", "log")
        po.rule("s:*", "EXPIRED", "TO", "log")


@own
def bad_words_are_named_and_nothing_changes():
    span = ("is not a duration: must be a number of milliseconds, or a number followed by ms, s, m, h "
            f"or d, from 1 to {SPAN_MAX} ms")
    name = "must be a key, or a prefix that ends with '*', of 1 to 16384 bytes"
    cases = [
        (("",), f"invalid policy name '': {name}"),
        (("a*b", "TTL", 5), f"invalid policy name 'a*b': {name}"),
        (("**", "TTL", 5), f"invalid policy name '**': {name}"),
        (("k",), "a policy needs one of TTL, MAXTTL, MEMBERTTL, MAXLEN, RETAIN, MAXDELIVERIES, BACKOFF, RATE, CLAIMED, FAIR and EXPIRED. "
         "POLICY DEL removes it"),
        (("k", "TTL"), "TTL needs a value"),
        (("k", "TTL", 5, "KEEP"), "KEEP needs a value"),
        (("k", "TTL", 5, "KEEPS", "HIGH"), "unknown option 'KEEPS'"),
        (("k", "TTL", 5, "", 3), "unknown option ''"),
        (("k", 5), "unknown option '5'"),
        (("k", "TTL", 5, "ttl", 6), "duplicate option TTL"),
        (("k", "TTL", 5, "MAXLEN", 3, "MAXLEN", 3), "duplicate option MAXLEN"),
        (("k", "REFRESH", "WRITE"), "REFRESH requires TTL"),
        (("k", "MAXTTL", 5, "REFRESH", "ACCESS"), "REFRESH requires TTL"),
        (("k", "JITTER", 5, "MAXTTL", 9), "JITTER requires TTL or MEMBERTTL"),
        (("k", "TTL", 5, "KEEP", "LOW"), "KEEP requires MAXLEN"),
        (("k", "TTL", 6, "MAXTTL", 5), "TTL is longer than MAXTTL"),
        (("k", "TTL", 5, "REFRESH", "OFTEN"), "REFRESH: 'OFTEN' is not NEVER, WRITE or ACCESS"),
        (("k", "BACKOFF", 5), "BACKOFF needs two durations; the second must not be shorter than the first"),
        (("k", "BACKOFF", "2s", "1s"), "BACKOFF needs two durations; the second must not be shorter than the first"),
        (("k", "BACKOFF", 5, 9, "JITTER"), "JITTER needs a value"),
        (("k", "BACKOFF", 5, 9, "JITTER", 101), "JITTER: '101' is not an integer from 1 to 100"),
        (("k", "MAXDELIVERIES", 5), "MAXDELIVERIES needs TO and a key"),
        (("k", "MAXDELIVERIES", 5, "TO"), "MAXDELIVERIES needs TO and a key"),
        (("k", "MAXDELIVERIES", 5, "TO", ""), "MAXDELIVERIES: the key after TO must have 1 to 16384 bytes"),
        (("k", "MAXDELIVERIES", 5, "TO", "k"), "a policy of one key can't write to that key"),
        (("k", "EXPIRED", "log"), "EXPIRED needs TO and a key"),
        (("k", "EXPIRED", "TO", "k"), "a policy of one key can't write to that key"),
        (("k", "EXPIRED", "TO", "l", "MAX", 5), "unknown option 'MAX'"),
        (("k", "EXPIRED", "TO", "l", "EXPIRED", "TO", "m"), "duplicate option EXPIRED"),
        (("k", "EXPIRED", "TO", "l", "VALUE", "MAX"), "MAX needs a value"),
        (("k", "EXPIRED", "TO", "l", "VALUE", "MAX", "5x"),
         "MAX: '5x' is not a positive number of bytes, with or without a unit (k, kb, m, mb, g, gb)"),
        (("k", "EXPIRED", "TO", "l", "VALUE", "MAX", "0"),
         "MAX: '0' is not a positive number of bytes, with or without a unit (k, kb, m, mb, g, gb)"),
        (("k", "MAXLEN", 5, "KEEP", "BOTH"), "KEEP: 'BOTH' is not HIGH or LOW"),
    ]
    for value in ("0", "-1", "1.5", "x", "", " 1", "1 ", "01", "9223372036854775807",
                  "9223372036854775808", str(SPAN_MAX + 1), "99999999999999999999", "-0", "+1",
                  "0s", "-1s", "1.5h", "s", "d7", "7 d", "7w", "7dd", "7d1h", "7sec", "+7d",
                  f"{SPAN_MAX // 86_400_000 + 1}d", "99999999999999999d", f"{2**62}ms", "7ds"):
        for option in ("TTL", "MAXTTL", "MEMBERTTL", "RETAIN"):
            cases.append((("k", option, value), f"{option}: '{value}' {span}"))
    for value in ("0", "-1", "101", "x", "", "5s"):
        cases.append((("k", "TTL", 5, "JITTER", value),
                      f"JITTER: '{value}' is not an integer from 1 to 100"))
    for value in ("0", "-5", "9223372036854775808", "x", "5s"):
        cases.append((("k", "MAXLEN", value),
                      f"MAXLEN: '{value}' is not an integer from 1 to 9223372036854775807"))
    with Policies() as po:
        for words, wanted in cases:
            po.says(b"-ERR " + wanted.encode() + b"\r\n", "POLICY", "SET", *words)
        equal(po.run("POLICY", "LIST"), {})
        po.says(b"-ERR unknown option 'a  b'\r\n", "POLICY", "SET", "k", "a\r\nb", "1")
        po.says(b"-ERR wrong number of arguments for 'policy|set' command\r\n", "POLICY", "SET")
        po.says(b"-ERR wrong number of arguments for 'policy|of' command\r\n", "POLICY", "OF")
        po.says(b"-ERR unknown subcommand 'FOR'. Try POLICY HELP.\r\n", "POLICY", "FOR", "k")
        po.says(b"-ERR wrong number of arguments for 'policy' command\r\n", "POLICY")


@own
def help_explains_every_option_of_set():
    with open(os.path.join(ROOT, "doc/commands/policies.md"), encoding="utf-8") as page:
        syntax = re.search(r"^POLICY SET .*?^```$", page.read(), re.M | re.S)[0]
    options = re.findall(r"(?<=\[)[A-Z]+", syntax)
    assert {"TTL", "KEEP", "RATE", "EXPIRED"} <= set(options), syntax
    with Policies() as po:
        explained = b" ".join(po.run("POLICY", "HELP")).decode().split()
    equal([option for option in options if option not in explained and f"[{option}" not in explained], [])


@own
def durations_take_records():
    units = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "D": 86_400_000,
             "MS": 1}
    with Policies() as po:
        for unit, msec in units.items():
            for option in ("TTL", "MAXTTL", "MEMBERTTL"):
                po.rule(option, option, f"7{unit}")
                equal(po.run("POLICY", "GET", option), {option.encode(): 7 * msec}, unit)
        most = SPAN_MAX // 86_400_000
        po.rule("k", "TTL", f"{most}d")
        equal(po.run("POLICY", "GET", "k"), {b"TTL": most * 86_400_000})
        po.says(b"-ERR TTL is longer than MAXTTL\r\n",
                "POLICY", "SET", "k", "TTL", "2m", "MAXTTL", "119s")


@own
def the_widest_values_are_taken_and_overflow_nothing():
    with Policies() as po:
        po.rule("a", "TTL", SPAN_MAX, "MAXTTL", SPAN_MAX, "JITTER", 100, "MEMBERTTL", SPAN_MAX,
                "MAXLEN", 2**63 - 1)
        for now in (po.now, SPAN_MAX):
            po.daemon.hold(now)
            po.run("ZADD", "a", 1, "m")
            assert po.ttl("a") > 0
            po.run("DEL", "a")


@own
def subcommands_are_listed_and_only_of_takes_a_key():
    with Policies() as po:
        rows = {row[0]: row for row in po.run("COMMAND", "INFO", "POLICY")[0][9]}
        equal(sorted(rows), sorted(b"policy|" + name for name in
                                   (b"set", b"get", b"list", b"del", b"of", b"stats", b"help")))
        for name, row in rows.items():
            equal(b"write" in row[2], name in (b"policy|set", b"policy|del"), repr(name))
            equal(row[3], 2 if name == b"policy|of" else 0, repr(name))
        equal(po.run("POLICY", "HELP")[0],
              b"POLICY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
        equal(po.run("COMMAND", "GETKEYS", "POLICY", "OF", "k"), [b"k"])
        assert po.run("COMMAND", "DOCS", "POLICY")


def conf_file(text):
    """The path of a file with this text; the test removes it."""
    handle, path = tempfile.mkstemp(prefix="expired-policies-", suffix=".conf")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.readlines()


@own
def the_configuration_file_makes_policies_at_start():
    path = conf_file("# recency\npolicy rv:* MAXLEN 30 TTL 604800000\npolicy \"a b*\" TTL 5\n"
                     "policy activities EXPIRED TO ended VALUE\nPOLICY activities MemberTTL 5184000000\n"
                     "policy rv:* MAXLEN 20 KEEP LOW TTL NONE\npolicy rv:* TTL 7d REFRESH WRITE\n")
    try:
        with Policies(before=[path]) as po:
            equal(po.run("POLICY", "LIST"), {
                b"a b*": {b"TTL": 5}, b"activities": {b"MEMBERTTL": 5184000000, b"EXPIRED TO": b"ended",
                                                    b"EXPIRED VALUE MAX": 65536},
                b"rv:*": {b"TTL": WEEK, b"REFRESH": b"WRITE", b"MAXLEN": 20, b"KEEP": b"LOW"}})
            po.run("ZADD", "rv:1", 1, "m")
            equal(po.ttl("rv:1"), WEEK)
            shown = po.run("CONFIG", "GET", "policy")
            equal(shown, {b"policy": b"rv:* MAXLEN 30 TTL 604800000\n\"a b*\" TTL 5\n"
                                     b"activities EXPIRED TO ended VALUE\n"
                                     b"activities MemberTTL 5184000000\n"
                                     b"rv:* MAXLEN 20 KEEP LOW TTL NONE\n"
                                     b"rv:* TTL 7d REFRESH WRITE"})
            try:
                po.run("CONFIG", "SET", "policy", "x TTL 5")
                raise AssertionError("CONFIG SET policy was taken")
            except Refused as error:
                assert "immutable" in str(error), error
            before = lines_of(path)
            po.run("POLICY", "DEL", "rv:*")
            po.run("CONFIG", "REWRITE")
            after = lines_of(path)
            equal(after[:len(before)], before, "REWRITE leaves the lines as they are")
            assert not any(line.startswith("policy") for line in after[len(before):]), after
    finally:
        os.unlink(path)


@own
def the_command_line_makes_policies_too():
    with Policies("--policy", "a:*", "TTL", "1000", "--policy", "b", "MAXLEN", "2") as po:
        equal(po.run("POLICY", "LIST"), {b"a:*": {b"TTL": 1000}, b"b": {b"MAXLEN": 2}})


@own
def a_bad_line_refuses_to_start_and_is_named():
    for line, why in (("policy", "wrong number of arguments"),
                      ("policy a*b TTL 5", "invalid policy name 'a*b'"),
                      ("policy a* TTL x", "TTL: 'x' is not a duration"),
                      ("policy a* TTL 5 KEEP LOW", "KEEP requires MAXLEN"),
                      ("policy a*", "a policy needs one of"),
                      ("policy b MAXTTL 5", "TTL is longer than MAXTTL"),
                      ("policy a* FOR 5", "unknown option 'FOR'")):
        path = conf_file("policy b TTL 9\n" + line + "\n")
        try:
            ended = subprocess.run([BINARY, path], capture_output=True, text=True,
                                   check=False)
        finally:
            os.unlink(path)
        equal(ended.returncode, 1, line)
        assert ended.stderr.startswith(f"expired: {path}:2: policy: {why}"), ended.stderr


main()
