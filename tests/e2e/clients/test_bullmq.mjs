#!/usr/bin/env node
// BullMQ unchanged: workers, delays, retries, priorities, rate limits, schedulers, flows, stalled jobs, and
// the stream of events, in RESP2 and RESP3.
import assert from 'node:assert/strict';
import { FlowProducer, Queue, QueueEvents, UnrecoverableError, Worker } from 'bullmq';
import { Redis } from 'ioredis';

import { Daemon, WAIT_MSEC, main, stepped, test, until } from './daemon.mjs';

// Everything that one test opens, so that it can be closed in order.
class Shop {
    static async open(protocol) {
        const shop = new Shop();
        shop.daemon = await Daemon.start();
        shop.connection = { path: shop.daemon.path, maxRetriesPerRequest: null, protocol };
        return shop;
    }

    keep(one) {
        one.on('error', (error) => this.errors.push(error));
        this.opened.push(one);
        return one;
    }

    opened = [];
    errors = [];

    queue(name = 'mail') {
        return this.keep(new Queue(name, { connection: this.connection }));
    }

    worker(run, options = {}, name = 'mail') {
        return this.keep(new Worker(name, run, { connection: this.connection, ...options }));
    }

    async events(name = 'mail') {
        const events = this.keep(new QueueEvents(name,
            { connection: this.connection, lastEventId: '0' }));
        await events.waitUntilReady();
        return events;
    }

    async close() {
        for (const one of this.opened.reverse()) await one.close();
        assert.deepEqual(this.errors, []);
        await this.daemon.stop();
    }
}

// How many scripts clients have run; workers run one to ask for a job.
async function scriptsRun(client) {
    const [, calls] = /cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'));
    return Number(calls);
}

