// others: the instants of schedules in npm packages. Reads cases from standard input: [{package, spec, zone,
// from, to}, ...], in seconds; writes a list of instants for each, or the text of an error. table runs it in a
// folder with the packages.
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';
import { mock } from 'node:test';
import { join } from 'node:path';

const load = createRequire(join(process.cwd(), 'here.js'));

function croner({ spec, zone, from, to }) {
    const { Cron } = load('croner');
    const job = new Cron(spec, { timezone: zone, paused: true });
    const found = [];
    for (let at = job.nextRun(new Date(from * 1000)); at && at / 1000 <= to; at = job.nextRun(at)) found.push(at / 1000);
    return found;
}

function cronParser({ spec, zone, from, to }) {
    const { CronExpressionParser } = load('cron-parser');
    const steps = CronExpressionParser.parse(spec, { tz: zone, currentDate: new Date(from * 1000) });
    const found = [];
    for (let at = steps.next().getTime() / 1000; at <= to; at = steps.next().getTime() / 1000) found.push(at);
    return found;
}

// Schedules a real job and lets its timers run, on a clock that is moved minute by minute.
function nodeSchedule({ spec, zone, from, to }) {
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: from * 1000 });
    const schedule = load('node-schedule');
    const found = [];
    const job = schedule.scheduleJob({ rule: spec, tz: zone }, () => found.push(Math.floor(Date.now() / 60000) * 60));
    for (let at = from; at < to; at += 60) mock.timers.tick(60000);
    job?.cancel();
    mock.timers.reset();
    return found;
}

const programs = { croner, 'cron-parser': cronParser, 'node-schedule': nodeSchedule };
console.log(JSON.stringify(JSON.parse(await text(process.stdin)).map((one) => {
    try {
        return programs[one.package](one);
    } catch (error) {
        return String(error);
    }
})));
