#!/usr/bin/python3 -B
"""The pages of doc/guide: each program runs unchanged and prints what the page shows.

A page has one ```python block, one ```js block and one ```text block, which both programs print.
Some functions of the Python programs also run against a clock that the test steps.
"""
import json
import os
import re
import subprocess
import sys
import threading

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, ROOT, Daemon, die_with_parent, equal, free_port, main, own, wait_for

GUIDE = os.path.join(ROOT, "doc/guide")
CLIENTS = os.path.join(ROOT, "tests/e2e/clients")
PYTHON = os.path.join(ROOT, "tools/clients/python")
sys.path.insert(1, PYTHON)
import expired
import redis
PAGES = ("queues", "retry-queues", "rate-limits", "sessions", "recency-and-caches", "stale-cache",
         "timers", "expiry-log", "locks", "from-rabbitmq", "many-tenants")
# Read from stdin, a module finds its packages from the working directory on.
RUN = {"python": [sys.executable, "-B", "-"], "js": ["node", "--input-type=module", "-"]}


def text_of(name):
    with open(os.path.join(GUIDE, name + ".md"), encoding="utf-8") as page:
        return page.read()


def only_block(text, kind):
    found = re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S)
    equal(len(found), 1, f"blocks of {kind}")
    return found[0]


def run(daemon, kind, program):
    """(exit status, standard output, standard error)"""
    done = subprocess.run(
        RUN[kind], input=program, capture_output=True, text=True, cwd=CLIENTS,
        env={**os.environ, "REDIS_URL": f"redis://127.0.0.1:{daemon.port}", "PYTHONPATH": PYTHON},
        preexec_fn=die_with_parent)
    return done.returncode, done.stdout, done.stderr


def check(text):
    """Runs the page's programs one after the other; data left by one must not disturb the next."""
    wanted = only_block(text, "text")
    with Daemon(tcp=True) as daemon, daemon.redis() as client:
        for kind in RUN:
            status, printed, errors = run(daemon, kind, only_block(text, kind))
            equal(status, 0, f"{kind} program, which printed {printed!r} and {errors}")
            equal(printed, wanted, f"{kind} program")
            wait_for(lambda: len(client.client_list()) == 1 and client.dbsize() == 0)
            equal((len(client.client_list()), client.keys()), (1, []),
                  f"connections and keys after the {kind} program")


def add_page(page):
    def programs():
        check(text_of(page))
    programs.__name__ = f"the_programs_of_{page}_print_what_it_shows".replace("-", "_")
    own(programs)


for name in PAGES:
    add_page(name)


# --- the check itself --------------------------------------------------------------------------


GOOD = {"python": "print('a')", "js": "console.log('a')", "text": "a"}


def page_with(**blocks):
    return "".join(f"```{kind}\n{block}\n```\n" for kind, block in {**GOOD, **blocks}.items())


def complaint(text):
    try:
        check(text)
    except AssertionError as error:
        return str(error)
    raise AssertionError(f"the check passes:\n{text}")


@own
def a_program_that_prints_something_else_fails():
    check(page_with())
    equal(complaint(page_with(python="print('b')")),
          "python program: got 'b\\n', wanted 'a\\n'")
    equal(complaint(page_with(js="console.log('b')")), "js program: got 'b\\n', wanted 'a\\n'")


@own
def a_program_that_ends_with_an_error_fails():
    assert "NameError" in complaint(page_with(python="print('a'); none"))
    assert "ReferenceError" in complaint(page_with(js="console.log('a'); none"))


@own
def a_page_without_a_program_or_with_two_fails():
    assert "blocks of js: got 0" in complaint(page_with().replace("```js", "```"))
    assert "blocks of python: got 2" in complaint(
        page_with() + "```python\nprint('a')\n```\n")


@own
def every_page_is_tested_and_in_the_map():
    pages = sorted(file[:-3] for file in os.listdir(GUIDE) if file != "README.md")
    # test_testing_page.py, test_readme.py, test_point_page.py and test_why_page.py run the others
    equal(pages, sorted((*PAGES, "testing", "recipes", "point-in-time", "where-did-my-session-go")))
    equal(sorted(re.findall(r"^\|.*\]\(([a-z-]+)\.md\)", text_of("README"), re.M)), pages)


