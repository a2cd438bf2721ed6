#!/usr/bin/python3 -B
"""The page of the metrics port in headless Chromium, on a phone and on a wall, light and dark.

PAGE_SHOTS=doc writes the screenshots that doc/metrics.md shows.
"""
import os
import random
import socket
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from browser import Browser
from daemon import Daemon, equal, fork, free_port, kill_child, main, own, wait_for

# Text in the first column of the histogram's pixels: a label is cut off.
CUT_LABEL = """
    const canvas = document.getElementById("hour");
    const { data } = canvas.getContext("2d").getImageData(0, 0, 1, canvas.height);
    return data.some((part) => part > 0);
"""
# How many of the first figures are in each line.
FIGURES = """
    const lines = {};
    for (const node of document.querySelectorAll("dl.row > div"))
        lines[node.offsetTop] = (lines[node.offsetTop] || 0) + 1;
    return Object.values(lines);
"""
SIZES = {"phone": (360, 740), "wall": (1920, 1080)}
STATE = "return document.documentElement.dataset.state"
# Elements that stick out of the window to the right.
TOO_WIDE = """
    const wide = document.documentElement.clientWidth;
    return [...document.querySelectorAll("body *")].filter((node) => !node.closest(".scroll")
        && node.getBoundingClientRect().right > wide + 1).map((node) => node.tagName + node.id);
"""
# The contrast of each text with what is behind it, by WCAG 2; the lowest, with its text.
CONTRAST = """
    const parts = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.03928 ? c / 12.92
            : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const behind = (node) => {
        for (; node; node = node.parentElement) {
            const color = parts(getComputedStyle(node).backgroundColor);
            if (color.length < 4 || color[3] > 0) return color;
        }
        return [255, 255, 255];
    };
    let worst = [99, ""];
    for (const node of document.querySelectorAll("body *")) {
        const text = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
        if (!text || !node.getClientRects().length) continue;
        const [a, b] = [light(parts(getComputedStyle(node).color)), light(behind(node))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < worst[0]) worst = [contrast, node.textContent.trim()];
    }
    return worst;
"""


def with_port(*options, port=None):
    port = port or free_port()
    daemon = Daemon("--metrics-port", str(port), "--metrics-bind", "127.0.0.1", *options, tcp=True)
    daemon.url = f"http://127.0.0.1:{port}/"
    return daemon


def fill(daemon):
    """An hour of deadlines with a few peaks, a backlog, and slow calls."""
    chance = random.Random(7)
    client = redis.Redis(port=daemon.port)
    batch = client.pipeline(transaction=False)
    for i in range(6000):
        batch.set(f"session:{i}", "x", px=int(chance.random() ** 1.6 * 4_000_000) + 2000)
    for i in range(2000):
        batch.set(f"code:{i}", "x", px=int(chance.gauss(1_500_000, 60_000)))
    for i in range(1500):
        batch.execute_command("SADDEX", "online", int(chance.random() * 3000) + 1, f"user:{i}")
    for i in range(900):
        batch.execute_command("REDE.PUSH", "reminders", int(chance.gauss(2_500_000, 200_000)), "payload", f"id{i}")
    for name, length in (("mail", 40), ("retries", 12), ("webhooks", 230)):
        for i in range(length):
            batch.execute_command("REDE.PUSH", name, 0 if i % 3 else 600_000, "payload", f"id{i}")
    batch.execute_command("REDE.CLAIM", "webhooks", 60000, "COUNT", 8)
    for i in range(1200):
        batch.xadd("orders", {"id": i})
    for group in ("billing", "shipping", "search"):
        batch.xgroup_create("orders", group, 0)
    batch.xreadgroup("billing", "one", {"orders": ">"}, count=900)
    batch.xreadgroup("search", "one", {"orders": ">"}, count=1200)
    for i in range(40):
        batch.execute_command("REDE.PUSH", f"tenant:{i}", 0, "payload", "id")
    batch.execute()
    client.config_set("slowlog-log-slower-than", 0)
    client.execute_command("ZADD", "board", *[word for i in range(300) for word in (i, f"name{i}")])
    client.execute_command("SORT", "board", "BY", "nosort", "LIMIT", 0, 3)
    client.config_set("slowlog-log-slower-than", -1)
    for i in range(300):
        client.get(f"session:{i}")
    for prefix, ttl in (("cart", 900), ("code", 120_000), ("page", 60_000), ("session", 1_800_000)):
        client.execute_command("POLICY", "SET", f"{prefix}:*", "TTL", ttl)


