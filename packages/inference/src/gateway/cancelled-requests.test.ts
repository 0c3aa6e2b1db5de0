import { afterEach, describe, expect, test } from 'vitest';
import { mockPng } from '../adapters/media/image-mock.ts';
import {
  createGatewayHarness,
  deploymentFixture,
  modelFixture,
  type GatewayHarness,
} from './gateway.fixture.ts';
import { costOf, delivered, startManualEngine, until, type ManualEngine } from './manual-engine.fixture.ts';

/** Charges of clients that close their connection before the response is complete. */

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function startEngine(): Promise<ManualEngine> {
  const engine = await startManualEngine();
  closing.push(() => engine.close());
  return engine;
}

type Deployment = Parameters<typeof deploymentFixture>[0];

async function openGateway(
  model: Partial<Parameters<typeof modelFixture>[0]>,
  deployment: Deployment,
): Promise<GatewayHarness> {
  const harness = await createGatewayHarness({
    models: [modelFixture({ ...model, deployments: [deploymentFixture(deployment)] })],
  });
  closing.push(() => harness.close());
  return harness;
}

const chat = {
  model: 'acme/chat',
  messages: [{ role: 'user', content: 'What does the mill do?' }],
  max_tokens: 1_024,
};
/** One token for the message and one for each of its five words. */
const LEAST_PROMPT = 6;

