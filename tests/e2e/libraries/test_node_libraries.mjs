#!/usr/bin/env node
// Rows of doc/libraries.md whose remedy is a command of expired, for libraries of npm: each library runs unchanged,
// shows what its users should know about time, and then the command gives the right result.
import assert from 'node:assert/strict';
import { mock } from 'node:test';

import { RedisBackend } from '@agendajs/redis-backend';
import rateLimit from '@fastify/rate-limit';
import { Engine } from '@hapi/catbox-redis';
import { createAdapter } from '@socket.io/redis-streams-adapter';
import { Agenda } from 'agenda';
import AsyncPersistence from 'aedes-persistence-redis/asyncPersistence.js';
import BeeQueue from 'bee-queue';
import { BentoCache, bentostore } from 'bentocache';
import { redisDriver } from 'bentocache/drivers/redis';
import Bull from 'bull';
import { RedisStore } from 'connect-redis';
import { rateLimit as expressLimit } from 'express-rate-limit';
import fastify from 'fastify';
import { Queue as GroupQueue, Worker as GroupWorker } from 'groupmq';
import { Redis } from 'ioredis';
import { ServiceBroker } from 'moleculer';
import { Queue as ResqueQueue, Scheduler } from 'node-resque';
import { RedisStore as LimitStore } from 'rate-limit-redis';
import { createClient } from 'redis';
import { Mutex } from 'redis-semaphore';
import { Configuration, Consumer, EQueueDeliveryModel, EQueueType, Producer, ProducibleMessage, Queue }
    from 'redis-smq';
import { ERedisConfigClient } from 'redis-smq-common';
import Rsmq from 'rsmq';
import { Server } from 'socket.io';

import { Daemon, NOON, main, stepped, until } from '../clients/daemon.mjs';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

// `closes` collects what to close before the daemon stops; the last one first.
function row(name, run) {
    stepped(name, async () => {
        const daemon = await Daemon.start();
        const closes = [];
        const connect = (options = {}) => {
            const client = new Redis({ path: daemon.path, ...options });
            closes.push(() => client.disconnect());
            return client;
        };
        try {
            await run({ daemon, redis: connect(), connect, closes });
        } finally {
            mock.timers.reset();
            for (const close of closes.reverse()) await close();
            await daemon.stop();
        }
    });
}

const calls = async (redis, command) => Number(
    (await redis.info('commandstats')).match(new RegExp(`cmdstat_${command}:calls=(\\d+)`))?.[1] ?? 0);

const claim = async (redis, key = 'jobs') =>
    (await redis.call('REDE.CLAIM', key, 60_000, 'COUNT', 100)).map(([id]) => id);

// An element that was pushed with this TTL at NOON is due in its millisecond, by the server's clock alone.
async function isDueOnTime({ daemon, redis }, ttl) {
    await daemon.hold();
    await redis.call('REDE.PUSH', 'jobs', ttl, 'payload', 'j1');
    await daemon.step(ttl - 1);
    assert.deepEqual(await claim(redis), []);
    await daemon.step(1);
    assert.deepEqual(await claim(redis), ['j1']);
}

// One of these clients fills the value, and the others get it.
async function isFilledOnce({ redis, connect }, count, key) {
    let fills = 0;
    const read = async (client) => {
        const [value, state] = await client.call('GETFRESH', key, 'LEASE', 30_000, 'WAIT', 20_000);
        if (state !== 'fill') return value;
        fills++;
        assert.ok(await until(async () =>
            (await redis.info('clients')).includes(`blocked_clients:${count - 1}\r\n`)));
        await client.set(key, 'value', 'PX', 60_000);
        return 'value';
    };
    const found = await Promise.all(Array.from({ length: count }, () => read(connect())));
    assert.deepEqual([found, fills], [Array(count).fill('value'), 1]);
}

