#!/usr/bin/python3 -B
"""The daemon as a service: messages to the service manager, sockets that it is given, reload, log."""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import (BINARY, REPLY_SECONDS, Daemon, die_with_parent, equal, folder, free_port, happens, main, test,
                    wait_for)

WATCHDOG_USEC = 400_000
GENERATOR = os.path.join(sys.path[0], "../../../tools/systemd/expired-generator")


class Manager:
    """A service manager: a socket that receives the daemon's messages, in the file system or
    abstract."""

    def __init__(self, where, abstract=False):
        path = os.path.join(where, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + path if abstract else path)
        self.socket.settimeout(REPLY_SECONDS)
        self.name = "@" + path if abstract else path
        self.heard = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def env(self, **more):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("LISTEN_", "WATCHDOG_", "NOTIFY_"))}
        return dict(kept, NOTIFY_SOCKET=self.name, **more)

    def receive(self):
        """The next message, as its lines."""
        data = self.socket.recv(4096).decode()
        self.heard.append(dict(line.split("=", 1) for line in data.split("\n")))
        return self.heard[-1]

    def until(self, name):
        """The first message that has this line; those before it are in `heard`."""
        while name not in self.receive():
            pass
        return self.heard[-1]

    def is_silent(self):
        self.socket.setblocking(False)
        try:
            return self.socket.recv(4096) is None
        except BlockingIOError:
            return True
        finally:
            self.socket.settimeout(REPLY_SECONDS)


@contextlib.contextmanager
def supervised(*options, abstract=False, env=None, before=()):
    """A daemon that is ready, and its manager."""
    with folder() as where, Manager(where, abstract) as manager:
        with Daemon("--supervised", "systemd", *options, env=manager.env(**(env or {})),
                    before=before) as daemon:
            manager.until("READY")
            yield daemon, manager


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def option(raw, name):
    return raw.call("CONFIG", "GET", name).split(b"\r\n")[4].decode()


def listens(path):
    """Waits until somebody accepts connections there; the file is there a little earlier."""
    def accepts():
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(path) == 0
    return wait_for(accepts)


def hang_up(daemon):
    os.kill(daemon.process.pid, signal.SIGHUP)


def fill(raw):
    """About 10 MiB of data."""
    for j in range(0, 100_000, 10_000):
        raw.calls([("SET", f"k{i}", "v" * 100) for i in range(j, j + 10_000)])


# --- messages ------------------------------------------------------------------------------------


@test
def ready_and_stopping_are_reported_with_the_state():
    for abstract in (False, True):
        with supervised(abstract=abstract) as (daemon, manager):
            ready = manager.heard[-1]
            equal(ready["READY"], "1")
            assert re.match(r"Ready: 0 keys, \d+ clients?, [\d.]+[KMG] of memory", ready["STATUS"]), ready
            daemon.stop()
            stopping = manager.until("STOPPING")
            equal(stopping["STOPPING"], "1")
            assert stopping["STATUS"].startswith("Stopping"), stopping


@test
def the_status_line_follows_the_data():
    with supervised() as (daemon, manager), daemon.raw() as raw:
        raw.call("SET", "k", "v")
        while not manager.until("STATUS")["STATUS"].startswith("Ready: 1 key, 1 client, "):
            pass


@test
def more_time_is_asked_for_while_data_is_loaded():
    with folder() as where, Manager(where) as manager:
        options = ["--supervised", "systemd", "--appendonly", "yes", "--dir", where]
        with Daemon(*options) as daemon, daemon.raw() as raw:
            fill(raw)
        with Daemon(*options, env=manager.env(WATCHDOG_USEC=str(WATCHDOG_USEC))):
            manager.until("READY")
            asked = [message for message in manager.heard if "EXTEND_TIMEOUT_USEC" in message]
            assert asked, manager.heard
            assert int(asked[0]["EXTEND_TIMEOUT_USEC"]) >= 10_000_000, asked
            assert asked[0]["STATUS"].startswith("Loading: "), asked
            assert "WATCHDOG" in asked[0], asked


