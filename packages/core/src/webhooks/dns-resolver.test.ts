import { createSocket } from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createDnsResolver } from './dns-resolver.ts';

const A = 1;
const AAAA = 28;
const NO_SUCH_NAME = 3;

async function startNameServer(records: Readonly<Record<number, Buffer>>) {
  const socket = createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    // The question ends two bytes of type and two of class after the empty label.
    const nameEnds = query.indexOf(0, 12) + 1;
    const record = records[query.readUInt16BE(nameEnds)];
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180 | (record === undefined ? NO_SUCH_NAME : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(record === undefined ? 0 : 1, 6);
    const chunks: Buffer[] = [header, query.subarray(12, nameEnds + 4)];
    if (record !== undefined) {
      const response = Buffer.alloc(12);
      response.writeUInt16BE(0xc00c, 0);
      query.copy(response, 2, nameEnds, nameEnds + 4);
      response.writeUInt32BE(60, 6);
      response.writeUInt16BE(record.length, 10);
      chunks.push(response, record);
    }
    socket.send(Buffer.concat(chunks), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { server: `127.0.0.1:${socket.address().port}`, [Symbol.dispose]: () => void socket.close() };
}

function lookUp(server: string): Promise<LookupAddress[]> {
  const resolve = createDnsResolver({ servers: [server] });
  return new Promise((done, fail) => {
    resolve('hooks.example.com', { all: true }, (error, found) =>
      error === null ? done(found) : fail(error),
    );
  });
}

test('createDnsResolver returns the addresses of both families', async () => {
  const v6 = Buffer.alloc(16);
  v6.writeUInt16BE(0x2606, 0);
  v6.writeUInt8(7, 15);
  using names = await startNameServer({ [A]: Buffer.from([203, 0, 113, 9]), [AAAA]: v6 });
  const found = await lookUp(names.server);
  expect(found.toSorted((a, b) => a.family - b.family)).toEqual([
    { address: '203.0.113.9', family: 4 },
    { address: '2606::7', family: 6 },
  ]);
});

test('createDnsResolver returns the addresses of one family when the other has none', async () => {
  using names = await startNameServer({ [A]: Buffer.from([203, 0, 113, 9]) });
  expect(await lookUp(names.server)).toEqual([{ address: '203.0.113.9', family: 4 }]);
});

test('createDnsResolver fails with ENOTFOUND for a name that no server has', async () => {
  using names = await startNameServer({});
  await expect(lookUp(names.server)).rejects.toMatchObject({ code: 'ENOTFOUND' });
});
