#!/usr/bin/python3 -B
"""Users: permissions on every path of a call, the aclfile, and passwords, which appear nowhere."""
import os
import subprocess
import sys
import time

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, Daemon, encode, equal, folder, main, own, test, wait_for

NOPERM_KEY = b"-NOPERM this user has no permissions to access one of the keys used as arguments\r\n"
SECRET = "s3cret-of-anna"


def login(daemon, name="anna", password=SECRET):
    return daemon.redis(username=name, password=password, decode_responses=True)


def refused(call, *args):
    try:
        call(*args)
    except redis.exceptions.NoPermissionError as error:
        return str(error)
    raise AssertionError(f"{args} was allowed")


def rule(admin, *words, name="anna"):
    equal(admin.execute_command("ACL", "SETUSER", name, *words), "OK")


@test
def a_user_has_the_rights_of_its_rules():
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        rule(admin, "on", ">" + SECRET, "~anna:*", "&anna:*", "+@all", "-@dangerous")
        with login(daemon) as anna:
            anna.set("anna:1", "x")
            equal(anna.get("anna:1"), "x")
            refused(anna.set, "bert:1", "x")
            refused(anna.flushall)
            refused(anna.publish, "bert:c", "x")
            equal(anna.acl_whoami(), "anna")


@own
def pfmerge_without_sources_needs_the_right_to_its_destination():
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        rule(admin, "on", ">" + SECRET, "~anna:*", "+@all")
        with login(daemon) as anna:
            refused(anna.execute_command, "PFMERGE", "bert:1")
            anna.execute_command("PFMERGE", "anna:1")
        equal(admin.keys(), ["anna:1"])


@own
def a_policy_writes_only_to_keys_that_its_user_may_write():
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        rule(admin, "on", ">" + SECRET, "~anna:*", "%W~log", "%R~bert:*", "+@all")
        targets = (("EXPIRED", "TO"), ("MAXDELIVERIES", 3, "TO"), ("TTL", 9, "expired", "to"))
        with login(daemon) as anna:
            for words in targets:
                refused(anna.execute_command, "POLICY", "SET", "anna:*", *words, "bert:1")
                refused(anna.execute_command, "POLICY", "SET", "anna:*", *words, "to")
                in_script = anna.eval("return redis.pcall('POLICY', 'SET', 'a*', unpack(ARGV)).err", 0,
                                      *words, "bert:1")
                assert "can't access at least one of the keys" in in_script, in_script
                equal(admin.execute_command("POLICY", "LIST"), [])
            refused(anna.execute_command, "POLICY", "SET", "anna:*", *targets[0], "anna:1", *targets[1], "bert:1")
            equal(admin.acl_dryrun("anna", "POLICY", "SET", "a*", *targets[0], "bert:1")[:33],
                  "This user has no permissions to a")
            for words in targets:
                for key in ("anna:1", "log"):
                    equal(anna.execute_command("POLICY", "SET", "anna:*", *words, key, "MAXTTL", 9), "OK")
            for words in (("EXPIRED", "NONE"), ("TTL", 5)):
                equal(anna.execute_command("POLICY", "SET", "anna:*", *words), "OK")
        equal(admin.command_getkeys("POLICY", "SET", "to", *targets[0], "to", "VALUE", *targets[1], "b"),
              ["to", "b"])


@own
def a_script_may_ask_for_calls_that_lack_arguments():
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        with daemon.raw() as raw:
            names = raw.call("COMMAND", "LIST").decode().split("\r\n")[2::2]
        rule(admin, "on", ">" + SECRET, "~anna:*", "+@all")
        with login(daemon) as anna:
            for name in names:
                words = name.split("|")
                for argc in range(6):  # long arguments of the call before stay in the room
                    call = ", ".join(["ARGV[1]", "ARGV[2]"][:len(words)] + ["'1'"] * argc)
                    anna.eval("redis.pcall('get', string.rep('x', 1000), 'y', 'z', 'a') "
                              f"pcall(redis.acl_check_cmd, {call})", 0, *words)