row('Bull starts a job early if the clock of a worker is ahead', async (test) => {
    const queue = new Bull('mail', { redis: { path: test.daemon.path } });
    test.closes.push(() => queue.close(true));
    await queue.add({}, { delay: HOUR });
    mock.timers.enable({ apis: ['Date'], now: Date.now() + HOUR });
    await new Promise((done) => queue.process(async () => done()));
    mock.timers.reset();
    await isDueOnTime(test, HOUR);
});

row('a delayed job of groupmq holds up its group', async (test) => {
    const { redis } = test;
    const queue = new GroupQueue({ redis, namespace: 'mail' });
    const handled = [];
    await queue.add({ groupId: 'ann', data: 'a1', delay: HOUR });
    await queue.add({ groupId: 'ann', data: 'a2' });
    await queue.add({ groupId: 'bob', data: 'b1' });
    const worker = new GroupWorker({ queue, handler: async (job) => { handled.push(job.data); } });
    test.closes.push(() => queue.close(), () => worker.close());
    worker.run();
    assert.ok(await until(async () => handled.length === 1));
    await queue.add({ groupId: 'bob', data: 'b2' });
    assert.ok(await until(async () => handled.length === 2));
    assert.deepEqual(handled, ['b1', 'b2']);

    await redis.call('REDE.PUSH', 'jobs', HOUR, 'payload', 'a1');
    await redis.call('REDE.PUSH', 'jobs', 0, 'payload', 'a2');
    assert.deepEqual(await claim(redis), ['a2']);
});

row('a delayed job of bee-queue waits for a worker that activates it', async (test) => {
    const open = (settings) => {
        const queue = new BeeQueue('mail', { redis: { path: test.daemon.path }, ...settings });
        test.closes.push(() => queue.close());
        return queue;
    };
    const handled = [];
    const work = (queue) => queue.process(async (job) => { handled.push(job.data); });
    const plain = open({});
    await plain.createJob('later').delayUntil(Date.now() + HOUR).save();
    mock.timers.enable({ apis: ['Date'], now: Date.now() + 2 * HOUR });
    work(plain);
    await plain.createJob('now').save();
    assert.ok(await until(async () => handled.length === 1));
    assert.deepEqual([handled, (await plain.checkHealth()).delayed], [['now'], 1]);
    work(open({ activateDelayedJobs: true }));
    assert.ok(await until(async () => handled.length === 2));
    assert.deepEqual(handled, ['now', 'later']);
    mock.timers.reset();

    await isDueOnTime(test, HOUR);
});

row('redis-smq delivers nine scheduled messages a second', async ({ daemon, redis, closes }) => {
    const ask = (object, method, ...words) => new Promise((done, failed) =>
        object[method](...words, (error, found) => (error ? failed(error) : done(found))));
    Configuration.getSetConfig({
        redis: { client: ERedisConfigClient.IOREDIS, options: { path: daemon.path } }, logger: { enabled: false } });
    const [queue, producer, consumer] = [new Queue(), new Producer(), new Consumer()];
    for (const one of [queue, producer, consumer]) closes.push(() => ask(one, 'shutdown'));
    await ask(queue, 'save', 'mail', EQueueType.FIFO_QUEUE, EQueueDeliveryModel.POINT_TO_POINT);
    await ask(producer, 'run');
    for (let i = 0; i < 19; i++) {
        await ask(producer, 'produce', new ProducibleMessage().setQueue('mail').setBody(i).setScheduledDelay(1));
    }
    const arrived = [];
    await ask(consumer, 'consume', 'mail', (message, done) => { arrived.push(Date.now()); done(); });
    await ask(consumer, 'run');
    assert.ok(await until(async () => arrived.length === 19), String(arrived.length));
    // Real time: its timer rests for a second after each nine. A busy machine may have delayed the first arrival.
    assert.ok(arrived[18] - arrived[0] > 1000, String(arrived));

    await daemon.hold();
    for (let i = 0; i < 19; i++) await redis.call('REDE.PUSH', 'jobs', 1, 'payload', i);
    await daemon.step(1);
    assert.equal((await claim(redis)).length, 19);
});

