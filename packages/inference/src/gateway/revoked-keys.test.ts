import type { KeyEntry } from '@millrace/core/inference';
import { systemClock } from '@millrace/platform/clock';
import { startChatDouble, startStopwatch, scaledLimitMs } from '@millrace/testing';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { mockPng } from '../adapters/media/image-mock.ts';
import { silentMp3 } from '../adapters/media/mp3-header.ts';
import {
  createGatewayHarness,
  deploymentFixture,
  modelFixture,
  type GatewayHarness,
  type GatewayHarnessOptions,
} from './gateway.fixture.ts';
import { costOf, delivered, startManualEngine, until, type ManualEngine } from './manual-engine.fixture.ts';

/** Running requests whose key is revoked or whose organisation is suspended. */

let harness: GatewayHarness;
const tokens = Array.from({ length: 2_000 }, () => ' turn');
const engine = await startChatDouble({ engine: 'vllm', tokens, pauseMs: 20 });
afterAll(() => engine.close());
afterEach(() => harness.close());

function change(key: string, fields: Partial<KeyEntry> | null): void {
  const [publicId, entry] = [...harness.feed.keys].find(([id]) => key.includes(id)) ?? expect.fail('no key');
  if (fields === null) harness.feed.keys.delete(publicId);
  else harness.feed.keys.set(publicId, { ...entry, ...fields });
}

const suspend = (key: string): void => {
  const [, { orgId }] = [...harness.feed.keys].find(([id]) => key.includes(id)) ?? expect.fail('no key');
  harness.feed.suspended.add(orgId);
};

const changes: readonly [string, string, (key: string) => void][] = [
  ['is revoked', 'api_key_revoked', (key) => change(key, { refusedFor: 'API_KEY_REVOKED' })],
  ['expires', 'api_key_expired', (key) => change(key, { expiresAtMs: systemClock.nowMs() + 100 })],
  ['is deleted', 'api_key_revoked', (key) => change(key, null)],
  ['loses its organisation', 'organisation_suspended', suspend],
];

describe('open stream of a key', () => {
  test.each(changes)('that %s ends within a second with %s, and is charged', async (_how, code, revoke) => {
    harness = await createGatewayHarness({
      models: [
        modelFixture({
          maxOutputTokens: 2_000,
          deployments: [deploymentFixture({ address: engine.address })],
        }),
      ],
    });
    const messages = [{ role: 'user', content: 'What does the mill do?' }];
    const body = { model: 'acme/chat', messages, stream: true, max_tokens: 2_000 };
    const [response, other] = await Promise.all([
      harness.post('/v1/chat/completions', body),
      harness.post('/v1/chat/completions', body, { key: harness.otherKey }),
    ]);
    const reader = response.body?.getReader() ?? expect.fail('no body');
    await reader.read();
    const stopwatch = startStopwatch();
    revoke(harness.key);
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text = Buffer.from(value).toString();
    }
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(1_000));
    expect(JSON.parse(text.trim().split('data: ').at(-1) ?? '')).toMatchObject({ error: { code } });
    expect(harness.usage.finals).toMatchObject([{ finishReason: 'error', cancelled: false }]);
    expect(Number(harness.usage.finals[0]?.tokensCompletion)).toBeGreaterThan(0);
    expect(harness.leases.settled).toHaveLength(1);
    // Streams of other keys continue.
    expect(harness.gateway.inFlight()).toBe(1);
    await other.body?.cancel();
    await harness.settled();
  });
});

