#!/usr/bin/env node
// The recipes as people write them, with node-redis and ioredis, each in RESP2 and RESP3.
import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import { createClient } from 'redis';

import { Daemon, IS_REDIS, NOON, main, stepped, test } from './daemon.mjs';

const DAY = 86_400;

// What both clients are asked for; each answers in its own words.
class NodeRedis {
    static async connect(daemon, RESP, options = {}) {
        const client = createClient({ socket: { path: daemon.path }, RESP, name: 'shop',
            ...options });
        const it = new NodeRedis();
        it.errors = [];
        client.on('error', (error) => it.errors.push(error));
        it.client = await client.connect();
        return it;
    }
    send(...args) { return this.client.sendCommand(args.map(String)); }
    add(key, ...members) { return this.client.sAdd(key, members); }
    members(key) { return this.client.sMembers(key); }
    expire(key, seconds) { return this.client.expire(key, seconds).then(Number); }
    expireAt(key, at) { return this.client.expireAt(key, at).then(Number); }
    ttl(key) { return this.client.ttl(key); }
    exists(...keys) { return this.client.exists(keys); }
    put(key, score, value) { return this.client.zAdd(key, { score, value }); }
    clean(key, from, to) { return this.client.zRemRangeByScore(key, from, to); }
    range(key) { return this.client.zRange(key, 0, -1); }
    since(key, from) { return this.client.zRangeByScore(key, from, '+inf'); }
    setPx(key, value, msec) {
        return this.client.set(key, value, { expiration: { type: 'PX', value: msec } });
    }
    get(key) { return this.client.get(key); }
    size() { return this.client.dbSize(); }
    transaction(key) {
        return this.client.multi().sAdd(key, 'a').expire(key, 100).sCard(key).exec()
            .then((replies) => replies.map(Number));
    }
    async hash(key, value) {
        await this.client.hSet(key, value);
        return { ...(await this.client.hGetAll(key)) };
    }
    async scored(key) {
        const found = await this.client.zRangeWithScores(key, 0, -1);
        return found.map(({ value, score }) => [value, Number(score)]);
    }
    async subscriber(channel) {
        const listener = this.client.duplicate();
        await listener.connect();
        const inbox = new Inbox();
        await listener.subscribe(channel, (message) => inbox.put(message));
        inbox.close = () => listener.close();
        return inbox;
    }
    publish(channel, text) { return this.client.publish(channel, text); }
    async close() { await this.client.close(); }
}

class IoRedis {
    static async connect(daemon, protocol, options = {}) {
        const it = new IoRedis();
        it.errors = [];
        it.client = new Redis({ path: daemon.path, protocol, connectionName: 'shop',
            lazyConnect: true, retryStrategy: null, ...options });
        it.client.on('error', (error) => it.errors.push(error));
        await it.client.connect();
        return it;
    }
    send(...args) { return this.client.call(...args); }
    add(key, ...members) { return this.client.sadd(key, ...members); }
    members(key) { return this.client.smembers(key); }
    expire(key, seconds) { return this.client.expire(key, seconds); }
    expireAt(key, at) { return this.client.expireat(key, at); }
    ttl(key) { return this.client.ttl(key); }
    exists(...keys) { return this.client.exists(...keys); }
    put(key, score, value) { return this.client.zadd(key, score, value); }
    clean(key, from, to) { return this.client.zremrangebyscore(key, from, to); }
    range(key) { return this.client.zrange(key, 0, -1); }
    since(key, from) { return this.client.zrangebyscore(key, from, '+inf'); }
    setPx(key, value, px) { return this.client.set(key, value, 'PX', px); }
    get(key) { return this.client.get(key); }
    size() { return this.client.dbsize(); }
    transaction(key) {
        return this.client.multi().sadd(key, 'a').expire(key, 100).scard(key).exec()
            .then((replies) => replies.map(([error, reply]) => error ?? reply));
    }
    async hash(key, value) {
        await this.client.hset(key, value);
        return { ...(await this.client.hgetall(key)) };
    }
    async scored(key) {
        const flat = (await this.client.zrange(key, 0, -1, 'WITHSCORES')).flat();
        const found = [];
        for (let i = 0; i < flat.length; i += 2) found.push([flat[i], Number(flat[i + 1])]);
        return found;
    }
    async subscriber(channel) {
        const listener = this.client.duplicate();
        const inbox = new Inbox();
        listener.on('message', (_channel, message) => inbox.put(message));
        await listener.connect();
        await listener.subscribe(channel);
        inbox.close = () => listener.quit();
        return inbox;
    }
    publish(channel, text) { return this.client.publish(channel, text); }
    async close() { await this.client.quit(); }
}

