// The commands as methods that call ioredis: see ioredis.d.ts.
import { commands } from './commands.js';
import { callOnce, isConnection } from './once.js';
import { Words, writeCall } from './words.js';

function methodsOf(client, call) {
    const send = (method, command, args) => {
        const { name, reply, takes, wait } = command;
        const words = name.split(' ');
        const push = (word) => words.push(word);
        writeCall(method, command, new Words(push, push), args);
        const sent = takes && isConnection(client) ? callOnce(client, call, words, Number(wait?.(...args)))
            : client[call](...words);
        return sent === client ? client : sent.then((found) => reply.read(found));
    };
    return Object.fromEntries(Object.entries(commands)
        .map(([method, command]) => [method, (...args) => send(method, command, args)]));
}

export const expired = (client) => methodsOf(client, 'call');
export const expiredBuffers = (client) => methodsOf(client, 'callBuffer');
