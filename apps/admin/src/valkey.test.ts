import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { exitCodes, runAdmin } from './app.ts';

/** Runs a command without any setting of a database. */
async function admin(words: readonly string[], env: Record<string, string> = {}) {
  let [out, err] = ['', ''];
  const io = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  return { code: await runAdmin(words, io, env), out, err };
}

const hash = (password: string): string => createHash('sha256').update(password).digest('hex');
const users = ['valkey', 'users', '--api', hash('api'), '--worker', hash('worker'), '--gateway'];

describe('millrace-admin valkey users', () => {
  it('prints a user for each role with all of its passwords, and no default user', async () => {
    const two = `${hash('gateway')}, ${hash('next').toUpperCase()}`;
    const { code, out } = await admin([...users, two, '--all', hash('all')]);
    expect(code).toBe(exitCodes.ok);
    const lines = out.split('\n');
    expect(lines[0]).toBe('user default off resetchannels -@all');
    expect(lines[3]).toContain(`user millrace-gateway on #${hash('gateway')} #${hash('next')} resetchannels`);
    expect(lines[4]).toBe(`user all on #${hash('all')} ~* &* +@all`);
    expect(lines).toHaveLength(6);
  });

  it('gives apis only rate limits', async () => {
    const { out } = await admin(['valkey', 'users', '--json'], { MILLRACE_NATS_PREFIX: 'staging' });
    const rules = JSON.parse(out) as Record<string, string>;
    expect(rules['api']).toBe(
      'resetchannels -@all +client|setinfo +ping (-@all +eval +evalsha +mget +set +time ~limit:*)',
    );
    expect(rules['worker']).toContain('(-@all +get +set ~restore-mark:staging:*)');
  });

  it.each([
    ['a missing role', ['valkey', 'users', '--api', hash('api')], /--worker is missing/],
    ['a password', [...users, 'hunter2'], /--gateway takes SHA-256 hashes of passwords/],
  ])('refuses %s without printing it', async (_what, words, problem) => {
    const { code, out, err } = await admin(words);
    expect([code, out]).toEqual([exitCodes.usage, '']);
    expect(err).toMatch(problem);
    expect(err).not.toContain('hunter2');
  });
});
