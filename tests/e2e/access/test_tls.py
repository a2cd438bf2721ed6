#!/usr/bin/python3 -B
"""TLS: handshakes, certificates, options, reloading, and traffic of every shape over tls-port."""
import contextlib
import os
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import (BINARY, REPLY_SECONDS, Daemon, Server, Skipped, beside_redis, die_with_parent,
                    encode, equal, folder, main, oracle, own, plain, read_reply,
                    wait_for)
from redis_cli import ENVIRONMENT
from tls import TlsDaemon, TlsRaw, certificates, context

REFUSALS = (ConnectionError, ssl.SSLError, OSError)


def field_of(raw, name):
    found = re.search(rb"\b" + name.encode() + rb":([^\r\n]*)", raw.call("INFO", "everything"))
    return found.group(1) if found else None


def copied(files, place):
    """Copies of the server's certificate and key in a folder, which a test may replace: their paths by kind."""
    here = {kind: os.path.join(place, "server." + kind) for kind in ("crt", "key")}
    for kind, path in here.items():
        shutil.copy(files["server." + kind], path)
    return here


def is_refused(daemon, made=None):
    """Does the daemon end a connection before it answers? TLS 1.3 clients learn it when they read."""
    try:
        with daemon.tls(made) as raw:
            raw.call("PING")
        return False
    except REFUSALS:
        return True


def redis_cli(daemon, *arguments, client="client"):
    files = certificates()
    words = ["redis-cli", "--tls", "-p", str(daemon.tls_port), "--cacert", files["ca.crt"]]
    if client is not None:
        words += ["--cert", files[client + ".crt"], "--key", files[client + ".key"]]
    done = subprocess.run([*words, *arguments], capture_output=True, env=ENVIRONMENT,
                          preexec_fn=die_with_parent)
    return (done.stdout + done.stderr).decode()


def starts_not(*options):
    """What a daemon says that must end with status 1 and one line."""
    with folder() as place:
        done = subprocess.run([BINARY, "--dir", place, "--port", "0", "--save", "", *options],
                              capture_output=True, text=True, cwd="/",
                              preexec_fn=die_with_parent)
    equal(done.returncode, 1, f"{options}: {done.stdout}{done.stderr}")
    equal(done.stderr.count("\n"), 1, done.stderr)
    return done.stderr


# --- clients -----------------------------------------------------------------------------------


@own
def redis_cli_and_redis_py_connect_over_tls():
    with TlsDaemon() as daemon:
        equal(redis_cli(daemon, "SET", "k", "v"), "OK\n")
        with daemon.over_tls() as client:
            equal(client.get("k"), b"v")
            equal(client.client_info()["addr"].split(":")[0], "127.0.0.1")
        with daemon.tls() as raw:
            assert raw.call("HELLO", "3").startswith(b"%")


@own
def with_port_0_the_tls_port_is_the_only_one():
    with TlsDaemon() as daemon, daemon.tls() as raw:
        equal(raw.call("CONFIG", "GET", "port"), b"*2\r\n$4\r\nport\r\n$1\r\n0\r\n")
        equal(field_of(raw, "tcp_port"), str(daemon.tls_port).encode())
        equal(daemon.log().count("Listening on 127.0.0.1"), 1)


@own
def the_plain_port_and_the_tls_port_serve_together():
    with TlsDaemon(tcp=True) as daemon, daemon.tls() as tls, daemon.raw(tcp=True) as plain:
        equal(tls.call("SET", "k", "v"), b"+OK\r\n")
        equal(plain.call("GET", "k"), b"$1\r\nv\r\n")


@beside_redis
def the_tls_options_of_redis_exist_with_its_defaults():
    class Oracle(Server):
        def arguments(self):
            return [oracle(), "--port", "0", "--unixsocket", self.path, "--save", ""]
    with Oracle() as there, Daemon() as here:
        with redis.Redis(unix_socket_path=there.path) as client:
            wanted = client.config_get("tls-*")
        with here.redis() as client:
            got = client.config_get("tls-*")
        equal(got.pop("tls-auth-clients-user"), "off")
        equal(got.pop("tls-auto-reload-interval"), "0")
        equal(got, wanted)


# --- certificates of clients -------------------------------------------------------------------


@own
def a_client_needs_a_certificate_of_a_known_authority():
    with TlsDaemon() as daemon:
        assert not is_refused(daemon)
        for client in (None, "stranger", "expired"):
            assert is_refused(daemon, context(client)), client
        with daemon.tls() as raw:
            equal(int(field_of(raw, "tls_handshakes_failed")), 3)
        for reason in ("peer did not return a certificate",):
            assert reason in daemon.log(), daemon.log()


@own
def an_optional_certificate_must_be_valid_if_it_is_shown():
    with TlsDaemon("--tls-auth-clients", "optional") as daemon:
        for client in ("client", None):
            assert not is_refused(daemon, context(client)), client
        for client in ("stranger", "expired"):
            assert is_refused(daemon, context(client)), client


