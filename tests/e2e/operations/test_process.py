#!/usr/bin/python3 -B
"""The daemon as a Unix process: command line, files, signals, output and exit status."""
import contextlib
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import (BINARY, IS_REDIS, REPLY_SECONDS, Daemon, Skipped, die_with_parent, encode, equal, folder, free_port,
                    main, own, test, version_of, wait_for)


def run(*arguments, given="", cwd=None, env=None):
    """A daemon that is expected to end by itself: (status, standard output, standard error)."""
    done = subprocess.run([BINARY, *arguments], input=given, capture_output=True, text=True,
                          cwd=cwd or "/", env=env, preexec_fn=die_with_parent)
    return done.returncode, done.stdout, done.stderr


def refuses(wanted, *arguments, given=""):
    """The daemon must end with status 1 and one line on standard error that has each of the words."""
    status, out, err = run(*arguments, given=given)
    equal(status, 1, f"{arguments}: {out}{err}")
    if IS_REDIS:
        return
    equal(err.count("\n"), 1, err)
    assert err.startswith("expired: "), err
    for word in wanted:
        assert word in err, f"{arguments}: {word!r} is not in {err!r}"


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# --- the command line --------------------------------------------------------------------------


@test
def version_and_help_go_to_standard_output():
    for word in ("--version", "-v"):
        status, out, err = run(word)
        equal((status, err), (0, ""))
        assert "v=" in out and out.count("\n") == 1, out
    for word in ("--help", "-h"):
        status, out, err = run(word)
        assert "Usage:" in out + err and "--port" in out + err, (out, err)
        if not IS_REDIS:
            equal((status, err), (0, ""))


@test
def a_bad_option_on_the_command_line_is_named_with_the_reason():
    refuses(["nosuch"], "--nosuch", "1")
    refuses(["port", "65536"] if IS_REDIS else ["port"], "--port", "65536")
    refuses(["port"], "--port", "x")
    refuses(["port"], "--port")
    refuses(["maxclients"], "--maxclients", "0")
    refuses(["appendonly"], "--appendonly", "maybe")
    refuses(["client-output-buffer-limit"], "--client-output-buffer-limit", "normal", "1")
    refuses(["maxmemory"], "--maxmemory", "10x")


@own
def a_word_that_is_no_option_is_refused():
    refuses(["timeout"], "--port", "0", "--timeout", "1", "stray")
    refuses(["port"], "-port", "0")


@test
def a_bad_line_of_a_file_is_named_with_file_line_and_reason():
    with folder() as where:
        path = write(os.path.join(where, "bad.conf"), "# fine\nport 0\n\ntimeout soon\n")
        refuses([f"{path}:4: timeout: "], path)
        write(path, "port 0\nnosuch 1\n")
        refuses([f"{path}:2: nosuch: no such option"], path)
        write(path, 'dir "unbalanced\n')
        refuses([f"{path}:1: "], path)
        write(path, "port\n")
        refuses([f"{path}:1: port: wrong number of arguments"], path)
        write(path, "port 0\ninclude inner.conf\n")
        inner = write(os.path.join(where, "inner.conf"), "maxclients many\n")
        write(path, f"port 0\ninclude {inner}\n")
        refuses([f"{inner}:1: maxclients: "], path)
        refuses(["nosuch.conf"], os.path.join(where, "nosuch.conf"))
        if not IS_REDIS:
            refuses([where], where)


@own
def options_come_from_standard_input_too():
    refuses(["standard input:2: nosuch: no such option"], "-", given="port 0\nnosuch 1\n")


@test
def options_of_the_command_line_override_those_of_a_file():
    with folder() as where:
        path = write(os.path.join(where, "good.conf"),
                     "timeout 77\ntcp-keepalive 99\n# comment\nnotify-keyspace-events \"Ex\"\n"
                     "port 1\nCLIENT-OUTPUT-BUFFER-LIMIT pubsub 1mb 512kb 30\n")
        with Daemon("--timeout", "88", before=[path]) as daemon, daemon.raw() as raw:
            for name, wanted in (("timeout", b"88"), ("tcp-keepalive", b"99"),
                                 ("port", b"0"), ("appendonly", b"no"), ("save", b"")):
                equal(raw.call("CONFIG", "GET", name).split(b"\r\n")[4], wanted, name)
            assert b"pubsub 1048576 524288 30" in raw.call("CONFIG", "GET", "client-output*")
            with daemon.redis() as client:
                assert client.config_get("notify-keyspace-events") in (
                    {"notify-keyspace-events": "xE"}, {"notify-keyspace-events": "Ex"})


