import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { usageEvent } from '@millrace/core/inference';
import { startChatDouble, startStopwatch, scaledLimitMs } from '@millrace/testing';
import { systemClock } from '@millrace/platform/clock';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import {
  createGatewayHarness,
  deploymentFixture,
  modelFixture,
  type GatewayHarness,
  type GatewayHarnessOptions,
} from './gateway.fixture.ts';

/** Malicious or unlucky clients and engines. */

let harness: GatewayHarness | null = null;

const chat = {
  model: 'acme/chat',
  messages: [{ role: 'user', content: 'What does the mill do?' }],
  max_tokens: 20,
};

const engine = await startChatDouble({
  engine: 'vllm',
  tokens: ['The', ' mill', ' turns', '.'],
  pauseMs: 20,
});
afterAll(() => engine.close());
afterEach(async () => {
  await harness?.close();
  harness = null;
});

async function open(options: Partial<GatewayHarnessOptions> = {}): Promise<GatewayHarness> {
  harness = await createGatewayHarness({
    models: [modelFixture({ deployments: [deploymentFixture({ address: engine.address })] })],
    ...options,
  });
  return harness;
}

async function until(isSo: () => boolean): Promise<void> {
  const untilMs = systemClock.monotonicMs() + 15_000;
  while (!isSo()) {
    if (systemClock.monotonicMs() > untilMs) throw new Error('The condition was not met in time.');
    await systemClock.sleep(2);
  }
}

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let release = (): void => undefined;
  const opened = new Promise<void>((resolve) => (release = resolve));
  return { opened, open: () => release() };
}

describe('gateway and a body with very many values', () => {
  test.each([
    ['invalid messages', `{"model":"acme/chat","messages":[${'1,'.repeat(1_500_000)}1]}`],
    ['invalid stops', `{"model":"acme/chat","messages":[],"stop":[${'{},'.repeat(1_000_000)}{}]}`],
    ['lists in lists', '['.repeat(3_000_000)],
    ['unknown fields', `{"model":"acme/chat","messages":[],"x":[${'[],'.repeat(1_000_000)}[]]}`],
  ])('refuses the body before parsing it: %s', async (_what, body) => {
    const { post } = await open();
    const stopwatch = startStopwatch();
    const response = await post('/v1/chat/completions', body);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ detail: [{ msg: 'contains more than 20000 values' }] });
    // Other requests wait as long: parsing and validating it would take many seconds.
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(1_000));
  });
});

function dial({ url }: GatewayHarness): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });
}

function written(path: string, key: string, body: unknown): string {
  const text = JSON.stringify(body);
  return (
    `POST ${path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  );
}

describe('gateway and a client that leaves', () => {
  test('runs none of several pipelined requests', async () => {
    const slow = await startChatDouble({
      engine: 'vllm',
      tokens: Array.from({ length: 400 }, () => ' turn'),
      pauseMs: 5,
    });
    const models = [modelFixture({ deployments: [deploymentFixture({ address: slow.address })] })];
    const { key, gateway, usage, ...opened } = await open({ models });
    const client = await dial({ key, gateway, usage, ...opened });
    const stream = written('/v1/chat/completions', key, { ...chat, stream: true, max_tokens: 400 });
    client.write(stream + stream + stream);
    await new Promise((resolve) => client.once('data', resolve));
    client.destroy();
    await opened.settled();
    expect(usage.finals.length).toBe(opened.leases.reserved.length);
    expect(usage.finals.map(({ cancelled }) => cancelled)).toEqual([true, true, true]);
    await slow.close();
  });

  test('generates and charges no image if the client leaves during the reservation', async () => {
    const drawn: ServerResponse[] = [];
    const imageServer = createServer((request, response) => {
      if (request.method === 'POST') drawn.push(response);
      else response.end('{}');
    });
    await new Promise<void>((resolve) => imageServer.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(imageServer.address() as AddressInfo).port}`;
    const models = [
      modelFixture({
        name: 'acme/draw',
        modality: 'image',
        deployments: [deploymentFixture({ engine: 'openai-images', address })],
      }),
    ];
    const opened = await open({ models });
    const reserveGate = gate();
    opened.leases.answersAfter = reserveGate.opened;
    const client = await dial(opened);
    const image = { model: 'acme/draw', prompt: 'a mill', size: '256x256' };
    client.write(written('/v1/images/generations', opened.key, image));
    await until(() => opened.leases.reserved.length === 1);
    client.destroy();
    await systemClock.sleep(50);
    reserveGate.open();
    await until(() => opened.usage.finals.length === 1);
    await opened.settled();
    expect(opened.usage.finals[0]).toMatchObject({ cancelled: true, amountNanoUsd: '0' });
    expect(drawn).toHaveLength(0);
    imageServer.closeAllConnections();
    imageServer.close();
  });
});