@test
def signs_of_life_come_twice_in_the_time_of_the_watchdog():
    with supervised(env={"WATCHDOG_USEC": str(WATCHDOG_USEC)}) as (_, manager):
        for _ in range(4):
            equal(manager.until("WATCHDOG")["WATCHDOG"], "1")
        # A daemon that hangs gives none.
    with supervised(env={"WATCHDOG_USEC": str(WATCHDOG_USEC)}) as (daemon, manager):
        manager.socket.settimeout(2 * WATCHDOG_USEC / 1e6)
        with daemon.stopped(), contextlib.suppress(TimeoutError):
            for _ in range(100):
                manager.receive()
            raise AssertionError(f"a stopped daemon gave signs of life: {manager.heard}")
        manager.socket.settimeout(REPLY_SECONDS)
        manager.until("WATCHDOG")


@test
def a_watchdog_of_another_process_is_not_fed():
    env = {"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}
    with supervised(env=env) as (daemon, manager), daemon.raw() as raw:
        raw.call("PING")
        daemon.stop()
        manager.until("STOPPING")
        equal([message for message in manager.heard if "WATCHDOG" in message], [])


@test
def a_long_script_gives_signs_of_life():
    endless = "while true do end"
    for threshold in ("0", "50"):
        options = ("--busy-reply-threshold", threshold)
        with supervised(*options, env={"WATCHDOG_USEC": "2000000"}) as (daemon, manager):
            with daemon.raw() as raw:
                raw.send(f"EVAL '{endless}' 0\r\n".encode())
                manager.heard.clear()
                for _ in range(3):
                    manager.until("WATCHDOG")
            daemon.kill()


@test
def a_saving_stop_reports_its_progress():
    with folder() as where, Manager(where) as manager:
        with Daemon("--supervised", "systemd", "--save", "3600 1", "--rdbcompression", "no",
                    env=manager.env()) as daemon, daemon.raw() as raw:
            fill(raw)
            manager.until("READY")
            daemon.stop()
            manager.until("STOPPING")
            saving = [message for message in manager.heard
                      if message.get("STATUS", "").startswith("Writing a snapshot: ")]
            assert saving and "EXTEND_TIMEOUT_USEC" in saving[0], manager.heard


@test
def nothing_is_sent_unless_supervised():
    with folder() as where, Manager(where) as manager:
        with Daemon("--supervised", "no", env=manager.env(WATCHDOG_USEC="100000")) as daemon:
            with daemon.raw() as raw:
                raw.call("PING")
            daemon.stop()
        assert manager.is_silent()


@test
def a_manager_that_does_not_read_holds_nothing_up():
    with supervised(env={"WATCHDOG_USEC": "20000"}) as (daemon, manager), daemon.raw() as raw:
        queued = int(open("/proc/sys/net/unix/max_dgram_qlen", encoding="ascii").read())
        happens(lambda: False, 0.02 * (queued + 5))  # lets the queue fill up
        equal(raw.call("PING"), b"+PONG\r\n")
        assert not manager.is_silent()


# --- reload --------------------------------------------------------------------------------------


@contextlib.contextmanager
def configured(text, *options):
    """A daemon with a file of options, its manager, and the file's path."""
    with folder() as where:
        path = write(os.path.join(where, "service.conf"), text)
        with supervised(*options, before=[path]) as (daemon, manager):
            yield daemon, manager, path


def reload(daemon, manager):
    """Reloads; the line about the state afterwards."""
    hang_up(daemon)
    began = manager.until("RELOADING")
    equal(began["RELOADING"], "1")
    assert int(began["MONOTONIC_USEC"]) > 0, began
    return manager.until("READY")["STATUS"]


@test
def a_reload_takes_over_what_has_changed_in_the_file():
    with configured("timeout 7\nmaxmemory 100mb\n") as (daemon, manager, path):
        with daemon.raw() as raw:
            write(path, "timeout 8\nmaxmemory 200mb\nnotify-keyspace-events Ex\n")
            reload(daemon, manager)
            equal(option(raw, "timeout"), "8")
            equal(option(raw, "maxmemory"), str(200 << 20))
            equal(option(raw, "notify-keyspace-events"), "xE")
            raw.send(b"SUBSCRIBE __keyevent@0__:expired\r\n")
            raw.reply()
            with daemon.raw() as other:
                other.call("SET", "k", "v", "PX", "1")
            assert b"__keyevent@0__:expired" in raw.reply()
            assert "Options changed by the reload: " in daemon.log(), daemon.log()
            write(path, "timeout 8\n")  # a line less: the default again
            reload(daemon, manager)
            with daemon.raw() as other:
                equal(option(other, "maxmemory"), "0")


@test
def a_file_with_faults_changes_nothing_and_is_named():
    with configured("timeout 7\n") as (daemon, manager, path), daemon.raw() as raw:
        write(path, "timeout 8\nmaxmemory plenty\n")
        status = reload(daemon, manager)
        assert "the last reload failed" in status, status
        equal(option(raw, "timeout"), "7")
        assert f"{path}:2: maxmemory: " in daemon.log(), daemon.log()
        write(path, "timeout 8\n")
        status = reload(daemon, manager)
        assert "reload failed" not in status, status
        equal(option(raw, "timeout"), "8")
        os.unlink(path)
        assert "the last reload failed" in reload(daemon, manager)
        equal(option(raw, "timeout"), "8")


@test
def options_that_need_a_restart_are_named_by_a_reload():
    with configured("databases 16\ntimeout 1\n") as (daemon, manager, path), daemon.raw() as raw:
        write(path, "databases 4\ntimeout 2\n")
        for _ in range(2):
            before = len(daemon.log())
            reload(daemon, manager)
            assert "Options that will change at the next restart: databases\n" in daemon.log()[before:]
        equal((option(raw, "databases"), option(raw, "timeout")), ("16", "2"))


@test
def the_command_line_and_config_set_survive_a_reload():
    with configured("timeout 1\ntcp-keepalive 10\n", "--timeout", "5") as (daemon, manager, path):
        with daemon.raw() as raw:
            raw.call("CONFIG", "SET", "tcp-keepalive", "20", "slowlog-max-len", "3")
            write(path, "timeout 2\ntcp-keepalive 10\nslowlog-log-slower-than 5\n")
            reload(daemon, manager)
            found = [option(raw, name) for name in
                     ("timeout", "tcp-keepalive", "slowlog-max-len", "slowlog-log-slower-than")]
            equal(found, ["5", "20", "3", "5"])


@test
def a_rewritten_file_is_reloaded_without_a_change():
    with configured("# mine\ntimeout 1\n") as (daemon, manager, path), daemon.raw() as raw:
        raw.call("CONFIG", "SET", "timeout", "9", "maxmemory", "50mb")
        equal(raw.call("CONFIG", "REWRITE"), b"+OK\r\n")
        reload(daemon, manager)
        equal((option(raw, "timeout"), option(raw, "maxmemory")), ("9", str(50 << 20)))
        assert "Options changed by the reload" not in daemon.log(), daemon.log()
        with open(path, encoding="utf-8") as file:
            assert file.read().startswith("# mine\ntimeout 9\n")


@test
def relative_paths_of_the_start_are_found_by_a_reload():
    with folder() as where:
        write(os.path.join(where, "outer.conf"), "include inner.conf\n")
        inner = write(os.path.join(where, "inner.conf"), "timeout 3\n")
        with socket.socket(socket.AF_UNIX) as client:
            path, data = os.path.join(where, "socket"), os.path.join(where, "data")
            os.mkdir(data)
            with subprocess.Popen([BINARY, "outer.conf", "--port", "0", "--unixsocket", path, "--dir",
                                   "data", "--save", ""], cwd=where, preexec_fn=die_with_parent,
                                  stdout=subprocess.DEVNULL) as process:
                assert listens(path)
                client.settimeout(REPLY_SECONDS)
                client.connect(path)

                def timeout():
                    client.sendall(b"CONFIG GET timeout\r\n")
                    return client.recv(1000).split(b"\r\n")[4]
                equal(timeout(), b"3")
                write(inner, "timeout 4\n")
                process.send_signal(signal.SIGHUP)
                equal(wait_for(lambda: timeout() == b"4"), True)
                client.sendall(b"CONFIG GET dir\r\n")
                assert os.path.realpath(data).encode() in client.recv(1000)
                client.sendall(b"BGSAVE\r\n")
                assert b"started" in client.recv(1000)
                assert wait_for(lambda: os.path.exists(os.path.join(data, "dump.exp")))
                process.terminate()
                equal(process.wait(), 0)


@test
def a_reload_waits_for_the_end_of_a_script():
    with configured("timeout 1\n", "--busy-reply-threshold", "50") as (daemon, manager, path):
        with daemon.raw() as raw, daemon.raw() as other:
            raw.send(b"EVAL 'while true do end' 0\r\n")
            assert wait_for(lambda: other.call("PING").startswith(b"-BUSY"))
            write(path, "timeout 2\n")
            hang_up(daemon)
            assert other.call("PING").startswith(b"-BUSY")
            equal(other.call("SCRIPT", "KILL"), b"+OK\r\n")
            manager.until("RELOADING")
            manager.until("READY")
            equal(option(other, "timeout"), "2")


@test
def the_options_can_be_checked_without_a_start():
    with folder() as where:
        path = write(os.path.join(where, "checked.conf"), "timeout 1\n")
        done = subprocess.run([BINARY, "--check-config", path, "--port", "7"], capture_output=True,
                              text=True, check=False)
        equal((done.returncode, done.stdout, done.stderr), (0, "", ""))
        write(path, "timeout 1\nport high\n")
        done = subprocess.run([BINARY, "--check-config", path], capture_output=True, text=True, check=False)
        equal(done.returncode, 1)
        assert f"{path}:2: port: " in done.stderr, done.stderr
        write(path, "user good on >x +get\nuser bad +nope\n")
        done = subprocess.run([BINARY, "--check-config", path], capture_output=True, text=True, check=False)
        equal(done.returncode, 1)
        assert f"{path}:2: user: Error in user declaration 'bad'" in done.stderr, done.stderr


@test
def a_check_names_faults_of_users_and_certificates_too():
    with folder() as where:
        write(os.path.join(where, "users.acl"), "user anna on +nosuch\nuser bob (%x\n")
        path = write(os.path.join(where, "checked.conf"),
                     f"port high\ndir {where}\naclfile users.acl\ntls-port 7\n"
                     "tls-cert-file no.crt\ntls-key-file no.key\n")
        done = subprocess.run([BINARY, "--check-config", path], capture_output=True, text=True, check=False)
        equal(done.returncode, 1)
        for fault in (f"{path}:1: port: ", "users.acl:1: ", "users.acl:2: ",
                      "tls-cert-file no.crt: No such file", "tls-key-file no.key: No such file"):
            assert fault in done.stderr, done.stderr
        write(path, f"dir {where}/none\n")
        done = subprocess.run([BINARY, "--check-config", path], capture_output=True, text=True, check=False)
        equal((done.returncode, done.stderr),
              (1, f"expired: dir: can't change to {where}/none: No such file or directory\n"))
        equal(sorted(os.listdir(where)), ["checked.conf", "users.acl"])


# --- socket activation ---------------------------------------------------------------------------

# Passes sockets on as descriptors 3, 4, ... and becomes the daemon, as systemd does.
LAUNCHER = """
import os, sys
passed, names, words = [int(fd) for fd in sys.argv[1].split(",")], sys.argv[2], sys.argv[3:]
kept = [os.dup(fd) for fd in passed]
far = [os.dup2(fd, 100 + i) for i, fd in enumerate(kept)]
for i, fd in enumerate(far):
    os.dup2(fd, 3 + i)
os.closerange(3 + len(far), 200)
pid = os.environ.get("WRONG_PID") or str(os.getpid())
os.environ.update(LISTEN_PID=pid, LISTEN_FDS=str(len(far)), LISTEN_FDNAMES=names)
os.execv(words[0], words)
"""


def launch(sockets, names, *options, env=None):
    passed = [sock.fileno() for sock in sockets]
    return subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, ",".join(map(str, passed)), names, BINARY, "--save", "",
         "--appendonly", "no", *options], pass_fds=passed, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, preexec_fn=die_with_parent, env=env)


