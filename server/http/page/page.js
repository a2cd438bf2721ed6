// Fetches /state.json every second and draws it. Times are those of the server's clock.
"use strict";

const GAP = 6;             // pixels between a label and its line
const EVERY = 1000;        // milliseconds between two fetches
const HIDDEN_EVERY = 10000; // while nobody looks at the page
const PATIENCE = 5000;     // milliseconds after which a fetch is aborted
const KEPT = 300;          // values of a line, one a second
const ROWS = 6;            // of a table
const MINUTE = 60 * 1000;
const HOUR = 60 * MINUTE;

const root = document.documentElement;
const byId = (id) => document.getElementById(id);
let state = null;     // the last answer
let before = null;    // the one before it, of the same run
let ahead = 0;        // the server's clock minus the browser's
let lostAt = null;    // since when there is no answer
let restarted = null; // when another run of the server was seen first
let next = null;      // the timer of the next fetch; null while one runs

// ---- numbers for people ----

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

function count(value) {
  return value < 100000 ? whole.format(value) : short.format(value);
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${unit > 0 && value < 100 ? value.toPrecision(3) : Math.round(value)} ${units[unit]}`;
}

function span(msec) {
  if (msec < 1) return `${Math.round(msec * 1000)} µs`;
  if (msec < 1000) return `${msec < 10 && msec % 1 ? msec.toFixed(1) : Math.round(msec)} ms`;
  const seconds = msec / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

function clock(msec) {
  return new Date(msec).toLocaleTimeString([], { hour12: false });
}

function show(id, text) {
  const node = byId(id);
  if (node.textContent !== text) node.textContent = text;
}

// ---- drawing ----

function color(name) {
  return getComputedStyle(root).getPropertyValue(name).trim();
}

/** A canvas' context in CSS pixels, cleared. */
function begin(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const draw = canvas.getContext("2d");
  draw.scale(scale, scale);
  return { draw, width, height };
}

/** 1, 2 or 5 times a power of ten, not below the value. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value);
}

function nowAtServer() {
  return Date.now() + ahead;
}

/** What falls due: each is an array of counts in `hour`, and a part of each bar, from the bottom up. */
const KINDS = ["keys", "members", "elements"];

function sumOf(counts) {
  return KINDS.reduce((sum, kind) => sum + counts[kind], 0);
}

/** Bars of the coming hour: [{at, keys, members, elements}], one for each minute of the clock. */
function barsOf(hour) {
  const bars = new Map();
  const from = nowAtServer();
  for (let i = 0; i < hour.keys.length; i++) {
    const at = hour.begin + i * hour.span;
    if (at + hour.span <= from || at >= from + HOUR) continue;
    const start = at - (at % MINUTE);
    const bar = bars.get(start) || { at: start, keys: 0, members: 0, elements: 0 };
    for (const kind of KINDS) bar[kind] += hour[kind][i];
    bars.set(start, bar);
  }
  return [...bars.values()];
}

function ticksOf(top) {
  return [0, 0.5, 1].map((part) => part * top).filter((value) => value % 1 === 0);
}

function drawAxes(draw, area, top) {
  draw.fillStyle = color("--quiet");
  draw.strokeStyle = color("--grid");
  draw.textBaseline = "middle";
  draw.textAlign = "right";
  for (const part of [0, 0.5, 1]) {
    const y = area.bottom - part * (area.bottom - area.top);
    draw.beginPath();
    draw.moveTo(area.left, y + 0.5);
    draw.lineTo(area.right, y + 0.5);
    draw.stroke();
    if (ticksOf(top).includes(top * part)) draw.fillText(count(top * part), area.left - GAP, y);
  }
  draw.textBaseline = "top";
  const step = area.right - area.left < 500 ? 20 : 10;
  for (let minutes = 0; minutes <= 60; minutes += step) {
    const x = area.left + (minutes / 60) * (area.right - area.left);
    draw.textAlign = minutes === 0 ? "left" : minutes === 60 ? "right" : "center";
    draw.fillText(minutes === 0 ? "now" : `${minutes} min`, x, area.bottom + 6);
  }
}

function drawBars(draw, area, bars, top) {
  const from = nowAtServer();
  const perMsec = (area.right - area.left) / HOUR;
  const perCount = (area.bottom - area.top) / top;
  for (const bar of bars) {
    const left = Math.max(area.left, area.left + (bar.at - from) * perMsec);
    const right = Math.min(area.right, area.left + (bar.at + MINUTE - from) * perMsec - 1);
    if (right <= left) continue;
    // What exists is seen, however little it is beside the rest.
    let top = area.bottom;
    for (const kind of KINDS) {
      const size = bar[kind] && Math.max(2, bar[kind] * perCount);
      top -= size;
      draw.fillStyle = color(`--${kind}`);
      draw.fillRect(left, top, right - left, size);
    }
  }
}

function drawHour() {
  const canvas = byId("hour");
  const { draw, width, height } = begin(canvas);
  const font = parseFloat(getComputedStyle(document.body).fontSize);
  const bars = state && state.hour ? barsOf(state.hour) : [];
  const most = Math.max(1, ...bars.map(sumOf));
  const top = roundUp(most);
  draw.font = getComputedStyle(document.body).font;
  const label = Math.max(...ticksOf(top).map((value) => draw.measureText(count(value)).width));
  const area = { left: label + 2 * GAP, right: width - 2, top: font, bottom: height - font * 1.8 };
  drawAxes(draw, area, top);
  drawBars(draw, area, bars, top);
  const peak = bars.find((bar) => sumOf(bar) === most);
  canvas.setAttribute("aria-label", peak
    ? `Histogram by minute; most are due at ${clock(peak.at)}: ${whole.format(most)}`
    : "Nothing is due in the coming hour");
}

/** The last five minutes, with the highest value above and the time below. */
function drawLine(id, values, text) {
  const canvas = byId(id);
  const { draw, width, height } = begin(canvas);
  const font = parseFloat(getComputedStyle(document.body).fontSize) * 0.8;
  const most = Math.max(...values, 0);
  const [top, bottom] = [font * 1.3, height - font * 1.4];
  const step = width / (KEPT - 1);
  draw.strokeStyle = color("--grid");
  for (const y of [top, bottom]) {
    draw.beginPath();
    draw.moveTo(0, y + 0.5);
    draw.lineTo(width, y + 0.5);
    draw.stroke();
  }
  draw.strokeStyle = color("--keys");
  draw.lineWidth = 1.5;
  draw.beginPath();
  values.forEach((value, i) => {
    const x = width - (values.length - 1 - i) * step;
    draw.lineTo(x, bottom - (most > 0 ? value / most : 0) * (bottom - top));
  });
  draw.stroke();
  draw.fillStyle = color("--quiet");
  draw.font = `${font}px ${getComputedStyle(document.body).fontFamily}`;
  draw.textBaseline = "top";
  draw.fillText(`${text(most)} at most`, 0, 0);
  draw.fillText("5 min ago", 0, bottom + 3);
  draw.textAlign = "right";
  draw.fillText("now", width, bottom + 3);
  canvas.setAttribute("aria-label", values.length
    ? `The last ${span(values.length * EVERY)}: at most ${text(most)}` : "No data yet");
}

/** The line ends at the figure above it, which is of now. */
function lineTo(values, now) {
  return [...values.slice(1 - KEPT), now];
}

function drawAll() {
  const { commands, errors, memory } = state ? state.history : { commands: [], errors: [], memory: [] };
  drawHour();
  drawLine("rate-line", state ? lineTo(commands, state.traffic.commandsPerSecond) : [],
    (value) => `${count(value)} per second`);
  drawLine("error-line", errors, (value) => `${count(value)} per second`);
  drawLine("used-line", state ? lineTo(memory, state.memory.used) : [], bytes);
}

// ---- figures ----

function dueWithin(hour, msec) {
  const from = nowAtServer();
  let sum = 0;
  for (const kind of KINDS)
    hour[kind].forEach((number, i) => {
      const at = hour.begin + i * hour.span;
      if (at + hour.span > from && at < from + msec) sum += number;
    });
  return sum;
}

function showLag(lag, end) {
  for (const id of ["p50", "p90", "p99", "p999", "max"])
    show(id + end, lag.count > 0 ? span(lag[id]) : "–");
}

function showExpiry({ hour, expiry, lag, lagOfMinute, now }) {
  for (const [id, msec] of [["in-minute", MINUTE], ["in-ten", 10 * MINUTE], ["in-hour", HOUR]])
    show(id, hour ? count(dueWithin(hour, msec)) : "–");
  show("next", expiry.nextSeconds === null ? "none" : span(expiry.nextSeconds * 1000));
  const age = hour ? now - hour.counted : 0;
  show("hour-note", !hour ? "counting" : age > 5000 ? `counted ${span(age)} ago` : "");
  showLag(lag, "");
  showLag(lagOfMinute, "-minute");
  show("expired-minute", count(lagOfMinute.count));
  show("expired", count(expiry.expiredKeys + expiry.expiredMembers));
  show("overdue", count(expiry.overdue));
  show("keys", `${count(expiry.keys)}, ${count(expiry.withDeadline)}`);
  show("evicted", count(expiry.evictedKeys));
}

function showTraffic({ traffic, memory }) {
  const reads = traffic.hits + traffic.misses;
  show("rate", count(traffic.commandsPerSecond));
  show("in", `${bytes(traffic.bytesInPerSecond)}/s`);
  show("out", `${bytes(traffic.bytesOutPerSecond)}/s`);
  show("clients", `${count(traffic.clients)}, ${count(traffic.blocked)} waiting`);
  show("found", reads > 0 ? `${((100 * traffic.hits) / reads).toFixed(1)}%` : "–");
  show("used", bytes(memory.used));
  show("limit", memory.limit > 0
    ? `${bytes(memory.limit)}, ${Math.round((100 * memory.used) / memory.limit)}% used` : "none");
}

/** How much a counter has grown a second since the answer before; null: unknown. */
function perSecond(counterOf) {
  const last = before && counterOf(before);
  if (last === null || last === undefined || state.now <= before.now) return null;
  return Math.max(0, ((counterOf(state) - last) * 1000) / (state.now - before.now));
}

function rate(value) {
  return value === null ? "–" : value < 10 && value % 1 ? value.toFixed(1) : count(value);
}

function showErrors({ errors, history }) {
  show("error-rate", count(history.errors.at(-1) || 0));
  byId("errors").replaceChildren(...errors.slice(0, ROWS - 2).map((one) => {
    const row = document.createElement("div");
    for (const [kind, text] of [["dt", one.code], ["dd", count(one.count)]]) {
      const node = document.createElement(kind);
      node.textContent = text;
      row.append(node);
    }
    return row;
  }));
  show("errors-note", errors.length === 0 ? "None."
    : errors.length > ROWS - 2 ? `And ${errors.length - ROWS + 2} other codes.` : "");
}

function roleOf({ replication: { follows, linkUp } }) {
  return !follows ? "master" : linkUp ? "replica" : "replica, link down";
}

function showReplication({ replication: { replicas, online, lagBytes } }) {
  const behind = online > 0 ? `, ${bytes(lagBytes)} behind` : "";
  show("replication", replicas > 0 ? `${online} of ${replicas} in step${behind}` : "no replicas");
}

function showJournal({ journal }) {
  show("warning", journal.keeps ? ""
    : "Data is kept in memory only and is lost when the server stops: appendonly is no, and save is empty.");
  if (!journal.on) show("journal", "off");
  else if (journal.failing) show("journal", "can't be written");
  else show("journal", `${bytes(journal.bytes)}, last sync ${span(journal.syncSeconds * 1000)}`);
}

function cell(row, text, name) {
  const made = row.insertCell();
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

/** Fills the table with the first rows; `write` gets a row and its entry. */
function fillTable(id, entries, write) {
  byId(id).replaceChildren(...entries.slice(0, ROWS).map((one) => {
    const row = document.createElement("tr");
    write(row, one);
    return row;
  }));
}

function nameOf({ key, db }) {
  return db > 0 ? `${key} (db ${db})` : key;
}

function shownOf(all) {
  return all > ROWS ? `${ROWS} of ${count(all)}.` : "";
}

function showDehydrators({ dehydrators, dehydratorCount, now }) {
  const sameIn = (answer, one) =>
    answer.dehydrators && answer.dehydrators.find((it) => it.key === one.key && it.db === one.db);
  fillTable("dehydrators", dehydrators, (row, one) => {
    const counter = (of) => (answer) => {
      const found = sameIn(answer, one);
      return found ? of(found) : null;
    };
    cell(row, one.paused ? `${nameOf(one)} (paused)` : nameOf(one));
    cell(row, count(one.due), "number");
    cell(row, one.due > 0 ? span(Math.max(0, now - one.next)) : "–", "number");
    for (const value of [one.claimed, one.length])
      cell(row, count(value), "number");
    cell(row, rate(perSecond(counter((it) => it.pushed))), "number");
    cell(row, rate(perSecond(counter((it) => it.delivered))), "number");
    cell(row, one.lateness.count > 0 ? span(one.lateness.p99) : "–", "number");
    for (const value of [one.redelivered, one.retried, one.dead])
      cell(row, count(value), "number");
  });
  show("dehydrators-note", dehydratorCount === 0 ? "There are no dehydrators."
    : shownOf(dehydratorCount));
}

function showGroups({ groups, groupCount }) {
  fillTable("groups", groups, (row, one) => {
    cell(row, nameOf(one));
    cell(row, one.name);
    cell(row, count(one.consumers), "number");
    cell(row, count(one.pending), "number");
    cell(row, one.lag === null ? "unknown" : count(one.lag), "number");
  });
  show("groups-note", groupCount === 0 ? "There are no groups." : shownOf(groupCount));
}

function showPolicies({ policies, policyCount }) {
  fillTable("policies", policies, (row, one) => {
    cell(row, one.name);
    for (const value of [one.set, one.expiredUnread, one.expiredRead, one.expiredMisses])
      cell(row, count(value), "number");
  });
  show("policies-note", policyCount === 0 ? "There are no policies." : shownOf(policyCount));
}

function showCommands({ commands }) {
  const all = commands.reduce((sum, one) => sum + one.usec, 0);
  const callsOf = (name) => (answer) => {
    const found = answer.commands && answer.commands.find((it) => it.name === name);
    return found ? found.calls : null;
  };
  fillTable("commands", commands, (row, one) => {
    cell(row, one.name);
    cell(row, rate(perSecond(callsOf(one.name))), "number");
    cell(row, span(one.usec / one.calls / 1000), "number");
    cell(row, all > 0 ? `${((100 * one.usec) / all).toFixed(1)}%` : "–", "number");
  });
  show("commands-note", commands.length === 0 ? "None." : shownOf(commands.length));
}

function showSlow({ slow }) {
  fillTable("slow", slow, (row, one) => {
    const call = cell(row, one.call, "call");
    const peer = document.createElement("small");
    peer.textContent = one.blockedUsec > 0
      ? `${one.peer}, and waited ${span(one.blockedUsec / 1000)} for data` : one.peer;
    call.append(peer);
    cell(row, span(one.usec / 1000), "number");
    cell(row, count(one.calls), "number");
    cell(row, clock(one.at), "time");
  });
  show("slow-note", slow.length === 0 ? "None." : shownOf(slow.length));
}

// ---- why is this key gone? ----

function instant(msec) {
  return new Date(msec).toLocaleString([], { hour12: false });
}

function authorOf(one) {
  if (one.by === "policy") return one.policy === null ? "a policy" : `policy ${one.policy} ${one.option}`;
  if (one.by !== "command") return one.by;
  const who = one["client-name"] || (one["client-id"] === null ? "" : `client ${one["client-id"]}`);
  const call = `${(one.command || "a command").toUpperCase()}${one.script ? " in a script" : ""}`;
  return [call, who && `by ${who}`, one.user && one.user !== "default" && `as ${one.user}`]
    .filter(Boolean).join(" ");
}

function detailOf(one) {
  const parts = [];
  if (one.deadline !== null)
    parts.push(`${one.what === "deadline-set" ? "to" : "deadline"} ${instant(one.deadline)}`);
  if (one.before !== null) parts.push(`before: ${instant(one.before)}`);
  if (one["late-ms"] !== null) parts.push(`${span(one["late-ms"])} late`);
  if (one.memory !== null) parts.push(`${bytes(one.memory)} in use`);
  if (one["to-db"] !== null) parts.push(`with database ${one["to-db"]}`);
  return parts.join(", ");
}

function showWhy(name, answer) {
  show("why-answer", answer.deadline === null ? `${name} is ${answer.state}`
    : `${name} is ${answer.state}, with the deadline ${instant(answer.deadline)}`);
  byId("why-records").replaceChildren(...answer.records.map((one) => {
    const row = document.createElement("tr");
    cell(row, instant(one.at), "time");
    const what = cell(row, `${one.what}: ${authorOf(one)}`);
    const detail = document.createElement("small");
    detail.textContent = detailOf(one);
    what.append(detail);
    return row;
  }));
  show("why-note", answer.records.length === 0 ? `Nothing is recorded since ${instant(answer.since)}.`
    : `The record is complete since ${instant(answer.since)}.`);
}

let questions = 0; // asked so far

async function askWhy(event) {
  event.preventDefault();
  const question = ++questions;
  const query = new URLSearchParams({ key: byId("why-key").value, db: byId("why-db").value });
  if (byId("why-member").value !== "") query.set("member", byId("why-member").value);
  const name = [byId("why-key").value, byId("why-member").value].filter(Boolean).join(", ");
  byId("why-records").replaceChildren();
  show("why-note", "");
  byId("why").hidden = false;
  let display = () => show("why-answer", "The server does not answer.");
  try {
    const answer = await fetch(`why.json?${query}`,
      { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    const content = answer.ok ? await answer.json() : await answer.text();
    display = () => (answer.ok ? showWhy(name, content) : show("why-answer", content));
  } catch (error) {
    // No answer, or only a part of it.
  }
  if (question === questions) display(); // an answer to an earlier question may come later
}

byId("why-form").addEventListener("submit", askWhy);

// ---- the connection ----

function setState(name, text) {
  root.dataset.state = name;
  show("status", text);
}

function showState() {
  const place = `${state.host}:${state.port}`;
  show("version", state.version);
  show("place", state.loading ? place : `${place}, ${roleOf(state)}`);
  document.title = `${place} \u2013 expired`;
  if (state.loading) {
    const part = state.loadBytes > 0 ? Math.floor((100 * state.loadedBytes) / state.loadBytes) : 0;
    setState("loading", `Loading data: ${part}%, about ${span(state.loadSeconds * 1000)} left`);
    return;
  }
  showExpiry(state);
  showTraffic(state);
  showJournal(state);
  showReplication(state);
  showDehydrators(state);
  showGroups(state);
  showPolicies(state);
  showCommands(state);
  showErrors(state);
  showSlow(state);
  if (state.busy) setState("busy", "A script runs long: clients are answered BUSY");
  else setState("live", restarted ? `Up ${span(state.uptime * 1000)}, restarted at ${clock(restarted)}`
    : `Up ${span(state.uptime * 1000)}`);
}

async function ask() {
  next = null;
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), PATIENCE);
  try {
    const answer = await fetch("state.json", { cache: "no-store", signal: patience.signal });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const fresh = await answer.json();
    if (state && state.run !== fresh.run) restarted = fresh.now;
    before = state && state.run === fresh.run ? state : null;
    state = fresh;
    ahead = fresh.now - Date.now();
    lostAt = null;
    showState();
  } catch (error) {
    lostAt = lostAt || Date.now();
    setState("lost", `No connection since ${clock(lostAt)}; trying again`);
  } finally {
    clearTimeout(timer);
  }
  drawAll();
  next = setTimeout(ask, document.hidden ? HIDDEN_EVERY : EVERY);
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden || next === null) return;
  clearTimeout(next);
  ask();
});
window.addEventListener("resize", drawAll);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
ask();