describe('gateway and a client that does not read', () => {
  const limits = { unreadMs: 200 };
  const connections = ({ gateway }: GatewayHarness): Promise<number> =>
    new Promise((resolve) => gateway.server.getConnections((_error, count) => resolve(count)));

  async function readNothing(tokens: readonly string[], request: object): Promise<GatewayHarness> {
    const long = await startChatDouble({ engine: 'vllm', tokens });
    const models = [modelFixture({ deployments: [deploymentFixture({ address: long.address })] })];
    const opened = await open({ models, limits });
    const client = await dial(opened);
    client.pause();
    client.write(written('/v1/chat/completions', opened.key, request));
    await until(() => opened.leases.settled.length === 1);
    const untilMs = systemClock.monotonicMs() + 3_000;
    while ((await connections(opened)) > 0 && systemClock.monotonicMs() < untilMs)
      await systemClock.sleep(20);
    expect(await connections(opened)).toBe(0);
    client.destroy();
    await long.close();
    return opened;
  }

  test('releases the engine of an unread stream after the limit and charges the output', async () => {
    const tokens = Array.from({ length: 20 }, () => 'x'.repeat(1_000_000));
    const { usage } = await readNothing(tokens, { ...chat, stream: true });
    expect(usage.finals).toMatchObject([{ cancelled: true }]);
  });

  test('releases an unread response from memory after the limit', async () => {
    const { usage } = await readNothing(['x'.repeat(16_000_000)], chat);
    expect(usage.finals).toMatchObject([{ cancelled: false, finishReason: 'stop' }]);
  });
});

/** An engine that sends the given bytes and keeps its connections open. */
async function startRawEngine(
  lines: readonly string[],
): Promise<{ readonly address: string; close(): void }> {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(404).end();
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const line of lines) response.write(`${line}\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe('gateway and a faulty engine', () => {
  test('ends the stream when the engine is done but keeps its connection open, and sends nothing after [DONE]', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
    const raw = await startRawEngine([
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }], usage })}`,
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage })}`,
      `data: ${JSON.stringify({ choices: [], usage })}`,
      'data: [DONE]',
    ]);
    const models = [modelFixture({ deployments: [deploymentFixture({ address: raw.address })] })];
    const opened = await open({ models, upstreams: { silenceMs: 30_000 } });
    const stopwatch = startStopwatch();
    const text = await (await opened.post('/v1/chat/completions', { ...chat, stream: true })).text();
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(1_000));
    await opened.settled();
    expect(opened.usage.finals).toMatchObject([
      { finishReason: 'stop', cancelled: false, tokensCompletion: 1 },
    ]);
    raw.close();
  });

  test('reports a failure for an invalid engine address and ends the request', async () => {
    const models = [modelFixture({ deployments: [deploymentFixture({ address: 'no address' })] })];
    const opened = await open({ models });
    const response = await opened.post('/v1/chat/completions', chat);
    expect(response.status).toBe(502);
    await opened.settled();
    expect(opened.usage.finals).toMatchObject([{ finishReason: 'error', amountNanoUsd: '0' }]);
  });

  test('writes a valid usage event for an overlong finish reason and huge counts', async () => {
    const usage = { prompt_tokens: Number.MAX_SAFE_INTEGER, completion_tokens: Number.MAX_SAFE_INTEGER };
    const raw = await startRawEngine([
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'x'.repeat(500) }], usage })}`,
      `data: ${JSON.stringify({ choices: [], usage })}`,
      'data: [DONE]',
    ]);
    const models = [modelFixture({ deployments: [deploymentFixture({ address: raw.address })] })];
    const opened = await open({ models });
    await (await opened.post('/v1/chat/completions', { ...chat, stream: true })).text();
    await opened.settled();
    const [final] = opened.usage.finals;
    expect(usageEvent.safeParse(final).error?.issues).toBeUndefined();
    expect(final).toMatchObject({ tokensPrompt: 6, tokensCompletion: 1 });
    raw.close();
  });
});

