// Fetches /state.json every second and draws it. Times are those of the server's clock.
"use strict";

const EVERY = 1000;        // milliseconds between two fetches
const HIDDEN_EVERY = 10000; // while nobody looks at the page
const PATIENCE = 5000;     // a fetch is given up after so long
const KEPT = 300;          // values of a line, of which this many fill its width:
const LEAST = 60;
const HOUR = 3600 * 1000;

const root = document.documentElement;
const byId = (id) => document.getElementById(id);
const lines = { rate: [], used: [] };
let state = null;     // the last answer
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

/** Bars of the coming hour: [{at, keys, members}], each `width` ms wide, on whole multiples of it. */
function barsOf(hour, width) {
  const bars = new Map();
  const from = nowAtServer();
  for (let i = 0; i < hour.keys.length; i++) {
    const at = hour.begin + i * hour.span;
    if (at + hour.span <= from || at >= from + HOUR) continue;
    const start = at - (at % width);
    const bar = bars.get(start) || { at: start, keys: 0, members: 0 };
    bar.keys += hour.keys[i];
    bar.members += hour.members[i];
    bars.set(start, bar);
  }
  return [...bars.values()];
}

function drawAxes(draw, area, top) {
  draw.fillStyle = color("--quiet");
  draw.strokeStyle = color("--grid");
  draw.font = getComputedStyle(document.body).font;
  draw.textBaseline = "middle";
  draw.textAlign = "right";
  for (const part of [0, 0.5, 1]) {
    const y = area.bottom - part * (area.bottom - area.top);
    draw.beginPath();
    draw.moveTo(area.left, y + 0.5);
    draw.lineTo(area.right, y + 0.5);
    draw.stroke();
    if (top * part % 1 === 0) draw.fillText(count(top * part), area.left - 6, y);
  }
  draw.textBaseline = "top";
  const step = area.right - area.left < 500 ? 20 : 10;
  for (let minutes = 0; minutes <= 60; minutes += step) {
    const x = area.left + (minutes / 60) * (area.right - area.left);
    draw.textAlign = minutes === 0 ? "left" : minutes === 60 ? "right" : "center";
    draw.fillText(minutes === 0 ? "now" : `${minutes} min`, x, area.bottom + 6);
  }
}

function drawBars(draw, area, bars, width, top) {
  const from = nowAtServer();
  const perMsec = (area.right - area.left) / HOUR;
  const perCount = (area.bottom - area.top) / top;
  for (const bar of bars) {
    const left = Math.max(area.left, area.left + (bar.at - from) * perMsec);
    const right = Math.min(area.right, area.left + (bar.at + width - from) * perMsec - 1);
    if (right <= left) continue;
    // What exists is seen, however little it is beside the rest.
    const keys = bar.keys && Math.max(2, bar.keys * perCount);
    const members = bar.members && Math.max(2, bar.members * perCount);
    draw.fillStyle = color("--keys");
    draw.fillRect(left, area.bottom - keys, right - left, keys);
    draw.fillStyle = color("--members");
    draw.fillRect(left, area.bottom - keys - members, right - left, members);
  }
}

function drawHour() {
  const canvas = byId("hour");
  const { draw, width, height } = begin(canvas);
  const font = parseFloat(getComputedStyle(document.body).fontSize);
  const area = { left: font * 3.6, right: width - 2, top: font, bottom: height - font * 1.8 };
  const each = width > 1400 ? 10000 : width > 700 ? 20000 : 60000;
  const bars = state && state.hour ? barsOf(state.hour, each) : [];
  const most = Math.max(1, ...bars.map((bar) => bar.keys + bar.members));
  const top = roundUp(most);
  drawAxes(draw, area, top);
  drawBars(draw, area, bars, each, top);
  const peak = bars.find((bar) => bar.keys + bar.members === most);
  canvas.setAttribute("aria-label", peak
    ? `Histogram by ${span(each)}; most expire at ${clock(peak.at)}: ${whole.format(most)}`
    : "Nothing expires in the coming hour");
}

