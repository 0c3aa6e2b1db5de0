import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createGatewayHarness,
  deploymentFixture,
  modelFixture,
  type GatewayHarness,
} from '../gateway.fixture.ts';

const CONSOLE = 'https://console.example.com';
const CHAT = '/v1/chat/completions';
/** Those that look alike, and those that would mean everybody. */
const strangers = [
  'https://evil.example.com',
  'https://console.example.com.evil.example',
  'https://console.example.com:8443',
  'http://console.example.com',
  'https://CONSOLE.example.com',
  'null',
  '*',
];

let world: GatewayHarness;
beforeAll(async () => {
  world = await createGatewayHarness({
    consoleOrigins: [CONSOLE, 'http://127.0.0.1:8080'],
    models: [
      modelFixture({
        name: 'acme/test',
        mode: 'test',
        deployments: [deploymentFixture({ engine: 'mock', address: 'http://127.0.0.1:1' })],
      }),
    ],
  });
});
afterAll(() => world.close());

const preflight = (origin: string, to = world): Promise<Response> =>
  fetch(`${to.url}${CHAT}`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  });

const chat = (origin: string | null, { key = world.testKey, stream = false } = {}): Promise<Response> =>
  fetch(`${world.url}${CHAT}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(origin === null ? {} : { origin }),
    },
    body: JSON.stringify({ model: 'acme/test', messages: [{ role: 'user', content: 'Hello' }], stream }),
  });

const leaves = (answer: Response): string[] =>
  [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'));

describe('a page of the console', () => {
  test('may send a key and JSON, and is told so without one', async () => {
    const answer = await preflight(CONSOLE);
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-origin')).toBe(CONSOLE);
    expect(answer.headers.get('access-control-allow-methods')).toBe('GET, POST');
    expect(answer.headers.get('access-control-allow-headers')).toBe('Authorization, Content-Type');
    expect(answer.headers.get('vary')).toBe('Origin');
    expect(answer.headers.get('x-inference-request-id')).toMatch(/^req_/);
  });

  test.each([
    ['in one piece', false],
    ['as a stream', true],
  ])('may read an answer %s, and the id of its request', async (_, stream) => {
    const answer = await chat(CONSOLE, { stream });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe(CONSOLE);
    expect(answer.headers.get('access-control-expose-headers')).toContain('X-Inference-Request-Id');
    expect(await answer.text()).not.toBe('');
  });

  test('may read why it was refused', async () => {
    const answer = await chat(CONSOLE, { key: 'nonsense' });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('access-control-allow-origin')).toBe(CONSOLE);
  });

  test('is never given leave to send cookies', async () => {
    const answers = [await preflight(CONSOLE), await chat(CONSOLE), await chat(CONSOLE, { key: 'nonsense' })];
    expect(answers.map(({ headers }) => headers.get('access-control-allow-credentials'))).toEqual([
      null,
      null,
      null,
    ]);
  });

  test('asks in vain for leave that the request itself needs no less: an OPTIONS of another kind is no method here', async () => {
    const answer = await fetch(`${world.url}${CHAT}`, { method: 'OPTIONS', headers: { origin: CONSOLE } });
    expect(answer.status).toBe(405);
  });
});

describe.each(strangers)('a page of %s', (origin) => {
  test('is not let in before it sends anything', async () => {
    const answer = await preflight(origin);
    expect(answer.status).toBe(405);
    expect(leaves(answer)).toEqual([]);
  });

  test('cannot read an answer, even with a key', async () => {
    const answer = await chat(origin);
    expect(answer.status).toBe(200);
    expect(leaves(answer)).toEqual([]);
  });
});

test('a program that names no origin sees none of this', async () => {
  const answer = await chat(null);
  expect(answer.status).toBe(200);
  expect(leaves(answer)).toEqual([]);
  expect(answer.headers.get('vary')).toBeNull();
});

test('a gateway that was told of no console lets no page in', async () => {
  await using other = await createGatewayHarness({ models: [] });
  const answer = await preflight(CONSOLE, other);
  expect(answer.status).toBe(405);
  expect(leaves(answer)).toEqual([]);
});