/** The tests write the engine's responses, so that the engine has the request when the key is revoked. */
describe('request whose key is revoked while an engine works', () => {
  let manual: ManualEngine;
  beforeEach(async () => {
    manual = await startManualEngine();
  });
  afterEach(() => manual.close());

  async function openGateway(
    model: Partial<Parameters<typeof modelFixture>[0]>,
    deployment: Partial<Parameters<typeof deploymentFixture>[0]>,
    options: Pick<GatewayHarnessOptions, 'limits' | 'upstreams'> = {},
  ): Promise<void> {
    const deployments = [deploymentFixture({ address: manual.address, ...deployment })];
    harness = await createGatewayHarness({ models: [modelFixture({ ...model, deployments })], ...options });
  }

  const revoke = (): void => change(harness.key, { refusedFor: 'API_KEY_REVOKED' });
  const chat = {
    model: 'acme/chat',
    messages: [{ role: 'user', content: 'What does the mill do?' }],
    max_tokens: 1_024,
  };
  /** One token for the message and one for each of its five words. */
  const LEAST_PROMPT = 6;

  test.each(
    changes.flatMap(([how, code, action]) =>
      [false, true].map((stream) => ({
        kind: stream ? 'a stream' : 'a buffered text',
        how,
        code,
        act: action,
        stream,
      })),
    ),
  )(
    '$kind whose key $how before the first byte is charged for its prompt',
    async ({ code, act: action, stream }) => {
      await openGateway({}, {});
      const answering = harness.post('/v1/chat/completions', { ...chat, stream });
      await until(() => manual.pending.length === 1);
      action(harness.key);
      const refused = await answering;
      expect(refused.status).toBeGreaterThanOrEqual(400);
      expect(await refused.json()).toMatchObject({ error: { code } });
      await until(() => manual.dropped === 1);
      await harness.settled();
      expect(harness.usage.finals).toMatchObject([
        {
          cancelled: false,
          finishReason: 'error',
          tokensPrompt: LEAST_PROMPT,
          tokensCompletion: 0,
          amountNanoUsd: String(costOf(LEAST_PROMPT, 0)),
        },
      ]);
      expect(harness.leases.settled.map(({ actual }) => actual)).toEqual([costOf(LEAST_PROMPT, 0)]);
    },
  );

  test('text is never charged more than its reservation', async () => {
    await openGateway({}, {});
    harness.leases.affordable = 5n;
    const { max_tokens: _, ...open } = chat;
    const answering = harness.post('/v1/chat/completions', open);
    await until(() => manual.pending.length === 1);
    revoke();
    expect((await answering).status).toBe(401);
    await harness.settled();
    expect(harness.usage.finals).toMatchObject([{ reservedNanoUsd: '5', amountNanoUsd: '5' }]);
  });

  test('text that waits for an engine is charged nothing', async () => {
    await openGateway({}, { maxConcurrency: 1 });
    const first = harness.post('/v1/chat/completions', chat, { key: harness.otherKey });
    await until(() => manual.pending.length === 1);
    const waiting = harness.post('/v1/chat/completions', chat);
    await until(() => harness.leases.reserved.length === 2);
    revoke();
    expect((await waiting).status).toBe(401);
    await until(() => harness.usage.finals.length === 1);
    expect(harness.usage.finals).toMatchObject([{ amountNanoUsd: '0', cancelled: false }]);
    manual.pending[0]?.writeHead(400).end('{}');
    await first;
    await harness.settled();
    expect(manual.pending).toHaveLength(1);
  });

  test('text without streaming whose response has started to arrive is charged in full', async () => {
    await openGateway({}, {});
    const answering = harness.post('/v1/chat/completions', chat);
    await until(() => manual.pending.length === 1);
    const body = JSON.stringify({
      choices: [{ index: 0, message: { role: 'assistant', content: 'It turns.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 11, completion_tokens: 300 },
    });
    const [response] = manual.pending;
    response?.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response?.write(body.slice(0, 40));
    await delivered();
    revoke();
    const refused = await answering;
    expect([refused.status, await refused.json()]).toMatchObject([
      401,
      { error: { code: 'api_key_revoked' } },
    ]);
    expect(harness.usage.finals).toHaveLength(0);
    response?.end(body.slice(40));
    await harness.settled();
    expect(harness.usage.finals).toMatchObject([
      {
        cancelled: false,
        finishReason: 'error',
        tokensPrompt: 11,
        tokensCompletion: 300,
        amountNanoUsd: String(costOf(11, 300)),
      },
    ]);
  });

  const picture = mockPng(256, 256, 1).toString('base64');
  const media = [
    {
      kind: 'an image',
      modality: 'image',
      engine: 'openai-images',
      path: '/v1/images/generations',
      body: { model: 'acme/media', prompt: 'a mill', size: '256x256' },
      reply: JSON.stringify({ created: 1, data: [{ b64_json: picture }] }),
    },
    {
      kind: 'speech',
      modality: 'audio',
      engine: 'openai',
      path: '/v1/audio/speech',
      body: { model: 'acme/media', input: 'The mill turns.', voice: 'alloy' },
      reply: silentMp3(31),
    },
  ] as const;

  test.each(media)(
    '$kind is not delivered, is charged in full and holds its slot until the engine is done',
    async ({ modality, engine: kind, path, body, reply }) => {
      await openGateway({ name: 'acme/media', modality }, { engine: kind, maxConcurrency: 1 });
      const answering = harness.post(path, body);
      await until(() => manual.pending.length === 1);
      revoke();
      // The client gets the error at once, before the engine has responded.
      const refused = await answering;
      expect([refused.status, await refused.json()]).toMatchObject([
        401,
        { error: { code: 'api_key_revoked' } },
      ]);
      const second = harness.post(path, body, { key: harness.otherKey });
      await until(() => harness.leases.reserved.length === 2);
      await delivered();
      expect(manual.dropped).toBe(0);
      expect(manual.pending).toHaveLength(1);
      expect(harness.usage.finals).toHaveLength(0);
      manual.pending[0]?.end(reply);
      await until(() => manual.pending.length === 2);
      const [final] = harness.usage.finals;
      expect(final).toMatchObject({ cancelled: false, finishReason: 'error' });
      expect(BigInt(final?.amountNanoUsd ?? 0)).toBeGreaterThan(0n);
      expect(final?.amountNanoUsd).toBe(final?.reservedNanoUsd);
      manual.pending[1]?.end(reply);
      expect((await second).status).toBe(200);
    },
  );

  test.each(media)(
    '$kind is charged nothing if the engine then fails',
    async ({ modality, engine: kind, path, body }) => {
      await openGateway({ name: 'acme/media', modality }, { engine: kind });
      const answering = harness.post(path, body);
      await until(() => manual.pending.length === 1);
      revoke();
      expect((await answering).status).toBe(401);
      manual.pending[0]?.writeHead(500).end('{"error":{"message":"out of memory"}}');
      await until(() => harness.usage.finals.length === 1);
      expect(harness.usage.finals).toMatchObject([{ amountNanoUsd: '0' }]);
      expect(manual.pending).toHaveLength(1);
    },
  );

  test('image that takes longer than the maximum request duration frees its slot', async () => {
    const [image] = media;
    await openGateway(
      { name: 'acme/media', modality: 'image' },
      { engine: image.engine },
      // The connection to the engine has a longer limit, so only the request limit can end it.
      { limits: { longestRequestMs: 4_000 }, upstreams: { responseMs: 600_000 } },
    );
    const answering = harness.post(image.path, image.body);
    await until(() => manual.pending.length === 1);
    revoke();
    await answering;
    await until(() => manual.dropped === 1);
    await harness.settled();
    expect(harness.usage.finals).toHaveLength(1);
  });
});
