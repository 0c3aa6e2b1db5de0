import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyWebhook } from '@millrace/sdk/webhooks';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fakeApi, errorResponse, runCli, type FakeRequest } from '../fixture.ts';
import { createInterrupts } from '../interrupts.ts';
import { newSecret } from '../webhooks/sign.ts';

/** A fake feed: events 1 to `count`, of which those before `first` have been deleted. */
function feed(
  count: number,
  {
    first = 1,
    cutAfter = Number.POSITIVE_INFINITY,
    onDrained = () => undefined,
  }: {
    readonly first?: number;
    /** Each connection ends after this many events. */
    readonly cutAfter?: number;
    /** Called when a stream is read to its end. */
    readonly onDrained?: () => void;
  } = {},
) {
  const event = (seq: number) => ({
    id: `evt_${seq}`,
    type: seq % 10 === 0 ? 'balance.low' : 'rental.running',
    seq,
    occurredAt: '2026-03-01T11:00:00.000Z',
    apiVersion: '2.0.0',
    orgId: 'org_1',
    mode: 'live',
    resource: { kind: 'rental', id: String(seq) },
    actor: { kind: 'system', id: 'worker' },
    data: { note: `Straße ${seq}` },
  });
  const seqs = (after: number) =>
    Array.from({ length: count }, (_, at) => at + 1).filter((seq) => seq >= first && seq > after);
  return fakeApi({
    'GET /v2/events': ({ query, headers, signal }: FakeRequest) => {
      const isStream = headers.get('accept')?.includes('event-stream') === true;
      const after = Number((isStream ? headers.get('last-event-id') : null) ?? query['after'] ?? 0);
      if (after > count || (after !== 0 && after + 1 < first))
        return errorResponse(400, 'INVALID_CURSOR', 'Lost your place.');
      if (!isStream) {
        const limit = Number(query['limit'] ?? 50);
        const items = seqs(after).slice(0, limit).map(event);
        const nextAfter = items.at(-1)?.seq ?? after;
        const more = seqs(after).length > limit;
        return { items, nextCursor: more ? String(nextAfter) : null, nextAfter, lastSeq: count };
      }
      const sent = seqs(after).slice(0, cutAfter);
      const isCut = sent.length < seqs(after).length;
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          for (const seq of sent) {
            controller.enqueue(Buffer.from(`id: ${seq}\ndata: ${JSON.stringify(event(seq))}\n\n`));
          }
          if (isCut) controller.close();
          signal.addEventListener('abort', () => controller.error(new DOMException('left', 'AbortError')));
        },
        pull: () => void setImmediate(onDrained),
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    },
  });
}

const seqsOf = (stdout: string): number[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { seq: number }).seq);

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe('events', () => {
  test('shows the newest events, oldest first', async () => {
    const { fetch } = feed(500);
    const result = await runCli(['events', '--limit', '3'], { fetch });
    expect(result.stdout.split('\n')[2]).toBe(
      '   500  2026-03-01 11:00:00Z  balance.low             rental:500  by system worker',
    );
    expect(seqsOf((await runCli(['events', '--json'], { fetch })).stdout)).toEqual(range(481, 500));
    const narrow = await runCli(['events', '--limit', '1'], { fetch, tty: true, columns: 70 });
    expect(narrow.stdout).toBe('   500  2026-03-01 11:00:00Z  balance.low             rental:500\n');
  });

  test('reads further back for rare types, but not before the start of the feed', async () => {
    const { fetch } = feed(500, { first: 401 });
    const rare = await runCli(['events', '--type', 'balance', '--limit', '5', '--json'], { fetch });
    expect(seqsOf(rare.stdout)).toEqual([460, 470, 480, 490, 500]);
    const all = await runCli(['events', '--type', 'balance.low', '--limit', '50', '--json'], { fetch });
    expect(seqsOf(all.stdout)).toEqual(range(41, 50).map((seq) => seq * 10));
    const none = await runCli(['events', '--type', 'invoice', '--json'], { fetch });
    expect(none).toMatchObject({ code: 0, stdout: '' });
  });

  test('starts after the event of --after', async () => {
    const { fetch } = feed(30);
    expect(
      seqsOf((await runCli(['events', '--after', '5', '--limit', '2', '--json'], { fetch })).stdout),
    ).toEqual([6, 7]);
  });

  test('neither skips nor repeats events with --follow, however often the connection breaks', async () => {
    const api = feed(20, { cutAfter: 7 });
    const result = await runCli(['events', '--follow', '--after', '4', '--limit', '16', '--json'], {
      fetch: api.fetch,
    });
    expect(seqsOf(result.stdout)).toEqual(range(5, 20));
    expect(api.requests.length).toBeGreaterThan(2);
  });

  test('reports an expired position immediately', async () => {
    const result = await runCli(['events', '--follow', '--after', '99', '--json'], { fetch: feed(20).fetch });
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('Lost your place.');
    const away = await runCli(['events', '--follow', '--after', '0'], {
      fetch: () => Promise.reject(new TypeError('fetch failed')),
    });
    expect(away.code).toBe(1);
    expect(away.stderr).toContain('is unreachable');
  });

  test('ends following on Ctrl-C and says how to continue', async () => {
    const interrupts = createInterrupts();
    const { fetch } = feed(7, { onDrained: () => void interrupts.raise() });
    const result = await runCli(['events', '--follow', '--after', '5', '--json'], { fetch, interrupts });
    expect(result.code).toBe(0);
    expect(seqsOf(result.stdout)).toEqual([6, 7]);
    expect(result.stderr).toContain('millrace events --follow --after 7');
  });
});