describe('gateway and an oversized engine response', () => {
  const limits = { responseBytes: 10_000 };

  test('returns a client error without trying another engine or blaming this one', async () => {
    const long = await startChatDouble({ engine: 'vllm', tokens: ['x'.repeat(20_000)] });
    const places = [
      deploymentFixture({ address: long.address }),
      deploymentFixture({ address: long.address }),
    ];
    const opened = await open({ models: [modelFixture({ deployments: places })], limits });
    for (let nth = 0; nth < 8; nth += 1) {
      expect((await opened.post('/v1/chat/completions', chat)).status).toBe(422);
    }
    expect(long.received).toHaveLength(8);
    await long.close();
  });

  test('returns a client error for an oversized image', async () => {
    let calls = 0;
    const imageServer = createServer((request, response) => {
      request.resume();
      if (request.method === 'POST') calls += 1;
      response.end(`{"data":[{"b64_json":"${'A'.repeat(20_000)}"}]}`);
    });
    await new Promise<void>((resolve) => imageServer.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(imageServer.address() as AddressInfo).port}`;
    const deployments = [1, 2].map(() => deploymentFixture({ engine: 'openai-images', address }));
    const models = [modelFixture({ name: 'acme/draw', modality: 'image', deployments })];
    const opened = await open({ models, limits });
    const image = { model: 'acme/draw', prompt: 'a mill', size: '256x256' };
    expect((await opened.post('/v1/images/generations', image)).status).toBe(422);
    expect(calls).toBe(1);
    await opened.settled();
    imageServer.closeAllConnections();
    imageServer.close();
  });
});

test('gateway returns the failure of the only image engine instead of reporting no engine', async () => {
  const imageServer = createServer((request, response) => {
    request.resume();
    response.writeHead(500).end('{}');
  });
  await new Promise<void>((resolve) => imageServer.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(imageServer.address() as AddressInfo).port}`;
  const deployments = [deploymentFixture({ engine: 'openai-images', address })];
  const opened = await open({
    models: [modelFixture({ name: 'acme/draw', modality: 'image', deployments })],
  });
  const image = { model: 'acme/draw', prompt: 'a mill', size: '256x256' };
  expect((await opened.post('/v1/images/generations', image)).status).toBe(502);
  await opened.settled();
  imageServer.closeAllConnections();
  imageServer.close();
});

test('gateway uses a fallback for an image model without an engine', async () => {
  const paths: string[] = [];
  const imageServer = createServer((request, response) => {
    paths.push(request.url ?? '');
    request.resume();
    response.writeHead(request.url === '/health' ? 200 : 500).end('{}');
  });
  await new Promise<void>((resolve) => imageServer.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(imageServer.address() as AddressInfo).port}`;
  const opened = await open({
    models: [
      modelFixture({ name: 'acme/draw', modality: 'image', fallbacks: ['dear/draw'], deployments: [] }),
      modelFixture({
        name: 'dear/draw',
        modality: 'image',
        deployments: [deploymentFixture({ engine: 'openai-images', address })],
      }),
    ],
  });
  const image = { model: 'acme/draw', prompt: 'a mill', size: '256x256' };
  expect((await opened.post('/v1/images/generations', image)).status).toBe(502);
  expect(paths).toContain('/v1/images/generations');
  await opened.settled();
  imageServer.closeAllConnections();
  imageServer.close();
});

test('gateway does not use a fallback model that the key must not use', async () => {
  const models = [
    modelFixture({ name: 'acme/chat', fallbacks: ['dear/chat'], deployments: [] }),
    modelFixture({ name: 'dear/chat', deployments: [deploymentFixture({ address: engine.address })] }),
  ];
  const opened = await open({ models });
  expect((await opened.post('/v1/chat/completions', chat)).status).toBe(200);
  for (const [publicId, entry] of opened.feed.keys) {
    opened.feed.keys.set(publicId, { ...entry, models: ['acme/*'] });
  }
  expect((await opened.post('/v1/chat/completions', chat)).status).toBe(503);
});

describe('gateway drain', () => {
  test('waits for a request whose reservation is in progress', async () => {
    const opened = await open();
    const reserveGate = gate();
    opened.leases.answersAfter = reserveGate.opened;
    const response = opened.post('/v1/chat/completions', chat);
    await until(() => opened.leases.reserved.length === 1);
    const drained = opened.gateway.drain(5_000);
    await systemClock.sleep(60);
    reserveGate.open();
    expect((await response).status).toBe(200);
    await drained;
  });

  test('waits for a body that is still arriving', async () => {
    const opened = await open();
    const client = await dial(opened);
    const text = written('/v1/chat/completions', opened.key, chat);
    client.write(text.slice(0, -5));
    await systemClock.sleep(50);
    const drained = opened.gateway.drain(5_000);
    await systemClock.sleep(60);
    client.write(text.slice(-5));
    const head = await new Promise<string>((resolve) => {
      client.once('data', (data) => resolve(data.toString('latin1')));
      client.once('close', () => resolve('closed'));
    });
    expect(head).toMatch(/^HTTP\/1.1 200 /);
    await drained;
  });

  test('lets a slow client read the rest of its response', async () => {
    const long = await startChatDouble({ engine: 'vllm', tokens: ['x'.repeat(8_000_000)] });
    const models = [modelFixture({ deployments: [deploymentFixture({ address: long.address })] })];
    const opened = await open({ models });
    const client = await dial(opened);
    client.pause();
    client.write(written('/v1/chat/completions', opened.key, chat));
    await until(() => opened.leases.settled.length === 1);
    const drained = opened.gateway.drain(5_000);
    await systemClock.sleep(60);
    let bytes = 0;
    client.on('data', (data) => (bytes += data.length)).resume();
    await new Promise((resolve) => client.once('close', resolve));
    expect(bytes).toBeGreaterThan(8_000_000);
    await drained;
    await long.close();
  });
});

test('gateway does not charge a request whose key is revoked while its body arrives', async () => {
  const opened = await open();
  const client = await dial(opened);
  const text = written('/v1/chat/completions', opened.key, chat);
  client.write(text.slice(0, -5));
  await systemClock.sleep(50);
  for (const [publicId, entry] of opened.feed.keys) {
    opened.feed.keys.set(publicId, { ...entry, refusedFor: 'API_KEY_REVOKED' });
  }
  client.write(text.slice(-5));
  const head = await new Promise<string>((resolve) => {
    client.once('data', (data) => resolve(data.toString('latin1')));
  });
  expect(head).toMatch(/^HTTP\/1.1 401 /);
  expect(opened.leases.reserved).toHaveLength(0);
  client.destroy();
});

test('gateway refuses or prices the largest numbers of a request without an internal error', async () => {
  const models = [
    modelFixture({
      contextLength: null,
      maxOutputTokens: null,
      deployments: [deploymentFixture({ address: engine.address })],
    }),
  ];
  const opened = await open({ models });
  const huge = { ...chat, max_tokens: Number.MAX_SAFE_INTEGER, n: 128 };
  const response = await opened.post('/v1/chat/completions', huge);
  expect(response.status).toBeLessThan(500);
  for (const { tokens } of opened.leases.reserved) expect(Number.isSafeInteger(tokens)).toBe(true);
});