@own
def without_client_authentication_no_authority_is_needed():
    with TlsDaemon("--tls-auth-clients", "no", "--tls-ca-cert-file", "") as daemon:
        assert not is_refused(daemon, context(None))


@own
def an_authority_may_come_from_a_directory():
    with folder() as place:
        shutil.copy(certificates()["ca.crt"], place)
        subprocess.run(["openssl", "rehash", place], check=True, capture_output=True)
        with TlsDaemon("--tls-ca-cert-file", "", "--tls-ca-cert-dir", place) as daemon:
            assert not is_refused(daemon)
            assert is_refused(daemon, context("stranger"))


@own
def the_common_name_of_a_certificate_logs_its_client_in():
    secret = ("--requirepass", "secret")
    with TlsDaemon(*secret, "--tls-auth-clients-user", "CN") as daemon:
        with daemon.tls() as raw:
            equal(raw.call("PING"), b"+PONG\r\n")
        with daemon.tls(context("worker")) as raw:
            assert raw.call("PING").startswith(b"-NOAUTH"), "a name without a user"
            equal(raw.call("AUTH", "secret"), b"+OK\r\n")
            equal(int(field_of(raw, "acl_access_denied_tls_cert")), 1)
            equal(raw.call("CONFIG", "SET", "tls-auth-clients-user", "off"), b"+OK\r\n")
        with daemon.tls() as raw:
            assert raw.call("PING").startswith(b"-NOAUTH"), "off"


@own
def a_certificate_gives_the_rights_of_its_user():
    with TlsDaemon("--requirepass", "secret", "--tls-auth-clients-user", "CN") as daemon, \
            daemon.tls() as admin:
        equal(admin.call("ACL", "WHOAMI"), b"$7\r\ndefault\r\n")
        with daemon.tls(context("worker")) as raw:
            assert raw.call("PING").startswith(b"-NOAUTH"), "no such user"
        entry = dict(zip(*[iter(plain(read_reply(admin.call("ACL", "LOG"))[0])[0])] * 2))
        equal((entry[b"reason"], entry[b"username"]), (b"tls-cert", b"worker"))
        equal(admin.call("ACL", "SETUSER", "worker", "off", "+get", "+acl|whoami", "~k*"), b"+OK\r\n")
        with daemon.tls(context("worker")) as raw:
            assert raw.call("PING").startswith(b"-NOAUTH"), "the user is off"
        equal(admin.call("ACL", "SETUSER", "worker", "on"), b"+OK\r\n")
        with daemon.tls(context("worker")) as raw:
            equal(raw.call("ACL", "WHOAMI"), b"$6\r\nworker\r\n")
            equal(raw.call("GET", "k1"), b"$-1\r\n")
            assert raw.call("SET", "k1", "v").startswith(b"-NOPERM")
            assert raw.call("GET", "x").startswith(b"-NOPERM")
            equal(admin.call("ACL", "DELUSER", "worker"), b":1\r\n")
            with contextlib.suppress(*REFUSALS):
                equal(raw.socket.recv(10), b"")  # as on other ports
        equal(int(field_of(admin, "acl_access_denied_tls_cert")), 2)


@own
def users_log_in_over_tls():
    users = ("--user", *"worker on >pass ~* +@read".split(), "--user", "default", "off")
    with TlsDaemon(*users) as daemon, \
            daemon.tls() as raw:
        assert raw.call("GET", "k").startswith(b"-NOAUTH")
        equal(raw.call("AUTH", "worker", "pass"), b"+OK\r\n")
        equal(raw.call("GET", "k"), b"$-1\r\n")
        assert raw.call("SET", "k", "v").startswith(b"-NOPERM")


@own
def clients_in_a_handshake_are_listed():
    with TlsDaemon() as daemon, daemon.tls() as raw, daemon.plain_to_tls() as begun, \
            daemon.plain_to_tls():
        begun.sendall(client_hello())
        wait_for(lambda: field_of(raw, "connected_clients") == b"3")
        equal(raw.call("CLIENT", "LIST").count(b"user=default"), 3)
        equal(raw.call("CLIENT", "KILL", "TYPE", "normal"), b":2\r\n")


# --- options that are wrong --------------------------------------------------------------------

BAD = "/nowhere/file.pem"


