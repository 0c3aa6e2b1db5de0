import { SimulatedClock, systemClock } from '@millrace/platform/clock';
import { startProtocolRecorder } from '@millrace/testing';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { deploymentFixture } from '../gateway.fixture.ts';
import { createUpstreams } from './upstreams.ts';

const limits = {
  connectMs: 2_000,
  responseMs: 60_000,
  silenceMs: 60_000,
  connectionsPerEngine: 4,
  keepAliveMs: 4_000,
};
const held = Promise.withResolvers<void>();
const server = createServer((request, response) => {
  if (request.url === '/slow') void held.promise.then(() => response.end('late'));
  else response.end('ok');
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => server.close());

test('upstreams close the pool of an unused engine and keep one with a running request', async () => {
  const clock = new SimulatedClock();
  const upstreams = createUpstreams({ ...limits, clock });
  const call = async (host: string, path: string): Promise<string> => {
    const request = { method: 'GET', path, headers: {}, body: null } as const;
    const signal = AbortSignal.timeout(30_000);
    const deployment = deploymentFixture({ engine: 'vllm', address: host });
    return (await upstreams.call(deployment, request, { maxBytes: 100, signal })).body.toString();
  };
  await call(address, '/quick');
  const slow = call(address.replace('127.0.0.1', 'localhost'), '/slow');
  expect(upstreams.size()).toBe(2);
  await clock.advance(599_000);
  upstreams.closeUnused();
  expect(upstreams.size()).toBe(2);
  await clock.advance(2_000);
  upstreams.closeUnused();
  expect(upstreams.size()).toBe(1);
  held.resolve();
  expect(await slow).toBe('late');
  upstreams.closeUnused();
  expect(upstreams.size()).toBe(0);
  // A later request opens a new pool.
  expect(await call(address, '/quick')).toBe('ok');
  await upstreams.close();
});

test('upstreams send no further request on a connection that the engine closes', async () => {
  const seen: { readonly port: number | undefined; readonly connection: string | undefined }[] = [];
  // Announces keep-alive and destroys the connection at the second request, as llama-server does.
  const engine = createServer((request, response) => {
    const { remotePort: port } = request.socket;
    if (seen.some((earlier) => earlier.port === port)) request.socket.destroy();
    else response.end('ok');
    seen.push({ port, connection: request.headers.connection });
  });
  await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve));
  const upstreams = createUpstreams({ ...limits, clock: systemClock });
  const deployment = deploymentFixture({
    engine: 'llama.cpp',
    address: `http://127.0.0.1:${(engine.address() as AddressInfo).port}`,
  });
  const send = (): Promise<void> =>
    new Promise((resolve, reject) => {
      upstreams.dispatch(
        deployment,
        { path: '/', headers: {}, body: '{}', closesConnection: true },
        {
          onRequestStart: () => undefined,
          onResponseStart: () => undefined,
          onResponseData: () => undefined,
          onResponseEnd: () => resolve(),
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
  for (let sent = 0; sent < 5; sent += 1) await send();
  expect(seen.map(({ connection }) => connection)).toEqual(Array.from({ length: 5 }, () => 'close'));
  await upstreams.close();
  engine.close();
});

test('upstreams offer only HTTP/1.1 to engines', async () => {
  const engine = await startProtocolRecorder();
  const upstreams = createUpstreams({ ...limits, connectMs: 60_000, clock: systemClock });
  const deployment = deploymentFixture({ engine: 'vllm', address: engine.url });
  const request = { method: 'GET', path: '/', headers: {}, body: null } as const;
  const signal = AbortSignal.timeout(60_000);
  await expect(upstreams.call(deployment, request, { maxBytes: 100, signal })).rejects.toThrow();
  expect(await engine.offered).toEqual(['http/1.1']);
  await upstreams.close();
  engine.close();
});
