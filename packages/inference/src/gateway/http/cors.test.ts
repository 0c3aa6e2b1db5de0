import { afterAll, describe, expect, test } from 'vitest';
import { createGatewayHarness, deploymentFixture, modelFixture } from '../gateway.fixture.ts';

const CONSOLE = 'https://console.example.com';
const CHAT = '/v1/chat/completions';
/** Origins that look similar, and wildcards. */
const outsiders = [
  'https://evil.example.com',
  'https://console.example.com.evil.example',
  'https://console.example.com:8443',
  'http://console.example.com',
  'https://CONSOLE.example.com',
  'null',
  '*',
];

const harness = await createGatewayHarness({
  consoleOrigins: [CONSOLE, 'http://127.0.0.1:8080'],
  models: [
    modelFixture({
      name: 'acme/test',
      mode: 'test',
      deployments: [deploymentFixture({ engine: 'mock', address: 'http://127.0.0.1:1' })],
    }),
  ],
});
afterAll(() => harness.close());

const preflight = (origin: string, to = harness): Promise<Response> =>
  fetch(`${to.url}${CHAT}`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  });

const chat = (origin: string | null, { key = harness.testKey, stream = false } = {}): Promise<Response> =>
  fetch(`${harness.url}${CHAT}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(origin === null ? {} : { origin }),
    },
    body: JSON.stringify({ model: 'acme/test', messages: [{ role: 'user', content: 'Hello' }], stream }),
  });

const leaves = (response: Response): string[] =>
  [...response.headers.keys()].filter((name) => name.startsWith('access-control-'));

describe('CORS for a console page', () => {
  test('allows key and JSON in a preflight without a key', async () => {
    const response = await preflight(CONSOLE);
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe(CONSOLE);
    expect(response.headers.get('access-control-allow-methods')).toBe('GET, POST');
    expect(response.headers.get('access-control-allow-headers')).toBe('Authorization, Content-Type');
    expect(response.headers.get('vary')).toBe('Origin');
    expect(response.headers.get('x-inference-request-id')).toMatch(/^req_/);
  });

  test.each([
    ['without streaming', false],
    ['as a stream', true],
  ])('exposes a response %s and its request id', async (_, stream) => {
    const response = await chat(CONSOLE, { stream });
    expect(response.status).toBe(200);
    expect(response.headers.get('access-control-allow-origin')).toBe(CONSOLE);
    expect(response.headers.get('access-control-expose-headers')).toContain('X-Inference-Request-Id');
    expect(await response.text()).not.toBe('');
  });

  test('exposes the reason of a refusal', async () => {
    const response = await chat(CONSOLE, { key: 'nonsense' });
    expect(response.status).toBe(401);
    expect(response.headers.get('access-control-allow-origin')).toBe(CONSOLE);
  });

  test('never allows credentials', async () => {
    const responses = [
      await preflight(CONSOLE),
      await chat(CONSOLE),
      await chat(CONSOLE, { key: 'nonsense' }),
    ];
    expect(responses.map(({ headers }) => headers.get('access-control-allow-credentials'))).toEqual([
      null,
      null,
      null,
    ]);
  });

  test('treats OPTIONS without a preflight header as an unknown method', async () => {
    const response = await fetch(`${harness.url}${CHAT}`, {
      method: 'OPTIONS',
      headers: { origin: CONSOLE },
    });
    expect(response.status).toBe(405);
  });
});

describe.each(outsiders)('CORS for a page of %s', (origin) => {
  test('rejects the preflight', async () => {
    const response = await preflight(origin);
    expect(response.status).toBe(405);
    expect(leaves(response)).toEqual([]);
  });

  test('hides the response, even with a valid key', async () => {
    const response = await chat(origin);
    expect(response.status).toBe(200);
    expect(leaves(response)).toEqual([]);
  });
});

test('CORS headers are absent for clients without an Origin header', async () => {
  const response = await chat(null);
  expect(response.status).toBe(200);
  expect(leaves(response)).toEqual([]);
  expect(response.headers.get('vary')).toBeNull();
});

test('CORS is disabled without configured console origins', async () => {
  await using other = await createGatewayHarness({ models: [] });
  const response = await preflight(CONSOLE, other);
  expect(response.status).toBe(405);
  expect(leaves(response)).toEqual([]);
});