@test
def exec_asks_again():
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        rule(admin, "on", "nopass", "~*", "+@all")
        with daemon.raw() as raw:
            raw.call("AUTH", "anna", "x")
            raw.call("MULTI")
            raw.call("GET", "a")
            raw.call("SET", "b", "1")
            rule(admin, "resetkeys", "~a")
            reply = raw.call("EXEC")
            assert reply.startswith(b"*2\r\n$-1\r\n-NOPERM ACLs rules changed"), reply
        equal(admin.exists("b"), 0)


@own
def a_blocked_client_that_lost_its_right_is_refused():
    """Redis 7.0 serves it."""
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        rule(admin, "on", "nopass", "~q", "+@all")
        with daemon.raw() as raw:
            raw.call("AUTH", "anna", "x")
            raw.send(encode("BLPOP", "q", "0"))
            wait_for(lambda: admin.info("clients")["blocked_clients"] == 1)
            rule(admin, "resetkeys")
            admin.rpush("q", "1")
            equal(raw.reply(), NOPERM_KEY)
            equal(admin.llen("q"), 1)


@test
def a_script_has_the_rights_of_its_caller():
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        admin.function_load("#!lua name=lib\nredis.register_function('f', function(keys) "
                            "return redis.call('get', 'other') end)")
        rule(admin, "on", ">" + SECRET, "~own", "+@all", "-@admin")
        with login(daemon) as anna:
            equal(anna.eval("return redis.call('set', KEYS[1], 'x')", 1, "own"), "OK")
            for call in (lambda: anna.eval("return redis.call('get', 'other')", 0),
                         lambda: anna.eval("return redis.call('publish', 'c', 'm')", 0),
                         lambda: anna.fcall("f", 0)):
                try:
                    call()
                    raise AssertionError("the script was allowed")
                except redis.exceptions.ResponseError as error:
                    assert "The user executing the script can't" in str(error), error
            equal(anna.eval("return {redis.acl_check_cmd('get', 'own'), "
                            "redis.acl_check_cmd('get', 'other'), 1}", 0), [1, None, 1])
            refused(anna.eval, "return 1", 1, "other")


@test
def sort_follows_patterns_only_with_all_keys():
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        admin.rpush("l", 2, 1)
        rule(admin, "on", ">" + SECRET, "~l", "+@all")
        with login(daemon) as anna:
            equal(anna.sort("l"), ["1", "2"])
            for args in ({"by": "w*"}, {"get": "v*"}):
                try:
                    anna.sort("l", **args)
                    raise AssertionError("SORT was allowed")
                except redis.exceptions.ResponseError as error:
                    assert "denied due to insufficient ACL permissions" in str(error), error
            rule(admin, "%R~*")
            equal(anna.sort("l", get="v*"), [None, None])


@test
def subscribers_lose_their_channels_and_users_their_connections():
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        rule(admin, "on", "nopass", "+@all", "resetchannels", "&a", "&b*")
        with daemon.raw() as one, daemon.raw() as two, daemon.raw() as three:
            for raw in (one, two, three):
                raw.call("AUTH", "anna", "x")
            one.call("SUBSCRIBE", "a")
            two.call("PSUBSCRIBE", "b*")
            rule(admin, "resetchannels", "&a")
            equal(two.rest(), b"")  # the server has closed it
            admin.publish("a", "m")
            assert one.reply().endswith(b"$1\r\nm\r\n")
            equal(three.call("PING"), b"+PONG\r\n")
            equal(admin.acl_deluser("anna"), 1)
            equal(three.rest(), b"")
            equal(one.rest(), b"")


@test
def a_user_that_deletes_itself_gets_its_reply():
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        rule(admin, "on", "nopass", "+@all")
        with daemon.raw() as raw:
            raw.call("AUTH", "anna", "x")
            equal(raw.call("ACL", "DELUSER", "anna"), b":1\r\n")
            equal(raw.rest(), b"")


