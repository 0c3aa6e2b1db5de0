import { request as httpRequest } from 'node:http';
import {
  eventually,
  startChatDouble,
  startStopwatch,
  type ChatDouble,
  scaledLimitMs,
} from '@millrace/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  createGatewayHarness,
  deploymentFixture,
  modelFixture,
  PRICE,
  type GatewayHarness,
} from './gateway.fixture.ts';

const TOKENS = ['The', ' mill', ' turns', ' by', ' night', '.'];
const PROMPT_TOKENS = 11;
/** Concurrent clients that leave. */
const AT_ONCE = 32;
let first: ChatDouble;
let second: ChatDouble;
let harness: GatewayHarness;

const chat = {
  model: 'acme/chat',
  messages: [{ role: 'user', content: 'What does the mill do?' }],
  max_tokens: 20,
};
const costOf = (prompt: number, completion: number): bigint =>
  (BigInt(prompt) * PRICE.prompt + BigInt(completion) * PRICE.completion + 999_999n) / 1_000_000n;

beforeAll(async () => {
  const settings = { engine: 'vllm', tokens: TOKENS, promptTokens: PROMPT_TOKENS } as const;
  first = await startChatDouble(settings);
  second = await startChatDouble(settings);
});
afterAll(async () => {
  await first.close();
  await second.close();
});
beforeEach(async () => {
  harness = await createGatewayHarness({
    models: [
      modelFixture({
        deployments: [
          deploymentFixture({ address: first.address }),
          deploymentFixture({ address: second.address }),
        ],
      }),
      modelFixture({
        name: 'acme/test',
        mode: 'test',
        deployments: [deploymentFixture({ engine: 'mock', address: 'http://127.0.0.1:1' })],
      }),
    ],
  });
});
afterEach(() => harness.close());

const eventsOf = (text: string): string[] =>
  text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => event.replace(/^data: /, ''));

