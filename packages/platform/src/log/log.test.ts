import { workGrowth } from '@millrace/testing/work-growth';
import { expect, test } from 'vitest';
import { Fault } from '../fault/index.ts';
import { createLogger, logFailure, redactText, redactValue } from './index.ts';

function capture(): {
  log: ReturnType<typeof createLogger>;
  lines: string[];
  last: () => Record<string, unknown>;
} {
  const lines: string[] = [];
  const log = createLogger({
    name: 'api',
    level: 'trace',
    destination: { write: (line) => lines.push(line) },
  });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown> };
}

const secret = 'aB3dEfGhIjKlMnOpQrStUvWxYz012345abc123';
const key = `mr_live_ABCDEFGHJKMN_${secret}`;
const pem = `-----BEGIN OPENSSH PRIVATE KEY-----\n${secret}\n-----END OPENSSH PRIVATE KEY-----`;

/** Every known route of a secret to the log. Add new ones here. */
const routes: Readonly<Record<string, (log: ReturnType<typeof createLogger>) => void>> = {
  'the message': (log) => log.info(`refused ${key}`),
  'a field': (log) => log.info({ seen: key }, 'x'),
  'a nested field': (log) => log.info({ a: { b: [{ c: key }] } }, 'x'),
  'a URL': (log) => log.info({ url: `https://x/v2/me?key=${key}&a=1` }, 'x'),
  'an error message': (log) => log.error({ err: new Error(`bad key ${key}`) }, 'x'),
  'the cause of an error': (log) => log.error({ err: new Error('x', { cause: new Error(key) }) }, 'x'),
  'a bare error': (log) => log.error(new Error(key)),
  'a field of an error': (log) => log.error({ err: Object.assign(new Error('x'), { detail: key }) }, 'x'),
  'a connection that a driver attaches to its error': (log) =>
    log.error({ err: Object.assign(new Error('x'), { client: { pin: secret } }) }, 'x'),
  'a child binding': (log) => log.child({ from: key }).info('x'),
  'an interpolated value': (log) => log.info('refused %s', key),
  'an interpolated object': (log) => log.info('refused %o', { key }),
  'an authorization header': (log) => log.info({ headers: { Authorization: `Basic ${secret}` } }, 'x'),
  'a bearer token in a text': (log) => log.info(`sent Bearer ${secret}`),
  'a cookie': (log) => log.info({ headers: { cookie: `session=${secret}`, 'set-cookie': [secret] } }, 'x'),
  'a password': (log) => log.info({ user: { password: secret } }, 'x'),
  'a connection string': (log) => log.info({ url: `postgres://millrace:${secret}@127.0.0.1/db` }, 'x'),
  'a private key': (log) => log.info({ userData: pem }, 'x'),
  'a truncated private key': (log) => log.info(`-----BEGIN RSA PRIVATE KEY-----\n${secret}`),
  'a sealed secret': (log) => log.info({ row: { sealed: Buffer.from(secret), sealed_secret: secret } }, 'x'),
  'a sealed secret in a text': (log) => log.info(`could not open v1.key-1.${secret}`),
  'a JSON text with a password': (log) => log.info({ body: JSON.stringify({ password: secret }) }, 'x'),
  'a map': (log) => log.info({ map: new Map([['k', key]]) }, 'x'),
  'a query parameter': (log) => log.info({ url: `/x?access_token=${secret}` }, 'x'),
};

test.each(Object.entries(routes))('createLogger hides a secret in %s', (_name, write) => {
  const { log, lines } = capture();
  write(log);
  expect(lines).toHaveLength(1);
  expect(lines.join('')).not.toContain(secret);
  expect(() => JSON.parse(lines[0] ?? '')).not.toThrow();
});

test('redactText keeps the public part of a key, which support needs', () => {
  expect(redactText(`used ${key} today`)).toBe('used mr_live_ABCDEFGHJKMN_[redacted] today');
  expect(redactText('mr_test_whatever')).toBe('mr_test_[redacted]');
});

test('redactText is idempotent and leaves ordinary text unchanged', () => {
  const text = `${key} ${pem} Bearer ${secret} postgres://u:p@h`;
  expect(redactText(redactText(text))).toBe(redactText(text));
  for (const ordinary of ['rental 1042 is Running', 'https://example.com/a?limit=5', 'mr_smith', 'a:b@c']) {
    expect(redactText(ordinary)).toBe(ordinary);
  }
});

test('redactText takes time in proportion to the length of the text', () => {
  const begin = '-----BEGIN PRIVATE KEY-----';
  const pieces = [
    'a.',
    'a',
    begin,
    `${begin}x-----END PRIVATE KEY-----`,
    '\\\\',
    'a://',
    'a://b:',
    '-----BEGIN ',
  ];
  for (const piece of [...pieces, 'mr_live_', 'Bearer ', '"password": "', 'v1.a.', '?key=']) {
    const growth = workGrowth(
      (length) => {
        const text = piece.repeat(length);
        return () => redactText(text);
      },
      { length: 500, factor: 16 },
    );
    expect(growth, piece).toBeLessThan(64);
  }
});

test('redactText hides a private key up to its END line, or to the first character that no key contains', () => {
  const begin = '-----BEGIN RSA PRIVATE KEY-----';
  const end = '-----END RSA PRIVATE KEY-----';
  expect(redactText(`a ${begin}\nMII\n${end} b ${begin}\\nMII`)).toBe(
    `a ${begin} [redacted] b ${begin} [redacted]`,
  );
  expect(redactText(`{"k":"${begin}\\\\nMII\\\\n","l":1}`)).toBe(`{"k":"${begin} [redacted]","l":1}`);
});

test('redactValue limits cycles, depth and width', () => {
  const cycle: Record<string, unknown> = { list: Array.from({ length: 1_000 }, (_, i) => i) };
  cycle['self'] = cycle;
  const redacted = redactValue(cycle) as { list: unknown[]; self: unknown };
  expect([redacted.list.length, redacted.self]).toEqual([200, '[circular]']);
});

test('logFailure uses info for client errors, warn for temporary errors and error for bugs', () => {
  const { log, last } = capture();
  logFailure(log, new Fault('VALIDATION_FAILED'), 'refused');
  expect(last()).toMatchObject({ level: 'info', reason: 'VALIDATION_FAILED' });
  logFailure(log, new Fault('SERVICE_UNAVAILABLE', { internal: 'pool exhausted' }), 'refused');
  expect(last()).toMatchObject({ level: 'warn', internal: 'pool exhausted' });
  logFailure(log, new Fault('INTERNAL'), 'failed');
  expect(last()).toMatchObject({ level: 'error' });
  logFailure(log, new TypeError('x is undefined'), 'failed', { orgId: 'org_1' });
  expect(last()).toMatchObject({
    level: 'error',
    orgId: 'org_1',
    err: { type: 'TypeError', message: 'x is undefined' },
  });
});
