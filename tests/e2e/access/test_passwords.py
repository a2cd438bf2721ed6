#!/usr/bin/python3 -B
"""Passwords, and option values with a zero byte."""
import os
import signal
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, authenticated, equal, folder, main, own, test, wait_for

NOAUTH = b"-NOAUTH Authentication required.\r\n"
WRONGPASS = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"
SECRET = ("--requirepass", "secret")


TEXTS = ["requirepass", "dbfilename", "notify-keyspace-events", "save", "appendfsync", "maxmemory",
         "maxclients", "appendonly", "client-output-buffer-limit", "loglevel", "maxmemory-policy"]


@own
def a_value_with_a_zero_byte_is_refused_for_every_option():
    with Daemon("--enable-protected-configs", "yes") as daemon, daemon.raw() as raw:
        for option in TEXTS:
            before = raw.call("CONFIG", "GET", option)
            good = before.split(b"\r\n")[4]
            for value in (b"\0", b"\0abc", b"abc\0def", b"abc\0", good + b"\0", good + b"\0x"):
                reply = raw.call("CONFIG", "SET", option, value)
                assert reply.startswith(b"-ERR CONFIG SET failed (possibly related to argument '" +
                                        option.encode() + b"') - a zero byte"), (option, reply)
            equal(raw.call("CONFIG", "GET", option), before)
        # CONFIG SET of several options sets all of them or none.
        reply = raw.call("CONFIG", "SET", "hz", "20", "requirepass", b"\0abc")
        equal(reply[:1], b"-")
        equal(raw.call("CONFIG", "GET", "hz"), b"*2\r\n$2\r\nhz\r\n$2\r\n10\r\n")


@test
def an_option_name_with_a_zero_byte_is_unknown():
    with Daemon() as daemon, daemon.raw() as raw:
        reply = raw.call("CONFIG", "SET", b"maxclients\0x", "5")
        assert reply.startswith(b"-ERR Unknown option"), reply
        equal(raw.call("CONFIG", "GET", b"maxclients\0x"), b"*0\r\n")


@own
def a_refused_password_leaves_the_old_one_in_force():
    with Daemon(*SECRET) as daemon, authenticated(daemon) as admin:
        for value in (b"\0abc", b"abc\0def", b"\0"):
            equal(admin.call("CONFIG", "SET", "requirepass", value)[:1], b"-")
            for given in (b"", b"abc", b"\0abc", value, b"secret\0", b"secret\0x"):
                for request in (["AUTH", given], ["AUTH", "default", given],
                                ["HELLO", "3", "AUTH", "default", given]):
                    with daemon.raw() as raw:
                        equal(raw.call(*request), WRONGPASS, repr(request))
                        equal(raw.call("GET", "k"), NOAUTH)
        with daemon.raw() as raw:
            equal(raw.call("HELLO", "2", "AUTH", "default", "secret")[:1], b"*")


def reload(daemon, path, text):
    """Writes the file; the daemon must take the new requirepass."""
    with open(path, "w", encoding="utf-8") as to:
        to.write(text)
    before = daemon.log().count("by the reload: requirepass")
    os.kill(daemon.process.pid, signal.SIGHUP)
    assert wait_for(lambda: daemon.log().count("by the reload: requirepass") > before), daemon.log()


def accepts(daemon, password):
    with daemon.raw() as raw:
        return raw.call("AUTH", password) == b"+OK\r\n"


@own
def a_reload_changes_the_password():
    with folder() as where:
        path = os.path.join(where, "a.conf")
        open(path, "w", encoding="utf-8").close()
        with Daemon(before=[path]) as daemon:
            reload(daemon, path, "requirepass one\n")
            with daemon.raw() as raw:
                equal(raw.call("PING"), NOAUTH)
            assert accepts(daemon, "one")
            reload(daemon, path, "requirepass two\n")
            assert accepts(daemon, "two") and not accepts(daemon, "one")
            reload(daemon, path, "")
            with daemon.raw() as raw:
                equal(raw.call("PING"), b"+PONG\r\n")


@own
def a_reload_keeps_the_password_of_a_user_that_the_file_defines():
    with folder() as where:
        path = os.path.join(where, "a.conf")
        user = "user default on ~* &* +@all >mine\n"
        with open(path, "w", encoding="utf-8") as to:
            to.write(user)
        with Daemon(before=[path]) as daemon:
            reload(daemon, path, user + "requirepass other\n")
            assert accepts(daemon, "mine") and not accepts(daemon, "other")


@own
def a_configuration_file_with_a_zero_byte_is_refused():
    for text in (b'requirepass "\\x00abc"\n', b"requirepass abc\0def\n", b"requirepass '\0'\n"):
        with folder() as where:
            path = os.path.join(where, "my.conf")
            with open(path, "wb") as file:
                file.write(text)
            try:
                with Daemon(before=[path]):
                    pass
            except AssertionError as error:
                assert "a zero byte in a value" in str(error), error
            else:
                raise AssertionError(f"it started with {text!r}")


@test
def odd_passwords_survive_rewrite_and_restart():
    for password in (b"a b", b'q"uo\\te\'s', b"\x01\xff\n\r\t", b"#no comment", b" ", b"--x",
                     b"x" * 500):
        with folder() as where:
            path = os.path.join(where, "my.conf")
            with open(path, "w", encoding="ascii") as file:
                file.write("hz 10\n")
            with Daemon(before=[path]) as daemon:
                with daemon.raw() as raw:
                    equal(raw.call("CONFIG", "SET", "requirepass", password), b"+OK\r\n")
                    equal(raw.call("CONFIG", "REWRITE"), b"+OK\r\n")
                daemon.stop()
                daemon.start()
                with daemon.raw() as raw:
                    equal(raw.call("GET", "k"), NOAUTH, repr(password))
                    equal(raw.call("AUTH", password[:-1]), WRONGPASS)
                    equal(raw.call("AUTH", password), b"+OK\r\n", repr(password))
                    equal(raw.call("CONFIG", "GET", "requirepass"),
                          b"*2\r\n$11\r\nrequirepass\r\n$%d\r\n%s\r\n" % (len(password), password))


@own
def slowlog_hides_the_password_of_a_config_set_that_fails():
    with Daemon("--slowlog-log-slower-than", "0") as daemon, daemon.raw() as raw:
        for request in (["nosuch", "1", "requirepass", "hidden"],
                        ["requirepass", "hidden", "databases", "1"],
                        ["primaryauth", "hidden", "databases", "1"],
                        ["requirepass", b"hidden\0x"]):
            equal(raw.call("CONFIG", "SET", *request)[:1], b"-")
        log = raw.call("SLOWLOG", "GET", "10")
        assert b"hidden" not in log and b"redacted" in log, log


main()