row('node-resque runs jobs up to a second early', async ({ daemon, redis, closes }) => {
    const connection = { pkg: 'ioredis', redis };
    const queue = new ResqueQueue({ connection });
    const scheduler = new Scheduler({ connection });
    await queue.connect();
    await scheduler.connect();
    closes.push(() => queue.end(), () => scheduler.end());
    mock.timers.enable({ apis: ['Date'], now: NOON + 499 });
    await queue.enqueueAt(NOON + 1499, 'mail', 'send', []);
    assert.equal(await scheduler.nextDelayedTimestamp(), undefined);
    mock.timers.setTime(NOON + 500);
    assert.equal(await scheduler.nextDelayedTimestamp(), String(NOON / 1000 + 1));

    await daemon.hold(NOON + 500);
    await redis.call('REDE.PUSHAT', 'jobs', NOON + 1499, 'payload', 'j1');
    await daemon.step(998);
    assert.deepEqual(await claim(redis), []);
    await daemon.step(1);
    assert.deepEqual(await claim(redis), ['j1']);
});

row('each poll of agenda reads all jobs of a name, finished ones too', async ({ daemon, redis, connect, closes }) => {
    const agenda = new Agenda({ backend: new RedisBackend({ redis: connect() }), processEvery: 25 * DAY });
    closes.push(() => agenda.stop());
    let finished = 0;
    agenda.define('mail', async () => { finished++; });
    await agenda.start();
    for (let i = 0; i < 5; i++) await agenda.now('mail');
    assert.ok(await until(async () => finished === 5));
    await redis.config('RESETSTAT');
    // 25 days are more than a timer can have, so it polls in each millisecond.
    assert.ok(await until(async () => await calls(redis, 'hgetall') >= 50), String(await calls(redis, 'hgetall')));

    await daemon.hold();
    await redis.call('REDE.PUSH', 'jobs', 60_000, 'payload', 'report', 'EVERY', 60_000);
    await daemon.step(60_000);
    const [[, , , token]] = await redis.call('REDE.CLAIM', 'jobs', 30_000, 'TOKENS');
    await redis.call('REDE.ACK', 'jobs', 'report', token);
    assert.deepEqual(await redis.call('REDE.RANGE', 'jobs', 0, NOON + DAY), [['report', NOON + 120_000]]);
});

row('rsmq cuts delays to seconds', async ({ daemon, redis, connect, closes }) => {
    const rsmq = new Rsmq({ path: daemon.path });
    closes.push(() => rsmq.quit(() => {}));
    await rsmq.createQueueAsync({ qname: 'mail', vt: 1.9 });
    assert.equal((await rsmq.getQueueAttributesAsync({ qname: 'mail' })).vt, 1);
    await rsmq.sendMessageAsync({ qname: 'mail', message: 'm1', delay: 0.9 });
    assert.equal((await rsmq.receiveMessageAsync({ qname: 'mail' })).message, 'm1');

    await daemon.hold();
    const waiting = connect().call('REDE.CLAIM', 'jobs', 1900, 'BLOCK', 30);
    await redis.call('REDE.PUSH', 'jobs', 900, 'payload', 'j1');
    await daemon.step(900);
    assert.deepEqual(await waiting, [['j1', 'payload', 1]]);
    await daemon.step(1899);
    assert.deepEqual(await claim(redis), []);
    await daemon.step(1);
    assert.deepEqual(await claim(redis), ['j1']);
});