async function receiver(statuses: readonly number[] = []) {
  const received: { body: string; headers: IncomingHttpHeaders; path: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      response.statusCode = statuses[received.length] ?? 204;
      if (response.statusCode === 302) response.setHeader('location', '/elsewhere');
      received.push({ body, headers: request.headers, path: request.url ?? '' });
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { received, port: (server.address() as AddressInfo).port, close: () => server.close() };
}

/** Only the API is faked; deliveries are really sent. */
const partly =
  (api: typeof fetch): typeof fetch =>
  (input, init) =>
    String(input instanceof Request ? input.url : input).startsWith('http://127.0.0.1')
      ? fetch(input, init)
      : api(input, init);

describe('webhook listen', () => {
  test('forwards in order, signed like the service, with the secret it prints', async () => {
    const { received, port } = await receiver();
    const { fetch } = feed(12, { cutAfter: 8 });
    const now = new Date().toISOString();
    const words = [
      'webhook',
      'listen',
      `http://127.0.0.1:${port}/hooks?a=1`,
      '--after',
      '2',
      '--limit',
      '9',
      '--type',
      'rental',
    ];
    const result = await runCli(words, { fetch: partly(fetch), now });
    expect(result.code).toBe(0);
    const secret = /whsec_\S+/.exec(result.stderr)?.[0] ?? '';
    expect(received.map(({ path }) => path)).toEqual(Array.from({ length: 9 }, () => '/hooks?a=1'));
    const seqs: number[] = [];
    for (const { body, headers } of received) {
      new Webhook(secret).verify(body, headers as Record<string, string>);
      const event = await verifyWebhook({
        payload: body,
        headers: headers as Record<string, string>,
        secret,
      });
      expect(headers['webhook-id']).toBe(event.id);
      seqs.push(event.seq);
    }
    expect(seqs).toEqual([3, 4, 5, 6, 7, 8, 9, 11, 12]);
    expect(result.stdout.split('\n')[0]).toMatch(/^ {5}3 {2}rental\.running {10}204 {2}\d+ ms$/);
  });

  test('shows refused deliveries, follows no redirect and continues', async () => {
    const { received, port } = await receiver([500, 302, 200]);
    const { fetch } = feed(3);
    const result = await runCli(
      ['webhook', 'listen', String(port), '--after', '0', '--limit', '3', '--json'],
      {
        fetch: partly(fetch),
      },
    );
    const lines = result.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      { seq: 1, httpStatus: 500, error: 'responded with 500' },
      { seq: 2, httpStatus: 302, error: 'responded with 302' },
      { seq: 3, httpStatus: 200, error: null },
    ]);
    expect(received).toHaveLength(3);
  });

  test('starts with the next event, and reports if no program listens', async () => {
    const { port, close } = await receiver();
    const interrupts = createInterrupts();
    const api = feed(5, { onDrained: () => void interrupts.raise() });
    const quiet = await runCli(['webhook', 'listen', String(port)], { fetch: partly(api.fetch), interrupts });
    expect(quiet).toMatchObject({ code: 0, stdout: '' });
    expect(quiet.stderr).toContain(`millrace webhook listen ${port} --after 5`);
    close();
    const secret = newSecret((count) => new Uint8Array(count).fill(1));
    const withoutReceiver = await runCli(
      ['webhook', 'listen', String(port), '--after', '4', '--limit', '1'],
      {
        fetch: partly(feed(5).fetch),
        env: { MILLRACE_WEBHOOK_SECRET: secret },
      },
    );
    expect(withoutReceiver.stdout).toContain('no program listens there');
    expect(withoutReceiver.stderr).not.toContain(secret);
  });

  test('refuses a malformed MILLRACE_WEBHOOK_SECRET', async () => {
    const env = { MILLRACE_WEBHOOK_SECRET: 'whsec_c2hvcnQ=' };
    const { code, stderr } = await runCli(['webhook', 'listen', '3000'], { fetch: feed(1).fetch, env });
    expect([code, stderr]).toEqual([3, expect.stringContaining('MILLRACE_WEBHOOK_SECRET must be')]);
  });

  test.each(['ftp://127.0.0.1', '0', '70000', 'localhost'])('refuses %s without a request', async (url) => {
    const api = feed(1);
    expect((await runCli(['webhook', 'listen', url], { fetch: api.fetch })).code).toBe(3);
    expect(api.requests).toHaveLength(0);
  });
});