def ping(family, address):
    with socket.socket(family) as client:
        client.settimeout(REPLY_SECONDS)
        client.connect(address)
        client.sendall(b"PING\r\n")
        answer = client.recv(100)
        client.sendall(b"CLIENT INFO\r\n")
        return answer, client.recv(4096).decode()


@test
def passed_sockets_take_the_place_of_bind_and_port():
    with folder() as where, socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        path, other = os.path.join(where, "passed"), free_port()
        tcp.bind(("127.0.0.1", 0))
        unix.bind(path)
        for sock in (tcp, unix):
            sock.listen()
        with launch([tcp, unix], "clients:local", "--dir", where, "--port", str(other)) as process:
            answer, info = ping(socket.AF_INET, tcp.getsockname())
            equal(answer, b"+PONG\r\n")
            assert f"laddr=127.0.0.1:{tcp.getsockname()[1]} " in info, info
            answer, info = ping(socket.AF_UNIX, path)
            equal(answer, b"+PONG\r\n")
            assert f"addr={path}:0 " in info, info
            with socket.socket() as probe:
                equal(probe.connect_ex(("127.0.0.1", other)) != 0, True, "port is not used")
            # Its own descriptors are not those of the launcher, and no program gets them.
            process.terminate()
            equal(process.wait(), 0)
            assert "Listening on " + path in process.stdout.read()
        assert os.path.exists(path), "a passed socket is not the daemon's to remove"


