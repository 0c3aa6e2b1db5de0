import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createNatsKey, isNatsPublicKey } from '@millrace/platform/nats';
import { afterAll, describe, expect, it } from 'vitest';
import { exitCodes, runAdmin } from './app.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-admin-nats-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a command without any setting of a database. */
async function admin(words: readonly string[], env: Record<string, string> = {}) {
  let [out, err] = ['', ''];
  const io = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  return { code: await runAdmin(words, io, env), out, err };
}

const keys = Array.from({ length: 5 }, () => createNatsKey());
const [api = '', worker = '', gateway = '', nextGateway = '', person = ''] = keys.map(
  ({ publicKey }) => publicKey,
);
const users = ['nats', 'users', '--api', api, '--worker', worker, '--gateway'];

describe('millrace-admin nats users', () => {
  it('prints a user for each key, with the permissions of its role', async () => {
    const { code, out } = await admin([...users, `${gateway}, ${nextGateway}`, '--all', person]);
    expect(code).toBe(exitCodes.ok);
    expect(out).toMatch(/^authorization \{\n {2}users: \[\n/);
    for (const key of [api, worker, gateway, nextGateway])
      expect(out).toContain(`nkey: ${key}\n      permissions: {`);
    expect(out).toContain(`{ nkey: ${person} }`);
  });

  it('gives gateways only usage, end markers, lease requests and the key feed', async () => {
    const env = { MILLRACE_NATS_PREFIX: 'staging', MILLRACE_CELL: '7' };
    const { out } = await admin(['nats', 'users', '--json'], env);
    expect((JSON.parse(out) as Record<string, unknown>)['gateway']).toEqual({
      publish: [
        '$JS.API.CONSUMER.CREATE.KV_STAGING_GATEWAY_BOOK.*',
        '$JS.API.CONSUMER.DELETE.KV_STAGING_GATEWAY_BOOK.*',
        '$JS.API.CONSUMER.INFO.KV_STAGING_GATEWAY_BOOK.*',
        '$JS.API.CONSUMER.MSG.NEXT.KV_STAGING_GATEWAY_BOOK.*',
        '$JS.API.STREAM.INFO.KV_STAGING_GATEWAY_BOOK',
        '$JS.API.STREAM.MSG.GET.KV_STAGING_GATEWAY_BOOK',
        'staging.pots.7.lease',
        'staging.usage.7.*.end',
        'staging.usage.7.batch',
      ],
      subscribe: ['staging._INBOX.gateway.>'],
      mayRespond: false,
    });
  });

  it.each([
    ['a missing role', ['nats', 'users', '--api', api], /--worker is missing/],
    ['a seed', [...users, keys[2]?.seed ?? ''], /--gateway takes public keys of users/],
    [
      'a damaged key',
      [...users, `${gateway.slice(0, -1)}${gateway.endsWith('A') ? 'B' : 'A'}`],
      /takes public keys/,
    ],
    ['a key for two roles', [...users, api], /A key is named twice/],
  ])('refuses %s without printing it', async (_what, words, problem) => {
    const { code, out, err } = await admin(words);
    expect([code, out]).toEqual([exitCodes.usage, '']);
    expect(err).toMatch(problem);
    expect(err).not.toContain(keys[2]?.seed);
  });
});

describe('millrace-admin nats key', () => {
  it('writes the seed to a private file and prints only the public key', async () => {
    const file = join(folder, 'gateway.seed');
    const { code, out } = await admin(['nats', 'key', '--out', file]);
    expect(code).toBe(exitCodes.ok);
    expect(isNatsPublicKey(out.trim())).toBe(true);
    expect(readFileSync(file, 'utf8')).toMatch(/^SU[A-Z2-7]{56}\n$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const again = await admin(['nats', 'key', '--out', file]);
    expect([again.code, again.out]).toEqual([exitCodes.refused, '']);
    expect(again.err).toContain('could not be written to a new file');
  });
});