describe('webhook commands', () => {
  const webhook = {
    id: 'whk_1',
    url: 'https://example.com/hooks',
    description: '',
    eventTypes: ['*'],
    status: 'enabled',
    disabledReason: null,
    createdAt: '2026-03-01T11:00:00.000Z',
    updatedAt: '2026-03-01T11:00:00.000Z',
    lastSucceededAt: null,
    failingSince: null,
  };
  const delivery = {
    id: 'dlv_1',
    webhookId: 'whk_1',
    eventId: 'evt_1',
    eventType: 'rental.running',
    seq: 7,
    status: 'failed',
    attempts: [{ at: '2026-03-01T11:00:00.000Z', httpStatus: null, error: 'closed', durationMs: 5 }],
    nextAttemptAt: '2026-03-01T11:05:00.000Z',
    createdAt: '2026-03-01T11:00:00.000Z',
  };
  const api = () =>
    fakeApi({
      'POST /v2/webhooks': ({ body }: FakeRequest) =>
        Response.json({ ...webhook, ...body, secret: 'whsec_new' }, { status: 201 }),
      'GET /v2/webhooks': { items: [webhook], nextCursor: null },
      'GET /v2/webhooks/*': webhook,
      'PATCH /v2/webhooks/*': ({ body }: FakeRequest) => ({ ...webhook, ...body }),
      'DELETE /v2/webhooks/*': undefined,
      'POST /v2/webhooks/*/rotate-secret': () =>
        Response.json({ ...webhook, secret: 'whsec_next' }, { status: 201 }),
      'GET /v2/webhooks/*/deliveries': { items: [delivery], nextCursor: null },
      'POST /v2/webhooks/*/deliveries/*/replay': () => Response.json(delivery, { status: 202 }),
      'POST /v2/webhooks/*/replay': ({ body }: FakeRequest) =>
        Response.json(
          { webhookId: 'whk_1', eventCount: 100, nextAfter: body.after === 10 ? 110 : null },
          { status: 202 },
        ),
    });
  const run = (fake: ReturnType<typeof fakeApi>, ...words: readonly string[]) =>
    runCli(['webhook', ...words], { fetch: fake.fetch });

  test('print a new secret and say that it is shown only once', async () => {
    const fake = api();
    const made = await run(
      fake,
      'create',
      'https://example.com/hooks',
      '--type',
      'rental.running,balance.low',
    );
    expect(made.stdout).toContain('whsec_new');
    expect(made.stderr).toContain('not shown again');
    expect(fake.requests[0]?.body).toEqual({
      url: 'https://example.com/hooks',
      eventTypes: ['rental.running', 'balance.low'],
    });
    const rotated = await run(fake, 'rotate-secret', 'whk_1', '--overlap', '30m');
    expect(rotated.stdout).toBe('whsec_next\n');
    expect(fake.requests[1]?.body).toEqual({ overlapSeconds: 1_800 });
    expect((await run(fake, 'create', 'https://example.com', '--json')).json().secret).toBe('whsec_new');
  });

  test('fail if the response with the secret was lost', async () => {
    const lost = () => Response.json({ ...webhook, secret: null }, { status: 201 });
    const fake = fakeApi({ 'POST /v2/webhooks': lost, 'POST /v2/webhooks/*/rotate-secret': lost });
    for (const words of [
      ['create', 'https://example.com/hooks'],
      ['rotate-secret', 'whk_1'],
      ['create', 'https://example.com', '--json'],
    ]) {
      const { code, stderr } = await run(fake, ...words);
      expect([code, stderr.includes('millrace webhook rotate-secret whk_1')], words.join(' ')).toEqual([
        1,
        true,
      ]);
    }
  });

  test('list, change, disable and delete webhooks', async () => {
    const fake = api();
    expect((await run(fake, 'list', '--json')).json()).toEqual([webhook]);
    expect((await run(fake, 'get', 'whk_1', '--json')).json()).toEqual(webhook);
    expect((await run(fake, 'update', 'whk_1', '--disable', '--json')).json().status).toBe('disabled');
    expect((await run(fake, 'update', 'whk_1', '--enable', '--disable')).code).toBe(3);
    expect((await run(fake, 'delete', 'whk_1')).code).toBe(3);
    expect((await run(fake, 'delete', 'whk_1', '--yes')).stdout).toBe('Deleted whk_1.\n');
  });

  test('show responses of deliveries, and replay a range to its end', async () => {
    const fake = api();
    expect((await run(fake, 'deliveries', 'whk_1', '--status', 'failed')).stdout).toMatch(
      /failed +1 +closed/,
    );
    expect((await run(fake, 'replay', 'whk_1', '--delivery', 'dlv_1')).stdout).toBe('Sending evt_1 again.\n');
    const all = await run(fake, 'replay', 'whk_1', '--after', '10', '--json');
    expect(all.json()).toEqual({ webhookId: 'whk_1', eventCount: 200 });
    expect(fake.requests.at(-1)?.body).toEqual({ after: 110 });
    expect((await run(fake, 'replay', 'whk_1')).code).toBe(3);
  });
});
