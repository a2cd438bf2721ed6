#!/usr/bin/env node
// node-redis and ioredis over TLS, with and without a certificate of their own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import Redis from 'ioredis';
import { createClient } from 'redis';

import { Daemon, freePort, main, test } from './daemon.mjs';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'expired-test-'));
process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
const at = (name) => path.join(folder, name);
const read = (name) => fs.readFileSync(at(name));

function openssl(...words) {
    return execFileSync('openssl', words, { stdio: ['ignore', 'pipe', 'ignore'] });
}

function makeCertificates() {
    fs.writeFileSync(at('names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
    for (const name of ['ca', 'server', 'client'])
        openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', at(`${name}.key`));
    openssl('req', '-x509', '-new', '-key', at('ca.key'), '-subj', '/CN=ca', '-days', '30',
        '-out', at('ca.crt'));
    for (const name of ['server', 'client']) {
        openssl('req', '-new', '-key', at(`${name}.key`), '-subj', `/CN=${name}`,
            '-out', at('request'));
        openssl('x509', '-req', '-in', at('request'), '-CA', at('ca.crt'), '-CAkey', at('ca.key'),
            '-CAcreateserial', '-days', '30', '-extfile', at('names'), '-out', at(`${name}.crt`));
    }
}

// Runs with a daemon, its TLS port and what a client with a certificate needs.
async function withDaemon(run, ...options) {
    if (!fs.existsSync(at('ca.crt'))) makeCertificates();
    const port = await freePort();
    const daemon = await Daemon.start('--tls-port', `${port}`, '--tls-cert-file', at('server.crt'),
        '--tls-key-file', at('server.key'), '--tls-ca-cert-file', at('ca.crt'), ...options);
    const tls = { ca: read('ca.crt'), cert: read('client.crt'), key: read('client.key') };
    await run(port, tls);
    await daemon.stop();
}

for (const RESP of [2, 3]) {
    test(`node-redis works over TLS, RESP${RESP}`, () => withDaemon(async (port, tls) => {
        const client = createClient({ socket: { host: '127.0.0.1', port, tls: true, ...tls }, RESP });
        const errors = [];
        client.on('error', (error) => errors.push(error));
        await client.connect();
        await client.set('k', 'x'.repeat(1_000_000));
        assert.equal((await client.get('k')).length, 1_000_000);
        const replies = await Promise.all(Array.from({ length: 1000 }, () => client.incr('n')));
        assert.deepEqual(replies, Array.from({ length: 1000 }, (_, i) => i + 1));
        const other = client.duplicate();
        other.on('error', (error) => errors.push(error));
        await other.connect();
        const heard = new Promise((done) => other.subscribe('c', done));
        while (await client.publish('c', 'hello') === 0);
        assert.equal(await heard, 'hello');
        await other.close();
        await client.close();
        assert.deepEqual(errors, []);
    }));
}

test('ioredis works over TLS', () => withDaemon(async (port, tls) => {
    const client = new Redis({ host: '127.0.0.1', port, tls });
    await client.set('k', 'x'.repeat(1_000_000));
    assert.equal((await client.get('k')).length, 1_000_000);
    const replies = await client.pipeline(Array.from({ length: 10_000 }, () => ['incr', 'n'])).exec();
    assert.deepEqual(replies.at(-1), [null, 10_000]);
    const pusher = client.duplicate();
    const popped = client.blpop('l', 0);
    await pusher.rpush('l', 'x');
    assert.deepEqual(await popped, ['l', 'x']);
    pusher.disconnect();
    await client.quit();
}));

test('a client without a certificate is refused or not, as asked', async () => {
    const ask = async (port, tls) => {
        const client = new Redis({ host: '127.0.0.1', port, tls: { ca: tls.ca }, lazyConnect: true,
            retryStrategy: null, maxRetriesPerRequest: 0 });
        client.on('error', () => {});
        try {
            await client.connect();
            return await client.ping();
        } catch {
            return 'refused';
        } finally {
            client.disconnect();
        }
    };
    await withDaemon(async (port, tls) => assert.equal(await ask(port, tls), 'refused'));
    await withDaemon(async (port, tls) => assert.equal(await ask(port, tls), 'PONG'),
        '--tls-auth-clients', 'optional');
});

await main();
