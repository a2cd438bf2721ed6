#!/usr/bin/python3 -B
"""The metrics port as a stranger sees it: methods, paths, passwords, and hostile clients."""
import os
import socket
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import equal, happens, main, own, wait_for
from http_port import Port, Reply, rest_of
from process import PATIENCE

SILENT_SECONDS, MOST_SECONDS = 5, 10  # of server/http/visitors.h
MOST = 32


def memory(daemon):
    return daemon.redis().info("memory")["used_memory"]


def files(daemon):
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


# ---- what there is ----

@own
def paths_and_methods_that_are_served():
    with Port() as daemon:
        for path in ("/", "/page.js", "/page.css", "/icon.svg", "/metrics", "/state.json"):
            equal(daemon.ask(path).status, 200, path)
            head = daemon.ask(path, "HEAD")
            equal((head.status, head.body), (200, b""), path)
            assert int(head.headers["content-length"]) > 0, path
        equal(daemon.ask("/why.json?key=k").status, 200)
        for path in ("/nothing", "/metrics/", "//metrics", "/page/index.html", "/../metrics", "*",
                     "/%6detrics", "/metrics%00"):
            equal(daemon.ask(path).status, 404, path)
        equal(daemon.ask("/metrics?name[]=x&y#z").status, 200)
        equal(daemon.ask("http://somewhere/metrics").status, 200, "an address with a host")
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
            refused = daemon.ask("/metrics", method, Content_Length="0")
            equal((refused.status, refused.headers["allow"]), (405, "GET, HEAD"), method)
        equal(daemon.redis().dbsize(), 0)


@own
def replies_close_and_forbid_outside_resources():
    with Port() as daemon:
        for path in ("/", "/metrics", "/state.json", "/nothing"):
            headers = daemon.ask(path, Connection="keep-alive").headers
            equal(headers["connection"], "close", path)
            equal(headers["cache-control"], "no-store", path)
            equal(headers["x-content-type-options"], "nosniff", path)
            policy = headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy, policy
            assert "access-control-allow-origin" not in headers
        page = daemon.ask("/").text() + daemon.ask("/page.js").text() + daemon.ask("/page.css").text()
        assert "//" not in page.replace("// ", "") and "url(" not in page, "an outside resource"


# ---- who may ask ----

@own
def password_is_needed_with_requirepass():
    with Port("--requirepass", "opensesame") as daemon:
        for path in ("/", "/metrics", "/state.json", "/nothing"):
            reply = daemon.ask(path)
            equal(reply.status, 401, path)
            assert reply.headers["www-authenticate"].startswith('Basic realm="expired"')
            assert b"expired_" not in reply.body
        for user in ("default", ""):
            equal(daemon.login(user, "opensesame").status, 200, user)
        equal(daemon.login("default", "opensesame", "/state.json").status, 200)
        families = Reply(daemon.exchange(  # a lower-case scheme
            b"GET /metrics HTTP/1.0\r\nAuthorization: basic ZGVmYXVsdDpvcGVuc2VzYW1l\r\n\r\n"))
        equal(families.status, 200)
        assert b"\nexpired_http_failed_logins_total 0\n" in families.body


@own
def users_need_the_rights_to_what_is_shown():
    with Port("--requirepass", "opensesame") as daemon:
        client = daemon.redis(password="opensesame")
        for name, rules, status in (
                ("watcher", "on >pw ~* +info +expiry +slowlog", 200),
                ("reader", "on >pw %R~* +@all", 200),
                ("off", "off >pw ~* +@all", 401),
                ("nolog", "on >pw ~* +info +expiry", 401),
                ("oneapp", "on >pw ~app:* +@all", 401)):
            client.execute_command("ACL", "SETUSER", name, *rules.split())
            equal(daemon.login(name, "pw").status, status, name)
        client.execute_command("ACL", "SETUSER", "default", "nopass", "-slowlog")
        equal(daemon.ask("/metrics").status, 401, "without a user")
        equal(daemon.login("watcher", "pw", "/state.json").status, 200)