for (const protocol of [2, 3]) {
    const inShop = (name, run, declare = test) => declare(`${name}, RESP${protocol}`, async () => {
        const shop = await Shop.open(protocol);
        await run(shop);
        await shop.close();
    });

    inShop('workers do each job once and return its result', async (shop) => {
        const queue = shop.queue();
        const events = await shop.events();
        const done = [];
        for (let number = 0; number < 3; number++) {
            shop.worker(async (job) => {
                done.push(job.data.number);
                return job.data.number * 2;
            }, { concurrency: 5 });
        }
        const jobs = await queue.addBulk(Array.from({ length: 60 }, (_, number) => (
            { name: 'double', data: { number } })));
        const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events, WAIT_MSEC)));
        assert.deepEqual(results, jobs.map((_, number) => number * 2));
        assert.deepEqual(done.sort((a, b) => a - b), jobs.map((_, number) => number));
        assert.deepEqual(await queue.getJobCounts('completed', 'failed', 'wait', 'active'),
            { completed: 60, failed: 0, wait: 0, active: 0 });
    });

    inShop('delayed jobs wait, and the earliest is done first', async (shop) => {
        const queue = shop.queue();
        const events = await shop.events();
        const order = [];
        const delays = [300, 100, 200, 0];
        const jobs = [];
        for (const delay of delays) jobs.push(await queue.add('later', { delay }, { delay }));
        shop.worker(async (job) => {
            order.push([job.data.delay, Date.now() - job.timestamp]);
        });
        await Promise.all(jobs.map((job) => job.waitUntilFinished(events, WAIT_MSEC)));
        // A busy machine may have added the first ones a while before the last one.
        const due = jobs.filter(({ delay }) => delay > 0).sort((a, b) => (
            a.timestamp + a.delay - b.timestamp - b.delay));
        assert.deepEqual(order.map(([delay]) => delay).filter((delay) => delay > 0), due.map(({ delay }) => delay));
        assert.equal(order.length, delays.length);
        for (const [delay, waited] of order) assert.ok(waited >= delay - 10, `${waited} of ${delay}`);
    });

    inShop('a job that fails is tried again with a growing delay, and fails in the end', async (shop) => {
        const queue = shop.queue();
        const events = await shop.events();
        const tries = [];
        shop.worker(async (job) => {
            tries.push(job.name);
            if (job.name === 'fatal') throw new UnrecoverableError('never');
            if (job.name === 'bad' || job.attemptsMade < 2) throw new Error(`no ${job.attemptsMade}`);
            return 'done';
        });
        const options = { attempts: 3, backoff: { type: 'exponential', delay: 20 } };
        const add = (name) => queue.add(name, {}, options);
        const [good, bad, fatal] = [await add('good'), await add('bad'), await add('fatal')];
        const ends = await Promise.allSettled([good, bad, fatal].map((job) => (
            job.waitUntilFinished(events, WAIT_MSEC))));
        assert.deepEqual(ends.map(({ value, reason }) => value ?? reason.message),
            ['done', 'no 2', 'never']);
        assert.deepEqual(tries.sort(), ['bad', 'bad', 'bad', 'fatal', 'good', 'good', 'good']);
        assert.equal(await queue.getFailedCount(), 2);
        await (await queue.getJob(bad.id)).remove();
        assert.equal(await queue.getFailedCount(), 1);
    });

    inShop('a flow runs the children before their parent, which gets their results', async (shop) => {
        const flow = shop.keep(new FlowProducer({ connection: shop.connection }));
        const events = await shop.events('parents');
        const order = [];
        shop.worker(async (job) => {
            order.push(job.name);
            return job.data.value;
        }, {}, 'children');
        shop.worker(async (job) => {
            order.push(job.name);
            const values = Object.values(await job.getChildrenValues());
            return values.reduce((sum, value) => sum + value, 0);
        }, {}, 'parents');
        const tree = await flow.add({
            name: 'sum', queueName: 'parents',
            children: [1, 2, 3].map((value) => (
                { name: `child ${value}`, queueName: 'children', data: { value } })),
        });
        assert.equal(await tree.job.waitUntilFinished(events, WAIT_MSEC), 6);
        assert.equal(order.at(-1), 'sum');
        assert.equal(order.length, 4);
    });

    inShop('priorities order what waits; a paused queue does nothing', async (shop) => {
        const queue = shop.queue();
        const events = await shop.events();
        await queue.pause();
        const jobs = [];
        for (const priority of [3, 1, 2]) {
            jobs.push(await queue.add('urgent', { priority }, { priority }));
        }
        const order = [];
        shop.worker(async (job) => {
            order.push(job.data.priority);
        });
        assert.equal(await queue.isPaused(), true);
        assert.deepEqual(order, []);
        await queue.resume();
        await Promise.all(jobs.map((job) => job.waitUntilFinished(events, WAIT_MSEC)));
        assert.deepEqual(order, [1, 2, 3]);
    });

    inShop('a rate limit holds over all workers', async (shop) => {
        await shop.daemon.hold(); // the limit's windows are spans of the daemon's clock
        const queue = shop.queue();
        const events = await shop.events();
        const limiter = { max: 2, duration: 150 };
        let begun = 0;
        for (let number = 0; number < 2; number++) {
            shop.worker(async () => {
                begun++;
            }, { limiter, concurrency: 3 });
        }
        const jobs = await queue.addBulk(Array.from({ length: 6 }, () => ({ name: 'few', data: {} })));
        const client = new Redis({ path: shop.daemon.path });
        for (const most of [2, 4]) {
            assert.ok(await until(async () => begun >= most));
            const asked = await scriptsRun(client);
            // Workers ask again, and are refused.
            assert.ok(await until(async () => await scriptsRun(client) >= asked + 4));
            assert.equal(begun, most);
            await shop.daemon.step(limiter.duration + 1);
        }
        await Promise.all(jobs.map((job) => job.waitUntilFinished(events, WAIT_MSEC)));
        assert.equal(begun, 6);
        client.disconnect();
    }, stepped);

    inShop('a scheduler makes a job every so often', async (shop) => {
        const queue = shop.queue();
        let runs = 0;
        const finished = new Promise((resolve) => {
            shop.worker(async () => {
                if (++runs === 3) resolve();
            });
        });
        await queue.upsertJobScheduler('tick', { every: 100 }, { name: 'tick' });
        await finished;
        const [scheduler] = await queue.getJobSchedulers();
        assert.equal(scheduler.key, 'tick');
        assert.equal(await queue.removeJobScheduler('tick'), true);
        assert.deepEqual(await queue.getJobSchedulers(), []);
    });

    inShop('a job whose worker is gone is taken up by another', async (shop) => {
        const queue = shop.queue();
        const events = await shop.events();
        const options = { lockDuration: 2000, stalledInterval: 500 };
        const hangs = new Worker('mail', () => new Promise(() => {}),
            { connection: shop.connection, ...options, skipLockRenewal: true, autorun: false });
        hangs.on('error', () => {});
        const taken = new Promise((resolve) => hangs.on('active', resolve));
        hangs.run().catch(() => {});
        const job = await queue.add('stuck', {});
        await taken;
        await hangs.close(true);
        shop.worker(async () => 'rescued', options);
        assert.equal(await job.waitUntilFinished(events, WAIT_MSEC), 'rescued');
    });

    inShop('events are in a stream that keeps its length', async (shop) => {
        const queue = shop.queue();
        const events = await shop.events();
        const heard = [];
        for (const name of ['added', 'waiting', 'active', 'progress', 'completed', 'removed']) {
            events.on(name, ({ jobId }) => heard.push(`${name} ${jobId}`));
        }
        shop.worker(async (job) => {
            await job.updateProgress(50);
            return 'ok';
        });
        const removed = new Promise((resolve) => events.on('removed', resolve));
        const job = await queue.add('one', {}, { jobId: 'my-job' });
        await job.waitUntilFinished(events, WAIT_MSEC);
        await (await queue.getJob('my-job')).remove();
        await removed;
        assert.deepEqual(heard, ['added my-job', 'waiting my-job', 'active my-job', 'progress my-job',
            'completed my-job', 'removed my-job']);
        const client = new Redis({ ...shop.connection, lazyConnect: true });
        await client.connect();
        const before = await client.xlen('bull:mail:events');
        assert.ok(before >= 6, `${before} events`);
        await queue.trimEvents(1);
        assert.ok(await client.xlen('bull:mail:events') <= before);
        client.disconnect();
        await queue.obliterate({ force: true });
        assert.equal(await queue.count(), 0);
    });
}

main();