def wrong_options():
    """Options, and the words that the error must have."""
    files = certificates()
    junk = files["junk"]
    with open(junk, "w", encoding="ascii") as file:
        file.write("no certificate\n")
    return [
        (["--tls-cert-file", BAD], ["tls-cert-file", BAD, "No such file or directory"]),
        (["--tls-cert-file", junk], ["tls-cert-file", junk, "no start line"]),
        (["--tls-cert-file", ""], ["tls-cert-file is not set"]),
        (["--tls-key-file", BAD], ["tls-key-file", BAD, "No such file or directory"]),
        (["--tls-key-file", ""], ["tls-key-file is not set"]),
        (["--tls-key-file", files["client.key"]],
         ["tls-key-file", files["client.key"], "key values mismatch"]),
        (["--tls-key-file", files["locked.plain"]], ["tls-key-file", "does not belong to"]),
        (["--tls-cert-file", files["locked.crt"], "--tls-key-file", files["locked.key"]],
         ["tls-key-file", files["locked.key"]]),
        (["--tls-cert-file", files["locked.crt"], "--tls-key-file", files["locked.key"],
          "--tls-key-file-pass", "wrong"], ["tls-key-file", files["locked.key"]]),
        (["--tls-ca-cert-file", BAD], ["tls-ca-cert-file", BAD, "No such file or directory"]),
        (["--tls-ca-cert-file", junk], ["tls-ca-cert-file", junk, "no certificate"]),
        (["--tls-ca-cert-file", ""], ["tls-auth-clients", "tls-ca-cert-dir"]),
        (["--tls-ca-cert-dir", "/nowhere"], ["tls-ca-cert-dir", "/nowhere", "No such file"]),
        (["--tls-ciphers", "nonsense"], ["tls-ciphers", "nonsense", "no cipher match"]),
        (["--tls-ciphersuites", "nonsense"], ["tls-ciphersuites", "nonsense", "no cipher match"]),
        (["--tls-dh-params-file", BAD], ["tls-dh-params-file", BAD, "No such file"]),
        (["--tls-dh-params-file", junk], ["tls-dh-params-file", junk, "no parameters"]),
        (["--tls-client-cert-file", BAD], ["tls-client-cert-file", "tls-client-key-file"]),
        (["--tls-protocols", "TLSv9"], ["tls-protocols", "TLSv1.3"]),
        (["--tls-auth-clients", "maybe"], ["tls-auth-clients", "no, yes, optional"]),
        (["--tls-port", "65536"], ["tls-port", "65535"]),
    ]


@own
def the_daemon_does_not_start_with_a_wrong_tls_option():
    for options, wanted in wrong_options():
        daemon = TlsDaemon(*options)
        said = starts_not(*options, *daemon.tls_arguments())
        for word in wanted:
            assert word in said, f"{options}: {word!r} is not in {said!r}"


@own
def all_wrong_tls_options_are_named_at_once():
    said = starts_not("--tls-port", "1", "--tls-ciphers", "nonsense", "--tls-cert-file", BAD)
    for word in ("tls-ciphers", "tls-cert-file " + BAD, "tls-key-file is not set", "tls-ca-cert-dir"):
        assert word in said, f"{word!r} is not in {said!r}"


@own
def config_set_refuses_a_wrong_tls_option_and_changes_nothing():
    with TlsDaemon() as daemon, daemon.tls() as raw:
        before = raw.call("CONFIG", "GET", "tls-*")
        for options, wanted in wrong_options():
            if "--tls-port" in options:
                continue
            reply = raw.call("CONFIG", "SET", *(word.removeprefix("--") for word in options),
                             "timeout", "77")
            assert reply.startswith(b"-ERR CONFIG SET failed"), (options, reply)
            for word in wanted:
                assert word.encode() in reply, f"{options}: {word!r} is not in {reply!r}"
            equal(raw.call("CONFIG", "GET", "tls-*"), before)
            assert b"77" not in raw.call("CONFIG", "GET", "timeout")
        assert not is_refused(daemon)


@own
def an_encrypted_key_opens_with_its_password():
    files = certificates()
    locked = ("--tls-cert-file", files["locked.crt"], "--tls-key-file", files["locked.key"])
    with TlsDaemon(*locked, "--tls-key-file-pass", "secret") as daemon:
        assert not is_refused(daemon)
        with daemon.tls() as raw:
            raw.call("CONFIG", "SET", "slowlog-log-slower-than", "0")
            raw.call("CONFIG", "SET", "tls-key-file-pass", "secret")
            assert b"secret" not in raw.call("SLOWLOG", "GET", "10")
        assert "secret" not in daemon.log()


@own
def without_a_tls_port_tls_options_are_only_kept():
    with Daemon() as daemon, daemon.raw() as raw:
        equal(raw.call("CONFIG", "SET", "tls-cert-file", BAD), b"+OK\r\n")
        equal(field_of(raw, "tls_server_cert_serial"), None)


