// daemon: the daemon under test for node's clients, and the count of what passed.
// Knows how to start, reach and stop a server; refuses to know what a command should answer.
// EXPIRED names the binary; with a redis-server, tests that step the clock are left out.
// CK_TIMEOUT_MULTIPLIER multiplies all limits of time.
import { execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const BINARY = path.resolve(process.env.EXPIRED || path.join(HERE, '../../../expired'));
const PATIENCE = Number(process.env.CK_TIMEOUT_MULTIPLIER || 1);
export const STRETCH = Math.min(PATIENCE, 3); // of spans in which a test has to do something
const START_MSEC = 20_000 * PATIENCE;
export const WAIT_MSEC = 40_000 * PATIENCE; // for what must happen: only a test that fails takes so long

if (!fs.existsSync(BINARY)) {
    console.log(`there is no ${BINARY}: run make first, or set EXPIRED\n0 passed, 1 failed`);
    process.exit(1);
}
export const IS_REDIS = execFileSync(BINARY, ['--version'], { encoding: 'utf8' })
    .startsWith('Redis');
export const NOON = 1_900_000_000_000;

// Through setpriv, where there is one, a daemon dies with a test that is killed.
const SETPRIV = '/usr/bin/setpriv';
const BEFORE = fs.existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL'] : [];

const running = new Set();

// As free_port of tests/lib/process.py: a port that nobody listens on, and that no other test gets meanwhile.
export function freePort() {
    return new Promise((done) => {
        const [owned, probe] = [net.createServer().unref(), net.createServer()];
        const port = crypto.randomInt(20_000, 32_768);
        for (const one of [owned, probe]) one.once('error', () => done(freePort()));
        owned.listen(`\0expired-test-port-${port}`, () => {
            probe.listen(port, '127.0.0.1', () => probe.close(() => done(port)));
        });
    });
}

// What the condition resolves to, once it is true, or the last of it when the time is over. For what
// other processes do.
export async function until(condition, msec = WAIT_MSEC) {
    const limit = Date.now() + msec;
    for (;;) {
        const found = await condition().catch(() => undefined);
        if (found || Date.now() > limit) return found;
        await new Promise((next) => setTimeout(next, 20)); // between two looks
    }
}

export class Daemon {
    static async start(...options) {
        const daemon = new Daemon();
        daemon.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'expired-test-'));
        daemon.path = path.join(daemon.dir, 'socket');
        const log = fs.openSync(path.join(daemon.dir, 'output'), 'a');
        running.add(daemon);
        const [program, ...before] = [...BEFORE, BINARY];
        daemon.process = spawn(program, [...before, '--port', '0', '--unixsocket', daemon.path,
            '--dir', daemon.dir, '--save', '', '--appendonly', 'no',
            '--enable-debug-command', 'yes', ...options], { stdio: ['ignore', log, log] });
        fs.closeSync(log);
        daemon.ended = new Promise((done) => daemon.process.once('exit', (...how) => done(how)));
        await daemon.ready();
        return daemon;
    }

    async ready() {
        const limit = Date.now() + START_MSEC;
        while (Date.now() < limit && this.process.exitCode === null) {
            const reply = await this.command('PING').catch(() => '-');
            if (!reply.startsWith('-LOADING') && reply !== '-') return reply;
            await new Promise((next) => setTimeout(next, 5)); // between two tries
        }
        throw new Error(`the daemon did not start:\n${this.log()}`);
    }

    log() {
        return fs.readFileSync(path.join(this.dir, 'output'), 'utf8');
    }

    // One inline command on a connection of its own; the reply's first line.
    command(line) {
        return new Promise((done, failed) => {
            const socket = net.connect(this.path, () => socket.write(`${line}\r\n`));
            let reply = '';
            socket.setTimeout(START_MSEC, () => socket.destroy(new Error(`no reply to ${line}`)));
            socket.on('error', failed);
            socket.on('close', () => failed(new Error(`closed during ${line}`)));
            socket.on('data', (data) => {
                reply += data;
                if (!reply.includes('\r\n')) return;
                done(reply.split('\r\n')[0]);
                socket.destroy();
            });
        });
    }

    async hold(at = NOON) {
        return this.command(`DEBUG CLOCK HOLD ${at}`);
    }

    async step(msec) {
        return this.command(`DEBUG CLOCK STEP ${msec}`);
    }

    async stop() {
        this.process.kill('SIGTERM');
        const late = new Promise((done) => setTimeout(done, START_MSEC, ['late']).unref());
        const [status, signal] = await Promise.race([this.ended, late]);
        const log = this.log();
        this.drop();
        if (status !== 0) throw new Error(`the daemon ended with ${status} ${signal}:\n${log}`);
    }

    drop() {
        running.delete(this);
        this.process.kill('SIGKILL');
        fs.rmSync(this.dir, { recursive: true, force: true });
    }
}

const tests = [];
let skipped = 0;

export function test(name, run) {
    tests.push({ name, run });
}

export function stepped(name, run) {
    if (IS_REDIS) skipped++;
    else test(name, run);
}

// A test that can't run here, which the caller has allowed.
export function skip(name, why) {
    console.log(`skipped: ${name}: ${why}`);
    skipped++;
}

function withLimit(promise, msec) {
    let timer;
    const late = new Promise((_, failed) => {
        timer = setTimeout(() => failed(new Error('the test took too long')), msec);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function dropAll() {
    for (const daemon of running) daemon.drop();
}

// Runs every test of the file, each for at most this many milliseconds; exits.
export async function main(msec = 60_000) {
    let passed = 0;
    let failed = 0;
    process.on('exit', dropAll);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));
    process.on('unhandledRejection', (error) => {
        failed++;
        console.log(`FAIL unhandled: ${error?.stack}`);
    });
    for (const { name, run } of tests) {
        try {
            await withLimit(run(), msec * PATIENCE);
            passed++;
        } catch (error) {
            failed++;
            console.log(`FAIL ${path.basename(process.argv[1])}: ${name}\n${error.stack}`);
            dropAll();
        }
    }
    if (passed + failed + skipped === 0) {
        console.log('no test ran');
        failed = 1;
    }
    console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
    process.exit(failed === 0 ? 0 : 1);
}
