import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startProtocolRecorder } from '@millrace/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { createProber, healthPath, isHealthyStatus } from './prober.ts';
import { deploymentEntry } from './router-types.fixture.ts';

const servers: Server[] = [];
const probers: { close(): void }[] = [];

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function prober(): ReturnType<typeof createProber> {
  const created = createProber();
  probers.push(created);
  return created;
}

afterEach(() => {
  for (const one of probers.splice(0)) one.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

describe('createProber', () => {
  it('offers only HTTP/1.1 to engines', async () => {
    const engine = await startProtocolRecorder();
    const entry = deploymentEntry('dep_a', { address: engine.url });
    await expect(prober().probe(entry, '/metrics', AbortSignal.timeout(60_000))).rejects.toThrow();
    expect(await engine.offered).toEqual(['http/1.1']);
    engine.close();
  });

  it("requests a path below the deployment's address with its API key", async () => {
    const address = await serve((request, response) => {
      response.end(`${request.url} ${request.headers.authorization}`);
    });
    const { probe } = prober();
    const entry = deploymentEntry('dep_a', { address: `${address}/engines/1/`, apiKey: 'sesame' });
    const reply = await probe(entry, '/metrics', AbortSignal.timeout(60_000));
    expect(reply).toEqual({ status: 200, text: '/engines/1/metrics Bearer sesame' });
  });

  it('does not wait behind a hanging deployment of the same origin', async () => {
    const address = await serve((request, response) => {
      if (request.url === '/b/health') response.end('well');
    });
    const { probe } = prober();
    const stop = new AbortController();
    const hanging = probe(deploymentEntry('dep_a', { address: `${address}/a` }), '/health', stop.signal);
    const reply = await probe(
      deploymentEntry('dep_b', { address: `${address}/b` }),
      '/health',
      AbortSignal.timeout(60_000),
    );
    expect(reply).toEqual({ status: 200, text: 'well' });
    stop.abort();
    await expect(hanging).rejects.toThrow();
  });

  it('rejects if the connection is refused, the signal aborts or the response is too large', async () => {
    const { probe } = prober();
    const unreachable = deploymentEntry('dep_a', { address: 'http://127.0.0.1:9' });
    await expect(probe(unreachable, '/health', AbortSignal.timeout(60_000))).rejects.toThrow();

    const hanging = deploymentEntry('dep_b', { address: await serve(() => undefined) });
    await expect(probe(hanging, '/health', AbortSignal.timeout(50))).rejects.toThrow();

    const endless = await serve((_request, response) => {
      const more = (): void => {
        while (response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    });
    const entry = deploymentEntry('dep_c', { address: endless });
    await expect(probe(entry, '/metrics', AbortSignal.timeout(60_000))).rejects.toThrow(
      'sent a response that is too large',
    );
  });
});

describe('isHealthyStatus', () => {
  it('requires success from vLLM, SGLang and llama.cpp; other servers fail only with 5xx and a missing page is unknown', () => {
    expect([
      isHealthyStatus('vllm', 200),
      isHealthyStatus('vllm', 404),
      isHealthyStatus('llama.cpp', 503),
    ]).toEqual([true, false, false]);
    expect([
      isHealthyStatus('openai', 204),
      isHealthyStatus('openai', 401),
      isHealthyStatus('openai', 404),
    ]).toEqual([true, null, null]);
    expect([isHealthyStatus('openai', 500), isHealthyStatus('speech', 502)]).toEqual([false, false]);
    expect([healthPath('mock'), healthPath('sglang'), healthPath('comfyui')]).toEqual([
      null,
      '/health',
      '/system_stats',
    ]);
  });
});
