import { systemClock } from '@millrace/platform/clock';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createEngineProbe } from './engine-probe.ts';

async function engineThatAnswers(status: number): Promise<string> {
  const server: Server = createServer((_, response) => response.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it.each([
  ['vllm', 200, 'healthy'],
  ['vllm', 503, 'degraded'],
  ['vllm', 404, 'degraded'],
  ['openai', 404, 'unknown'],
  ['openai', 500, 'degraded'],
] as const)('engine probe of %s reports status %d as %s', async (engine, status, health) => {
  const { probe, close } = createEngineProbe(systemClock);
  onTestFinished(close);
  expect(await probe({ engine, address: await engineThatAnswers(status), apiKey: null })).toBe(health);
});

it('engine probe reports the mock as healthy and rejects for an unreachable engine', async () => {
  const { probe, close } = createEngineProbe(systemClock);
  onTestFinished(close);
  expect(await probe({ engine: 'mock', address: '', apiKey: null })).toBe('healthy');
  await expect(probe({ engine: 'vllm', address: 'http://127.0.0.1:1', apiKey: null })).rejects.toThrow();
});