def shown(condition):
    """Waits until the page shows it. It asks the server once a second, and a busy machine draws late; each look
    costs the browser time too."""
    return wait_for(condition, nap=0.05)


def text_of(browser, name):
    return browser.run("return document.getElementById(arguments[0]).textContent", name)


def words_of(browser, table):
    return browser.run("return [...document.getElementById(arguments[0]).querySelectorAll('td')]"
                       ".map((cell) => cell.firstChild.textContent)", table)


def keep_shot(browser, device, scheme):
    width, height = SIZES[device]
    png = browser.screenshot(width, height, 0.6 if device == "wall" else 1)
    assert len(png) < 150_000, f"{device} {scheme}: {len(png)} bytes"
    if os.environ.get("PAGE_SHOTS"):
        name = f"page-{device}-{scheme}.png"
        with open(os.path.join(os.environ["PAGE_SHOTS"], name), "wb") as file:
            file.write(png)


def load(daemon):
    """Reads and writes until it is killed."""
    client, chance = daemon.redis(), random.Random(1)
    while True:
        batch = client.pipeline(transaction=False)
        for _ in range(chance.randrange(20, 200)):
            batch.set(f"cart:{chance.randrange(900)}", "x", px=chance.randrange(1000, 500_000))
            batch.get(f"session:{chance.randrange(7000)}")
        batch.rpush("session:1", "x")
        batch.execute_command("REDE.PUSH", "webhooks", 0, "payload", chance.randrange(9000))
        batch.execute_command("REDE.POLL", "webhooks", "COUNT", 1)
        batch.execute(raise_on_error=False)


def come_live(browser, url):
    browser.open(url)
    assert shown(lambda: browser.run(STATE) == "live"), text_of(browser, "status")


def check_look(browser, daemon, device, scheme):
    width, height = SIZES[device]
    browser.look(width, height, scheme)
    come_live(browser, daemon.url)
    assert shown(lambda: text_of(browser, "in-hour") not in ("–", "0")), "no forecast"
    assert shown(lambda: words_of(browser, "commands")[1] != "–"), "no rates"
    equal(browser.run(TOO_WIDE), [], f"{device}: sticks out")
    contrast, text = browser.run(CONTRAST)
    assert contrast >= 4.5, f"{device} {scheme}: contrast {contrast:.2f} of {text!r}"
    assert shown(lambda: browser.run("return state.history.memory.length") >= 5), "the lines stand still"
    equal(browser.run("return [innerWidth, innerHeight]"), [width, height])
    assert not browser.run(CUT_LABEL), f"{device}: a label of the histogram is cut off"
    figures = browser.run(FIGURES)
    assert len(set(figures)) == 1, f"{device}: {figures} figures in a line"
    content = browser.run("return document.documentElement.scrollHeight")
    assert device != "wall" or content <= height, f"{content} pixels high"
    keep_shot(browser, device, scheme)
    equal(browser.messages(), [], f"{device} {scheme}: console")


@own
def page_renders_on_phone_and_wall_in_light_and_dark():
    with with_port() as daemon, Browser() as browser:
        fill(daemon)
        child = fork(lambda: load(daemon))
        try:
            for device in SIZES:
                for scheme in ("light", "dark"):
                    check_look(browser, daemon, device, scheme)
        finally:
            kill_child(child)


def bars(browser):
    """What a screen reader says of the histogram."""
    return browser.run("return document.getElementById('hour').getAttribute('aria-label')")