@test
def an_abstract_socket_can_be_passed():
    with folder() as where, socket.socket(socket.AF_UNIX) as unix:
        name = os.path.join(where, "abstract")
        unix.bind("\0" + name)
        unix.listen()
        with launch([unix], "", "--dir", where) as process:
            answer, info = ping(socket.AF_UNIX, "\0" + name)
            equal(answer, b"+PONG\r\n")
            assert f"addr=@{name}:0 " in info, info
            process.terminate()
            equal(process.wait(), 0)


@test
def a_connection_that_waits_in_a_passed_socket_is_served():
    with folder() as where, socket.socket() as tcp, socket.socket() as early:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        early.settimeout(REPLY_SECONDS)
        early.connect(tcp.getsockname())
        early.sendall(b"PING\r\n")
        with launch([tcp], "clients", "--dir", where) as process:
            equal(early.recv(100), b"+PONG\r\n")
            process.terminate()
            equal(process.wait(), 0)


@test
def sockets_that_cannot_be_served_are_refused():
    with folder() as where, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram, \
            socket.socket() as idle:
        for sock, wanted in ((datagram, "ListenStream"), (idle, "does not listen")):
            with launch([sock], "odd", "--dir", where) as process:
                equal(process.wait(), 1)
                said = process.stdout.read()
                assert wanted in said and "(odd)" in said, said