@own
def config_rewrite_keeps_the_tls_options():
    with folder() as place:
        path = os.path.join(place, "expired.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write("timeout 0\n")
        with TlsDaemon(before=[path]) as daemon, daemon.tls() as raw:
            equal(raw.call("CONFIG", "SET", "tls-protocols", "TLSv1.3"), b"+OK\r\n")
            equal(raw.call("CONFIG", "REWRITE"), b"+OK\r\n")
        with open(path, encoding="ascii") as file:
            text = file.read()
        for line in (f"tls-port {daemon.tls_port}", f"tls-cert-file {certificates()['server.crt']}",
                     "tls-protocols TLSv1.3"):
            assert line in text.splitlines() or line.replace(" ", ' "', 1) + '"' in text, text


# --- reloading ---------------------------------------------------------------------------------


@own
def a_new_certificate_is_used_at_once_and_keeps_connections():
    files = certificates()
    with TlsDaemon() as daemon, daemon.tls() as before:
        equal(field_of(before, "tls_server_cert_serial"), files.serial("server"))
        equal(before.call("CONFIG", "SET", "tls-cert-file", files["server2.crt"], "tls-key-file",
                          files["server2.key"]), b"+OK\r\n")
        equal(before.call("PING"), b"+PONG\r\n")
        equal(field_of(before, "tls_server_cert_serial"), files.serial("server2"))
        with daemon.tls() as after:
            shown = after.socket.getpeercert()["serialNumber"].encode()
            equal(shown, files.serial("server2"))
            equal(after.call("PING"), b"+PONG\r\n")
        equal(before.call("PING"), b"+PONG\r\n")


@own
def setting_the_same_file_again_reads_its_new_content():
    files = certificates()
    with folder() as place:
        here = copied(files, place)
        with TlsDaemon("--tls-cert-file", here["crt"], "--tls-key-file", here["key"]) as daemon, \
                daemon.tls() as raw:
            for kind, path in here.items():
                shutil.copy(files["server2." + kind], path)
            equal(field_of(raw, "tls_server_cert_serial"), files.serial("server"))
            equal(raw.call("CONFIG", "SET", "tls-cert-file", here["crt"]), b"+OK\r\n")
            equal(field_of(raw, "tls_server_cert_serial"), files.serial("server2"))
            assert not is_refused(daemon)


@own
def sighup_reads_the_files_again():
    files = certificates()
    with folder() as place:
        here = copied(files, place)
        with TlsDaemon("--tls-cert-file", here["crt"], "--tls-key-file", here["key"]) as daemon, \
                daemon.tls() as raw:
            shutil.copy(files["server2.crt"], here["crt"])
            daemon.process.send_signal(signal.SIGHUP)
            assert wait_for(lambda: "Certificates not reloaded" in daemon.log()), daemon.log()
            assert "key values mismatch" in daemon.log()
            equal(field_of(raw, "tls_server_cert_serial"), files.serial("server"))
            shutil.copy(files["server2.key"], here["key"])
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(lambda: field_of(raw, "tls_server_cert_serial") == files.serial("server2"))
            equal(field_of(raw, "tls_server_cert_serial"), files.serial("server2"))
            assert not is_refused(daemon)


@own
def files_that_have_changed_are_read_again_after_the_interval():
    files = certificates()
    with folder() as place:
        here = copied(files, place)
        with TlsDaemon("--tls-cert-file", here["crt"], "--tls-key-file", here["key"],
                       "--tls-auto-reload-interval", "1") as daemon, daemon.tls() as raw:
            shutil.copy(files["server2.crt"], here["crt"])
            assert wait_for(lambda: "Certificates not reloaded, although a file has changed" in daemon.log())
            equal(field_of(raw, "tls_server_cert_serial"), files.serial("server"))
            shutil.copy(files["server2.key"], here["key"])
            assert wait_for(lambda: "Reloaded certificates and keys" in daemon.log()), daemon.log()
            equal(field_of(raw, "tls_server_cert_serial"), files.serial("server2"))
            assert not is_refused(daemon)


@own
def a_reload_applies_all_tls_options_or_none():
    with folder() as place:
        path = os.path.join(place, "expired.conf")

        def write(*lines):
            with open(path, "w", encoding="ascii") as file:
                file.write("".join(line + "\n" for line in lines))
        write("tls-auth-clients yes")
        with TlsDaemon(before=[path]) as daemon, daemon.raw() as raw:
            def option(name):
                return raw.call("CONFIG", "GET", name).split(b"\r\n")[-2]

            def reload_until(said):
                daemon.process.send_signal(signal.SIGHUP)
                assert wait_for(lambda: said in daemon.log()), daemon.log()
            write("tls-auth-clients no", "tls-ciphers nonsense")
            reload_until("no cipher match")
            wait_for(lambda: option("tls-auth-clients") == b"yes")
            equal((option("tls-auth-clients"), option("tls-ciphers")), (b"yes", b""))
            assert is_refused(daemon, context(None))
            write("tls-auth-clients no", "tls-ciphers DEFAULT")
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(lambda: option("tls-auth-clients") == b"no")
            equal((option("tls-auth-clients"), option("tls-ciphers")), (b"no", b"DEFAULT"))
            assert not is_refused(daemon, context(None))


@own
def an_authority_can_be_exchanged_while_clients_are_connected():
    with TlsDaemon() as daemon, daemon.tls() as raw:
        equal(raw.call("CONFIG", "SET", "tls-ca-cert-file", certificates()["other-ca.crt"]),
              b"+OK\r\n")
        assert is_refused(daemon)
        assert not is_refused(daemon, context("stranger"))
        equal(raw.call("PING"), b"+PONG\r\n")


@own
def the_end_of_the_certificate_is_in_info_and_in_the_log():
    with TlsDaemon() as daemon, daemon.tls() as raw:
        left = int(field_of(raw, "tls_server_cert_expires_in_seconds"))
        assert 29 * 86400 < left <= 30 * 86400, left
        ends = int(field_of(raw, "tls_server_cert_not_after"))
        assert abs(ends - left - time.time()) < 60, ends
    with TlsDaemon(certificate="ending") as daemon:
        assert wait_for(lambda: "expires in 9 days" in daemon.log()), daemon.log()
        assert "tls-cert-file " + certificates()["ending.crt"] in daemon.log()
    with TlsDaemon(certificate="expired") as daemon:
        assert wait_for(lambda: "clients refuse it" in daemon.log()), daemon.log()
        try:
            daemon.tls().close()
            raise AssertionError("a client accepts an expired certificate")
        except ssl.SSLCertVerificationError:
            pass
        with daemon.raw() as raw:
            equal(field_of(raw, "tls_server_cert_expires_in_seconds"), b"0")


# --- sessions, protocols, ciphers --------------------------------------------------------------


def resumes(daemon, version):
    made = context()
    made.minimum_version = made.maximum_version = version
    with daemon.tls(made) as raw:
        equal(raw.call("PING"), b"+PONG\r\n")  # TLS 1.3 sends the ticket behind the handshake
        session = raw.socket.session
        raw.socket = raw.socket.unwrap()
    with daemon.tls(made, session) as raw:
        equal(raw.call("PING"), b"+PONG\r\n")
        return raw.socket.session_reused


@own
def clients_resume_sessions_unless_caching_is_off():
    versions = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    with TlsDaemon() as daemon, daemon.raw() as raw:
        for version in versions:
            assert resumes(daemon, version), version
        equal(int(field_of(raw, "tls_handshakes_resumed")), 2)
        equal(int(field_of(raw, "tls_handshakes")), 4)
        raw.call("CONFIG", "SET", "tls-session-caching", "no")
        for version in versions:
            assert not resumes(daemon, version), version


@own
def a_resumed_session_keeps_the_name_of_its_certificate():
    with TlsDaemon("--requirepass", "secret", "--tls-auth-clients-user", "CN") as daemon:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            assert resumes(daemon, version), version


def versions_of(daemon):
    accepted = []
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        made = context()
        made.minimum_version = made.maximum_version = version
        if not is_refused(daemon, made):
            accepted.append(version.name)
    return accepted


@own
def only_the_chosen_protocols_are_spoken():
    with TlsDaemon() as daemon, daemon.raw() as raw:
        equal(versions_of(daemon), ["TLSv1_2", "TLSv1_3"])
        for chosen in ("TLSv1.2", "TLSv1.3"):
            equal(raw.call("CONFIG", "SET", "tls-protocols", chosen), b"+OK\r\n")
            equal(versions_of(daemon), [chosen.replace(".", "_")])
        equal(raw.call("CONFIG", "SET", "tls-protocols", ""), b"+OK\r\n")
        equal(versions_of(daemon), ["TLSv1_2", "TLSv1_3"])


@own
def only_the_chosen_ciphers_are_used():
    with TlsDaemon("--tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256",
                   "--tls-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256") as daemon:
        with daemon.tls() as raw:
            equal(raw.socket.cipher()[0], "TLS_CHACHA20_POLY1305_SHA256")
        made = context()
        made.maximum_version = ssl.TLSVersion.TLSv1_2
        with daemon.tls(made) as raw:
            equal(raw.socket.cipher()[0], "ECDHE-ECDSA-AES128-GCM-SHA256")
        made.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384")
        assert is_refused(daemon, made)


@own
def the_server_may_prefer_its_own_order_of_ciphers():
    ours, theirs = "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"
    made = context()
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    made.set_ciphers(f"{theirs}:{ours}")
    with TlsDaemon("--tls-ciphers", f"{ours}:{theirs}") as daemon:
        for prefer, wanted in (("no", theirs), ("yes", ours)):
            with daemon.raw() as raw:
                raw.call("CONFIG", "SET", "tls-prefer-server-ciphers", prefer)
            with daemon.tls(made) as raw:
                equal(raw.socket.cipher()[0], wanted)


@own
def a_client_cannot_renegotiate():
    files = certificates()
    with TlsDaemon() as daemon:
        words = ["openssl", "s_client", "-connect", f"127.0.0.1:{daemon.tls_port}", "-tls1_2",
                 "-CAfile", files["ca.crt"], "-cert", files["client.crt"],
                 "-key", files["client.key"]]
        # s_client renegotiates when it reads a line that is only "R".
        done = subprocess.run(words, input=b"R\n", capture_output=True, check=False,
                              preexec_fn=die_with_parent)
        assert b"no renegotiation" in done.stderr, done.stderr
        with daemon.tls() as raw:
            equal(raw.call("PING"), b"+PONG\r\n")


@own
def a_client_may_change_its_keys():
    files = certificates()
    with TlsDaemon() as daemon:
        words = ["openssl", "s_client", "-connect", f"127.0.0.1:{daemon.tls_port}", "-tls1_3",
                 "-CAfile", files["ca.crt"], "-cert", files["client.crt"],
                 "-key", files["client.key"]]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, preexec_fn=die_with_parent) as client:
            def say(line, wanted):
                client.stdin.write(line)
                client.stdin.flush()
                heard = b""
                while wanted not in heard:
                    more = os.read(client.stdout.fileno(), 4096)
                    assert more, heard
                    heard += more
            say(b"PING\r\n", b"+PONG")
            for _ in range(3):
                say(b"K\n", b"KEYUPDATE")  # asks the server to change its keys, too
                say(b"PING\r\n", b"+PONG")
            client.kill()