@own
def every_link_has_a_file_and_a_heading():
    for page in (*PAGES, "testing", "recipes", "point-in-time", "where-did-my-session-go", "README"):
        for target in re.findall(r"\]\(((?!https:)[^)]+)\)", text_of(page)):
            path, _, anchor = target.partition("#")
            with open(os.path.join(GUIDE, path or page + ".md"), encoding="utf-8") as file:
                headings = re.findall(r"^#+ (.*)$", file.read(), re.M)
            names = [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in headings]
            assert not anchor or anchor in names, f"{page}: {target}"


@own
def every_command_on_a_page_exists():
    with Daemon() as daemon, daemon.redis() as client:
        known = {name.decode().upper() for name in client.execute_command("COMMAND LIST")}
    for page in PAGES:
        named = set(re.findall(r"`([A-Z][A-Z.]+)(?: [a-z_][^`]*)`", text_of(page)))
        named |= set(re.findall(r"`(REDE\.[A-Z]+)", text_of(page)))
        assert len(named) >= 3, f"{page}: {named}"
        equal(named - known, set(), page)


# --- at exact times ----------------------------------------------------------------------------


class Program:
    """The names that a page's Python program defines, with a daemon whose clock is held."""

    def __init__(self, page):
        self.names = {"__name__": "page"}
        exec(compile(only_block(text_of(page), "python"), page, "exec"), self.names)

    def __getattr__(self, name):
        return self.names[name]

    def __enter__(self):
        self.daemon = Daemon().__enter__()
        self.daemon.hold(NOON)
        self.client = self.connect()
        return self

    def connect(self):
        return expired.Redis(unix_socket_path=self.daemon.path, decode_responses=True)

    def __exit__(self, *exception):
        self.client.close()
        return self.daemon.__exit__(*exception)


@own
def a_window_admits_n_in_any_window():
    with Program("rate-limits") as page:
        passed, now, span = [], 0, page.WINDOW_MS
        for step in (0, 300, 1, 0, 98, span - 400, 0, 1, 299, 1, 2, 98, span, span + 1, 5 * span, 0, 0, 0) * 3:
            page.daemon.step(step)
            now += step
            recent = [at for at in passed if at > now - page.WINDOW_MS]
            wait = page.window(page.client, "ann")
            if len(recent) < page.LIMIT:
                equal(wait, 0, f"at {now}, {recent}")
                passed.append(now)
            else:
                equal(wait, recent[0] + page.WINDOW_MS - now, f"at {now}, {recent}")
        page.daemon.step(page.WINDOW_MS + 1)
        equal(page.client.dbsize(), 0, "an idle user takes no memory")


@own
def a_rate_admits_one_request_each_interval_after_its_burst():
    with Program("rate-limits") as page:
        interval = page.WINDOW_MS // page.LIMIT
        equal([page.rate(page.client, "ann") for _ in range(page.LIMIT + 1)], [0] * page.LIMIT + [interval])
        for _ in range(5):
            page.daemon.step(interval - 1)
            equal(page.rate(page.client, "ann"), 1)
            page.daemon.step(1)
            equal([page.rate(page.client, "ann") for _ in range(2)], [0, interval])
        page.daemon.step(page.WINDOW_MS + 1)
        equal(page.client.dbsize(), 0, "an idle user takes no memory")


