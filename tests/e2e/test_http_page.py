#!/usr/bin/python3 -B
"""The page of the metrics port in headless Chromium, on a phone and on a wall, light and dark.

PAGE_SHOTS=doc writes the screenshots that doc/metrics.md shows.
"""
import os
import random

import redis

from daemon import Daemon, equal, fork, free_port, kill_child, main, own, wait_for

from browser import Browser  # daemon has added its folder

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
    for name, length in (("mail", 40), ("retries", 12), ("webhooks", 230)):
        for i in range(length):
            batch.execute_command("REDE.PUSH", name, 0 if i % 3 else 600_000, "payload", f"id{i}")
    batch.execute_command("REDE.CLAIM", "webhooks", 60000, "COUNT", 8)
    batch.execute()
    client.config_set("slowlog-log-slower-than", 0)
    client.execute_command("ZADD", "board", *[word for i in range(300) for word in (i, f"name{i}")])
    client.execute_command("SORT", "board", "BY", "nosort", "LIMIT", 0, 3)
    client.config_set("slowlog-log-slower-than", -1)
    for i in range(300):
        client.get(f"session:{i}")


def text_of(browser, name):
    return browser.run("return document.getElementById(arguments[0]).textContent", name)


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
        batch.execute()


def come_live(browser, url):
    browser.open(url)
    assert wait_for(lambda: browser.run(STATE) == "live", 10), text_of(browser, "status")


def check_look(browser, daemon, device, scheme):
    width, height = SIZES[device]
    browser.look(width, height, scheme)
    come_live(browser, daemon.url)
    assert wait_for(lambda: text_of(browser, "in-hour") not in ("–", "0"), 10), "no forecast"
    equal(browser.run(TOO_WIDE), [], f"{device}: sticks out")
    contrast, text = browser.run(CONTRAST)
    assert contrast >= 4.5, f"{device} {scheme}: contrast {contrast:.2f} of {text!r}"
    assert wait_for(lambda: browser.run("return lines.rate.length") >= 5, 20), "the lines stand still"
    equal(browser.run("return [innerWidth, innerHeight]"), [width, height])
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
        equal(bars(browser), "Nothing expires in the coming hour")
        equal(text_of(browser, "dehydrators-note"), "There are no dehydrators.")
        for i in range(30):
            raw.call("SET", f"k{i}", "v", "EX", 1800)
        raw.call("REDE.PUSH", "<b>q</b>", 0, "payload", "id")
        raw.call("CONFIG", "SET", "slowlog-log-slower-than", "0")
        raw.call("AUTH", "nobody", "hidden-word")
        raw.call("SET", "<i>slow</i>", "v")
        assert wait_for(lambda: text_of(browser, "in-hour") == "30", 10), text_of(browser, "in-hour")
        assert wait_for(lambda: text_of(browser, "dehydrators") == "<b>q</b>1001", 10)
        assert wait_for(lambda: "SET <i>slow</i> v" in text_of(browser, "slow"), 10)
        assert ": 30" in bars(browser), bars(browser)
        assert "hidden-word" not in browser.run("return document.documentElement.outerHTML")
        equal(browser.messages(), [], "console")


@own
def page_says_when_the_connection_is_lost_and_recovers():
    with with_port() as daemon, Browser() as browser:
        browser.look(*SIZES["phone"], "dark")
        come_live(browser, daemon.url)
        daemon.stop()
        assert wait_for(lambda: browser.run(STATE) == "lost", 10)
        assert text_of(browser, "status").startswith("No connection since "), text_of(browser, "status")
        daemon.start()
        assert wait_for(lambda: browser.run(STATE) == "live", 15), text_of(browser, "status")
        assert "restarted at" in text_of(browser, "status"), text_of(browser, "status")


if __name__ == "__main__":
    main(seconds=180)