describe('gateway charging', () => {
  test('charges a response once for its usage and releases the rest of the reservation', async () => {
    const response = await harness.post('/v1/chat/completions', chat);
    expect(response.status).toBe(200);
    const body = (await response.json()) as { id: string; usage: { cost_nano_usd: number } };
    await harness.settled();
    const cost = costOf(PROMPT_TOKENS, TOKENS.length);
    expect(body.usage.cost_nano_usd).toBe(Number(cost));
    expect(harness.usage.finals).toHaveLength(1);
    expect(harness.usage.finals[0]).toMatchObject({
      requestId: body.id,
      amountNanoUsd: String(cost),
      tokensPrompt: PROMPT_TOKENS,
      tokensCompletion: TOKENS.length,
      cancelled: false,
      finishReason: 'stop',
    });
    expect(harness.leases.settled).toEqual([{ requestId: body.id, actual: cost }]);
    expect(response.headers.get('x-inference-request-id')).toBe(body.id);
    expect(response.headers.get('inference-id')).toBe(body.id);
  });

  test('charges a stream as much as the same response without streaming', async () => {
    const response = await harness.post('/v1/chat/completions', { ...chat, stream: true });
    const events = eventsOf(await response.text());
    expect(events.at(-1)).toBe('[DONE]');
    const last = JSON.parse(events.at(-2) ?? '') as { usage: { cost_nano_usd: number } };
    await harness.settled();
    expect(last.usage.cost_nano_usd).toBe(Number(costOf(PROMPT_TOKENS, TOKENS.length)));
    expect(harness.leases.settled.map(({ actual }) => actual)).toEqual([
      costOf(PROMPT_TOKENS, TOKENS.length),
    ]);
  });

  test('charges a client that leaves at any byte of a stream once, for at most what was generated', async () => {
    const tokens = TOKENS.slice(0, 3);
    // Slow enough that the end has not been sent when a client leaves midway.
    const slow = await startChatDouble({ engine: 'vllm', tokens, promptTokens: PROMPT_TOKENS, pauseMs: 4 });
    const lone = await createGatewayHarness({
      models: [modelFixture({ deployments: [deploymentFixture({ address: slow.address })] })],
    });
    try {
      const whole = await (await lone.post('/v1/chat/completions', { ...chat, stream: true })).text();
      const bytes = Buffer.byteLength(whole);
      for (let from = 0; from < bytes; from += AT_ONCE) {
        const offsets = Array.from({ length: Math.min(AT_ONCE, bytes - from) }, (_, nth) => from + nth);
        await Promise.all(offsets.map((offset) => leaveAfter(lone, offset)));
      }
      await lone.settled();
      const { finals } = lone.usage;
      // One complete request, and one per byte at which a client left.
      expect(new Set(finals.map(({ requestId }) => requestId)).size).toBe(bytes + 1);
      expect(finals).toHaveLength(bytes + 1);
      expect(lone.leases.settled).toHaveLength(bytes + 1);
      const amounts = finals.map(({ amountNanoUsd }) => BigInt(amountNanoUsd));
      expect(amounts.every((amount) => amount <= costOf(PROMPT_TOKENS, tokens.length))).toBe(true);
      // Some clients left so early that they pay less than for all of it.
      expect(finals.some((final) => final.cancelled)).toBe(true);
      expect(new Set(amounts).size).toBeGreaterThan(1);
    } finally {
      await lone.close();
      await slow.close();
    }
  });

  test('does not charge output beyond the reservation', async () => {
    harness.leases.affordable = 5n;
    await harness.post('/v1/chat/completions', chat).then((response) => response.text());
    await harness.settled();
    expect(harness.usage.finals[0]).toMatchObject({
      reservedNanoUsd: '5',
      amountNanoUsd: '5',
      // The engine was limited to one token, and the prompt alone costs more than the reservation.
      pricedNanoUsd: String(costOf(PROMPT_TOKENS, 1)),
    });
  });

  test('limits the length of a response without max_tokens by the reserved credit', async () => {
    const { max_tokens: _, ...open } = chat;
    await harness.post('/v1/chat/completions', open).then((response) => response.text());
    const [reserved] = harness.leases.reserved;
    expect(reserved?.least).toBeLessThan(reserved?.amount ?? 0n);
    harness.leases.affordable = (reserved?.least ?? 0n) + costOf(0, 9);
    await harness.post('/v1/chat/completions', open).then((response) => response.text());
    const sent = [...first.received, ...second.received].map(({ body }) => body['max_tokens']);
    expect(sent).toContain(10);
  });

  test.each([
    ['INSUFFICIENT_BALANCE', 402],
    ['BUDGET_EXCEEDED', 402],
    ['ACCOUNT_FROZEN', 403],
    ['LEDGER_UNAVAILABLE', 503],
  ] as const)('returns %s as %i without calling an engine', async (reason, status) => {
    harness.leases.refuseWith = reason;
    const before = first.received.length + second.received.length;
    const response = await harness.post('/v1/chat/completions', chat);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ object: 'error', error: { code: reason.toLowerCase() } });
    expect(first.received.length + second.received.length).toBe(before);
    expect(harness.usage.finals).toHaveLength(0);
  });

  test('reports needed and available amount and a retry time for a budget that is too small', async () => {
    harness.leases.refuseWith = 'BUDGET_EXCEEDED';
    harness.leases.funds = {
      of: 'budget',
      needed: 132_000n,
      left: 56_000n,
      isReserved: true,
      resetsInMs: null,
    };
    const response = await harness.post('/v1/chat/completions', chat);
    expect([response.status, response.headers.get('retry-after')]).toEqual([402, '1']);
    expect(await response.json()).toMatchObject({
      message: expect.stringContaining('at least 0.000132 USD, but only 0.000056 USD'),
      error: { code: 'budget_exceeded' },
      needed_nano_usd: '132000',
      available_nano_usd: '56000',
    });
  });

  test('admits no request while the usage reporter is full', async () => {
    harness.usage.isFull = true;
    expect((await harness.post('/v1/chat/completions', chat)).status).toBe(503);
    expect(harness.leases.reserved).toHaveLength(0);
  });

  test('charges nothing for test keys and returns deterministic responses', async () => {
    const request = { ...chat, model: 'acme/test' };
    const texts = await Promise.all(
      [1, 2].map(async () => {
        const response = await harness.post('/v1/chat/completions', request, { key: harness.testKey });
        const body = (await response.json()) as { choices: { message: { content: string } }[] };
        return body.choices[0]?.message.content;
      }),
    );
    expect(texts[0]).toBe(texts[1]);
    await harness.settled();
    // The price is 0 too, so the operator absorbs nothing and the auditor finds no gap.
    const costs = harness.usage.finals.map((event) => [event.amountNanoUsd, event.pricedNanoUsd]);
    expect(costs).toEqual([
      ['0', '0'],
      ['0', '0'],
    ]);
    expect(harness.usage.finals[0]?.tokensCompletion).toBeGreaterThan(0);
  });
});

