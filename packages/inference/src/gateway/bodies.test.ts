import { trackRequestProgress, type RequestProgress } from '@millrace/testing';
import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import {
  createGatewayHarness,
  deploymentFixture,
  modelFixture,
  type GatewayHarness,
  type GatewayHarnessOptions,
} from './gateway.fixture.ts';

const arrivals = new WeakMap<GatewayHarness, RequestProgress>();

async function openHarness(options: GatewayHarnessOptions): Promise<GatewayHarness> {
  const harness = await createGatewayHarness(options);
  arrivals.set(harness, trackRequestProgress(harness.gateway.server));
  return harness;
}

/** A client that sends the head of a request and then as much of its body as the test says. */
class Upload {
  readonly #socket: Socket;
  readonly #arrivals: RequestProgress | undefined;
  #text = '';
  readonly closed: Promise<void>;

  constructor(
    harness: GatewayHarness,
    { key, length }: { readonly key: string; readonly length: number | null },
  ) {
    const { port, hostname } = new URL(harness.url);
    this.#arrivals = arrivals.get(harness);
    this.#socket = connect(Number(port), hostname);
    this.#socket.on('data', (chunk: Buffer) => (this.#text += chunk.toString('latin1')));
    this.#socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.#socket.on('close', () => resolve()));
    const size = length === null ? 'transfer-encoding: chunked' : `content-length: ${length}`;
    this.#socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n${size}\r\n\r\n`,
    );
  }

  /** Resolves when the gateway holds or has refused these bytes. An earlier request could take their capacity. */
  async send(bytes: number): Promise<void> {
    void this.sendWhole(bytes);
    await this.#arrivals?.of(this.#socket);
  }

  /** Resolves when the gateway and the kernel have accepted all bytes. */
  sendWhole(bytes: number): Promise<void> {
    return new Promise((resolve) => this.#socket.write(Buffer.alloc(bytes, 0x20), () => resolve()));
  }

  async readResponse(): Promise<string> {
    while (!this.#text.includes('\r\n\r\n')) {
      if (this.#socket.destroyed) throw new Error('The gateway closed the connection without a response.');
      await Promise.race([this.closed, new Promise((resolve) => this.#socket.once('data', resolve))]);
    }
    return this.#text;
  }

  end(): void {
    this.#socket.destroy();
  }
}

const bodies = {
  processBytes: 4_000_000,
  processBodies: 16,
  unfundedBytes: 1_000_000,
  unfundedBodies: 8,
  callerBytes: 2_000_000,
  callerBodies: 4,
};
const noBodies = { ...bodies, callerBodies: 0 };
const length = 1_000_000;
const limits = { bodies, bodyBytes: length };

describe('request bodies at the gateway', () => {
  test("refuses a body above the organisation's limit before reading it, with a readable response", async () => {
    await using harness = await openHarness({ models: [], limits });
    const held = Array.from({ length: 4 }, () => new Upload(harness, { key: harness.testKey, length }));
    for (const upload of held) await upload.send(1_000);
    const fifth = new Upload(harness, { key: harness.testKey, length });
    void fifth.sendWhole(300_000);
    const refused = await fifth.readResponse();
    expect(refused).toMatch(/^HTTP\/1\.1 429 /);
    expect(refused).toContain('retry-after: 1');
    expect(refused.toLowerCase()).toContain('connection: close');
    expect(refused).toContain('Too many request bodies');
    for (const upload of [...held, fifth]) upload.end();
  });

  test('drops bytes of a refused body while the refusal is being counted', async () => {
    await using harness = await openHarness({ models: [], limits: { ...limits, bodies: noBodies } });
    const counted = Promise.withResolvers<void>();
    harness.limits.answersAfter = counted.promise;
    const upload = new Upload(harness, { key: harness.testKey, length: 64_000_000 });
    await upload.sendWhole(48_000_000);
    counted.resolve();
    expect(await upload.readResponse()).toMatch(/^HTTP\/1\.1 429 /);
    upload.end();
  });

  test('counts bytes as they arrive and frees them when a client leaves', async () => {
    await using harness = await openHarness({
      models: [],
      limits: { bodyBytes: length, bodies: { ...bodies, callerBytes: length } },
    });
    const post = async (): Promise<number> =>
      (await harness.post('/v1/chat/completions', { model: 'none', pad: 'x'.repeat(500_000) })).status;
    const slow = new Upload(harness, { key: harness.testKey, length });
    expect(await post()).toBe(422);
    await slow.send(900_000);
    expect(await post()).toBe(429);
    slow.end();
    while ((await post()) !== 422);
  });

  const postAs = async (harness: GatewayHarness, key: string): Promise<number> =>
    (await harness.post('/v1/chat/completions', { model: 'none', pad: 'x'.repeat(200_000) }, { key })).status;

  test.each([
    ['test keys', { mode: 'test', isFunded: true }],
    ['live keys of organisations without funds', { mode: 'live', isFunded: false }],
  ] as const)('leaves capacity for funded callers during uploads with %s', async (_, without) => {
    await using harness = await openHarness({ models: [], limits });
    const uploads = Array.from(
      { length: 8 },
      () => new Upload(harness, { key: harness.newKey(without), length }),
    );
    await Promise.all(uploads.map((upload) => upload.send(900_000)));
    const other = harness.newKey(without);
    expect(await postAs(harness, other)).toBe(429);
    expect(await postAs(harness, harness.key)).toBe(422);
    for (const upload of uploads) upload.end();
    while ((await postAs(harness, other)) !== 422);
  });

  test('treats an organisation whose last reservation was refused for its balance as unfunded', async () => {
    const model = modelFixture({ deployments: [deploymentFixture({ address: 'http://127.0.0.1:1' })] });
    await using harness = await openHarness({ models: [model], limits });
    const body = { model: model.name, messages: [{ role: 'user', content: 'x' }], max_tokens: 1 };
    harness.leases.refuseWith = 'INSUFFICIENT_BALANCE';
    expect((await harness.post('/v1/chat/completions', body)).status).toBe(402);
    const upload = new Upload(harness, { key: harness.testKey, length });
    await upload.send(900_000);
    expect(await postAs(harness, harness.key)).toBe(429);
    expect(await postAs(harness, harness.otherKey)).toBe(422);
    upload.end();
  });

  test('refuses a rate-limited caller before reading a large body', async () => {
    await using harness = await openHarness({ models: [], limits });
    harness.limits.perMinute = 1;
    expect((await harness.post('/v1/chat/completions', { model: 'none' })).status).toBe(422);
    const upload = new Upload(harness, { key: harness.testKey, length });
    expect(await upload.readResponse()).toMatch(/^HTTP\/1\.1 429 /);
    upload.end();
  });

  test('reads a body that arrives byte by byte', async () => {
    await using harness = await openHarness({ models: [], limits });
    const body = JSON.stringify({ model: 'none', messages: [{ role: 'user', content: 'a'.repeat(40_000) }] });
    const pieces = body.match(/.{1,7}/gs) ?? [];
    const response = await fetch(`${harness.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${harness.key}`, 'content-type': 'application/json' },
      body: new ReadableStream({
        start(controller) {
          for (const piece of pieces) controller.enqueue(Buffer.from(piece));
          controller.close();
        },
      }),
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain('There is no model');
  });

  const json = 'application/json';

  test.each([
    ['with Content-Encoding: gzip', { 'content-encoding': 'gzip' }, json, 'Content-Encoding'],
    ['with Content-Encoding: identity, br', { 'content-encoding': 'identity, br' }, json, 'Content-Encoding'],
    ['with charset=utf-16', {}, `${json}; charset=utf-16`, 'charset'],
    ['with charset="ISO-8859-1"', {}, `${json}; Charset="ISO-8859-1"`, 'charset'],
  ])('refuses a body %s and frees its reservation', async (_what, headers, type, word) => {
    await using harness = await openHarness({ models: [], limits });
    const send = (extra: Record<string, string>): Promise<Response> =>
      fetch(`${harness.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${harness.key}`, 'content-type': json, ...extra },
        body: JSON.stringify({ model: 'none', messages: [{ role: 'user', content: 'x' }] }),
      });
    // One more than the bodies that the organisation may hold.
    for (let nth = 0; nth <= bodies.callerBodies; nth += 1) {
      const refused = await send({ ...headers, 'content-type': type });
      expect(refused.status).toBe(415);
      const { error } = (await refused.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe('unsupported_media_type');
      expect(error.message).toContain(word);
    }
    expect((await send({})).status).toBe(404);
  });

  test.each([
    [{ 'content-encoding': 'identity' }, json],
    [{}, `${json};charset=UTF-8`],
    [{}, `${json}; charset="utf-8"`],
  ])('reads a body with %j and %s', async (headers, type) => {
    await using harness = await openHarness({ models: [], limits });
    const response = await fetch(`${harness.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${harness.key}`, ...headers, 'content-type': type },
      body: JSON.stringify({ model: 'none', messages: [{ role: 'user', content: 'x' }] }),
    });
    expect([response.status, await response.text()]).toEqual([
      404,
      expect.stringContaining('There is no model'),
    ]);
  });
});