class Inbox {
    messages = [];
    waiting = [];
    put(message) {
        const next = this.waiting.shift();
        if (next) next(message);
        else this.messages.push(message);
    }
    take() {
        if (this.messages.length) return Promise.resolve(this.messages.shift());
        return new Promise((done) => this.waiting.push(done));
    }
}

const CLIENTS = [
    ['node-redis RESP2', NodeRedis, 2], ['node-redis RESP3', NodeRedis, 3],
    ['ioredis RESP2', IoRedis, 2], ['ioredis RESP3', IoRedis, 3],
];

// A test for each client: run(client, daemon).
function each(declare, name, run, ...options) {
    for (const [label, Client, version] of CLIENTS) {
        declare(`${name} (${label})`, async () => {
            const daemon = await Daemon.start(...options);
            const client = await Client.connect(daemon, version);
            await run(client, daemon, version);
            assert.deepEqual(client.errors, []);
            await client.close();
            await daemon.stop();
        });
    }
}

// --- connections ---

each(test, 'a connection is set up without an error', async (client, _daemon, version) => {
    assert.equal(await client.send('PING'), 'PONG');
    assert.equal(await client.send('CLIENT', 'GETNAME'), 'shop');
    const info = String(await client.send('CLIENT', 'LIST'));
    assert.equal(info.trim().split('\n').length, 1, info);
    assert.match(info, / name=shop /);
    assert.match(info, new RegExp(` resp=${version}`));
    if (!IS_REDIS) assert.match(info, / lib-name=(node-redis|ioredis)[^ ]* lib-ver=\d/);
    assert.match(String(await client.send('INFO')), /\nloading:0\r/);
});

each(test, 'a connection takes a password and a database', async (_client, daemon, version) => {
    const key = 'k';
    for (const Client of [NodeRedis, IoRedis]) {
        await daemon.command('CONFIG SET requirepass secret');
        const database = Client === NodeRedis ? { database: 3 } : { db: 3 };
        const client = await Client.connect(daemon, version, { password: 'secret', ...database });
        await client.add(key, Client.name);
        assert.equal(await client.size(), 1);
        assert.deepEqual(client.errors, []);
        await client.send('CONFIG', 'SET', 'requirepass', '');
        await client.close();
    }
});

each(test, 'replies have the forms that the client documents', async (client) => {
    assert.deepEqual(await client.hash('h', { a: '1', b: '2' }), { a: '1', b: '2' });
    await client.put('z', 1.5, 'x');
    await client.put('z', -2, 'y');
    assert.deepEqual(await client.scored('z'), [['y', -2], ['x', 1.5]]);
    assert.equal(await client.get('nosuch'), null);
    assert.deepEqual(await client.transaction('set'), [1, 1, 1]);
    await assert.rejects(client.get('z'), /WRONGTYPE/);
    await assert.rejects(client.send('NOSUCH'), /unknown command/);
});

// --- recipe 4: items of a set that end ---

const bucket = (seconds) => `activities:${Math.floor(seconds / DAY)}`;

each(test, 'day buckets are sets that end together', async (client) => {
    const now = Math.floor(Date.now() / 1000);
    const today = bucket(now);
    assert.equal(await client.add(today, 'run', 'swim'), 2);
    assert.equal(await client.add(today, 'run'), 0);
    assert.equal(await client.expireAt(today, now + 60 * DAY), 1);
    assert.equal(await client.add(bucket(now - DAY), 'walk'), 1);
    assert.equal(await client.expire(bucket(now - DAY), 59 * DAY), 1);
    assert.deepEqual((await client.members(today)).sort(), ['run', 'swim']);
    assert.ok(Math.abs(await client.ttl(today) - 60 * DAY) <= 5);
    assert.equal(await client.exists(today, bucket(now - DAY), bucket(now - 2 * DAY)), 2);
    assert.equal(await client.expireAt(bucket(now - DAY), now - 1), 1);
    assert.deepEqual(await client.members(bucket(now - DAY)), []);
});

each(stepped, 'a day bucket lives up to its second and no longer', async (client, daemon) => {
    await daemon.hold();
    const now = NOON / 1000;
    await client.add(bucket(now), 'run');
    await client.expireAt(bucket(now), now + 60 * DAY);
    await client.add(bucket(now - DAY), 'swim');
    await client.expire(bucket(now - DAY), 59 * DAY);
    await daemon.step(59 * DAY * 1000);
    assert.deepEqual(await client.members(bucket(now - DAY)), ['swim']);
    await daemon.step(1);
    assert.deepEqual(await client.members(bucket(now - DAY)), []);
    assert.equal(await client.ttl(bucket(now)), DAY);
    await daemon.step(DAY * 1000 - 1);
    assert.deepEqual(await client.members(bucket(now)), ['run']);
    await daemon.step(1);
    assert.equal(await client.size(), 0);
});