@test
def sockets_for_another_process_are_not_taken():
    with folder() as where, socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        path = os.path.join(where, "socket")
        env = dict(os.environ, WRONG_PID="1")
        with launch([tcp], "", "--dir", where, "--port", "0", "--unixsocket", path,
                    env=env) as process:
            assert listens(path)
            equal(ping(socket.AF_UNIX, path)[0], b"+PONG\r\n")
            process.terminate()
            equal(process.wait(), 0)


# --- the log -------------------------------------------------------------------------------------


@test
def a_json_log_is_one_object_per_line():
    with folder() as where:
        path = os.path.join(where, "log")
        with Daemon("--logfile", path, "--log-format", "json", "--loglevel", "verbose") as daemon:
            with daemon.raw() as raw:
                raw.call("CLIENT", "SETNAME", 'a"b\\c')
                raw.call("CLIENT", "SETNAME", b"\xff\xc3\xa9\xed\xa0\x80")
                raw.send(b"*x\r\n")
                raw.rest()
            daemon.stop()
        with open(path, "rb") as file:
            lines = [json.loads(line.decode("utf-8")) for line in file]
        assert len(lines) > 4, lines
        for line in lines:
            equal(list(line), ["time", "level", "pid", "message"])
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]), line
            assert line["level"] in ("debug", "verbose", "notice", "warning"), line
        assert any("Protocol error" in line["message"] for line in lines), lines


