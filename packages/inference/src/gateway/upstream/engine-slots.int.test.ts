import { systemClock } from '@millrace/platform/clock';
import { createLogger } from '@millrace/platform/log';
import { connectValkey } from '@millrace/platform/valkey';
import { eventually, startLlama, startValkeyServer, type TestLlama } from '@millrace/testing';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createEngineSlots, type EngineSlots } from './engine-slots.ts';
import {
  createGatewayHarness,
  deploymentFixture,
  modelFixture,
  type GatewayHarness,
} from '../gateway.fixture.ts';

/** Prompt caches of a real llama-server, separated by organisation, with slot owners in a real Valkey. */

const log = createLogger({ name: 'slots-test', level: 'silent' });
const SLOTS = 3;
let llama: TestLlama;
const harnesses: GatewayHarness[] = [];
const opened: EngineSlots[] = [];

const valkeyServer = await startValkeyServer();
const valkey = await connectValkey({
  url: valkeyServer.url,
  name: 'slots-test',
  log,
  commandTimeoutMs: 10_000,
});
afterAll(async () => {
  await valkey.close();
  await valkeyServer[Symbol.asyncDispose]();
});
beforeEach(async () => {
  llama = await startLlama({ parallel: SLOTS, cacheRamMib: 0 });
});
afterEach(async () => {
  for (const harness of harnesses.splice(0)) await harness.close();
  for (const slots of opened.splice(0)) slots.close();
  await llama[Symbol.asyncDispose]();
});

async function openGateway(withSlots: boolean): Promise<GatewayHarness> {
  const slots = withSlots
    ? createEngineSlots({ valkey, clock: systemClock, log, longestRequestMs: 60_000 })
    : null;
  if (slots !== null) opened.push(slots);
  const deployment = deploymentFixture({
    engine: 'llama.cpp',
    address: llama.url,
    upstreamModel: llama.model,
    apiKey: llama.apiKey,
  });
  const harness = await createGatewayHarness({
    models: [modelFixture({ contextLength: llama.contextLength, deployments: [deployment] })],
    slots,
  });
  harnesses.push(harness);
  return harness;
}

const secret = 'The launch code of the northern mill is seven blue herons under the bridge. '.repeat(5);

async function cachedOf(harness: GatewayHarness, key: string, content: string, more: object = {}) {
  const body = {
    model: 'acme/chat',
    messages: [{ role: 'user', content }],
    max_tokens: 2,
    temperature: 0,
    ...more,
  };
  const response = await harness.post('/v1/chat/completions', body, { key });
  expect(response.status).toBe(200);
  const { usage } = (await response.json()) as {
    usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
  };
  await slotsFree();
  return usage.prompt_tokens_details.cached_tokens;
}

/** Waits until all slots are released, which is after the response; otherwise the next request would get another slot. */
async function slotsFree(): Promise<void> {
  await eventually({ what: 'all slots to be free', intervalMs: 2 }, async () => {
    const stored = await valkey.command(['HGETALL', `engine-slots:{${llama.url}}`]);
    const fields = Object.entries(stored as Record<string, string>);
    return fields.every(([name, value]) => !/^(?:\d+:busy|mixed)$/.test(name) || value === '0');
  });
}

/** Prompt tokens that the engine found in its cache, by its own count. */
const reusedBy = async (): Promise<number> =>
  (await llama.metrics()).get('llamacpp:prompt_tokens_cached_total') ?? 0;