@own
def many_connections_pass_the_limits_exactly():
    with Program("rate-limits") as page:
        for limiter in (page.rate, page.window):
            passed, ready = [], threading.Barrier(16)

            def ask(limiter=limiter, passed=passed, ready=ready):
                with page.connect() as client:
                    client.ping()
                    ready.wait()
                    passed.extend(limiter(client, "ann") == 0 for _ in range(20))

            threads = [threading.Thread(target=ask) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            equal((len(passed), sum(passed)), (320, page.LIMIT))


@own
def a_session_ends_once_and_never_while_it_is_used():
    with Program("sessions") as page:
        page.set_policies(page.client)
        ended = []

        def end_due():
            while page.client.rede_len("sessions", due=True):
                page.handle_end(page.client, ended.append)

        session = page.log_in(page.client, {"user": "ann"})
        for step in (page.SESSION_MS - 1, page.SESSION_MS, page.SESSION_MS, 1):
            page.daemon.step(step)
            end_due()
            equal(page.use(page.client, session), {"user": "ann"})
        page.daemon.step(page.SESSION_MS)
        end_due()
        equal(ended, [], "alive at its deadline")
        page.daemon.step(1)
        equal(page.use(page.client, session), None)
        end_due()
        equal(ended, [{"user": "ann"}])
        equal(page.client.dbsize(), 0)


@own
def the_end_of_a_session_survives_a_crash_of_the_worker():
    with Program("sessions") as page:
        page.set_policies(page.client)
        session = page.log_in(page.client, {"user": "ann"})
        page.log_out(page.client, session)
        with page.daemon.redis() as crashing:
            claim = crashing.execute_command("REDE.CLAIM", "sessions", page.LEASE_MS)
            equal(json.loads(claim[0][1]), {"user": "ann"})
        page.daemon.step(page.LEASE_MS - 1)
        equal(page.client.rede_len("sessions", due=True), 0)
        page.daemon.step(1)
        ended = []
        page.handle_end(page.client, ended.append)
        equal(ended, [{"user": "ann"}])


@own
def a_job_whose_workers_crash_moves_to_the_failed_ones():
    with Program("queues") as page:
        page.set_up(page.client)
        equal(page.submit(page.client, "mail:1", "poison", 100), True)
        equal(page.submit(page.client, "mail:1", "poison", 100), False)
        page.daemon.step(99)
        equal(page.client.rede_len("jobs", due=True), 0)
        page.daemon.step(1)
        for delivery, delay in ((1, page.BACKOFF_MS), (2, 2 * page.BACKOFF_MS), (3, 4 * page.BACKOFF_MS)):
            claim = page.client.rede_claim("jobs", page.LEASE_MS)
            equal(claim, [("mail:1", "poison", delivery)])
            page.daemon.step(page.LEASE_MS + delay - 1)
            equal(page.client.rede_claim("jobs", page.LEASE_MS), [])
            page.daemon.step(1)
        equal(page.client.rede_claim("jobs", page.LEASE_MS), [])
        equal(page.client.rede_poll("jobs:failed"), ["poison"])
        equal(page.client.rede_len("jobs"), 0)


@own
def a_job_that_is_done_is_not_stored_again():
    with Program("queues") as page:
        page.names["print"] = lambda *words: None
        page.set_up(page.client)
        page.submit(page.client, "mail:1", "welcome")
        page.work(page.client, lambda *job: None, lambda: page.client.rede_len("jobs") == 0)
        for step in (0, page.REMEMBER_MS - 1):
            page.daemon.step(step)
            equal(page.submit(page.client, "mail:1", "welcome"), False)
        page.daemon.step(1)
        equal(page.client.exists("jobs"), 0)
        equal(page.submit(page.client, "mail:1", "welcome"), True)


@own
def a_worker_that_stops_gives_its_job_back_untried():
    with Program("queues") as page:
        page.set_up(page.client)
        page.submit(page.client, "mail:1", "welcome")
        answers = iter([False, True, True])
        page.work(page.client, lambda *job: equal(job, None, "tried"), lambda: next(answers))
        [(job_id, payload, deliveries)] = page.client.rede_claim("jobs", page.LEASE_MS)
        equal((job_id, payload, deliveries), ("mail:1", "welcome", 1))


@own
def a_cancelled_job_can_be_stored_again_if_its_id_is_forgotten():
    with Program("queues") as page:
        page.set_up(page.client)
        for forget, stored in ((False, False), (True, True)):
            page.submit(page.client, "mail:1", "welcome", 100)
            page.client.rede_pull("jobs", "mail:1", forget=forget)
            equal(page.submit(page.client, "mail:1", "welcome", 100), stored)
            equal(page.client.rede_pull("jobs", "mail:1", forget=True), "welcome" if stored else None)
            equal(page.client.exists("jobs"), 0)


@own
def a_claimed_job_that_is_forgotten_ends_without_harm():
    with Program("queues") as page:
        page.submit(page.client, "mail:1", "welcome")
        [(job_id, _, _, token)] = page.client.rede_claim("jobs", page.LEASE_MS, tokens=True)
        equal(page.client.rede_pull("jobs", "mail:1", forget=True), "welcome")
        equal(page.submit(page.client, "mail:1", "again"), True)
        equal(page.client.rede_ack("jobs", (job_id, token)), 0)
        equal(page.client.rede_poll("jobs"), ["again"])


@own
def a_head_start_overtakes_jobs_that_have_waited_for_less():
    with Program("queues") as page:
        for at, job in ((NOON - 6000, "old"), (NOON, "new"), (NOON - 5000, "urgent")):
            page.client.rede_pushat("jobs", at, job, job)
        page.client.rede_push("jobs", -9000, "now", "now")
        equal(page.client.rede_poll("jobs"), ["old", "urgent", "new", "now"])


@own
def failed_jobs_are_given_back_by_the_script():
    with Program("queues") as page:
        client, script = page.client, only_block(text_of("queues"), "lua")
        client.policy_set("jobs", maxdeliveries=1, maxdeliveries_to="jobs:failed", maxlen=3)
        client.rede_push("jobs", 0, "once", "mail:1", keep=True, remember=page.REMEMBER_MS)
        client.rede_push("jobs", 0, "hourly", "mail:2", every=3_600_000)
        client.rede_push("jobs", 0, "more", "mail:3")
        equal(len(client.rede_claim("jobs", 10, count=3)), 3)
        page.daemon.step(11)
        equal((client.rede_claim("jobs", 10), client.rede_len("jobs:failed")), ([], 3))
        try:
            client.eval(script, 2, "jobs:failed", "jobs")  # there is room for two
        except redis.ResponseError as error:
            assert "the dehydrator is full" in str(error), error
        equal((client.rede_len("jobs"), client.rede_len("jobs:failed")), (3, 1))
        client.policy_set("jobs", maxlen=100)
        client.eval(script, 2, "jobs:failed", "jobs")
        equal(client.exists("jobs:failed"), 0)
        equal([(payload, count) for _, payload, count in client.rede_claim("jobs", 10)],
              [("once", 1), ("hourly", 1), ("more", 1)])
        equal(client.rede_look("jobs", "mail:2"), "hourly", "the repeated one goes on")
        equal(client.rede_len("jobs"), 4)


@own
def a_claimed_job_stays_with_its_worker_when_it_is_moved():
    with Program("queues") as page:
        client = page.client
        page.submit(client, "mail:1", "waits", 100)
        equal(client.rede_reschedule("jobs", 5000, "mail:1"), 1)
        equal(client.rede_range("jobs", "-", "+"), [("mail:1", NOON + 5000)])
        client.rede_push("jobs", 0, "new", "mail:1", replace=True)
        [(job_id, payload, _, token)] = client.rede_claim("jobs", page.LEASE_MS, tokens=True)
        equal((job_id, payload), ("mail:1", "new"))

        equal(client.rede_reschedule("jobs", 10 * page.LEASE_MS, "mail:1"), 1)
        page.daemon.step(10 * page.LEASE_MS - 1)
        equal((client.rede_claim("jobs", 1), client.rede_len("jobs", claimed=True)), ([], 1))
        client.rede_push("jobs", 7000, "next", "mail:1", replace=True)
        equal(client.rede_ack("jobs", ("mail:1", token)), 1)
        equal(client.rede_look("jobs", "mail:1"), "next")
        equal(client.rede_range("jobs", "-", "+"), [("mail:1", NOON + 10 * page.LEASE_MS - 1 + 7000)])


@own
def a_failed_job_is_queued_again_and_a_repeated_one_goes_on():
    with Program("queues") as page:
        client = page.client
        client.policy_set("jobs", maxdeliveries=1, maxdeliveries_to="jobs:failed")
        client.rede_push("jobs", 0, "once", "mail:1", keep=True, remember=page.REMEMBER_MS)
        client.rede_push("jobs", 0, "hourly", "mail:2", every=3_600_000)
        equal(len(client.rede_claim("jobs", 10, count=2)), 2)
        page.daemon.step(11)
        equal(client.rede_claim("jobs", 10, count=2), [])
        failed = client.rede_claim("jobs:failed", 60_000, count=2)
        equal([(name, payload) for name, payload, _ in failed], [("mail:1", "once"), ("mail:2", "hourly")])
        equal(client.rede_range("jobs", "-", "+"), [("mail:2", NOON + 3_600_000)])
        equal(page.submit(client, "mail:1", "once"), False, "remembered")
        client.rede_pull("jobs", "mail:1", forget=True)
        equal(page.submit(client, "mail:1", "once"), True)
        client.rede_xack("jobs:failed", "mail:1")
        equal(client.rede_poll("jobs"), ["once"])


@own
def a_job_of_a_stream_comes_back_at_its_millisecond_and_moves_aside():
    with Program("retry-queues") as page:
        page.names["print"] = lambda *words: None
        page.set_up(page.client)
        page.client.xadd("jobs", {"payload": "report"})
        tried = []

        def fail(payload, deliveries):
            tried.append((payload, deliveries))
            raise ConnectionError("no mail server")
        for delivery in range(page.MAX_DELIVERIES):
            page.work_once(page.client, "worker-1", fail, wait_ms=1)
            equal(tried, [("report", number) for number in range(delivery + 1)])
            page.daemon.step(page.FIRST_DELAY_MS * 2 ** delivery - 1)
            found = page.client.execute_command(
                "XREADGROUP", "GROUP", "mailers", "other", "CLAIM", page.LEASE_MS, "STREAMS", "jobs", ">")
            equal(found, None, "before its delay is over")
            page.daemon.step(1)
        found = page.client.execute_command(
            "XREADGROUP", "GROUP", "mailers", "other", "CLAIM", page.LEASE_MS, "STREAMS", "jobs", ">")
        equal(found, None, "delivered once too often")
        fields = page.client.xrange("jobs:failed")[0][1]
        equal(fields, {"payload": "report", "origin": "jobs", "group": "mailers", "deliveries": "3"})
        equal(page.client.xpending("jobs", "mailers")["pending"], 0)


# --- the server restarts under a program -------------------------------------------------------


# What follows the definitions of a page. A worker ends when it has handled "last".
BEGIN = {"python": """
import sys

client = globals().get("expired", redis).Redis.from_url(URL, decode_responses=True)

def handle(name, *_):
    print("handled", name, flush=True)
    if name == "last":
        sys.exit()

""", "js": """
console.error = () => {}; // what the client says of each attempt
const client = await (typeof connect === 'undefined'
    ? createClient({ url: URL, modules: typeof expired === 'undefined' ? {} : { expired } })
        .on('error', () => {}).connect()
    : connect());

function handle(name) {
    console.log('handled', name);
    if (name === 'last') process.exit();
}

"""}


def program_with(page, kind, end):
    """The definitions of a page, with another end than its own."""
    start_of_main = {"python": "\ndef main():", "js": "\nconst client = await"}[kind]
    return only_block(text_of(page), kind).split(start_of_main)[0] + BEGIN[kind] + end


def start_program(daemon, kind, program):
    worker = subprocess.Popen(
        RUN[kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=CLIENTS,
        env={**os.environ, "REDIS_URL": f"redis://127.0.0.1:{daemon.fixed_port}", "PYTHONPATH": PYTHON},
        preexec_fn=die_with_parent)
    worker.stdin.write(program)
    worker.stdin.close()
    return worker


def daemon_with_journal():
    """It has the same port after a restart."""
    port = free_port()
    daemon = Daemon("--appendonly", "yes", "--notify-keyspace-events", "Ex", "--port", str(port))
    daemon.fixed_port = port
    return daemon


def handled(worker, last):
    """What a worker handles, until it has handled `last`."""
    found = set()
    while last not in found:
        line = worker.stdout.readline()
        assert line != "", f"the worker has ended after {found}"
        if line.startswith("handled "):
            found.add(line.split()[1])
    return found


def survives(page, python, js, send, before=()):
    """A worker goes on when the server has been killed and started again under it."""
    for kind, end in (("python", python), ("js", js)):
        with daemon_with_journal() as daemon:
            with daemon.redis() as client:
                for command in before:
                    client.execute_command(*command)
            with start_program(daemon, kind, program_with(page, kind, end)) as worker:
                with daemon.redis() as client:
                    send(client, "first")
                equal(handled(worker, "first"), {"first"}, kind)
                daemon.kill()
                daemon.start()
                with daemon.redis() as client:
                    send(client, "again")
                    send(client, "last")
                # Its acknowledgement of the first one may have been lost.
                equal(handled(worker, "last") - {"first"}, {"again", "last"}, kind)
                equal(worker.wait(), 0, kind)


@own
def workers_of_a_queue_survive_a_restart():
    survives("queues", "work(client, handle, lambda: not client.ping())",
             "await work(client, handle, async () => !await client.ping());",
             lambda client, name: client.execute_command("REDE.PUSH", "jobs", 0, name, name))


@own
def workers_of_a_stream_survive_a_restart():
    survives("retry-queues", "set_up(client)\nwork(client, 'worker-1', handle, lambda: not client.ping())",
             "await setUp(client);\nawait work(client, 'worker-1', handle, async () => !await client.ping());",
             lambda client, name: client.xadd("jobs", {"payload": name}))


@own
def workers_that_end_sessions_survive_a_restart():
    survives("sessions", "work(client, lambda value: handle(value['user']), lambda: not client.ping())",
             "await work(client, ({ user }) => handle(user), async () => !await client.ping());",
             lambda client, name: client.execute_command(
                 "REDE.PUSH", "sessions", 0, json.dumps({"user": name}), name))


@own
def receivers_of_alarms_survive_a_restart():
    survives("timers", "repeat(lambda: call_next_alarm(client, handle), lambda: not client.ping())",
             "await repeat(() => callNextAlarm(client, handle), async () => !await client.ping());",
             lambda client, name: client.execute_command("REDE.PUSH", "alarms", 0, "payload", name))


@own
def subscribers_survive_a_restart():
    def send(client, name):
        channel = "__keyevent@0__:expired"
        assert wait_for(lambda: client.pubsub_numsub(channel)[0][1] == 1)
        client.set(f"timer:{name}", "", px=1)
    survives("timers", "events = listen(client)\nrepeat(lambda: call_next(events, handle), lambda: not client.ping())",
             "await listen(handle);", send)


@own
def listeners_of_a_log_survive_a_restart():
    def send(client, name):
        client.hset(f"session:{name}", mapping={"user": name})
        client.pexpire(f"session:{name}", 1)
    survives("expiry-log", "listen(client, lambda fields: handle(fields['field:user']), 60_000)",
             "await listen(client, (fields) => handle(fields['field:user']), 60_000);", send,
             [("POLICY", "SET", "session:*", "EXPIRED", "TO", "ended", "VALUE"),
              ("XGROUP", "CREATE", "ended", "mail", "$", "MKSTREAM")])


@own
def those_who_wait_for_a_lock_and_hold_one_survive_a_restart():
    """The server stops in good order: after a crash it would grant nothing for a while."""
    python = """
with lease(client, "report", wait=60):
    handle("taken")
    insist(lambda: client.blpop("go", 60))
handle("last")
"""
    js = """
await lease(client, 'report', async () => {
    handle('taken');
    await insist(() => client.blPop('go', 60));
}, { wait: 60 });
handle('last');
"""
    for kind, end in (("python", python), ("js", js)):
        with daemon_with_journal() as daemon:
            with daemon.redis() as client:
                token = client.execute_command("LEASE.TAKE", "report", "test", 60_000)[0]

            def restart(client):
                client.close()
                daemon.stop()
                daemon.start()

            def waits(client):
                assert wait_for(lambda: client.info("clients")["blocked_clients"] == 1)
            with start_program(daemon, kind, program_with("locks", kind, end)) as worker:
                with daemon.redis() as client:
                    waits(client)
                    restart(client)
                with daemon.redis() as client:
                    waits(client)
                    equal(client.execute_command("LEASE.DROP", "report", token), 1)
                    equal(handled(worker, "taken"), {"taken"}, kind)
                    waits(client)
                    restart(client)
                with daemon.redis() as client:
                    client.rpush("go", "now")
                    equal(handled(worker, "last"), {"last"}, kind)
                    equal(worker.wait(), 0, kind)
                    equal(client.execute_command("LEASE.TAKE", "report", "test", 1, "WAIT", 60)[0] > token, True)


main(150)