@own
def renamed_commands_keep_rights_and_disabled_ones_have_none():
    for options, status in ((("--rename-command", "SLOWLOG", "hidden"), 200),
                            (("--rename-command", "SLOWLOG", ""), 401)):
        with Port("--requirepass", "opensesame", *options) as daemon:
            client = daemon.redis(password="opensesame")
            client.execute_command("ACL", "SETUSER", "watcher", "on", ">pw", "~*", "+@all", "-debug")
            client.execute_command("ACL", "SETUSER", "nolog", "on", ">pw", "~*", "+@all", "-@admin")
            equal(daemon.login("watcher", "pw").status, status, options)
            equal(daemon.login("nolog", "pw").status, 401, options)
            equal(daemon.login("", "opensesame").status, 200, "default may do everything")


@own
def failed_logins_are_counted_and_answered_late():
    with Port("--requirepass", "opensesame") as daemon:
        wrong = ["Basic", "Basic ", "Basic !!!!", "Basic ZGVmYXVsdA==", "Bearer abc",
                 "Basic ZGVmYXVsdDp4", "Basic ZGVmYXVsdDpvcGVuc2VzYW1lIQ==", "Basic " + "QUFB" * 1500]
        began = time.monotonic()
        connections = [daemon.connect() for _ in wrong]
        for connection, word in zip(connections, wrong):
            connection.sendall(f"GET /metrics HTTP/1.1\r\nAuthorization: {word}\r\n\r\n".encode())
        for connection, word in zip(connections, wrong):
            equal(Reply(rest_of(connection)).status, 401, word)
            connection.close()
        assert time.monotonic() - began > 0.9, "not slowed down"
        body = daemon.login("default", "opensesame").text()
        assert f"\nexpired_http_failed_logins_total {len(wrong)}\n" in body
        assert "opensesame" not in daemon.log()
        client = daemon.redis(password="opensesame")
        equal(client.info("stats")["acl_access_denied_auth"], len(wrong))


@own
def many_failed_logins_stop_further_checks():
    with Port("--requirepass", "opensesame") as daemon:
        def fails_until_refused():
            with daemon.connect() as connection:  # whether or not the client waits for its reply
                connection.sendall(b"GET / HTTP/1.1\r\nAuthorization: Basic eDp5\r\n\r\n")
            return daemon.login("default", "opensesame").status == 429
        assert wait_for(fails_until_refused, nap=0), "each password is checked"
        assert wait_for(lambda: daemon.login("default", "opensesame").status == 200)


@own
def failed_logins_without_a_password_are_limited_too():
    with Port() as daemon:
        client = daemon.redis()
        client.execute_command("ACL", "SETUSER", "default", "-info")
        client.execute_command("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all")
        for _ in range(40):
            with daemon.connect() as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nAuthorization: Basic eDp5\r\n\r\n")
        equal(daemon.ask("/").status, 401)  # it has read these requests
        assert wait_for(lambda: daemon.login("reader", "pw").status == 200)


@own
def strangers_names_are_refused_in_protected_mode():
    with Port("--metrics-bind", "127.0.0.1") as daemon:
        for host in ("localhost", "localhost:9121", "127.0.0.1:9121", "[::1]:9121"):
            equal(daemon.ask("/metrics", host=host).status, 200, host)
        for host in ("evil.example", "evil.example:9121", "1.2.3.4.example", "localhost.example"):
            equal(daemon.ask("/metrics", host=host).status, 403, host)
        daemon.redis().config_set("protected-mode", "no")
        equal(daemon.ask("/metrics", host="metrics.example").status, 200)


# ---- hostile clients ----

@own
def garbage_gets_an_error_and_harms_nothing():
    with Port() as daemon:
        for data in (b"\r\n\r\n", b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"GET /metrics\r\n\r\n",
                     b"GET /metrics HTTP/9.9\r\n\r\n", b"*1\r\n$4\r\nPING\r\n", b"BREW / HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
                     b"GET / HTTP/1.1\r\n folded\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                     b"GET /\xff\xfe HTTP/1.1\r\n\r\n", b"GET http://[::1/ HTTP/1.1\r\n\r\n",
                     b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
                     b"PUT / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"):
            with daemon.connect() as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                answer = rest_of(connection)
            assert not answer or int(answer.split(b" ")[1]) >= 400 or b"HTTP/9.9" in data, (data, answer)
            equal(daemon.ask("/metrics").status, 200)


