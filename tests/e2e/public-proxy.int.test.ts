import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request } from 'node:https';
import { contract, errorBodyFor, operationsOf, processOf } from '@millrace/contract';
import { ensureUp } from '@millrace/services';
import { eventually } from '@millrace/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { NAME_HEADER, startNamedServer, type NamedServer } from '../stack/named-servers.ts';
import { preparePublicProxy, type PublicProxy } from '../stack/public-proxy.ts';

/** The shipped configurations in the real proxies. The servers behind them only record requests. */

const CHAT = '/v1/chat/completions';

describe.each([
  // Only HAProxy can use servers whose checks fail, and only Caddy repeats a GET: once, if a kept connection fails.
  { kind: 'haproxy', withoutReady: /^api-/, sentOnce: ['GET', 'POST'] },
  { kind: 'caddy', withoutReady: /503$/, sentOnce: ['POST'] },
] as const)('$kind with the shipped configuration', ({ kind, withoutReady, sentOnce }) => {
  let proxy: PublicProxy;
  let servers: NamedServer[] = [];
  const serversOf = (process: string): NamedServer[] =>
    servers.filter(({ name }) => name.startsWith(`${process}-`));

  beforeAll(async () => {
    await ensureUp([kind]);
    proxy = await preparePublicProxy(kind);
    servers = await Promise.all([...proxy.apis, ...proxy.gateways].map(startNamedServer));
    await proxy.start();
    await untilAllServe();
  });
  afterAll(async () => {
    await proxy?.[Symbol.asyncDispose]();
    await Promise.all(servers.map((each) => each[Symbol.asyncDispose]()));
  });
  afterEach(() => {
    for (const server of servers) server.handle = null;
  });

  const call = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(proxy.url + path, { redirect: 'manual', ...init });
  const servedBy = async (path: string, init: RequestInit = {}): Promise<string> => {
    const response = await call(path, init);
    await response.body?.cancel();
    return response.headers.get(NAME_HEADER) ?? `no server, status ${response.status}`;
  };
  const handleAll = (handle: (request: IncomingMessage, response: ServerResponse) => void): void => {
    for (const server of servers) server.handle = handle;
  };
  async function untilAllServe(): Promise<void> {
    await eventually({ what: 'the proxy to use every server', timeoutMs: 120_000 }, async () => {
      const paths = ['/v2/me', '/v2/me', '/v2/me', CHAT, CHAT, CHAT];
      const names = await Promise.all(paths.map((path) => servedBy(path)));
      return names.every((name) => !name.startsWith('no server'));
    });
  }

  test('sends every operation of the contract to the process that serves it', async () => {
    const operations = operationsOf(contract);
    expect(operations.length).toBeGreaterThan(150);
    const wrong: string[] = [];
    for (const operation of operations) {
      for (const path of [operation.path, ...(operation.aliases ?? [])]) {
        for (const value of ['a', 'meta%2Fllama-3.1', '%D0%B0']) {
          const name = await servedBy(path.replaceAll(/\{\w+\}/g, value), { method: operation.method });
          if (!name.startsWith(processOf(operation))) wrong.push(`${operation.method} ${path}: ${name}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test.each([
    '/',
    '/console/',
    '/auth/get-session',
    '/docs/errors',
    '/status',
    '/readyz',
    '/v1/chat',
    '/v1/nothing',
  ])('sends %s, which gateways do not serve, to apis', async (path) => {
    expect(await call(path).then(({ status }) => status)).toBe(200);
    if (path !== '/readyz') expect(await servedBy(path)).toMatch(/^api-/);
  });

  test('passes the path, the query and the body unchanged', async () => {
    const bodies: string[] = [];
    handleAll((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => bodies.push(text));
      request.on('end', () => response.end());
    });
    const path = '/v1/models/meta%2Fllama-3.1/price?at=2026-01-01T00%3A00%3A00Z';
    await call(path, { method: 'POST', body: 'the body' });
    const [last] = serversOf('gateway')
      .flatMap(({ requests }) => requests.slice(-1))
      .filter(({ url }) => url === path);
    expect(last?.headers.host).toBe(new URL(proxy.url).host);
    expect(bodies.join('')).toBe('the body');
  });

  test('routes a request with a whole URL in place of the path by its path', async () => {
    const { host, port } = new URL(proxy.url);
    const path = '/v1/models/meta%2Fllama-3.1/price?at=2026-01-01T00%3A00%3A00Z';
    const sent = request({ host: 'localhost', port, path: proxy.url + path, headers: { host } }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.headers[NAME_HEADER]).toMatch(/^gateway-/);
    const served = servers.find(({ name }) => name === response.headers[NAME_HEADER]);
    expect(served?.requests.at(-1)?.url).toBe(path);
  });

  test('replaces what a client claims of its address and trace, and passes cookies to apis only', async () => {
    const headers = {
      'x-forwarded-for': '203.0.113.9',
      forwarded: 'for=203.0.113.9',
      cookie: 'session=1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'vendor=1',
    };
    const seen = async (path: string): Promise<IncomingMessage['headers']> => {
      const name = await servedBy(path, { headers });
      const [last] = servers.find((each) => each.name === name)?.requests.slice(-1) ?? [];
      return last?.headers ?? {};
    };
    const atApi = await seen('/v2/me');
    expect(atApi['x-forwarded-for']).toMatch(/^(127\.0\.0\.1|::1)$/);
    expect([atApi.forwarded, atApi.cookie]).toEqual([undefined, 'session=1']);
    expect([atApi.traceparent, atApi.tracestate]).toEqual([undefined, undefined]);
    const atGateway = await seen('/v1/models');
    expect(atGateway['x-forwarded-for']).toMatch(/^(127\.0\.0\.1|::1)$/);
    expect([atGateway.forwarded, atGateway.cookie]).toEqual([undefined, undefined]);
    expect([atGateway.traceparent, atGateway.tracestate]).toEqual([undefined, undefined]);
  });

  test.each(['text/event-stream', 'audio/mpeg'])(
    'passes each chunk of a %s response at once',
    async (type) => {
      const chunks = ['one', 'two', 'three'];
      let sendNext = (): void => undefined;
      handleAll((request, response) => {
        request.resume();
        response.writeHead(200, { 'content-type': type });
        const left = [...chunks];
        sendNext = () => {
          const chunk = left.shift();
          if (chunk === undefined) response.end();
          else response.write(chunk);
        };
        sendNext();
      });
      const { body } = await call(CHAT, { method: 'POST', body: '{}' });
      const received: string[] = [];
      // The server writes a chunk only after the client has received the previous one.
      for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
        received.push(text);
        sendNext();
      }
      expect(received).toEqual(chunks);
    },
  );

  test.each([
    ['before the response begins', false],
    ['in the middle of a stream', true],
  ])('ends the request at the gateway when the client disconnects %s', async (_when, begins) => {
    const arrived = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    handleAll((request, response) => {
      request.resume();
      response.once('close', () => closed.resolve());
      if (begins) response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      arrived.resolve();
    });
    const leaving = new AbortController();
    const response = call(CHAT, { method: 'POST', body: '{}', signal: leaving.signal });
    const ended = response.then((started) => started.text()).catch(() => 'aborted');
    if (begins) await response;
    await arrived.promise;
    leaving.abort();
    expect(await ended).toBe('aborted');
    await closed.promise;
  });

  test.each(sentOnce)('does not repeat a %s request that reached a server', async (method) => {
    let count = 0;
    handleAll((request) => {
      count += 1;
      request.socket.destroy();
    });
    const path = method === 'GET' ? '/v2/me' : CHAT;
    expect((await call(path, { method })).status).toBe(502);
    expect(count).toBe(1);
  });

  test('refuses headers above 16 KiB', async () => {
    const before = servers.reduce((sum, { requests }) => sum + requests.length, 0);
    const refused = await call('/v2/me', { headers: { 'x-large': 'x'.repeat(32 * 1_024) } }).then(
      ({ status }) => status,
      () => 'closed',
    );
    expect([400, 431, 'closed']).toContain(refused);
    expect(servers.reduce((sum, { requests }) => sum + requests.length, 0)).toBe(before);
  });

  test('redirects plain HTTP to HTTPS, unless the request has a key', async () => {
    const plain = await fetch(`${proxy.plainUrl}/console/`, { redirect: 'manual' });
    expect(plain.status).toBe(308);
    expect(plain.headers.get('location')).toMatch(/^https:\/\/localhost(:\d+)?\/console\/$/);
    const withKey = await fetch(`${proxy.plainUrl}/v2/me`, {
      headers: { authorization: 'Bearer mr_live_x' },
      redirect: 'manual',
    });
    expect(withKey.status).toBe(403);
  });

  test('sends requests to the other server when one is stopped or not ready', async () => {
    const [first, second] = serversOf('gateway');
    if (first === undefined || second === undefined)
      throw new Error('The proxy has fewer than two gateways.');
    await first.stop();
    const names = await Promise.all(Array.from({ length: 12 }, () => servedBy(CHAT, { method: 'POST' })));
    expect(new Set(names)).toEqual(new Set([second.name]));
    const [api, otherApi] = serversOf('api');
    if (api === undefined || otherApi === undefined) throw new Error('The proxy has fewer than two apis.');
    api.isReady = false;
    await eventually({ what: 'the proxy to see it', timeoutMs: 120_000 }, async () => {
      const served = await Promise.all(Array.from({ length: 6 }, () => servedBy('/v2/me')));
      return served.every((name) => name === otherApi.name);
    });
  });

  test('sends requests to apis that are not ready, or answers 503, if none is ready, and always serves the status page', async () => {
    for (const api of serversOf('api')) api.isReady = false;
    await eventually({ what: 'the proxy to see it', timeoutMs: 120_000 }, async () => {
      return !(await proxy.readyServers()).some((name) => name.startsWith('api-'));
    });
    await expect.poll(() => servedBy('/v2/me'), { timeout: 120_000 }).toMatch(withoutReady);
    for (const path of ['/status', '/status.json', '/docs/runbooks/restore']) {
      expect(await servedBy(path)).toMatch(/^api-/);
    }
  });

  test.each([
    ['inference', CHAT],
    ['v2', '/v2/me'],
  ] as const)(
    'answers 503 with the error body of %s if no server accepts connections',
    async (family, path) => {
      await Promise.all(servers.map((server) => server.stop()));
      const refused = await eventually({ what: 'a 503', timeoutMs: 120_000 }, async () => {
        const response = await call(path, { method: 'POST' });
        return response.status === 503 && response;
      });
      expect(refused.headers.get('retry-after')).toBe('2');
      expect(errorBodyFor(family, 503).safeParse(await refused.json()).error).toBeUndefined();
    },
  );
});
