import { once } from 'node:events';
import { createServer } from 'node:net';

import { expect, test } from 'vitest';

import { isPortFree, listeningInode, portHolder } from './ports.ts';

test('listeningInode: finds only a listening socket on exactly this port', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:43F8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1',
    '   1: 0100007F:43F9 0100007F:8000 01 00000000:00000000 00:00000000 00000000     0        0 222 1',
  ].join('\n');
  expect(listeningInode(table, 0x43f8)).toBe('111');
  expect(listeningInode(table, 0x43f9)).toBeNull();
  expect(listeningInode(table, 0x3f8)).toBeNull();
});

test('isPortFree and portHolder: report a taken port and its process', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  await expect(isPortFree(address.port)).resolves.toBe(false);
  expect(portHolder(address.port)?.pid).toBe(process.pid);
  server.close();
  await once(server, 'close');
  await expect(isPortFree(address.port)).resolves.toBe(true);
  expect(portHolder(address.port)).toBeNull();
});