@own
def a_changed_option_can_be_written_back():
    with folder() as where:
        path = write(os.path.join(where, "rewrite.conf"), "# kept\ntimeout 77\n")
        with Daemon(before=[path]) as daemon, daemon.raw() as raw:
            equal(raw.call("CONFIG", "SET", "timeout", "5"), b"+OK\r\n")
            equal(raw.call("CONFIG", "REWRITE"), b"+OK\r\n")
        text = read(path)
        assert text.startswith("# kept\ntimeout 5\n"), text
        with Daemon(before=[path]) as daemon, daemon.raw() as raw:
            equal(raw.call("CONFIG", "GET", "timeout"), b"*2\r\n$7\r\ntimeout\r\n$1\r\n5\r\n")


# --- where it listens --------------------------------------------------------------------------


@test
def port_0_with_a_unix_socket_opens_no_tcp_port():
    with Daemon() as daemon:
        equal(daemon.port, 0)
        sockets = os.listdir(f"/proc/{daemon.process.pid}/fd")
        found = subprocess.run(["find", f"/proc/{daemon.process.pid}/fd", "-lname", "socket:*"],
                               capture_output=True, text=True, check=False).stdout.split()
        inodes = {os.readlink(path)[8:-1] for path in found if os.path.lexists(path)}
        listening = [line.split() for line in read("/proc/net/tcp").splitlines()[1:]]
        equal([row for row in listening if row[3] == "0A" and row[9] in inodes], [], sockets)


@test
def a_port_in_use_is_an_error_that_names_it():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        status, out, err = run("--port", port, "--bind", "127.0.0.1", "--save", "")
        equal(status, 1)
        assert port in out + err and "in use" in out + err, out + err


@test
def a_missing_bind_address_is_an_error_unless_optional():
    status, out, err = run("--port", str(free_port()), "--bind", "192.0.2.1", "--save", "")
    equal(status, 1)
    assert "192.0.2.1" in out + err, out + err
    with Daemon("--bind", "127.0.0.1 -192.0.2.1", tcp=True) as daemon:
        with daemon.raw(tcp=True) as raw:
            equal(raw.call("PING"), b"+PONG\r\n")


@test
def a_socket_path_that_is_too_long_or_not_there_is_an_error():
    equal(run("--port", "0", "--unixsocket", "/tmp/" + "x" * 200, "--save", "")[0], 1)
    equal(run("--port", "0", "--unixsocket", "/nosuch/dir/socket", "--save", "")[0], 1)


@own
def a_daemon_that_would_listen_nowhere_does_not_start():
    status, out, err = run("--port", "0")
    equal(status, 1)
    assert "listen" in (out + err).lower() or "port" in out + err, out + err


@test
def the_unix_socket_has_the_mode_that_was_asked_for():
    for mode in (0o700, 0o770, 0o777):
        with Daemon("--unixsocketperm", oct(mode)[2:]) as daemon:
            equal(oct(stat.S_IMODE(os.stat(daemon.path).st_mode)), oct(mode))


@own
def the_unix_socket_is_never_more_open_than_that():
    seen, ends = set(), threading.Event()
    with Daemon("--unixsocketperm", "700") as daemon:
        def look():
            while not ends.is_set():
                with contextlib.suppress(FileNotFoundError):
                    seen.add(oct(stat.S_IMODE(os.stat(daemon.path).st_mode)))
        daemon.stop()
        usual = os.umask(0)
        watcher = threading.Thread(target=look)
        watcher.start()
        for _ in range(5):
            daemon.start()
            daemon.stop()
        ends.set()
        watcher.join()
        os.umask(usual)
    equal(seen, {oct(0o700)})