row('the back-off of @fastify/rate-limit has no limit', async ({ daemon, redis, connect, closes }) => {
    const app = fastify();
    closes.push(() => app.close());
    await app.register(rateLimit, { max: 1, timeWindow: 60_000, exponentialBackoff: true, redis: connect() });
    app.get('/', async () => 'page');
    const get = async () => (await app.inject('/')).statusCode;
    assert.equal(await get(), 200);
    for (let i = 0; i < 19; i++) assert.equal(await get(), 429);
    const [key] = await redis.keys('fastify-rate-limit-*');
    const days = await redis.pttl(key) / DAY;
    assert.ok(days > 182 && days < 183, String(days));

    await daemon.hold();
    const ask = async () => (await redis.call('CL.WINDOW', 'api:ann', 1, 60_000))[0];
    assert.equal(await ask(), 0);
    for (let i = 0; i < 20; i++) assert.equal(await ask(), 1);
    await daemon.step(60_000);
    assert.equal(await ask(), 0);
});

row('rate-limit-redis lets twice the limit pass around the end of a window', async ({ daemon, redis }) => {
    await daemon.hold();
    const limiter = expressLimit({ windowMs: 60_000, limit: 3, validate: false, legacyHeaders: false,
        store: new LimitStore({ sendCommand: (...words) => redis.call(...words) }) });
    const passes = async (count) => {
        let passed = 0;
        for (let i = 0; i < count; i++) {
            const response = { setHeader: () => {}, status: () => response, send: () => {} };
            await limiter({ ip: '192.0.2.1', headers: {}, app: { get: () => false } }, response, () => { passed++; });
        }
        return passed;
    };
    const admits = async (count) => {
        let admitted = 0;
        for (let i = 0; i < count; i++) admitted += 1 - (await redis.call('CL.WINDOW', 'api:ann', 3, 60_000))[0];
        return admitted;
    };
    assert.deepEqual([await passes(1), await admits(1)], [1, 1]);
    await daemon.step(59_999);
    assert.deepEqual([await passes(3), await admits(3)], [2, 2]);
    await daemon.step(2);
    assert.deepEqual([await passes(4), await admits(4)], [3, 1]); // in two milliseconds five, and three
});

row('a grace of bentocache that is shorter than the TTL ends the entry early', async ({ daemon, redis, connect }) => {
    const cache = new BentoCache({ default: 'redis', stores: {
        redis: bentostore().useL2Layer(redisDriver({ connection: connect() })) } });
    await cache.set({ key: 'page', value: 'v', ttl: 60_000, grace: 10_000 });
    const [key] = await redis.keys('*');
    assert.ok(await redis.pttl(key) <= 10_000, String(await redis.pttl(key)));

    await daemon.hold();
    await redis.call('SET', 'fresh', 'v', 'PX', 70_000, 'SOFT', 60_000);
    assert.deepEqual(await redis.call('GETFRESH', 'fresh'), ['v', 'fresh']);
    await daemon.step(60_001);
    assert.deepEqual(await redis.call('GETFRESH', 'fresh'), ['v', 'refresh']);
    await daemon.step(10_000);
    assert.deepEqual(await redis.call('GETFRESH', 'fresh'), [null, 'fill']);
});

row('catbox-redis can not store a TTL with a fraction', async (test) => {
    const engine = new Engine({ client: test.connect(), partition: 'app' });
    await engine.start();
    const key = { segment: 'pages', id: 'p1' };
    await engine.set(key, 'v', 10_000);
    assert.equal((await engine.get(key)).item, 'v');
    await assert.rejects(engine.set(key, 'v', 10_000.5), /not an integer/);

    await isFilledOnce(test, 3, 'page');
});

row('each caller of Moleculer that misses runs the action', async (test) => {
    const broker = new ServiceBroker({ logger: false, cacher: {
        type: 'Redis', options: { redis: { path: test.daemon.path } } } });
    test.closes.push(() => broker.stop());
    let runs = 0;
    broker.createService({ name: 'pages', actions: { get: { cache: true, handler: async () => {
        runs++;
        await until(async () => runs === 5);
        return 'page';
    } } } });
    await broker.start();
    assert.ok(await until(async () => broker.cacher.connected));
    const found = await Promise.all(Array.from({ length: 5 }, () => broker.call('pages.get')));
    assert.deepEqual([found, runs], [Array(5).fill('page'), 5]);
    assert.ok(await until(async () => (await test.redis.keys('MOL-*')).length === 1));
    assert.deepEqual([await broker.call('pages.get'), runs], ['page', 5]);

    await isFilledOnce(test, 5, 'page');
});

