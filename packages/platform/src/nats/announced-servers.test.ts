import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { connect } from '@nats-io/transport-node';
import { eventually } from '@millrace/testing';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../log/index.ts';
import { connectionOptions } from './connection-options.ts';

/** A double of a NATS server that announces others, and ends each connection after its first request. */
async function startServer(announced: readonly string[]): Promise<{ port: number; count: () => number }> {
  let connections = 0;
  const server: Server = createServer((socket) => {
    connections += 1;
    const info = { server_id: 'A', version: '2.15.0', proto: 1, max_payload: 1_048_576, headers: true };
    socket.write(`INFO ${JSON.stringify({ ...info, connect_urls: announced })}\r\n`);
    socket.on('data', (text) => {
      if (text.includes('PING')) socket.end('PONG\r\n');
    });
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, count: () => connections };
}

test('without TLS, a client connects only to the servers in its settings, not to those that they announce', async () => {
  const announced = await startServer([]);
  const known = await startServer([`127.0.0.1:${announced.port}`]);
  const log = createLogger({ name: 'test', level: 'silent' });
  const servers = [`nats://127.0.0.1:${known.port}`];
  const nats = await connect(connectionOptions({ servers, name: 'test', log }));
  onTestFinished(() => nats.close());
  await eventually({ what: 'several connections', timeoutMs: 60_000 }, () => known.count() > 3);
  expect(announced.count()).toBe(0);
});