@test
def a_socket_left_by_a_killed_daemon_is_taken_over():
    with Daemon() as daemon:
        daemon.process.kill()
        daemon.process.wait()
        assert os.path.exists(daemon.path)
        daemon.start()
        with daemon.raw() as raw:
            equal(raw.call("PING"), b"+PONG\r\n")
        daemon.stop()
        equal(os.path.exists(daemon.path), False, "the socket after an orderly end")


@own
def a_socket_that_is_served_is_not_taken_over():
    with Daemon() as daemon:
        status, out, err = run("--port", "0", "--unixsocket", daemon.path)
        equal(status, 1, out + err)
        assert daemon.path in out + err, out + err
        with daemon.raw() as raw:
            equal(raw.call("PING"), b"+PONG\r\n")


@own
def a_file_that_is_no_socket_is_not_removed():
    with folder() as where:
        path = write(os.path.join(where, "precious"), "data")
        status, out, err = run("--port", "0", "--unixsocket", path)
        equal(status, 1, out + err)
        equal(read(path), "data")


@test
def requirepass_requires_the_password():
    with Daemon("--requirepass", "secret", tcp=True) as daemon, daemon.raw(tcp=True) as raw:
        equal(raw.call("GET", "k"), b"-NOAUTH Authentication required.\r\n")
        equal(raw.call("AUTH", "wrong"),
              b"-WRONGPASS invalid username-password pair or user is disabled.\r\n")
        equal(raw.call("AUTH", "default", "secret"), b"+OK\r\n")
        equal(raw.call("GET", "k"), b"$-1\r\n")
        with daemon.raw(tcp=True) as other:
            equal(other.call("HELLO", "3", "AUTH", "default", "secret")[:1], b"%")
            equal(other.call("GET", "k"), b"_\r\n")
            equal(other.call("RESET"), b"+RESET\r\n")
            equal(other.call("GET", "k"), b"-NOAUTH Authentication required.\r\n")