function drawLine(id, values, text) {
  const canvas = byId(id);
  const { draw, width, height } = begin(canvas);
  const most = Math.max(1, ...values);
  const step = width / (Math.max(LEAST, values.length) - 1);
  draw.strokeStyle = color("--keys");
  draw.lineWidth = 1.5;
  draw.beginPath();
  values.forEach((value, i) => {
    const x = width - (values.length - 1 - i) * step;
    draw.lineTo(x, height - 2 - (value / most) * (height - 4));
  });
  draw.stroke();
  canvas.setAttribute("aria-label", values.length
    ? `The last ${span(values.length * EVERY)}: at most ${text(Math.max(...values))}` : "No data yet");
}

function drawAll() {
  drawHour();
  drawLine("rate-line", lines.rate, (value) => `${count(value)} per second`);
  drawLine("used-line", lines.used, bytes);
}

// ---- figures ----

function dueWithin(hour, msec) {
  const from = nowAtServer();
  let sum = 0;
  hour.keys.forEach((keys, i) => {
    const at = hour.begin + i * hour.span;
    if (at + hour.span > from && at < from + msec) sum += keys + hour.members[i];
  });
  return sum;
}

function showExpiry({ hour, expiry, lag, now }) {
  for (const [id, msec] of [["in-minute", 60000], ["in-ten", 600000], ["in-hour", HOUR]])
    show(id, hour ? count(dueWithin(hour, msec)) : "–");
  show("next", expiry.nextSeconds === null ? "none" : span(expiry.nextSeconds * 1000));
  const age = hour ? now - hour.counted : 0;
  show("hour-note", !hour ? "counting" : age > 5000 ? `counted ${span(age)} ago` : "");
  for (const id of ["p50", "p90", "p99", "p999", "max"])
    show(id, lag.count > 0 ? span(lag[id]) : "–");
  show("expired", count(expiry.expiredKeys + expiry.expiredMembers));
  show("overdue", count(expiry.overdue));
  show("keys", `${count(expiry.keys)}, ${count(expiry.withDeadline)} with a deadline`);
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
  lines.rate.push(traffic.commandsPerSecond);
  lines.used.push(memory.used);
  for (const values of Object.values(lines)) values.splice(0, values.length - KEPT);
}

function showReplication({ replication: { follows, linkUp, replicas, online, lagBytes } }) {
  const role = !follows ? "master" : linkUp ? "replica" : "replica, link down";
  const behind = online > 0 ? `, ${bytes(lagBytes)} behind` : "";
  show("replication", replicas > 0 ? `${role}, ${online} of ${replicas} in step${behind}` : role);
}

function showJournal({ journal }) {
  if (!journal.on) show("journal", journal.keeps ? "off" : "off, a stop loses all data");
  else if (journal.failing) show("journal", "can't be written");
  else show("journal", `${bytes(journal.bytes)}, last sync ${span(journal.syncSeconds * 1000)}`);
}

function cell(row, text, name) {
  const made = row.insertCell();
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

function showDehydrators({ dehydrators, dehydratorCount }) {
  const backlog = dehydrators.filter((one) => one.due > 0);
  byId("dehydrators").replaceChildren(...backlog.map((one) => {
    const row = document.createElement("tr");
    cell(row, one.db > 0 ? `${one.key} (db ${one.db})` : one.key);
    for (const value of [one.due, one.claimed, one.redelivered, one.length])
      cell(row, count(value), "number");
    return row;
  }));
  show("dehydrators-note", dehydratorCount === 0 ? "There are no dehydrators."
    : backlog.length === 0 ? `None of ${count(dehydratorCount)} has elements that are due.`
      : dehydratorCount > backlog.length ? `${count(backlog.length)} of ${count(dehydratorCount)}.` : "");
}

function showSlow({ slowlog }) {
  byId("slow").replaceChildren(...slowlog.map((one) => {
    const row = document.createElement("tr");
    cell(row, clock(one.at), "time");
    cell(row, span(one.usec / 1000), "number");
    const call = cell(row, one.call, "call");
    const peer = document.createElement("small");
    peer.textContent = one.blockedUsec > 0
      ? `${one.peer}, and waited ${span(one.blockedUsec / 1000)} for data` : one.peer;
    call.append(peer);
    return row;
  }));
  show("slow-note", slowlog.length === 0 ? "None." : "");
}

// ---- the connection ----

function setState(name, text) {
  root.dataset.state = name;
  show("status", text);
}

function showState() {
  show("version", state.version);
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