@test
def the_format_of_the_log_can_be_changed_live():
    with folder() as where:
        path = os.path.join(where, "log")
        with Daemon("--logfile", path, "--loglevel", "verbose") as daemon, daemon.raw() as raw:
            equal(raw.call("CONFIG", "SET", "log-format", "json"), b"+OK\r\n")
            with daemon.raw() as broken:
                broken.send(b"*x\r\n")
                broken.rest()
            with open(path, encoding="utf-8") as file:
                last = file.read().splitlines()[-1]
            equal(json.loads(last)["level"], "verbose")


@test
def lines_for_the_journal_have_a_priority():
    with folder() as where, Manager(where) as manager:
        path = os.path.join(where, "journal")
        with open(path, "wb") as journal:
            there = os.fstat(journal.fileno())
            env = manager.env(JOURNAL_STREAM=f"{there.st_dev}:{there.st_ino}")
            for form in ("text", "json"):
                with subprocess.Popen([BINARY, "--port", "0", "--unixsocket", where + "/s", "--dir",
                                       where, "--supervised", "auto", "--log-format", form],
                                      stdout=journal, env=env, preexec_fn=die_with_parent) as process:
                    manager.until("READY")
                    process.terminate()
                    equal(process.wait(), 0)
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        assert all(re.match(r"<[4-7]>", line) for line in lines), lines
        text = [line for line in lines if not line[3:].startswith("{")]
        assert any(line == "<5>Ready to accept connections" for line in text), text
        for line in lines:
            if line not in text:
                json.loads(line[3:])


@test
def a_start_that_fails_is_one_line_of_json():
    with folder() as where:
        done = subprocess.run([BINARY, "--port", "0", "--dir", where, "--log-format", "json"],
                              capture_output=True, text=True, check=False)
        equal((done.returncode, done.stderr), (1, ""))
        message = [json.loads(line)["message"] for line in done.stdout.splitlines()][-1]
        equal(message, "Can't start: Configured to not listen anywhere")


def generated(where, files):
    """The drop-ins that the generator makes for these files of /etc/expired, by the folder of their unit."""
    conf, made = (os.path.join(where, name) for name in ("expired", "made"))
    os.mkdir(conf)
    os.mkdir(made)
    for name, text in files.items():
        write(os.path.join(conf, name), text.replace("CONF", conf))
    with open(GENERATOR, encoding="utf-8") as source:
        script = write(os.path.join(where, "generator"), source.read().replace("@SYSCONFDIR@", where))
    done = subprocess.run(["sh", script, made, made, made], capture_output=True, text=True, check=False)
    equal((done.returncode, done.stdout + done.stderr), (0, ""))
    found = {}
    for unit in os.listdir(made):
        with open(os.path.join(made, unit, "network-online.conf"), encoding="utf-8") as file:
            found[unit] = file.read()
    return found


@test
def a_unit_waits_for_the_network_if_it_binds_to_an_address():
    waits = ("bind 10.0.0.7", "\tBIND  127.0.0.1\t10.0.0.7", 'bind "10.0.0.7"', "bind '::1 fe80::1'",
             "bind db1", "metrics-bind 10.0.0.7", "include CONF/common\nport 1", "include CONF/comm*n",
             "include CONF/second.conf\ninclude CONF/common", "bind 10.0.0.7\r\nport 1\r\n", "bind 10.0.0.7 -::1")
    others = ("", "bind 127.0.0.1 -::1", "bind *", "bind * ::*", "bind 0.0.0.0", 'bind ""', "bind localhost ::1",
              "# bind 10.0.0.7", "bind -10.0.0.7 127.0.0.53", "bind-source-addr 10.0.0.7", "bind *\r\n",
              "include CONF/nosuch", "include CONF", "include CONF/second.conf")
    for text in waits + others:
        with folder() as where:
            made = generated(where, {"expired.conf": "port 6379\nbind * -::*\n", "second.conf": text,
                                     "common": "include CONF/other", "other": "bind 10.0.0.7", "README": "bind 10.0.0.7"})
            equal(list(made), ["expired@second.service.d"] * (text in waits), text)
    with folder() as where:
        made = generated(where, {"expired.conf": "bind 10.0.0.7"})
        equal(made, {"expired.service.d":
                     "[Unit]\nWants=network-online.target\nAfter=network-online.target\n"})


@test
def without_files_no_unit_waits():
    with folder() as where:
        equal(generated(where, {}), {})


main()
