import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { contract } from '@millrace/contract';
import { systemClock } from '@millrace/platform/clock';
import { Fault } from '@millrace/platform/fault';
import { createHttpServer } from '@millrace/platform/http';
import { createIdSource } from '@millrace/platform/ids';
import { createReferenceLimiter } from '@millrace/platform/limiter';
import { createLogger } from '@millrace/platform/log';
import { workGrowth } from '@millrace/testing/work-growth';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptedEncodings, serveConsole, type ConsoleOptions } from './console.ts';

const root = mkdtempSync(path.join(tmpdir(), 'mr-console-'));
const folder = path.join(root, 'dist');
const script = 'export const answer = 42;\n'.repeat(100);
const page = '<!doctype html><title>Millrace</title>';

beforeAll(() => {
  mkdirSync(path.join(folder, 'assets'), { recursive: true });
  mkdirSync(path.join(folder, '.vite'));
  writeFileSync(path.join(root, 'secret.txt'), 'nobody reads this');
  writeFileSync(path.join(folder, '.vite', 'manifest.json'), '{}');
  writeFileSync(path.join(folder, 'index.html'), page);
  writeFileSync(
    path.join(folder, '.preloads.json'),
    JSON.stringify({ catalog: [], 'rentals/$rentalId': ['assets/rental-1.js', 'assets/table-2.js'] }),
  );
  writeFileSync(path.join(folder, 'favicon.svg'), '<svg/>');
  writeFileSync(path.join(folder, 'assets', 'app-1a2b.js'), script);
  writeFileSync(path.join(folder, 'assets', 'app-1a2b.js.gz'), gzipSync(script));
  writeFileSync(path.join(folder, 'assets', 'app-1a2b.js.br'), brotliCompressSync(script));
});
afterAll(() => rmSync(root, { recursive: true }));

function serverOf(options: Partial<ConsoleOptions> = {}, fileRpm = 1_000) {
  const clock = systemClock;
  const server = createHttpServer({
    contract,
    authenticate: async () => {
      throw new Fault('INVALID_API_KEY');
    },
    limiter: createReferenceLimiter({ nowMs: () => clock.nowMs() }),
    log: createLogger({ name: 'test', level: 'silent' }),
    clock,
    ids: createIdSource({ clock, cell: 0 }),
    trustedProxies: [],
    validateResponses: true,
    limits: { fileRpm, anonymousRpm: 5 },
  });
  serveConsole(server, { folder, inferenceUrl: null, https: false, ...options });
  return server.fastify;
}

describe('console file', () => {
  it('is cached for a year if its name contains its hash, and revalidated otherwise', async () => {
    const fastify = serverOf();
    const hashed = await fastify.inject('/console/assets/app-1a2b.js');
    expect(hashed).toMatchObject({ statusCode: 200, body: script });
    expect(hashed.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    });
    const icon = await fastify.inject('/console/favicon.svg');
    expect(icon.headers).toMatchObject({ 'cache-control': 'no-cache', 'content-type': 'image/svg+xml' });
  });

  it.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['gzip, br;q=0', 'gzip'],
    ['GZIP ; q=0.5', 'gzip'],
    ['br;q=0.0, gzip;q=0', undefined],
    ['identity', undefined],
    ['', undefined],
  ])('is sent in the encoding that the client accepts: %j', async (accepted, encoding) => {
    const response = await serverOf().inject({
      url: '/console/assets/app-1a2b.js',
      headers: { 'accept-encoding': accepted },
    });
    expect(response.headers['content-encoding']).toBe(encoding);
    if (encoding === 'gzip') expect(gunzipSync(response.rawPayload).toString()).toBe(script);
    if (encoding === undefined) expect(response.body).toBe(script);
    expect(Number(response.headers['content-length'])).toBe(response.rawPayload.length);
  });

  it('reads Accept-Encoding in time proportional to its length', () => {
    for (const piece of [' ', ';', ' ;', ',', '\t', 'q=0 ']) {
      const growth = workGrowth(
        (length) => {
          const header = `a${piece.repeat(length)}b`;
          return () => acceptedEncodings(header);
        },
        { length: 500, factor: 16 },
      );
      expect(growth, JSON.stringify(piece)).toBeLessThan(64);
    }
  });

  it('that does not exist returns 404 instead of HTML in place of a script', async () => {
    const response = await serverOf().inject('/console/assets/app-0000.js');
    expect(response).toMatchObject({ statusCode: 404 });
    expect(response.json()).toMatchObject({ reason: 'ROUTE_NOT_FOUND' });
  });
});

