"""calendar_check: compares CRON.NEXT with calendar_oracle around transitions."""
import datetime
import zoneinfo

from calendar_oracle import around, draw_spec
from daemon import encode, equal, plain, read_reply

MOST = 1000
SYSTEM = "/usr/share/zoneinfo"


def instant(text):
    """Milliseconds of a time in UTC."""
    return round(datetime.datetime.fromisoformat(text + "+00:00").timestamp() * 1000)


def ask(raw, *calls):
    raw.send(b"".join(encode(*call) for call in calls))
    return [plain(read_reply(raw.reply())[0]) for _ in calls]


def check_transition(raw, rng, name, transition, count):
    """Compares `count` random schedules around one transition. Returns the number of instants."""
    zone = zoneinfo.ZoneInfo(name)
    seconds = rng.random() < 0.05
    window = around(zone, transition, 15 if seconds else 60)
    local = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=transition[0] + transition[1])
    specs = [draw_spec(rng, local, seconds) for _ in range(count)]
    # One more than in the window, which has to be later.
    wanted = [window.runs(spec)[:MOST - 1] for spec in specs]
    replies = ask(raw, *(("CRON.NEXT", spec.text, "ZONE", name, "FROM", window.begin * 1000, "COUNT",
                          len(instants) + 1) for spec, instants in zip(specs, wanted)))
    for spec, reply, instants in zip(specs, replies, wanted):
        what = f"CRON.NEXT '{spec.text}' ZONE {name} FROM {window.begin * 1000} at {transition}"
        if not isinstance(reply, list):
            equal(reply, b"ERR CRON: no date ever matches it", what)
            assert not spec.ever_matches(), what
            continue
        got = [at // 1000 for at in reply]
        equal(got[:len(instants)], instants, what)
        assert len(instants) == MOST - 1 or got[-1] > window.end, f"{what}: {got[-1]} runs too"
    return sum(len(instants) for instants in wanted)