@own
def page_shows_the_figures_of_the_server():
    with with_port() as daemon, Browser() as browser, daemon.raw() as raw:
        browser.look(*SIZES["wall"], "light")
        come_live(browser, daemon.url)
        equal(bars(browser), "Nothing is due in the coming hour")
        equal(text_of(browser, "dehydrators-note"), "There are no dehydrators.")
        for i in range(30):
            raw.call("SET", f"k{i}", "v", "EX", 1800)
        raw.call("REDE.PUSH", "<b>q</b>", 0, "payload", "id")
        raw.call("XGROUP", "CREATE", "stream", "<i>group</i>", 0, "MKSTREAM")
        for number in range(3):
            raw.call("XADD", "stream", "*", "n", number)
        raw.call("XREADGROUP", "GROUP", "<i>group</i>", "one", "COUNT", 1, "STREAMS", "stream", ">")
        raw.call("SET", "gone", "v", "PX", 1)
        for _ in range(3):
            raw.call("LPUSH", "stream", "wrong type")
        raw.call("CONFIG", "SET", "slowlog-log-slower-than", "0")
        raw.call("AUTH", "nobody", "hidden-word")
        raw.call("SET", "<i>slow</i>", "v")
        assert shown(lambda: text_of(browser, "in-hour") == "30"), text_of(browser, "in-hour")
        assert shown(lambda: words_of(browser, "dehydrators")[:1] == ["<b>q</b>"])
        due, oldest, *others = words_of(browser, "dehydrators")[1:]
        equal([due, *others[:2], *others[-3:]], ["1", "0", "1", "0", "0", "0"])
        assert oldest.endswith("s"), oldest
        raw.call("REDE.CLAIM", "<b>q</b>", 60_000)
        raw.call("REDE.NACK", "<b>q</b>", 60_000, "id")
        raw.call("REDE.PAUSE", "<b>q</b>")
        assert shown(lambda: words_of(browser, "dehydrators")[0] == "<b>q</b> (paused)")
        name, due, oldest, *others, late, again, retried, dead = words_of(browser, "dehydrators")
        equal([due, oldest, again, retried, dead], ["0", "–", "0", "1", "0"])
        assert late.endswith("s"), late
        assert shown(lambda: "SET <i>slow</i> v" in text_of(browser, "slow"))
        equal(words_of(browser, "groups"), ["stream", "<i>group</i>", "1", "1", "2"])
        assert "WRONGTYPE3" in text_of(browser, "errors"), text_of(browser, "errors")
        assert "set" in words_of(browser, "commands"), words_of(browser, "commands")
        equal(text_of(browser, "place"), f"{socket.gethostname()}:{daemon.port}, master")
        equal(text_of(browser, "expired-minute"), "1")
        for _ in range(5):
            raw.call("GET", "k1")
        assert shown(lambda: "5" in words_of(browser, "slow")), "not grouped"
        assert ": 30" in bars(browser), bars(browser)
        raw.call("REDE.MPUSH", "later", *[word for i in range(50) for word in (900_000, "payload", f"id{i}")])
        assert shown(lambda: ": 50" in bars(browser)), bars(browser)
        assert int(text_of(browser, "in-hour")) >= 80, text_of(browser, "in-hour")
        assert "hidden-word" not in browser.run("return document.documentElement.outerHTML")
        equal(browser.messages(), [], "console")


def ask_why(browser, key, member=""):
    browser.run("""
        for (const [name, value] of [["key", arguments[0]], ["member", arguments[1]]])
            document.getElementById(`why-${name}`).value = value;
        document.getElementById("why-answer").textContent = "";
        document.querySelector("#why-form button").click();""", key, member)
    assert shown(lambda: text_of(browser, "why-answer") != "" and text_of(browser, "why-note") != "")
    return text_of(browser, "why-answer"), words_of(browser, "why-records")[1::2]


@own
def page_tells_why_a_key_is_gone():
    name = "<img src=x onerror=alert(1)>&\u00e9 '\"%+;"
    with with_port() as daemon, Browser() as browser, daemon.raw() as raw:
        browser.look(*SIZES["phone"], "dark")
        come_live(browser, daemon.url)
        raw.call("CLIENT", "SETNAME", "<b>shop</b>")
        raw.call("SET", name, "v", "PX", 1)
        raw.call("HSETEX", "hash", "EX", 600, "FIELDS", 1, "field", "v")
        assert shown(lambda: text_of(browser, "expired") == "1")
        equal(ask_why(browser, name), (f"{name} is missing", [
            "expired: expiry", "deadline-set: SET by <b>shop</b>"]))
        answer, records = ask_why(browser, "hash", "field")
        assert answer.startswith("hash, field is live, with the deadline "), answer
        equal(records, ["deadline-set: HSETEX by <b>shop</b>"])
        equal(ask_why(browser, "never"), ("never is missing", []))
        equal(browser.run(TOO_WIDE), [])
        raw.call("CONFIG", "SET", "why-memory", 0)
        browser.run("document.querySelector('#why-form button').click()")
        assert shown(lambda: "why-memory is 0" in text_of(browser, "why-answer"))
        equal([line for line in browser.messages() if "400" not in str(line)], [], "console")