describe('gateway with failing engines', () => {
  test.each(['broken', 'overloaded'] as const)(
    'hides an engine that is %s before the first byte from the client',
    async (failure) => {
      first.failNext(failure);
      second.failNext(failure);
      const before = first.received.length + second.received.length;
      // The engine that is called first fails, and the other can fail once too, so there are at most two retries.
      const response = await harness.post('/v1/chat/completions', { ...chat, stream: true });
      const tried = first.received.length + second.received.length - before;
      await response.text();
      expect(tried).toBeGreaterThan(1);
      await harness.settled();
      expect(harness.usage.finals).toHaveLength(1);
      // Use up the remaining failures before the next test.
      await Promise.all([drainFailures(first), drainFailures(second)]);
    },
  );

  test('ends a broken stream with an error event and without [DONE], and charges the generated part', async () => {
    // Slow enough that each token is sent separately.
    const slow = await startChatDouble({
      engine: 'vllm',
      tokens: TOKENS,
      promptTokens: PROMPT_TOKENS,
      pauseMs: 20,
    });
    const lone = await createGatewayHarness({
      models: [modelFixture({ deployments: [deploymentFixture({ address: slow.address })] })],
    });
    try {
      slow.failNext('cut');
      const response = await lone.post('/v1/chat/completions', { ...chat, stream: true });
      const events = eventsOf(await response.text());
      expect(response.status).toBe(200);
      expect(events).not.toContain('[DONE]');
      expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({
        object: 'error',
        error: { code: 'upstream_error' },
      });
      await lone.settled();
      const [final] = lone.usage.finals;
      expect(final?.finishReason).toBe('error');
      expect(BigInt(final?.amountNanoUsd ?? '0')).toBeGreaterThan(0n);
      expect(BigInt(final?.amountNanoUsd ?? '0')).toBeLessThan(costOf(PROMPT_TOKENS, TOKENS.length));
    } finally {
      await lone.close();
      await slow.close();
    }
  });

  test('returns the failure of the only engine instead of reporting no engine', async () => {
    const lone = await createGatewayHarness({
      models: [modelFixture({ deployments: [deploymentFixture({ address: first.address })] })],
    });
    try {
      first.failNext('broken');
      const response = await lone.post('/v1/chat/completions', chat);
      expect(response.status).toBe(502);
      expect(await response.json()).toMatchObject({ error: { code: 'upstream_error' } });
      await lone.settled();
      expect(lone.leases.settled.map(({ actual }) => actual)).toEqual([0n]);
    } finally {
      await lone.close();
    }
  });

  test('closes the connection to an engine within 100 ms after its client left', async () => {
    const slow = await startChatDouble({ engine: 'vllm', tokens: TOKENS, promptTokens: 3, pauseMs: 2_000 });
    const lone = await createGatewayHarness({
      models: [modelFixture({ deployments: [deploymentFixture({ address: slow.address })] })],
    });
    try {
      const leaving = new AbortController();
      const response = await lone.post(
        '/v1/chat/completions',
        { ...chat, stream: true },
        { signal: leaving.signal },
      );
      await response.body?.getReader().read();
      const stopwatch = startStopwatch();
      leaving.abort();
      await eventually({ what: 'the engine connection to be closed', intervalMs: 2 }, () => slow.left() > 0);
      expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(100));
      await lone.settled();
      expect(lone.usage.finals[0]).toMatchObject({ cancelled: true });
    } finally {
      await lone.close();
      await slow.close();
    }
  });

  test('ends a request at the maximum duration, charges its output and reports the timeout', async () => {
    const slow = await startChatDouble({ engine: 'vllm', tokens: TOKENS, promptTokens: 3, pauseMs: 60_000 });
    const lone = await createGatewayHarness({
      models: [modelFixture({ deployments: [deploymentFixture({ address: slow.address })] })],
      limits: { longestRequestMs: 400 },
    });
    try {
      const response = await lone.post('/v1/chat/completions', { ...chat, stream: true });
      const events = eventsOf(await response.text());
      expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ error: { code: 'upstream_timeout' } });
      await lone.settled();
      expect(lone.usage.finals).toHaveLength(1);
    } finally {
      await lone.close();
      await slow.close();
    }
  });
});