row('a touched session of connect-redis names an expiry in the past', async ({ daemon, redis, closes }) => {
    const client = await createClient({ socket: { path: daemon.path } }).connect();
    closes.push(() => client.destroy());
    const store = new RedisStore({ client });
    const session = (msec) => ({ cookie: { expires: new Date(Date.now() + msec) } });
    await store.set('s1', session(60_000));
    await store.touch('s1', session(HOUR));
    const named = new Date((await store.get('s1')).cookie.expires) - Date.now();
    assert.ok(named <= 60_000, String(named));
    assert.ok(await redis.pttl('sess:s1') > HOUR - 60_000);

    await daemon.hold();
    await redis.call('POLICY', 'SET', 'sess:*', 'TTL', '1h', 'REFRESH', 'ACCESS');
    await redis.set('sess:s2', '{}');
    await daemon.step(HOUR - 1);
    assert.equal(await redis.get('sess:s2'), '{}');
    assert.equal(await redis.pttl('sess:s2'), HOUR);
});

row('a lock of redis-semaphore has no number that grows', async ({ daemon, redis, closes }) => {
    const [ann, bob] = [new Mutex(redis, 'report'), new Mutex(redis, 'report', { onLockLost: () => {} })];
    closes.push(() => bob.release(), () => ann.release());
    await ann.acquire();
    assert.equal(await redis.get('mutex:report'), ann.identifier);
    await redis.del('mutex:report'); // ann was paused, and her lock ended
    await bob.acquire();
    assert.equal(await redis.get('mutex:report'), bob.identifier);
    assert.match(`${ann.identifier} ${bob.identifier}`, /^[0-9a-f-]{36} [0-9a-f-]{36}$/);

    await daemon.hold();
    const [old] = await redis.call('LEASE.TAKE', 'lease:report', 'ann', 1000);
    await daemon.step(1001);
    const [token] = await redis.call('LEASE.TAKE', 'lease:report', 'bob', 1000);
    assert.ok(token > old);
    assert.equal(await redis.call('LEASE.CHECK', 'lease:report', old), null);
});

row('the stream of Socket.IO stays', async ({ daemon, redis, connect, closes }) => {
    await daemon.hold();
    const io = new Server({ adapter: createAdapter(connect()) });
    io.emit('news', 'text');
    assert.ok(await until(async () => await redis.xlen('socket.io') > 0));
    io.of('/').adapter.close();
    await daemon.step(2 * HOUR);
    assert.equal(await redis.pttl('socket.io'), -1);
    assert.ok(await redis.xlen('socket.io') > 0);

    await redis.call('POLICY', 'SET', 'socket.io', 'RETAIN', '1h');
    assert.ok(await until(async () => await redis.xlen('socket.io') === 0));
});

row('messages of Aedes for a device that is away stay', async ({ daemon, redis, connect, closes }) => {
    await daemon.hold();
    const persistence = new AsyncPersistence({ conn: connect() });
    const enqueue = (counter) => persistence.outgoingEnqueueCombi([{ clientId: 'lamp', topic: 'light', qos: 1 }], {
        brokerId: 'b1', brokerCounter: counter, cmd: 'publish', topic: 'light', payload: Buffer.from('on'), qos: 1 });
    await enqueue(1);
    assert.equal(await redis.pttl('packet:b1:1'), -1);

    await redis.call('POLICY', 'SET', 'packet:*', 'TTL', '7d');
    await enqueue(2);
    assert.equal(await redis.pttl('packet:b1:2'), 7 * DAY);
    await daemon.step(7 * DAY + 1);
    assert.equal(await redis.exists('packet:b1:2'), 0);
});

await main();
