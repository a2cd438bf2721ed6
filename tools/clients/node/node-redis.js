// The commands as a module of node-redis, and functions that wait on connections of their own: see node-redis.d.ts.
import { commands } from './commands.js';
import { Words, writeCall } from './words.js';

function commandOf(method, command) {
    const { name, readonly, reply } = command;
    return {
        IS_READ_ONLY: readonly,
        parseCommand(parser, ...args) {
            parser.push(...name.split(' '));
            const words = new Words((word) => parser.push(word), (key) => parser.pushKey(key));
            writeCall(method, command, words, args);
        },
        transformReply: (found) => reply.read(found),
    };
}

export const expired = Object.fromEntries(
    Object.entries(commands).map(([method, command]) => [method, commandOf(method, command)]));
export const expiredBuffers = expired;

// ---- connections for waits ----

const MARGIN = 1000; // milliseconds
const LONGEST = 2 ** 31 - 1; // of a timer of Node.js: longer ones end at once
const IDLE = 500; // milliseconds that a connection is kept for the next wait; less than MARGIN, which may cut it
const OF_ITS_CONNECTION = 'waitaof'; // it waits for what the same connection has written

// node-redis closes a client whose socket is silent for socketTimeout. A module can't change that for one command, so a
// wait gets a connection with a limit of its own, which does not connect again: its command can't be sent twice.
class Waits {
    constructor(client) {
        [this.module] = Object.entries(client.options?.modules ?? {}).find(([, module]) => module === expired) ?? [];
        if (this.module === undefined || typeof client.isReady !== 'boolean')
            throw new TypeError('waiting needs a client of createClient that has the module expired');
        this.client = client;
        this.connections = new Set();
        this.idle = new Map(); // by limit
        for (const event of ['end', 'terminated']) // closed by its user, or given up by its reconnectStrategy
            client.on(event, () => this.connections.forEach((connection) => this.discard(connection)));
    }

    // Waits of similar lengths share connections, so they count in whole seconds.
    limitOf(wait) {
        const own = this.client.options.socket?.socketTimeout;
        return own && wait > 0 ? Math.min(Math.ceil(wait / 1000) * 1000 + Math.max(own, MARGIN), LONGEST) : undefined;
    }

    async connect(limit) {
        const { socket } = this.client.options;
        const connection = this.client.duplicate({ clientSideCache: undefined, pingInterval: undefined,
            socket: { ...socket, socketTimeout: limit, reconnectStrategy: false } });
        connection.on('error', () => {}); // its command is rejected
        this.connections.add(connection);
        try {
            return await connection.connect();
        } catch (error) {
            this.discard(connection);
            throw error;
        }
    }

    // node-redis 6 keeps a record of a lost one until it is destroyed; node-redis 5 refuses that.
    discard(connection) {
        this.connections.delete(connection);
        try {
            connection.destroy();
        } catch (error) {
            if (connection.isOpen) throw error;
        }
    }

    take(limit) {
        const kept = this.idle.get(limit)?.pop();
        if (kept === undefined) return this.connect(limit);
        clearTimeout(kept.timer);
        if (kept.connection.isReady) return kept.connection;
        this.discard(kept.connection);
        return this.take(limit);
    }

    keep(limit, connection) {
        // One that was destroyed while it connected is ready, but not open.
        if (!connection.isOpen || !connection.isReady) return this.discard(connection);
        const all = this.idle.get(limit) ?? this.idle.set(limit, []).get(limit);
        const kept = { connection };
        kept.timer = setTimeout(() => {
            all.splice(all.indexOf(kept), 1);
            this.discard(connection);
        }, IDLE).unref();
        all.push(kept);
    }

    async call(method, args) {
        const wait = method === OF_ITS_CONNECTION ? NaN : Number(commands[method].wait?.(...args));
        if (Number.isNaN(wait) || !this.client.isOpen) return this.client[this.module][method](...args);
        const limit = this.limitOf(wait);
        const connection = await this.take(limit);
        try {
            return await connection[this.module][method](...args);
        } finally {
            this.keep(limit, connection);
        }
    }
}

const known = new WeakMap(); // a client has one set of connections, however often its functions are asked for

export function waiting(client) {
    if (!known.has(client)) {
        const waits = new Waits(client);
        known.set(client, Object.fromEntries(
            Object.keys(commands).map((method) => [method, (...args) => waits.call(method, args)])));
    }
    return known.get(client);
}
export const waitingBuffers = waiting;