describe('prompt cache of llama.cpp', () => {
  test('is never reused without slots', async () => {
    const harness = await openGateway(false);
    expect(await cachedOf(harness, harness.key, secret)).toBe(0);
    expect(await cachedOf(harness, harness.key, secret)).toBe(0);
    expect(await cachedOf(harness, harness.otherKey, secret)).toBe(0);
    expect(await reusedBy()).toBe(0);
  });

  test('is reused with slots by the organisation that filled it and by no other', async () => {
    const harness = await openGateway(true);
    expect(await cachedOf(harness, harness.key, secret)).toBe(0);
    expect(await cachedOf(harness, harness.key, secret)).toBeGreaterThan(50);
    const before = await reusedBy();
    expect(await cachedOf(harness, harness.otherKey, secret)).toBe(0);
    expect(await reusedBy()).toBe(before);
    expect(await cachedOf(harness, harness.otherKey, secret)).toBeGreaterThan(50);
  });

  test('is shared between all gateways', async () => {
    const [one, two] = [await openGateway(true), await openGateway(true)];
    await cachedOf(one, one.key, secret);
    // The second gateway has other organisations.
    expect(await cachedOf(two, two.key, secret)).toBe(0);
    expect(await cachedOf(two, two.otherKey, secret)).toBe(0);
    // All slots are taken: the fourth organisation gets the least recently used one.
    const before = await reusedBy();
    expect(await cachedOf(one, one.otherKey, secret)).toBe(0);
    expect(await reusedBy()).toBe(before);
  });

  test('does not reveal prompts that several choices left in other slots', async () => {
    const harness = await openGateway(true);
    await cachedOf(harness, harness.otherKey, 'Something short.');
    await cachedOf(harness, harness.key, secret, { n: 2 });
    const before = await reusedBy();
    for (let nth = 0; nth < SLOTS; nth += 1) {
      // Different prefixes spread over the slots; none of them contains the secret.
      expect(await cachedOf(harness, harness.otherKey, nth === 0 ? secret : `${nth} ${secret}`)).toBe(0);
    }
    expect(await reusedBy()).toBe(before);
  });

  test('is used by concurrent requests of one organisation', async () => {
    const harness = await openGateway(true);
    const prompts = ['One', 'Two', 'Three'].map((word) => `${word}. ${secret}`);
    for (const prompt of prompts) await cachedOf(harness, harness.key, prompt);
    const cached = await Promise.all(prompts.map((prompt) => cachedOf(harness, harness.key, prompt)));
    expect(cached.filter((tokens) => tokens > 50).length).toBeGreaterThan(0);
  });

  test('is not reused in a slot that was claimed for a request which the engine never computed', async () => {
    const harness = await openGateway(true);
    const prompts = ['One', 'Two', 'Three'].map((word) => `${word}. ${secret}`);
    for (const prompt of prompts) await cachedOf(harness, harness.key, prompt);
    const before = await reusedBy();
    // The request is refused after it has claimed the least recently used slot.
    const refused = { model: 'acme/chat', prompt: 'Hello', max_tokens: 2, echo: true };
    expect((await harness.post('/v1/completions', refused, { key: harness.otherKey })).status).toBe(400);
    await slotsFree();
    expect(await cachedOf(harness, harness.otherKey, prompts[0] ?? '')).toBe(0);
    expect(await reusedBy()).toBe(before);
  });

  test('gives a slot to a new owner only after a response and if no other organisation was in it', async () => {
    const slots = createEngineSlots({ valkey, clock: systemClock, log, longestRequestMs: 60_000 });
    opened.push(slots);
    const deployment = deploymentFixture({ address: llama.url, apiKey: llama.apiKey });
    const claim = (orgId: string) =>
      slots.claim(deployment, { orgId, prefix: 'prefix', fillsFurtherSlots: false });
    const occupied = [await claim('busy'), await claim('busy')];
    expect(new Set(occupied.map(({ id }) => id))).toEqual(new Set([0, 1]));
    const reusedAfter = async (orgId: string): Promise<boolean> => {
      await eventually({ what: 'the last slot to be free', intervalMs: 2 }, async () => {
        return (await valkey.command(['HGET', `engine-slots:{${llama.url}}`, '2:busy'])) === '0';
      });
      const next = await claim(orgId);
      next.release(false);
      return next.reuse;
    };

    (await claim('org-a')).release(true);
    expect(await reusedAfter('org-a')).toBe(true);
    expect(await reusedAfter('org-b')).toBe(false);
    expect(await reusedAfter('org-b')).toBe(false);
    // The engine still has the prompt of org-a, but the claim of org-b has removed the owner.
    expect(await reusedAfter('org-a')).toBe(false);
  });

  test('is not reused after Valkey has lost the owners', async () => {
    const harness = await openGateway(true);
    await cachedOf(harness, harness.key, secret);
    await valkey.command(['FLUSHALL']);
    expect(await cachedOf(harness, harness.otherKey, secret)).toBe(0);
    expect(await reusedBy()).toBe(0);
  });
});