@own
def tracking_by_prefix_needs_the_keys():
    """Invalidations reveal the names of keys; Redis does not check that."""
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        rule(admin, "on", "nopass", "+@all", "~anna:*")
        with daemon.raw() as raw:
            raw.call("HELLO", "3", "AUTH", "anna", "x")
            equal(raw.call("CLIENT", "TRACKING", "ON", "BCAST"), NOPERM_KEY)
            equal(raw.call("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "b"), NOPERM_KEY)
            equal(raw.call("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "anna:x"), b"+OK\r\n")


# ---- files ----

def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


@test
def an_acl_file_is_loaded_saved_and_loaded_again():
    with folder() as where:
        path = os.path.join(where, "users.acl")
        write(path, f"user default on nopass ~* &* +@all\nuser anna on >{SECRET} ~a* +get\n")
        with Daemon("--aclfile", path) as daemon, daemon.redis(decode_responses=True) as admin:
            equal(admin.acl_users(), ["anna", "default"])
            rule(admin, "on", "+@read", name="bert")
            equal(admin.acl_save(), True)
            with open(path, encoding="utf-8") as file:
                saved = file.read()
            assert SECRET not in saved and "user bert on" in saved, saved
            equal(os.stat(path).st_mode & 0o777, 0o644)
            admin.acl_deluser("anna", "bert")
            equal(admin.acl_load(), True)
            equal(admin.acl_users(), ["anna", "bert", "default"])
            with login(daemon) as anna:
                equal(anna.get("a"), None)


@own
def a_load_keeps_connections_whose_user_stays():
    """Redis 7.0 closes them all."""
    with folder() as where:
        path = os.path.join(where, "users.acl")
        write(path, "user anna on nopass ~* &* +@all\nuser bert on nopass +@all\n")
        with Daemon("--aclfile", path) as daemon, daemon.raw() as anna, daemon.raw() as bert, \
                daemon.redis(decode_responses=True) as admin:
            anna.call("AUTH", "anna", "x")
            bert.call("AUTH", "bert", "x")
            write(path, "user anna on nopass ~a* +get\n")
            equal(admin.acl_load(), True)
            equal(anna.call("GET", "b"), NOPERM_KEY)
            equal(anna.call("GET", "a"), b"$-1\r\n")
            equal(bert.rest(), b"")


@test
def a_file_with_faults_changes_nothing_and_names_them_all():
    with folder() as where:
        path = os.path.join(where, "users.acl")
        write(path, "user anna on nopass +@all\n")
        with Daemon("--aclfile", path) as daemon, daemon.redis(decode_responses=True) as admin:
            before = admin.acl_list()
            write(path, "user bert on foo\nuser carl +nosuch\nnobody\nuser dora (+get\n")
            try:
                admin.acl_load()
                raise AssertionError("the file was loaded")
            except redis.exceptions.ResponseError as error:
                for part in (":1: Syntax error", ":2: Error in applying operation '+nosuch'",
                             ":3 should start with user keyword", ":4: Unmatched parenthesis",
                             "no change to the previously active ACL rules"):
                    assert part in str(error), (part, str(error))
            equal(admin.acl_list(), before)


def words_of_failed_start(text):
    """What the daemon says when it does not start with this configuration."""
    with folder() as where:
        path = os.path.join(where, "my.conf")
        write(path, text.replace("FOLDER", where))
        write(os.path.join(where, "users.acl"), "user anna on\n")
        ended = subprocess.run([BINARY, path, "--port", "0", "--dir", where, "--appendonly", "no"],
                               capture_output=True, text=True, check=False)
        assert ended.returncode != 0, ended
        return ended.stdout + ended.stderr


@own
def a_configuration_with_faulty_users_does_not_start():
    words = words_of_failed_start("user anna foo\nuser bert +nosuch\n")
    assert "Error in user declaration 'anna': Syntax error" in words, words
    words = words_of_failed_start("user anna on\nuser anna off\n")
    assert "Duplicate user found. A user can only be defined once in config files" in words, words
    words = words_of_failed_start("user anna on\naclfile FOLDER/users.acl\n")
    assert "define either an ACL file or declare users directly" in words, words
    words = words_of_failed_start("aclfile FOLDER/none.acl\n")
    assert "No such file" in words, words


@own
def all_faulty_users_are_named_at_once():
    words = words_of_failed_start("user anna foo\nuser bert +nosuch\n")
    assert "'anna'" in words and "'bert'" in words, words


@own
def users_of_the_configuration_are_rewritten_with_hashes():
    with folder() as where:
        path = os.path.join(where, "my.conf")
        write(path, f"user anna on >{SECRET} ~a* +get\nloglevel notice\n")
        with Daemon(before=[path]) as daemon, daemon.redis(decode_responses=True) as admin:
            rule(admin, "on", "(~k +set)", name="bert")
            equal(admin.config_get("user"), {})
            equal(admin.config_rewrite(), "OK")
            rules = admin.acl_list()
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert SECRET not in text and text.count("user anna") == text.count("user bert") == 1, text
        with Daemon(before=[path]) as daemon, daemon.redis(decode_responses=True) as admin:
            equal(admin.acl_list(), rules)


# ---- logins ----

@own
def a_failed_login_waits_and_delays_nobody_else():
    """Measures real time, because the delay is of the monotonic clock."""
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        rule(admin, "on", ">" + SECRET, "+@all")
        with daemon.raw() as raw, daemon.raw() as other:
            began = time.monotonic()
            for _ in range(5):
                assert raw.call("AUTH", "anna", "wrong").startswith(b"-WRONGPASS")
            assert time.monotonic() - began >= 0.05 + 0.1 + 0.2 + 0.4 + 0.8 - 0.01
            for failures in range(6, 10):  # a busy machine may serve the other client after the first delay
                raw.send(encode("AUTH", "anna", "wrong"))
                equal(other.calls([("PING",), ("AUTH", "anna", SECRET)]), [b"+PONG\r\n", b"+OK\r\n"])
                is_first = not raw.has_more()
                if is_first:
                    raw.send(encode("AUTH", "anna", SECRET))
                assert raw.reply().startswith(b"-WRONGPASS")
                if is_first:
                    break
            assert is_first, "the other client waited as well"
            equal(raw.reply(), b"+OK\r\n")
        equal(int(admin.info("stats")["acl_access_denied_auth"]), failures)


@own
def several_failures_in_one_transaction_wait_for_each():
    with Daemon() as daemon, daemon.raw() as raw:
        raw.call("MULTI")
        for _ in range(4):
            raw.call("AUTH", "default2", "x")
        began = time.monotonic()
        equal(raw.call("EXEC").count(b"-WRONGPASS"), 4)
        assert time.monotonic() - began >= 0.05 + 0.1 + 0.2 + 0.4 - 0.01


@own
def passwords_show_nowhere():
    with Daemon("--slowlog-log-slower-than", "0", "--loglevel", "debug") as daemon, \
            daemon.redis(decode_responses=True) as admin, daemon.raw() as watcher:
        watcher.call("MONITOR")
        rule(admin, "on", ">" + SECRET, "+@all", "~*")
        try:
            admin.execute_command("ACL", "SETUSER", "anna", ">" + SECRET + "2", "nosuchword")
        except redis.exceptions.ResponseError:
            pass
        with login(daemon) as anna:
            anna.ping()
            lines = anna.execute_command("CLIENT", "LIST")
            assert "user=anna" in str(lines), lines
        with daemon.raw() as raw:
            raw.call("HELLO", "3", "AUTH", "anna", SECRET)
            raw.call("AUTH", "anna", SECRET + "3")
            raw.call("AUTH", "anna", SECRET, "more")
            raw.call("HELLO", "3", "AUTH", SECRET)
            raw.call("HELLO", "4", "AUTH", "anna", SECRET)
        with daemon.raw() as raw:
            raw.call("ACL", "DRYRUN", "anna", "AUTH", "anna", SECRET)
            raw.call("ACL", "DRYRUN", "anna", "ACL", "SETUSER", "anna", ">" + SECRET)
            raw.call("CONFIG", "SET", "user", "anna on >" + SECRET)
        admin.echo("the end")
        seen = watcher.reply()
        while b"the end" not in seen:
            seen += watcher.reply()
        logged = str(admin.execute_command("SLOWLOG", "GET", "-1")) + str(admin.acl_log())
        for text in (seen.decode(), logged, daemon.log(), str(admin.acl_list())):
            assert SECRET not in text, text[:2000]


@test
def client_kill_and_list_know_users():
    with Daemon() as daemon, daemon.redis(decode_responses=True) as admin:
        rule(admin, "on", "nopass", "+@all")
        with daemon.raw() as raw:
            raw.call("AUTH", "anna", "x")
            equal(admin.execute_command("CLIENT", "KILL", "USER", "anna"), 1)
            equal(raw.rest(), b"")


main()