@own
def pipelined_requests_get_one_reply():
    with Port() as daemon:
        one = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
        reply = Reply(daemon.exchange(one + b"GET /metrics HTTP/1.1\r\n\r\n" * 50))
        equal(reply.status, 404)
        reply = Reply(daemon.exchange(
            b"GET /nothing HTTP/1.1\r\nContent-Length: 25\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n"))
        equal(reply.status, 404, "a body is no request")


@own
def long_requests_are_refused_without_keeping_them():
    with Port() as daemon:
        before = memory(daemon)
        for data in (b"GET /" + b"a" * 20_000_000, b"GET / HTTP/1.1\r\nX: " + b"b" * 20_000_000,
                     b"GET / HTTP/1.1\r\n" + b"X-Y: z\r\n" * 2_000_000,
                     b"POST / HTTP/1.1\r\nContent-Length: 20000000\r\n\r\n" + b"c" * 20_000_000,
                     b"GET /metrics HTTP/1.1\r\n\r\n" + b"d" * 20_000_000):
            with daemon.connect() as connection:
                try:
                    connection.sendall(data)
                except OSError:
                    pass  # it reads no more
                assert memory(daemon) - before < 1_000_000, data[:20]
        assert wait_for(lambda: memory(daemon) - before < 200_000), memory(daemon) - before


@own
def two_hundred_connections_stall_nobody():
    with Port() as daemon, daemon.raw() as raw:
        before, open_before = memory(daemon), files(daemon)
        silent = [daemon.connect() for _ in range(100)]
        slow = [daemon.connect() for _ in range(100)]
        for connection in slow:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n")
        worst = 0
        for i in range(200):
            slow[i % 100].setblocking(False)
            try:
                slow[i % 100].send(b"X")
            except OSError:
                pass  # the server has closed it, as the oldest of too many
            began = time.monotonic()
            equal(raw.call("PING"), b"+PONG\r\n")
            worst = max(worst, time.monotonic() - began)
        assert worst < 4 * PATIENCE, f"a client waited {worst:.3f} s"
        assert files(daemon) - open_before <= MOST + 2, files(daemon) - open_before
        equal(daemon.ask("/metrics").status, 200, "the newest is served")
        assert memory(daemon) - before < 1_000_000
        for connection in silent + slow:
            connection.close()
        assert wait_for(lambda: files(daemon) <= open_before + 1), files(daemon) - open_before


@own
def slow_senders_and_readers_are_sent_away():
    """Real time has to pass: the limits are in seconds."""
    with Port() as daemon, daemon.connect() as sender, daemon.connect() as silent, \
            daemon.connect() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        reader.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")  # and does not read
        sender.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        began = time.monotonic()
        ends = {}

        def all_have_ended():
            try:
                sender.send(b"y")
            except OSError:
                ends.setdefault(sender, time.monotonic() - began)
            silent.settimeout(0.05)
            try:
                if silent.recv(1) == b"":
                    ends.setdefault(silent, time.monotonic() - began)
            except TimeoutError:
                pass
            return len(ends) == 2
        assert wait_for(all_have_ended, nap=0.2), ends
        assert SILENT_SECONDS < ends[sender] and ends[silent] < ends[sender], ends
        assert wait_for(lambda: daemon.value("expired_http_requests_total") >= 1)


@own
def connections_wait_while_descriptors_are_used_up():
    with Port() as daemon:
        daemon.redis().config_get("port")
        import resource  # pylint: disable=import-outside-toplevel
        limits = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (files(daemon), limits[1]))
        with daemon.connect() as connection:
            connection.sendall(b"GET /nothing HTTP/1.1\r\n\r\n")
            before = daemon.cpu_seconds()
            assert happens(lambda: daemon.cpu_seconds() - before > 0.5, 1) is False, "it spins"
            resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, limits)
            equal(Reply(rest_of(connection)).status, 404)


if __name__ == "__main__":
    main(seconds=120)