each(test, 'one sorted set is cleaned by the dates of expiry', async (client) => {
    const now = 1_700_000_000;
    for (let i = 0; i < 20; i++) await client.put('activities', now + i * 60, `activity ${i}`);
    assert.equal(await client.clean('activities', '-inf', now + 5 * 60), 6);
    assert.equal((await client.range('activities'))[0], 'activity 6');
    await client.put('activities', now + 3600, 'activity 6'); // extended
    assert.equal(await client.clean('activities', '-inf', `(${now + 7 * 60}`), 0);
    assert.deepEqual(await client.since('activities', `(${now + 18 * 60}`),
        ['activity 19', 'activity 6']);
    assert.equal(await client.clean('activities', '-inf', '+inf'), 14);
    assert.equal(await client.exists('activities'), 0);
});

// --- recipe 3: the timed dictionary ---

each(test, 'a subscriber is called when a key expires', async (client) => {
    const inbox = await client.subscriber('__keyevent@0__:expired');
    await client.setPx('k', 'v', 20);
    assert.equal(await inbox.take(), 'k');
    assert.equal(await client.get('k'), null);
    await inbox.close();
}, '--notify-keyspace-events', 'Ex');

each(stepped, 'a subscriber is called after the deadline and not at it', async (client, daemon) => {
    await daemon.hold();
    const inbox = await client.subscriber('__keyevent@0__:expired');
    await client.setPx('k', 'v', 1000);
    await daemon.step(1000);
    await client.publish('__keyevent@0__:expired', 'mark');
    assert.equal(await inbox.take(), 'mark');
    assert.equal(await client.get('k'), 'v');
    await daemon.step(1);
    assert.equal(await inbox.take(), 'k');
    assert.equal(await client.get('k'), null);
    await inbox.close();
}, '--notify-keyspace-events', 'Ex');

// --- the short forms: a policy, or one command, instead of the clean-up ---

each(stepped, 'a policy keeps a recency list short and expires it', async (client, daemon) => {
    await daemon.hold();
    await client.send('POLICY', 'SET', 'rv:*', 'MAXLEN', '3', 'TTL', '100000',
        'REFRESH', 'WRITE');
    for (let epoch = 1; epoch <= 5; epoch++) await client.put('rv:ann', epoch, `page${epoch}`);
    assert.deepEqual(await client.range('rv:ann'), ['page3', 'page4', 'page5']);
    await daemon.step(99_000);
    await client.put('rv:ann', 6, 'page3');
    assert.deepEqual(await client.range('rv:ann'), ['page4', 'page5', 'page3']);
    await daemon.step(100_000);
    assert.equal(await client.exists('rv:ann'), 1);
    await daemon.step(1);
    assert.equal(await client.size(), 0);
});

each(stepped, 'a policy expires each activity', async (client, daemon) => {
    await daemon.hold();
    await client.send('POLICY', 'SET', 'activities', 'MEMBERTTL', String(60 * DAY * 1000));
    await client.add('activities', 'walk', 'swim');
    await daemon.step(DAY * 1000);
    await client.add('activities', 'run', 'swim');
    await daemon.step(59 * DAY * 1000);
    assert.deepEqual((await client.members('activities')).sort(), ['run', 'swim', 'walk']);
    await daemon.step(1);
    assert.deepEqual((await client.members('activities')).sort(), ['run', 'swim']);
    await daemon.step(DAY * 1000);
    assert.equal(await client.size(), 0);
});

each(stepped, 'each item can have its own deadline', async (client, daemon) => {
    await daemon.hold();
    assert.equal(Number(await client.send('SADDEX', 'coupons', 'PXAT', String(NOON + 5000),
        'MEMBERS', '2', 'spring', 'summer')), 2);
    assert.deepEqual(await client.send('SPEXPIRE', 'coupons', '9000', 'MEMBERS', '1', 'summer'),
        [1]);
    assert.deepEqual(await client.send('STTL', 'coupons', 'MEMBERS', '2', 'spring', 'winter'),
        [5, -2]);
    await client.hash('cart', { boots: '1', tent: '2' });
    assert.deepEqual(await client.send('HPEXPIRE', 'cart', '7000', 'FIELDS', '1', 'tent'), [1]);
    await daemon.step(5001);
    assert.deepEqual(await client.members('coupons'), ['summer']);
    await daemon.step(2000);
    assert.equal(Number(await client.send('HLEN', 'cart')), 1);
    await daemon.step(2000);
    assert.equal(await client.exists('coupons', 'cart'), 1);
});

