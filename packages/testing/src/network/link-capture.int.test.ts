import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { captureLinks } from './link-capture.ts';

test('captureLinks returns the bytes of both directions of a port, also of a text in two segments', async () => {
  const server = createServer((socket) => socket.pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const capture = await captureLinks();
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  await once(socket, 'connect');
  for (const part of ['first half, ', 'second half']) {
    socket.write(part);
    await once(socket, 'data');
  }
  socket.end();
  await once(socket, 'close');
  const { ports, bytesOf } = await capture.stop();
  const text = bytesOf(port).toString('utf8');
  expect(text.split('first half, second half')).toHaveLength(3);
  expect(ports).toContain(port);
  expect(bytesOf(1).length).toBe(0);
});