def own_address():
    """An address of this machine that is not loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # chooses a route, sends nothing
            address = probe.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith("127.") else address


@test
def protected_mode_refuses_remote_clients_without_a_password():
    address = own_address()
    if address is None:
        raise Skipped("this machine has no address other than loopback")
    with Daemon("--bind", "*", tcp=True) as daemon, daemon.raw() as admin:
        with socket.create_connection((address, daemon.port), timeout=REPLY_SECONDS) as other:
            data = b""
            with contextlib.suppress(ConnectionResetError):
                while True:
                    more = other.recv(65536)
                    if not more:
                        break
                    data += more
            assert data.startswith(b"-DENIED "), data
        admin.call("CONFIG", "SET", "protected-mode", "no")
        with socket.create_connection((address, daemon.port), timeout=REPLY_SECONDS) as other:
            other.sendall(b"PING\r\n")
            equal(other.recv(100), b"+PONG\r\n")


# --- files and signals -------------------------------------------------------------------------


@test
def signals_end_the_daemon_in_order():
    for number in (signal.SIGTERM, signal.SIGINT):
        with Daemon() as daemon, daemon.raw() as raw:
            raw.call("PING")
            daemon.stop(with_signal=number)
            equal(raw.rest(), b"")


@test
def shutdown_ends_the_daemon_in_order():
    for arguments in (["SHUTDOWN"], ["SHUTDOWN", "NOSAVE"], ["SHUTDOWN", "NOW", "FORCE"]):
        with Daemon() as daemon, daemon.raw() as raw:
            raw.send(b" ".join(word.encode() for word in arguments) + b"\r\n")
            equal(raw.rest(), b"")
            equal(daemon.process.wait(), 0)
            daemon.process = None


@test
def a_hangup_does_not_end_the_daemon():
    with Daemon() as daemon, daemon.raw() as raw:
        os.kill(daemon.process.pid, signal.SIGHUP)
        equal(raw.call("PING"), b"+PONG\r\n")


@own
def a_hangup_opens_the_log_file_anew():
    with folder() as where:
        path, moved = os.path.join(where, "log"), os.path.join(where, "log.1")
        with Daemon("--logfile", path, "--loglevel", "verbose") as daemon, daemon.raw() as raw:
            for _ in range(2):  # a rotation, then another
                os.rename(path, moved)
                os.kill(daemon.process.pid, signal.SIGHUP)
                assert wait_for(lambda: os.path.exists(path))
                old = read(moved)
                with daemon.raw() as broken:
                    broken.send(b"*x\r\n")
                    broken.rest()
                assert "Protocol error" in read(path), read(path)
                equal(read(moved), old)
            # A file that can't be opened: logging continues to the old file, with a warning.
            os.rename(path, moved)
            os.mkdir(path)
            os.kill(daemon.process.pid, signal.SIGHUP)
            assert wait_for(lambda: "Can't open" in read(moved)), read(moved)
            equal(raw.call("PING"), b"+PONG\r\n")
            descriptors = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
            os.rmdir(path)
            for _ in range(20):
                os.kill(daemon.process.pid, signal.SIGHUP)
                assert wait_for(lambda: os.path.exists(path))
                os.unlink(path)
            # The new file exists before the old one is closed.
            assert wait_for(lambda: len(os.listdir(f"/proc/{daemon.process.pid}/fd")) == descriptors)


@own
def a_hangup_while_the_log_goes_to_standard_output_does_nothing():
    with Daemon() as daemon, daemon.raw() as raw:
        before = daemon.log()
        os.kill(daemon.process.pid, signal.SIGHUP)
        equal(raw.call("PING"), b"+PONG\r\n")
        equal(daemon.log(), before)


@own
def info_server_shows_the_version():
    version = re.search(r"v=(\S+)", version_of(BINARY)).group(1)
    with Daemon() as daemon, daemon.raw() as raw:
        for section in ("server", "default", "everything"):
            text = raw.call("INFO", section).decode()
            assert f"\r\nexpired_version:{version}\r\n" in text, text
            equal(text.count("expired_version:"), 1)


@test
def a_daemon_with_data_and_clients_stops():
    with Daemon() as daemon:
        clients = [daemon.raw() for _ in range(50)]
        clients[0].send(b"".join(b"SET k%d v\r\n" % i for i in range(20_000)))
        for _ in range(20_000):
            clients[0].reply()
        clients[1].send(b"*3\r\n$3\r\nSET\r\n$1\r\n")  # half a request
        daemon.stop()
        for raw in clients:
            raw.close()


@test
def the_pidfile_exists_while_the_daemon_runs():
    with folder() as where:
        path = os.path.join(where, "pid")
        with Daemon("--pidfile", path) as daemon:
            equal(wait_for(lambda: os.path.exists(path) and read(path).strip()),
                  str(daemon.process.pid))
            daemon.stop()
            equal(os.path.exists(path), False)


@test
def the_log_is_written_to_the_logfile():
    with folder() as where:
        path = os.path.join(where, "log")
        with Daemon("--logfile", path, "--loglevel", "notice") as daemon:
            daemon.stop()
        text = read(path)
        assert "ready to accept connections" in text.lower(), text
        with Daemon("--logfile", path, "--loglevel", "warning") as daemon:
            daemon.stop()
        assert read(path).startswith(text), "the log is appended to"
        status, out, err = run("--port", "0", "--unixsocket", where + "/s", "--logfile",
                               "/nosuch/log")
        equal(status, 1)
        assert "/nosuch/log" in out + err or IS_REDIS, out + err


@test
def relative_paths_are_in_dir():
    with folder() as where:
        with Daemon("--dir", where, "--pidfile", "here.pid", "--logfile", "here.log") as daemon:
            with daemon.raw() as raw:
                assert where.encode() in raw.call("CONFIG", "GET", "dir")
            assert wait_for(lambda: os.path.exists(os.path.join(where, "here.pid")))
            assert os.path.exists(os.path.join(where, "here.log"))
        status, out, err = run("--port", "0", "--dir", "/nosuch")
        equal(status, 1)
        assert "nosuch" in out + err, out + err


@test
def daemonize_serves_in_the_background():
    with folder() as where:
        path, pidfile = os.path.join(where, "socket"), os.path.join(where, "pid")
        status, _, err = run("--port", "0", "--unixsocket", path, "--daemonize", "yes",
                             "--pidfile", pidfile, "--dir", where, "--save", "", "--logfile",
                             os.path.join(where, "log"))
        equal(status, 0, err)
        pid = int(wait_for(lambda: os.path.exists(pidfile) and read(pidfile).strip()) or 0)
        assert pid > 0, read(os.path.join(where, "log"))
        try:
            wait_for(lambda: os.path.exists(path))
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(REPLY_SECONDS)
                client.connect(path)
                client.sendall(b"PING\r\n")
                equal(client.recv(100), b"+PONG\r\n")
        finally:
            os.kill(pid, signal.SIGTERM)
        equal(wait_for(lambda: not is_alive(pid)), True, "it ended")
        equal(os.path.exists(pidfile), False)


def is_alive(pid):
    try:
        return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@test
def systemd_is_notified_when_the_daemon_is_ready():
    for abstract in (False, True):
        with folder() as where, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.settimeout(REPLY_SECONDS)
            path = os.path.join(where, "notify")
            systemd.bind("\0" + path if abstract else path)
            env = dict(os.environ, NOTIFY_SOCKET="@" + path if abstract else path)
            with Daemon("--supervised", "systemd", env=env) as daemon:
                heard = systemd.recv(1000)
                while b"READY=1" not in heard:
                    heard += systemd.recv(1000)
                with daemon.raw() as raw:
                    equal(raw.call("PING"), b"+PONG\r\n")
                daemon.stop()
                if not IS_REDIS:
                    assert b"STOPPING=1" in systemd.recv(1000)


@own
def supervised_no_sends_nothing():
    with folder() as where, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        path = os.path.join(where, "notify")
        systemd.bind(path)
        systemd.setblocking(False)
        with Daemon("--supervised", "no", env=dict(os.environ, NOTIFY_SOCKET=path)) as daemon:
            daemon.stop()
        try:
            raise AssertionError(systemd.recv(1000))
        except BlockingIOError:
            pass


@test
def two_daemons_are_independent():
    with Daemon() as one, Daemon() as two, one.raw() as first, two.raw() as second:
        equal(first.call("SET", "k", "one"), b"+OK\r\n")
        equal(second.call("EXISTS", "k"), b":0\r\n")


@test
def a_restart_without_persistence_has_no_data():
    with Daemon() as daemon:
        with daemon.raw() as raw:
            raw.call("SET", "k", "v")
        daemon.stop()
        equal(sorted(os.listdir(daemon.dir)), ["output"], "files left in dir")
        daemon.start()
        with daemon.raw() as raw:
            equal(raw.call("DBSIZE"), b":0\r\n")


@own
def journal_that_was_just_turned_on_is_complete_after_a_stop():
    with Daemon("--appendonly", "no", "--save", "") as daemon:
        with daemon.raw() as raw:
            # In one turn, so that no base has been written yet.
            raw.send(encode("SET", "a", 1) + encode("CONFIG", "SET", "appendonly", "yes") + encode("SET", "b", 2)
                     + encode("SHUTDOWN"))
            equal(daemon.process.wait(), 0, daemon.log())
        daemon.options = ["--appendonly", "yes"]
        daemon.start()
        with daemon.redis() as client:
            equal(client.mget("a", "b"), [b"1", b"2"], daemon.log())


class Piped(Daemon):
    """Its output goes into a pipe, which is read by `drain` alone."""

    def launch(self):
        os.mkfifo(self.log_path)
        self.pipe = os.open(self.log_path, os.O_RDONLY | os.O_NONBLOCK)
        super().launch()

    def clean(self):
        super().clean()
        os.close(self.pipe)

    def drain(self):
        found = b""
        while True:
            try:
                found += os.read(self.pipe, 1 << 16)
            except BlockingIOError:
                return found.decode()


@own
def output_that_nobody_reads_stops_no_client():
    count, log = 300, "redis.log(redis.LOG_WARNING, ARGV[1])"  # much more than a pipe holds
    with Piped() as daemon, daemon.raw() as raw:
        for _ in range(count):
            equal(raw.call("EVAL", log, 0, "x" * 1000), b"$-1\r\n")
        kept = daemon.drain().count("x" * 1000)
        assert 0 < kept < count, kept
        raw.call("EVAL", log, 0, "later")
        lost, later = daemon.drain().splitlines()
        assert f"# {count - kept} lines of the log lost, because" in lost, lost
        assert later.endswith("# later"), later


main()