HOLD_ANSWERS = """
    const real = window.fetch;
    window.held = [];
    window.shown = 0;
    window.fetch = (url, options) => !url.startsWith("why.json") ? real(url, options)
      : new Promise((resolve) => held.push(async () => {
          const answer = await real(url, options);
          const json = answer.json.bind(answer);
          answer.json = async () => {
            const value = await json();
            requestAnimationFrame(() => { window.shown += 1; });
            return value;
          };
          resolve(answer);
        }));
    for (const name of ["old", "new"]) {
      document.getElementById("why-key").value = name;
      document.querySelector("#why-form button").click();
    }"""


@own
def page_ignores_an_answer_to_an_earlier_question():
    with with_port() as daemon, Browser() as browser:
        come_live(browser, daemon.url)
        browser.run(HOLD_ANSWERS)
        for number, question in enumerate((1, 0), 1):
            browser.run("held[arguments[0]]();", question)
            assert shown(lambda: browser.run("return window.shown") == number)
            equal(text_of(browser, "why-answer"), "new is missing")


@own
def page_has_a_line_for_each_policy():
    with with_port() as daemon, Browser() as browser, daemon.raw() as raw:
        come_live(browser, daemon.url)
        equal(text_of(browser, "policies-note"), "There are no policies.")
        raw.call("POLICY", "SET", "idle*", "TTL", 1000)
        raw.call("POLICY", "SET", "<i>s:*", "TTL", 1)
        raw.call("MULTI")
        for key in ("<i>s:1", "<i>s:2", "<i>s:3"):
            raw.call("SET", key, "v")
        raw.call("GET", "<i>s:1")
        raw.call("EXEC")
        assert shown(lambda: words_of(browser, "policies") == [
            "<i>s:*", "3", "2", "1", "0", "idle*", "0", "0", "0", "0"]), words_of(browser, "policies")
        raw.call("GET", "<i>s:1")
        assert shown(lambda: words_of(browser, "policies")[4] == "1"), words_of(browser, "policies")


@own
def lines_are_kept_by_the_server():
    with with_port() as daemon, Browser() as browser:
        browser.look(*SIZES["wall"], "light")
        come_live(browser, daemon.url)
        assert shown(lambda: browser.run("return state.history.commands.length") >= 3)
        come_live(browser, daemon.url)
        assert browser.run("return state.history.commands.length") >= 3, "forgotten"


@own
def the_highest_value_of_a_line_is_not_below_the_figure_above_it():
    with with_port() as daemon, Browser() as browser, daemon.raw() as raw:
        browser.look(*SIZES["wall"], "light")
        come_live(browser, daemon.url)
        for size in range(2_000_000, 12_000_000, 2_000_000):
            before = text_of(browser, "used")
            raw.call("SETRANGE", f"k{size}", size, "x")
            assert shown(lambda before=before: text_of(browser, "used") != before)
            used, line = browser.run("return [byId('used').textContent,"
                                     " byId('used-line').getAttribute('aria-label')]")
            most, unit = line.split()[-2:]
            assert float(most) >= float(used.split()[0]) and used.endswith(unit), (used, line)


@own
def page_warns_while_no_data_are_kept_on_disk():
    with with_port("--appendonly", "no", "--save", "") as daemon, Browser() as browser, \
            daemon.raw() as raw:
        browser.look(*SIZES["phone"], "light")
        come_live(browser, daemon.url)
        assert shown(lambda: "lost when the server stops" in text_of(browser, "warning"))
        equal(browser.run(TOO_WIDE), [], "too wide")
        for option, keeps, loses in (("save", "900 1", ""), ("appendonly", "yes", "no")):
            equal(raw.call("CONFIG", "SET", option, keeps), b"+OK\r\n")
            assert shown(lambda: text_of(browser, "warning") == ""), option
            equal(raw.call("CONFIG", "SET", option, loses), b"+OK\r\n")
            assert shown(lambda: "lost when the server stops" in text_of(browser, "warning")), option


@own
def page_shows_a_lost_connection_and_recovers():
    with with_port() as daemon, Browser() as browser:
        browser.look(*SIZES["phone"], "dark")
        come_live(browser, daemon.url)
        daemon.stop()
        assert shown(lambda: browser.run(STATE) == "lost")
        assert text_of(browser, "status").startswith("No connection since "), text_of(browser, "status")
        daemon.start()
        assert shown(lambda: browser.run(STATE) == "live"), text_of(browser, "status")
        assert "restarted at" in text_of(browser, "status"), text_of(browser, "status")


if __name__ == "__main__":
    main(seconds=180)
