import { Fault } from '@millrace/platform/fault';
import { startChatDouble, type ChatDouble } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createGatewayHarness,
  deploymentFixture,
  modelFixture,
  PRICE,
  type GatewayHarness,
} from '../gateway.fixture.ts';
import { boundTokens, requirePrice } from '../requests/pricing.ts';

/** Chat and completions through the gateway. gateway.test.ts has the tests of charging and failures. */

const messages = [{ role: 'user', content: 'Hi' }];

describe('text operations of the gateway', () => {
  let vllm: ChatDouble;
  let openai: ChatDouble;
  let harness: GatewayHarness;

  beforeAll(async () => {
    vllm = await startChatDouble({ engine: 'vllm', promptTokens: 11 });
    openai = await startChatDouble({ engine: 'openai', promptTokens: 11 });
    harness = await createGatewayHarness({
      models: [
        modelFixture({ name: 'acme/chat', deployments: [deploymentFixture({ address: vllm.address })] }),
        modelFixture({
          name: 'acme/plain',
          deployments: [deploymentFixture({ address: openai.address, engine: 'openai' })],
        }),
        // Only the double's address is used; no request is sent to it.
        modelFixture({
          name: 'acme/llama',
          deployments: [deploymentFixture({ address: vllm.address, engine: 'llama.cpp' })],
        }),
      ],
    });
  });
  afterAll(async () => {
    await harness.close();
    await vllm.close();
    await openai.close();
  });

  const send = (body: object, path = '/v1/chat/completions') =>
    harness.post(path, {
      model: 'acme/chat',
      ...(path === '/v1/chat/completions' ? { messages } : {}),
      ...body,
    });

  test("return 422 with the parameter's location in an error body for both client families", async () => {
    const response = await send({ temperature: 3 });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({
      object: 'error',
      code: 422,
      type: 'invalid_request_error',
      param: 'temperature',
      detail: [{ loc: ['body', 'temperature'], msg: 'must be 2 or less', type: 'too_big' }],
      error: { code: 'validation_failed', param: 'temperature', type: 'invalid_request_error' },
    });
  });

  test('list unknown fields in X-Ignored-Fields and never send them to an engine', async () => {
    const before = vllm.received.length;
    const response = await send({ ignore_eos: true, cache_salt: 'of another tenant' });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ignored-fields')).toBe('ignore_eos, cache_salt');
    const sent = vllm.received[before]?.body;
    expect(sent).not.toHaveProperty('ignore_eos');
    expect(sent?.['cache_salt']).not.toBe('of another tenant');
  });

  test('use a different cache salt per organisation', async () => {
    const before = vllm.received.length;
    await send({});
    const other = await createGatewayHarness({
      models: [modelFixture({ deployments: [deploymentFixture({ address: vllm.address })] })],
    });
    await other.post('/v1/chat/completions', { model: 'acme/chat', messages });
    await other.close();
    const salts = vllm.received.slice(before).map(({ body }) => body['cache_salt']);
    expect(salts).toHaveLength(2);
    expect(new Set(salts).size).toBe(2);
  });

  test('return 400 naming a parameter that the engine refuses, without a charge', async () => {
    const response = await send({ model: 'acme/plain', min_p: 0.5 });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: 'parameter_not_supported', message: 'The model does not support the parameter min_p.' },
    });
    await harness.settled();
    expect(harness.usage.finals.at(-1)).toMatchObject({ amountNanoUsd: '0' });
  });

  test('call no engine that would ignore a parameter', async () => {
    const before = vllm.received.length;
    const response = await send({ model: 'acme/llama', prompt: 'Once', suffix: '.' }, '/v1/completions');
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'parameter_not_supported' } });
    await harness.settled();
    expect(vllm.received).toHaveLength(before);
    expect(harness.usage.finals.at(-1)).toMatchObject({ amountNanoUsd: '0', tokensPrompt: 0 });
  });

  test('complete and charge several prompts', async () => {
    const response = await send({ prompt: ['Once', 'Twice', 'Thrice'], max_tokens: 9 }, '/v1/completions');
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      object: 'text_completion',
      choices: [{ index: 0 }, { index: 1 }, { index: 2 }],
      usage: { prompt_tokens: 33, completion_tokens: 18 },
    });
    await harness.settled();
    const cost = (33n * PRICE.prompt + 18n * PRICE.completion) / 1_000_000n;
    expect(harness.usage.finals.at(-1)).toMatchObject({ amountNanoUsd: String(cost) });
  });
});

test('boundTokens reserves the context for each of several prompts', () => {
  const model = modelFixture({ contextLength: 2_000, deployments: [] });
  const price = requirePrice(model, 'org_1', 0);
  const bound = (promptBound: number, prompts: number) =>
    boundTokens(model, price, { promptBound, prompts, maxTokens: 10, choices: prompts }).prompt;
  expect(bound(500, 1)).toBe(500);
  expect(bound(90_000, 1)).toBe(2_000);
  expect(bound(90_000, 3)).toBe(6_000);
  expect(bound(5_000, 3)).toBe(5_000);
});

test('boundTokens can price the largest allowed request of an unlimited model exactly', () => {
  const model = modelFixture({ contextLength: null, maxOutputTokens: null, deployments: [] });
  const price = requirePrice(model, 'org_1', 0);
  const bound = (maxTokens: number) =>
    boundTokens(model, price, { promptBound: 4_194_304, prompts: 1, maxTokens, choices: 128 });
  expect(() => bound(Number.MAX_SAFE_INTEGER)).toThrow(Fault);
  expect(() => bound(2 ** 24 + 1)).toThrow('at most 16777216 tokens');
  const { prompt, maxTokens, worstNanoUsd } = bound(2 ** 24);
  expect(Number.isSafeInteger((prompt + maxTokens * 128) * 60_000)).toBe(true);
  expect(worstNanoUsd).toBeGreaterThan(0n);
});