describe('console page', () => {
  it.each(['/console/', '/console/rentals/17', '/console/catalog?gpu=h100', '/console/x.txt'])(
    'returns the HTML: %s',
    async (url) => {
      const response = await serverOf().inject(url);
      expect(response).toMatchObject({ statusCode: 200, body: page });
      expect(response.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
      });
    },
  );

  it('names the scripts of its route, so that they load with the first ones', async () => {
    const linkOf = async (url: string) => (await serverOf().inject(url)).headers['link'];
    const scripts = ['rental-1', 'table-2'].map((name) => `</console/assets/${name}.js>; rel=modulepreload`);
    expect(await linkOf('/console/rentals/17?tab=cost')).toBe(scripts.join(', '));
    for (const other of ['catalog', 'rentals', 'rentals/17/x', 'keys', '', 'assets/app-1a2b.js']) {
      expect(await linkOf(`/console/${other}`), other).toBeUndefined();
    }
  });

  it('returns 304 to a client with the current version', async () => {
    const fastify = serverOf();
    const { headers } = await fastify.inject('/console/');
    const again = {
      url: '/console/rentals',
      headers: { 'if-none-match': `"other", ${String(headers.etag)}` },
    };
    const response = await fastify.inject(again);
    expect(response).toMatchObject({ statusCode: 304, body: '' });
    expect(response.headers).toMatchObject({ etag: headers.etag, 'cache-control': 'no-cache' });
  });

  it('accepts HEAD and refuses methods that change something', async () => {
    const fastify = serverOf();
    const head = await fastify.inject({ method: 'HEAD', url: '/console/' });
    expect(head.statusCode).toBe(200);
    expect(head.headers['content-length']).toBe(String(page.length));
    for (const method of ['POST', 'PUT', 'DELETE'] as const) {
      expect((await fastify.inject({ method, url: '/console/' })).statusCode, method).toBe(404);
    }
  });

  it.each([
    '/console/../secret.txt',
    '/console/..%2fsecret.txt',
    '/console/%2e%2e/secret.txt',
    '/console/assets/../../secret.txt',
    '/console/.vite/manifest.json',
    '/console//etc/passwd',
  ])('is returned for paths that try to leave the console: %s', async (url) => {
    const response = await serverOf().inject(url);
    expect(response.body).not.toContain('nobody reads this');
    expect([200, 404]).toContain(response.statusCode);
    if (response.statusCode === 200) expect(response.body).toBe(page);
  });

  it('allows only own scripts and styles, calls to api and gateway, and no framing', async () => {
    const { headers } = await serverOf({ inferenceUrl: 'https://models.example.com/v1' }).inject('/console/');
    const policy = String(headers['content-security-policy']);
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self' https://models.example.com",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
      ]),
    );
    expect(policy).not.toContain('unsafe');
    expect(headers).toMatchObject({
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    });
    expect(headers).not.toHaveProperty('strict-transport-security');
    const secure = await serverOf({ https: true }).inject('/console/');
    expect(secure.headers).toHaveProperty('strict-transport-security', 'max-age=31536000');
  });
});

it.each(['/', '/console'])('%s redirects to the console', async (url) => {
  const response = await serverOf().inject(url);
  expect(response).toMatchObject({ statusCode: 302 });
  expect(response.headers['location']).toBe('/console/');
});

it('console that is not built says how to build it, and nothing redirects to it', async () => {
  const fastify = serverOf({ folder: path.join(root, 'nothing') });
  const response = await fastify.inject('/console/rentals');
  expect(response.statusCode).toBe(503);
  expect(response.body).toContain('npm run console:build');
  expect((await fastify.inject('/')).statusCode).toBe(404);
});

it('console pages do not count against the anonymous rate limit and have their own limit', async () => {
  const fastify = serverOf({}, 30);
  for (let index = 0; index < 30; index += 1) {
    expect((await fastify.inject('/console/assets/app-1a2b.js')).statusCode).toBe(200);
  }
  expect((await fastify.inject('/console/')).statusCode).toBe(429);
  expect((await fastify.inject('/v2/nothing')).statusCode).toBe(404);
});