each(stepped, 'a policy expires members of a presence set', async (client, daemon) => {
    await daemon.hold();
    await client.send('POLICY', 'SET', 'online', 'MEMBERTTL', '30000');
    await client.add('online', 'ann', 'bob');
    await daemon.step(20_000);
    await client.add('online', 'ann');
    await daemon.step(10_001);
    assert.deepEqual(await client.members('online'), ['ann']);
    await daemon.step(20_000);
    assert.equal(await client.exists('online'), 0);
});

each(stepped, 'a rate limiter does not count rejected requests', async (client, daemon) => {
    await daemon.hold();
    await client.send('POLICY', 'SET', 'limit:*', 'TTL', '1m', 'REFRESH', 'WRITE');
    await client.send('REDE.MPUSH', 'limit:ann', '0', '', '1', '0', '', '2');
    const admitted = async () =>
        (await client.send('REDE.CLAIM', 'limit:ann', '60000', 'COUNT', '1')).length > 0;
    const wait = async () => Number(await client.send('REDE.TTN', 'limit:ann'));
    assert.deepEqual([await admitted(), await admitted(), await admitted()], [true, true, false]);
    await daemon.step(59_000);
    assert.equal(await admitted(), false);
    assert.equal(await wait(), 1000);
    await daemon.step(1000);
    assert.deepEqual([await admitted(), await admitted(), await admitted()], [true, true, false]);
    assert.equal(await wait(), 60_000);
});

each(stepped, 'a policy ends sessions that are not used', async (client, daemon) => {
    await daemon.hold();
    await client.send('POLICY', 'SET', 'session:*', 'TTL', '1800000', 'REFRESH', 'ACCESS');
    await client.hash('session:1', { user: 'ann' });
    await client.send('SET', 'session:2', 'bob');
    await daemon.step(1_799_000);
    assert.equal(await client.send('HGET', 'session:1', 'user'), 'ann');
    assert.equal(await client.ttl('session:1'), 1800);
    await daemon.step(1001);
    assert.equal(await client.get('session:2'), null);
    await daemon.step(1_798_999);
    assert.equal(await client.exists('session:1'), 1);
    await daemon.step(1);
    assert.equal(await client.exists('session:1'), 0);
});

each(stepped, 'a policy limits the TTLs of a cache', async (client, daemon) => {
    await daemon.hold();
    await client.send('POLICY', 'SET', 'cache:*', 'TTL', '600000', 'JITTER', '10',
        'MAXTTL', '3600000');
    await client.send('SET', 'cache:1', 'v');
    const ttl = await client.ttl('cache:1');
    assert.ok(ttl >= 540 && ttl <= 660, String(ttl));
    await client.setPx('cache:2', 'v', DAY * 1000);
    assert.equal(await client.ttl('cache:2'), 3600);
    assert.equal(await client.send('POLICY', 'OF', 'cache:2'), 'cache:*');
    await daemon.step(660_001);
    assert.equal(await client.size(), 1);
});

each(stepped, 'a subscriber gets the name of an expired member', async (client, daemon) => {
    await daemon.hold();
    const inbox = await client.subscriber('__subkeyevent@0__:sexpired');
    await client.send('SADDEX', 'online', 'PX', '1000', 'MEMBERS', '1', 'ann');
    await daemon.step(1001);
    assert.equal(await inbox.take(), '6:online|3:ann');
    await inbox.close();
}, '--notify-keyspace-events', 'Ts');

each(stepped, 'EXPIRY NEXT shows the next deadline', async (client, daemon) => {
    await daemon.hold();
    await client.setPx('job:7', 'mail', 90_000);
    await client.send('SADDEX', 'coupons', 'PX', '5000', 'MEMBERS', '1', 'spring');
    assert.deepEqual(await client.send('EXPIRY', 'NEXT'),
        [['coupons', NOON + 5000, 'member'], ['job:7', NOON + 90_000, 'key']]);
});

// --- dehydrators ---

each(stepped, 'a dehydrator gives its elements back when they are due', async (client, daemon) => {
    await daemon.hold();
    assert.equal(await client.send('REDE.PUSH', 'd', '100', 'payload', 'id'), 'OK');
    await assert.rejects(client.send('REDE.PUSH', 'd', '100', 'payload', 'id'),
        /^\w*Error: (ERROR: )?Element already dehydrating\.$/);
    assert.deepEqual(await client.send('REDE.POLL', 'd'), []);
    assert.equal(Number(await client.send('REDE.TTN', 'd')), 100);
    await daemon.step(100);
    assert.deepEqual(await client.send('REDE.XPOLL', 'd'), ['id']);
    assert.deepEqual(await client.send('REDE.POLL', 'd', 'WITHIDS'), [['id', 'payload']]);
    assert.equal(await client.send('REDE.TTN', 'd'), null);
});

await main();