# --- the wrong port, and handshakes that do not end --------------------------------------------


@own
def a_plain_client_at_the_tls_port_is_closed_with_a_log_line():
    with TlsDaemon() as daemon:
        for _ in range(50):
            with daemon.plain_to_tls() as plain:
                plain.sendall(b"PING\r\n")
                with contextlib.suppress(ConnectionError):
                    equal(plain.recv(100), b"")
        lines = [line for line in daemon.log().splitlines() if "does not speak TLS" in line]
        assert 1 <= len(lines) <= 5, lines
        assert "redis-cli --tls" in lines[0]


@own
def a_tls_client_at_the_plain_port_is_closed_with_a_log_line():
    with TlsDaemon(tcp=True) as daemon:
        try:
            TlsRaw(daemon.port).close()
            raise AssertionError("the plain port speaks TLS")
        except REFUSALS:
            pass
        assert "it speaks TLS, but this port does not" in daemon.log(), daemon.log()
        with daemon.raw(tcp=True) as raw:
            equal(raw.call("PING"), b"+PONG\r\n")
            raw.send(b"\x16\x03\x01\r\n")  # not the first bytes: a request
            assert raw.reply().startswith(b"-ERR unknown command")


def client_hello():
    """The first bytes of a TLS client."""
    inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context().wrap_bio(inside, outside, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        session.do_handshake()
    return outside.read()


@own
def unfinished_handshakes_cost_little_and_end():
    with TlsDaemon() as daemon, daemon.tls() as raw:
        silent = [daemon.plain_to_tls() for _ in range(100)]
        assert wait_for(lambda: field_of(raw, "connected_clients") == b"101")
        used = int(field_of(raw, "used_memory"))
        hello = client_hello()
        begun = [daemon.plain_to_tls() for _ in range(100)]
        for number, connection in enumerate(begun):
            connection.sendall(hello[:-1] if number % 2 else hello)
        assert wait_for(lambda: field_of(raw, "connected_clients") == b"201")
        equal(raw.call("PING"), b"+PONG\r\n")
        each = (int(field_of(raw, "used_memory")) - used) / 100
        assert each < 128 * 1024, f"{each} bytes for an unfinished handshake"
        # They end after ten seconds of real time, as the daemon measures them.
        wait_for(lambda: field_of(raw, "connected_clients") == b"1")
        equal(field_of(raw, "connected_clients"), b"1")
        assert "handshake took too long" in daemon.log()
        for connection in silent + begun:
            connection.close()


def begun_from(daemon, address, count):
    """Connections from this address that have sent the beginning of a handshake."""
    hello, begun = client_hello(), []
    for _ in range(count):
        begun.append(socket.create_connection(("127.0.0.1", daemon.tls_port), REPLY_SECONDS,
                                              (address, 0)))
        begun[-1].sendall(hello)
    return begun


def answered(connections):
    return len(select.select(connections, [], [], 0)[0])


def shakes_hands(daemon, address):
    with contextlib.closing(socket.create_connection(("127.0.0.1", daemon.tls_port), 1,
                                                     (address, 0))) as connection:
        with contextlib.suppress(TimeoutError):
            context().wrap_socket(connection, server_hostname="localhost").close()
            return True
    return False


@own
def an_address_with_many_unfinished_handshakes_keeps_no_other_out():
    with TlsDaemon() as daemon, daemon.raw() as raw:
        begun = begun_from(daemon, "127.0.0.1", 80)
        assert wait_for(lambda: answered(begun) == 64), answered(begun)
        # One of these addresses may share the lane of the first one.
        assert any(shakes_hands(daemon, f"127.0.0.{last}") for last in range(2, 6))
        equal(answered(begun), 64)
        first = select.select(begun, [], [], 0)[0]
        others = [connection for connection in begun if connection not in first]
        for connection in first:
            connection.close()
        assert wait_for(lambda: answered(others) == 16), answered(others)
        for connection in others:
            connection.close()
        assert wait_for(lambda: field_of(raw, "connected_clients") == b"1")


@own
def connections_that_wait_for_a_handshake_are_not_looked_at_in_each_turn():
    with TlsDaemon() as daemon, daemon.raw() as raw:
        begun = begun_from(daemon, "127.0.0.1", 400)
        assert wait_for(lambda: answered(begun) == 64), answered(begun)
        for _ in range(100):
            equal(raw.call("PING"), b"+PONG\r\n")
        reads = int(field_of(raw, "total_reads_processed"))
        assert reads < 5 * len(begun) + 1000, f"{reads} reads"
        for connection in begun:
            connection.close()


@own
def unfinished_handshakes_do_not_evict_data():
    with TlsDaemon() as daemon, daemon.tls() as raw:
        for number in range(500):
            raw.send(encode("SET", number, "x" * 100))
        equal(raw.replies(500), [b"+OK\r\n"] * 500)
        used = int(field_of(raw, "used_memory"))
        raw.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        raw.call("CONFIG", "SET", "maxmemory", used + 500_000)
        hello = client_hello()
        begun = [daemon.plain_to_tls() for _ in range(100)]
        for connection in begun:
            connection.sendall(hello)
        wait_for(lambda: int(field_of(raw, "mem_not_counted_for_evict")) > 1_000_000)
        assert int(field_of(raw, "mem_not_counted_for_evict")) > 1_000_000
        equal(raw.call("SET", "one", "more"), b"+OK\r\n")
        equal(field_of(raw, "evicted_keys"), b"0")
        for connection in begun:
            connection.close()


def check_memory(daemon, connect):
    with daemon.raw() as raw:
        with connect():
            pass  # what OpenSSL allocates once
        wait_for(lambda: field_of(raw, "connected_clients") == b"1")
        used = int(field_of(raw, "used_memory"))
        crowd = [connect() for _ in range(50)]
        for connection in crowd:
            connection.call("PING")
        grown = int(field_of(raw, "used_memory")) - used
        assert 50 * 5_000 < grown < 50 * 100_000, grown
        for connection in crowd:
            connection.close()
        wait_for(lambda: field_of(raw, "connected_clients") == b"1")
        left = int(field_of(raw, "used_memory")) - used
        assert left < 50 * 5_000, left


@own
def the_memory_of_tls_is_counted_and_given_back():
    with TlsDaemon() as daemon:
        check_memory(daemon, daemon.tls)


@own
def the_memory_of_tls_is_counted_if_passwords_were_hashed_before():
    with TlsDaemon("--user", "anna", "on", ">secret") as daemon:
        check_memory(daemon, daemon.tls)


@own
def the_memory_of_tls_is_counted_if_it_begins_later():
    later = TlsDaemon()
    words = [word.removeprefix("--") for word in later.tls_arguments()]
    with Daemon() as daemon:
        with daemon.raw() as raw:
            equal(raw.call("CONFIG", "SET", *words), b"+OK\r\n")
        check_memory(daemon, later.tls)


@own
def a_damaged_record_ends_only_its_connection():
    with TlsDaemon() as daemon, daemon.tls() as good:
        with daemon.tls() as bad:
            equal(bad.call("PING"), b"+PONG\r\n")
            os.write(bad.socket.fileno(), b"\x17\x03\x03\x00\x20" + b"x" * 32)
            with contextlib.suppress(*REFUSALS):
                equal(bad.socket.recv(100), b"")
        equal(good.call("PING"), b"+PONG\r\n")
        wait_for(lambda: field_of(good, "connected_clients") == b"1")
        equal(field_of(good, "connected_clients"), b"1")


# --- traffic -----------------------------------------------------------------------------------


@own
def large_values_go_both_ways():
    with TlsDaemon() as daemon, daemon.over_tls() as client:
        for size in (1, 16_383, 16_384, 16_385, 65_536, 1 << 20, 64 << 20):
            value = os.urandom(min(size, 1 << 20)) * max(1, size >> 20)
            client.set("k", value)
            assert client.get("k") == value, size


@own
def a_pipeline_of_10000_requests_is_answered():
    with TlsDaemon() as daemon, daemon.tls() as raw:
        requests = b"".join(encode("SET", f"key:{n}", f"value:{n}") + encode("GET", f"key:{n}")
                            for n in range(10_000))
        unsent = memoryview(requests)
        while unsent:  # in one thread: two may not use a connection of Python's ssl at once
            assert any(select.select([raw.socket], [raw.socket], [], REPLY_SECONDS)), "no progress"
            raw.take()
            assert not raw.closed, "closed by the server"
            raw.socket.setblocking(False)
            with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
                unsent = unsent[raw.socket.send(unsent):]
        raw.socket.settimeout(REPLY_SECONDS)
        replies = raw.replies(20_000)
        equal(replies[-1], b"$10\r\nvalue:9999\r\n")
        equal(replies[0::2], [b"+OK\r\n"] * 10_000)


@own
def requests_may_come_byte_by_byte():
    with TlsDaemon() as daemon, daemon.tls() as raw:
        request = encode("SET", "k", "v") + encode("GET", "k")
        for at in range(len(request)):
            raw.socket.sendall(request[at:at + 1])  # a record for each byte
        equal(raw.replies(2), [b"+OK\r\n", b"$1\r\nv\r\n"])


@own
def records_may_come_byte_by_byte():
    inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context().wrap_bio(inside, outside, server_hostname="localhost")
    with TlsDaemon() as daemon, daemon.plain_to_tls() as tcp:
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def push():
            for byte in outside.read():
                tcp.sendall(bytes([byte]))

        def until_done(act):
            while True:
                try:
                    return act()
                except ssl.SSLWantReadError:
                    push()
                    inside.write(tcp.recv(4096))
        until_done(session.do_handshake)
        session.write(encode("SET", "k", "v" * 1000) + encode("STRLEN", "k"))
        push()
        heard = b""
        while heard != b"+OK\r\n:1000\r\n":
            heard += until_done(lambda: session.read(100))


@own
def an_unauthenticated_client_is_read_to_the_last_byte():
    # It is read 1 KiB at a time, so most of a record waits where no socket announces it.
    with TlsDaemon("--requirepass", "secret") as daemon, daemon.tls() as raw:
        raw.send(encode("AUTH", "secret") + encode("SET", "k", "x" * 15_000) + encode("STRLEN", "k"))
        equal(raw.replies(3), [b"+OK\r\n", b"+OK\r\n", b":15000\r\n"])


@own
def a_client_that_reads_too_slowly_is_closed():
    with TlsDaemon("--client-output-buffer-limit", "normal 2mb 0 0") as daemon, \
            daemon.tls() as slow, daemon.tls() as good:
        good.call("SET", "k", "x" * 100_000)
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with contextlib.suppress(*REFUSALS):
            for _ in range(2000):
                slow.send(encode("GET", "k"))
        wait_for(lambda: field_of(good, "client_output_buffer_limit_disconnections") == b"1")
        equal(field_of(good, "client_output_buffer_limit_disconnections"), b"1")
        equal(good.call("STRLEN", "k"), b":100000\r\n")


@own
def a_client_that_reads_late_gets_everything():
    with TlsDaemon() as daemon, daemon.tls() as raw:
        raw.call("SET", "k", "x" * 1_000_000)
        for _ in range(100):
            raw.send(encode("GET", "k"))
        total = 0
        for reply in raw.replies(100):
            total += len(reply)
        equal(total, 100 * (1_000_000 + len("$1000000\r\n") + 2))


@own
def messages_and_blocked_clients_are_served_over_tls():
    with TlsDaemon() as daemon, daemon.tls() as one, daemon.tls() as other:
        one.call("SUBSCRIBE", "c")
        equal(other.call("PUBLISH", "c", "hello"), b":1\r\n")
        equal(one.reply(), b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nhello\r\n")
        with daemon.tls() as waiting:
            waiting.send(encode("BLPOP", "l", 0))
            wait_for(lambda: field_of(other, "blocked_clients") == b"1")
            other.call("RPUSH", "l", "x")
            equal(waiting.reply(), b"*2\r\n$1\r\nl\r\n$1\r\nx\r\n")


@own
def requests_before_the_end_of_input_are_answered():
    with TlsDaemon() as daemon, daemon.tls() as raw:
        raw.send(encode("ECHO", "a") + encode("ECHO", "b"))
        socket.socket.shutdown(raw.socket, socket.SHUT_WR)  # without TLS' farewell
        equal(raw.replies(2), [b"$1\r\na\r\n", b"$1\r\nb\r\n"])
        equal(raw.socket.recv(10), b"")
    with TlsDaemon() as daemon, daemon.tls() as raw:
        raw.send(encode("ECHO", "a") + encode("QUIT"))
        equal(raw.replies(2), [b"$1\r\na\r\n", b"+OK\r\n"])
        equal(raw.socket.recv(10), b"")  # with TLS' farewell, or this would raise


@own
def closing_a_tls_client_sends_close_notify():
    with TlsDaemon() as daemon, daemon.tls() as raw, daemon.raw() as admin:
        number = raw.call("CLIENT", "ID")[1:-2]
        equal(admin.call("CLIENT", "KILL", "ID", number), b":1\r\n")
        equal(raw.socket.recv(10), b"")


@own
def protected_mode_sends_a_tls_client_the_reason():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError as error:
            raise Skipped("this machine has only loopback addresses") from error
        address = probe.getsockname()[0]
    made = context()
    made.check_hostname = False
    with TlsDaemon("--bind", address, "--protected-mode", "yes") as daemon, daemon.raw() as admin:
        def refusal():
            with socket.create_connection((address, daemon.tls_port), REPLY_SECONDS) as plain, \
                    made.wrap_socket(plain) as tls:
                tls.sendall(b"PING\r\n")
                return tls.recv(4096)
        assert refusal().startswith(b"-DENIED"), refusal()
        admin.call("CONFIG", "SET", "protected-mode", "no")
        equal(refusal(), b"+PONG\r\n")


@own
def over_maxclients_a_tls_client_is_closed():
    with TlsDaemon("--maxclients", "2") as daemon, daemon.tls() as first, daemon.tls():
        assert is_refused(daemon)
        equal(first.call("PING"), b"+PONG\r\n")


if __name__ == "__main__":
    main()