describe('gateway authentication', () => {
  test.each([
    ['no key', '', 401, 'missing_api_key'],
    ['a malformed key', 'mr_live_nonsense', 401, 'malformed_api_key'],
  ])('refuses %s', async (_, key, status, code) => {
    const headers: Record<string, string> = key === '' ? {} : { authorization: `Bearer ${key}` };
    const response = await fetch(`${harness.url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: '{}',
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code } });
  });

  test('applies a changed key to the next request', async () => {
    expect((await harness.post('/v1/chat/completions', chat)).status).toBe(200);
    for (const [publicId, entry] of harness.feed.keys) {
      harness.feed.keys.set(publicId, { ...entry, refusedFor: 'API_KEY_REVOKED' });
    }
    const response = await harness.post('/v1/chat/completions', chat);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: { code: 'api_key_revoked' } });
  });

  test('refuses all requests while the key feed is stale', async () => {
    harness.feed.isStale = true;
    const response = await harness.post('/v1/chat/completions', chat);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: 'key_feed_stale' } });
    expect(response.headers.get('retry-after')).toBe('5');
  });

  test.each([
    ['malformed JSON', '{"model":', 400, 'malformed_json'],
    ['a body without messages', '{"model":"acme/chat"}', 422, 'validation_failed'],
    ['an unknown model', JSON.stringify({ ...chat, model: 'other' }), 404, 'model_not_found'],
    [
      'more tokens than the model has',
      JSON.stringify({ ...chat, max_tokens: 5_000 }),
      400,
      'context_length_exceeded',
    ],
  ])('refuses %s before reserving credit', async (_, body, status, code) => {
    const response = await harness.post('/v1/chat/completions', body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code } });
    expect(harness.leases.reserved).toHaveLength(0);
  });

  test('refuses a body above the limit without reading it', async () => {
    const small = await createGatewayHarness({ models: [], limits: { bodyBytes: 100 } });
    try {
      const response = await small.post('/v1/chat/completions', { text: 'x'.repeat(200) });
      expect(response.status).toBe(413);
    } finally {
      await small.close();
    }
  });

  test('counts requests that are refused before reservation and returns rate limit headers', async () => {
    harness.limits.perMinute = 1;
    const first = await harness.post('/v1/chat/completions', '{"model":"acme/chat"}');
    expect(first.status).toBe(422);
    expect(first.headers.get('ratelimit')).toContain('"organisation"');
    const second = await harness.post('/v1/chat/completions', '{"model":"acme/chat"}');
    expect(second.status).toBe(429);
    const list = await fetch(`${harness.url}/v1/models`, {
      headers: { authorization: `Bearer ${harness.key}` },
    });
    expect(list.status).toBe(429);
  });

  test('rate-limits guessed keys and still accepts a valid key from the same address', async () => {
    const lone = await createGatewayHarness({ models: [], failedAuthRpm: 3 });
    try {
      const statuses: number[] = [];
      for (let nth = 0; nth < 5; nth += 1) {
        statuses.push((await lone.post('/v1/chat/completions', chat, { key: 'mr_live_nonsense' })).status);
      }
      expect(statuses).toEqual([401, 401, 401, 429, 429]);
      expect((await lone.post('/v1/chat/completions', chat)).status).toBe(404);
    } finally {
      await lone.close();
    }
  });

  test('returns 404 for an unknown path and 405 for a wrong method', async () => {
    expect((await harness.post('/v1/nothing', {})).status).toBe(404);
    expect((await harness.post('/v1/models', {})).status).toBe(405);
  });
});

test('gateway drain lets a running stream end and accepts no new request', async () => {
  const slow = await startChatDouble({ engine: 'vllm', tokens: TOKENS, promptTokens: 3, pauseMs: 30 });
  const lone = await createGatewayHarness({
    models: [modelFixture({ deployments: [deploymentFixture({ address: slow.address })] })],
  });
  try {
    const response = await lone.post('/v1/chat/completions', { ...chat, stream: true });
    const drained = lone.gateway.drain(10_000);
    await expect(lone.post('/v1/chat/completions', chat)).rejects.toThrow();
    expect(eventsOf(await response.text()).at(-1)).toBe('[DONE]');
    await drained;
    expect(lone.usage.finals).toHaveLength(1);
  } finally {
    await slow.close();
    await lone.gateway.close();
  }
});

/** Reads this many bytes of a stream and closes the connection. */
function leaveAfter({ url, key }: GatewayHarness, bytes: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` };
    const call = httpRequest(`${url}/v1/chat/completions`, { method: 'POST', headers }, (response) => {
      let read = 0;
      response.on('data', (chunk: Buffer) => {
        read += chunk.length;
        if (read >= bytes) call.destroy();
      });
      response.on('close', () => resolve());
      response.on('error', () => undefined);
      if (bytes === 0) call.destroy();
    });
    call.on('error', (error) => (call.destroyed ? resolve() : reject(error)));
    call.end(JSON.stringify({ ...chat, stream: true }));
  });
}

/** Calls a double directly until it has no failures left. */
async function drainFailures({ address }: ChatDouble): Promise<void> {
  for (let nth = 0; nth < 3; nth += 1) {
    const response = await fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'served', messages: [{ role: 'user', content: 'x' }] }),
    });
    await response.text();
    if (response.status === 200) return;
  }
}
