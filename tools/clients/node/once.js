// Commands that take something, such as an element or a lease, and commands that wait, on a connection of ioredis.
//
// ioredis counts commandTimeout, socketTimeout and blockingTimeout from the call of a command, and sends commands without
// a reply again when it has a new connection. A command that waits in the server would be cut too early, and each
// repetition of one that takes an element would take another. So for these commands
// - each of these limits counts from the end of the server's wait, and is at least MARGIN;
// - a command that was sent is not sent again: when the connection is lost, it is rejected as aborted;
// - a command that was given up before it was sent is not sent later.

const MARGIN = 1000; // milliseconds
const LONGEST = 2 ** 31 - 1; // of a timer of Node.js: longer ones end at once
const NOT_A_POSITION = -1;
const waits = new WeakMap(); // a client: { own: its socketTimeout, limits: of commands that wait now }

// A Redis of ioredis, not a pipeline or a Cluster, which queue commands for others to send.
export const isConnection = (client) => client.commandQueue !== undefined && !client.isPipeline;

// wait: milliseconds, 0 for ever, NaN if the command does not wait.
export function callOnce(client, call, words, wait) {
    const more = Number.isNaN(wait) ? undefined : wait;
    const sender = Object.create(client, {
        options: { value: { ...client.options, enableAutoPipelining: false } },
        sendCommand: { value: (command, stream) => sendOnce(client, command, stream, more) },
    });
    return sender[call](...words);
}

function sendOnce(client, command, stream, wait) {
    const limit = (own) => {
        if (wait === undefined) return own;
        return wait === 0 ? LONGEST : Math.min(wait + Math.max(own, MARGIN), LONGEST);
    };
    for (const method of ['setTimeout', 'setBlockingTimeout']) {
        const set = command[method];
        if (set) command[method] = (own) => set.call(command, limit(own));
    }
    // When a connection is lost, ioredis aborts a part of a pipeline that does not follow the parts before it.
    command.pipelineIndex = NOT_A_POSITION;
    command.promise.catch(() => forget(client, command));
    const own = waits.get(client)?.own ?? client.options.socketTimeout;
    if (own === undefined) return client.sendCommand(command, stream);
    return withSocketTimeout(client, own, limit(own), () => client.sendCommand(command, stream));
}

// What is given up must not be sent later.
function forget({ offlineQueue }, command) {
    for (let i = 0; i < offlineQueue.length; i++) {
        if (offlineQueue.peekAt(i).command === command) offlineQueue.remove(i, 1);
    }
}

// The limit counts from the last byte of any reply, so the longest wait decides for all commands of the connection.
function withSocketTimeout(client, own, limit, send) {
    const { limits } = waits.get(client) ?? { limits: [] };
    const use = () => {
        client.options.socketTimeout = Math.max(own, ...limits);
        if (client.socketTimeoutTimer === undefined) return; // nothing is awaited: the next command sets the timer
        const { stream, options: { socketTimeout } } = client;
        clearTimeout(client.socketTimeoutTimer);
        client.socketTimeoutTimer = setTimeout(() => {
            stream.destroy(new Error(`Socket timeout. Expecting data, but didn't receive any in ${socketTimeout}ms.`));
            client.socketTimeoutTimer = undefined;
        }, socketTimeout);
    };
    const end = () => {
        limits.splice(limits.indexOf(limit), 1);
        if (limits.length === 0) waits.delete(client);
        use();
    };
    waits.set(client, { own, limits });
    limits.push(limit);
    use();
    const sent = send();
    sent.then(end, end);
    return sent;
}
