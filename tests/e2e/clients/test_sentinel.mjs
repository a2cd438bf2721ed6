#!/usr/bin/env node
// ioredis with sentinels: it finds the master, and uses the new one after a failover.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Redis } from 'ioredis';

import { Daemon, STRETCH, freePort, main, skip, test, until } from './daemon.mjs';

const SENTINEL = process.env.SENTINEL || '/usr/bin/redis-sentinel';
const NAME = 'shop';

async function node(...options) {
    const port = await freePort();
    const daemon = await Daemon.start('--port', String(port), '--repl-diskless-sync-delay', '0',
        ...options);
    return Object.assign(daemon, { port });
}

// Dies with the daemon's folder: `drop` ends it.
async function sentinel(daemon) {
    const port = await freePort();
    const file = path.join(daemon.dir, 'sentinel.conf');
    fs.writeFileSync(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${daemon.dir}`,
        `sentinel monitor ${NAME} 127.0.0.1 ${daemon.port} 1`,
        `sentinel down-after-milliseconds ${NAME} ${500 * STRETCH}`,
        `sentinel failover-timeout ${NAME} 5000`, ''].join('\n'));
    const child = spawn('/usr/bin/setpriv', ['--pdeathsig', 'KILL', SENTINEL, file],
        { stdio: 'ignore' });
    return { port, drop: () => child.kill('SIGKILL') };
}

function knowsReplicas(port) {
    const asks = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: null });
    asks.on('error', () => {}); // it is not listening yet
    return asks.call('SENTINEL', 'REPLICAS', NAME)
        .then((list) => list.length === 1 && list[0].includes('slave'))
        .finally(() => asks.disconnect());
}

async function goesOn() {
    const master = await node();
    const replica = await node('--replicaof', `127.0.0.1 ${master.port}`);
    const watch = await sentinel(master);
    try {
        assert(await until(() => knowsReplicas(watch.port)));
        const client = new Redis({ sentinels: [{ host: '127.0.0.1', port: watch.port }],
            name: NAME, maxRetriesPerRequest: null });
        client.on('error', () => {}); // while there is no master
        assert.equal(await client.set('k', 'before'), 'OK');
        assert.equal(await client.wait(1, 0), 1);
        assert.equal((await client.role())[0], 'master');
        master.process.kill('SIGKILL');
        assert(await until(async () => (await client.role())[0] === 'master'));
        assert.equal(await client.get('k'), 'before');
        assert.equal(await client.set('k', 'after'), 'OK');
        client.disconnect();
        // The sentinel closes connections of the server that it promotes.
        assert(await until(async () => /^\$5/.test(await replica.command('GET k'))));
    } finally {
        watch.drop();
        master.drop();
    }
    await replica.stop();
}

const GOAL = 'ioredis uses the new master after a failover';
if (process.env.ALLOW_NO_ORACLE === '1' && !fs.existsSync(SENTINEL)) skip(GOAL, `no ${SENTINEL}`);
else test(GOAL, goesOn);

await main();