const event = (choice: object, rest: object = {}): string =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'served', choices: [choice], ...rest })}\n\n`;
const delta = (content: string): string => event({ index: 0, delta: { content }, finish_reason: null });

describe('disconnecting from a stream', () => {
  test('charges one token per delta for an engine without running counts', async () => {
    const engine = await startEngine();
    const harness = await openGateway({}, { engine: 'openai', address: engine.address });
    const leaving = new AbortController();
    const answering = harness.post(
      '/v1/chat/completions',
      { ...chat, stream: true },
      { signal: leaving.signal },
    );
    await until(() => engine.pending.length === 1);
    const [response] = engine.pending;
    response?.writeHead(200, { 'content-type': 'text/event-stream' });
    response?.write(event({ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }));
    for (let nth = 0; nth < 1_000; nth += 1) response?.write(delta(` turn${nth}`));
    const reader = (await answering).body?.getReader();
    let text = '';
    while (!text.includes('turn999"')) text += Buffer.from((await reader?.read())?.value ?? []).toString();
    leaving.abort();
    await harness.settled();
    const [final] = harness.usage.finals;
    expect(final).toMatchObject({ cancelled: true, tokensPrompt: LEAST_PROMPT, tokensCompletion: 1_000 });
    expect(final?.amountNanoUsd).toBe(String(costOf(LEAST_PROMPT, 1_000)));
    expect(BigInt(final?.amountNanoUsd ?? 0)).toBeLessThanOrEqual(BigInt(final?.reservedNanoUsd ?? 0));
  });

  test.each(['openai', 'vllm', 'llama.cpp'] as const)(
    'charges the prompt for %s before its first event',
    async (kind) => {
      const engine = await startEngine();
      const harness = await openGateway({}, { engine: kind, address: engine.address });
      const leaving = new AbortController();
      const answering = harness.post(
        '/v1/chat/completions',
        { ...chat, stream: true },
        { signal: leaving.signal },
      );
      await until(() => engine.pending.length === 1);
      leaving.abort();
      await expect(answering).rejects.toThrow();
      await until(() => engine.dropped === 1);
      await harness.settled();
      expect(harness.usage.finals[0]).toMatchObject({
        cancelled: true,
        tokensPrompt: LEAST_PROMPT,
        tokensCompletion: 0,
        amountNanoUsd: String(costOf(LEAST_PROMPT, 0)),
      });
    },
  );

  test('never charges more than the reservation', async () => {
    const engine = await startEngine();
    const harness = await openGateway({}, { engine: 'openai', address: engine.address });
    harness.leases.affordable = 5n;
    const leaving = new AbortController();
    const { max_tokens: _, ...open } = chat;
    const answering = harness.post(
      '/v1/chat/completions',
      { ...open, stream: true },
      { signal: leaving.signal },
    );
    await until(() => engine.pending.length === 1);
    leaving.abort();
    await expect(answering).rejects.toThrow();
    await harness.settled();
    expect(harness.usage.finals[0]).toMatchObject({ reservedNanoUsd: '5', amountNanoUsd: '5' });
  });

  test('charges nothing if the engine refuses the request', async () => {
    const engine = await startEngine();
    const harness = await openGateway({}, { engine: 'vllm', address: engine.address });
    const leaving = new AbortController();
    const answering = harness.post('/v1/chat/completions', chat, { signal: leaving.signal });
    await until(() => engine.pending.length === 1);
    // The refusal is arriving when the client leaves.
    engine.pending[0]?.writeHead(400, { 'content-type': 'application/json', 'content-length': 1_000 });
    engine.pending[0]?.write('{');
    await delivered();
    leaving.abort();
    await expect(answering).rejects.toThrow();
    await harness.settled();
    expect(harness.usage.finals[0]).toMatchObject({ cancelled: true, amountNanoUsd: '0' });
  });
});

describe('disconnecting from a response without streaming', () => {
  test('charges the prompt while the engine generates', async () => {
    const engine = await startEngine();
    const harness = await openGateway({}, { engine: 'vllm', address: engine.address });
    const leaving = new AbortController();
    const answering = harness.post('/v1/chat/completions', chat, { signal: leaving.signal });
    await until(() => engine.pending.length === 1);
    leaving.abort();
    await expect(answering).rejects.toThrow();
    await until(() => engine.dropped === 1);
    await harness.settled();
    expect(harness.usage.finals[0]).toMatchObject({
      cancelled: true,
      amountNanoUsd: String(costOf(LEAST_PROMPT, 0)),
    });
  });

  test('charges everything while the finished response arrives', async () => {
    const engine = await startEngine();
    const harness = await openGateway({}, { engine: 'vllm', address: engine.address });
    const leaving = new AbortController();
    const answering = harness.post('/v1/chat/completions', chat, { signal: leaving.signal });
    await until(() => engine.pending.length === 1);
    const body = JSON.stringify({
      choices: [{ index: 0, message: { role: 'assistant', content: 'It turns.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 11, completion_tokens: 300 },
    });
    const [response] = engine.pending;
    response?.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response?.write(body.slice(0, 40));
    await delivered();
    leaving.abort();
    await expect(answering).rejects.toThrow();
    await delivered();
    expect(harness.usage.finals).toHaveLength(0);
    response?.end(body.slice(40));
    await harness.settled();
    expect(harness.usage.finals).toHaveLength(1);
    expect(harness.usage.finals[0]).toMatchObject({
      cancelled: true,
      tokensPrompt: 11,
      tokensCompletion: 300,
      amountNanoUsd: String(costOf(11, 300)),
    });
  });

  test('charges the generated part of several choices, which llama.cpp streams', async () => {
    const engine = await startEngine();
    const harness = await openGateway({}, { engine: 'llama.cpp', address: engine.address });
    const leaving = new AbortController();
    const answering = harness.post('/v1/chat/completions', { ...chat, n: 2 }, { signal: leaving.signal });
    await until(() => engine.pending.length === 1);
    const [response] = engine.pending;
    response?.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let nth = 0; nth < 20; nth += 1) response?.write(delta(` turn${nth}`));
    await delivered();
    leaving.abort();
    await expect(answering).rejects.toThrow();
    await harness.settled();
    expect(harness.usage.finals[0]).toMatchObject({
      cancelled: true,
      amountNanoUsd: String(costOf(LEAST_PROMPT, 20)),
    });
  });
});

describe('disconnecting from an image request', () => {
  const request = { model: 'acme/draw', prompt: 'a mill', size: '256x256' };
  const draw = { name: 'acme/draw', modality: 'image' } as const;
  const picture = mockPng(256, 256, 1).toString('base64');

  test('charges an image that the engine has started, and its slot stays taken until the engine is done', async () => {
    const engine = await startEngine();
    const harness = await openGateway(draw, {
      engine: 'openai-images',
      address: engine.address,
      maxConcurrency: 1,
    });
    const leaving = new AbortController();
    const answering = harness.post('/v1/images/generations', request, { signal: leaving.signal });
    await until(() => engine.pending.length === 1);
    leaving.abort();
    await expect(answering).rejects.toThrow();
    const second = harness.post('/v1/images/generations', request);
    await delivered();
    expect(engine.dropped).toBe(0);
    expect(engine.pending).toHaveLength(1);
    engine.pending[0]?.end(JSON.stringify({ created: 1, data: [{ b64_json: picture }] }));
    await until(() => engine.pending.length === 2);
    const [final] = harness.usage.finals;
    expect(final).toMatchObject({ cancelled: true, finishReason: 'stop' });
    expect(BigInt(final?.amountNanoUsd ?? 0)).toBeGreaterThan(0n);
    expect(final?.amountNanoUsd).toBe(final?.reservedNanoUsd);
    engine.pending[1]?.end(JSON.stringify({ created: 1, data: [{ b64_json: picture }] }));
    expect((await second).status).toBe(200);
  });

  test('charges nothing if the engine then fails, and tries no other engine', async () => {
    const engine = await startEngine();
    const harness = await openGateway(draw, { engine: 'openai-images', address: engine.address });
    const leaving = new AbortController();
    const answering = harness.post('/v1/images/generations', request, { signal: leaving.signal });
    await until(() => engine.pending.length === 1);
    leaving.abort();
    await expect(answering).rejects.toThrow();
    await delivered();
    engine.pending[0]?.writeHead(500).end('{"error":{"message":"out of memory"}}');
    await until(() => harness.usage.finals.length === 1);
    expect(harness.usage.finals[0]).toMatchObject({ cancelled: true, amountNanoUsd: '0' });
    expect(engine.pending).toHaveLength(1);
  });
});
