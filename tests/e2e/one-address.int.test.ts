import { errorBodyFor } from '@millrace/contract';
import { eventually } from '@millrace/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import {
  addModel,
  seedInferenceTenant,
  seedOperator,
  type InferenceTenant,
} from '../stack/inference-tenant.ts';

/** The whole interface at one address, through Caddy. The tests of inference and rentals use HAProxy. */

const MODEL = 'mock/chat';
let stack: InferenceStack;
let tenant: InferenceTenant;

beforeAll(async () => {
  stack = await openInferenceStack({
    proxy: 'caddy',
    llamas: [],
    apiEnv: { MILLRACE_OPEN_DOCS: 'true' },
  });
  // Requests with test keys get mock completions, so the model needs no engine.
  await addModel(await seedOperator(stack), {
    name: MODEL,
    modality: 'chat',
    prices: {},
    contextLength: 4_096,
  });
  tenant = await seedInferenceTenant(stack, 0n);
  await stack.startGateways();
});
afterAll(() => stack?.close());

test('one address and one key serve chats, control operations, documents and pages', async () => {
  const { key } = await tenant.newKey({ mode: 'test', scopes: ['inference:read', 'inference:write'] });
  const openai = new OpenAI({ baseURL: `${stack.apiUrl}/v1`, apiKey: key, maxRetries: 0 });
  await eventually({ what: 'the model to be on offer', timeoutMs: 120_000 }, async () => {
    const { data } = await openai.models.list();
    return data.some(({ id }) => id === MODEL);
  });
  const stream = await openai.chat.completions.create({
    model: MODEL,
    messages: [{ role: 'user', content: 'Hello!' }],
    stream: true,
  });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  expect(text).not.toBe('');
  expect((await tenant.call('GET', '/v2/me')).status).toBe(200);
  const installation = await tenant.call('GET', '/v2/installation');
  expect(installation.json).toMatchObject({ publicUrl: stack.apiUrl, inferenceUrl: stack.apiUrl });
  const document = (await tenant.call('GET', '/openapi/v1.json')).json;
  expect(document.servers).toMatchObject([{ url: stack.apiUrl }]);
  expect(document.paths['/v1/chat/completions'].post.servers).toBeUndefined();
  expect((await fetch(`${stack.apiUrl}/docs/errors`)).headers.get('content-type')).toMatch(/^text\/markdown/);
});

test('the public address does not show version, commit or dependencies of processes', async () => {
  const health = async (path: string) => (await fetch(stack.apiUrl + path)).json();
  expect([await health('/healthz'), await health('/readyz')]).toEqual([{ live: true }, { ready: true }]);
});

test('an api and a gateway that get a path of the other name the public address', async () => {
  const [api, gateway] = [stack.proxy?.apis[0].url ?? '', stack.proxy?.gateways[0].url ?? ''];
  const atApi = await fetch(`${api}/v1/chat/completions`, { method: 'POST', body: '{}' });
  const inferenceError = (await atApi.json()) as Record<string, unknown>;
  expect(errorBodyFor('inference', 404).safeParse(inferenceError).error).toBeUndefined();
  expect([atApi.status, inferenceError['message']]).toEqual([
    404,
    `The request reached an api, which does not serve inference. Send the request to ${stack.apiUrl}.`,
  ]);
  const atGateway = await fetch(`${gateway}/v2/me`);
  expect([atGateway.status, await atGateway.json()]).toMatchObject([
    404,
    { reason: 'MISROUTED_REQUEST', suggestion: `Send the request to ${stack.apiUrl}.` },
  ]);
});
