import { parseKey } from '@millrace/core/identity';
import { createTestDatabase } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { exitCodes, runAdmin } from './app.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());

async function run(
  words: readonly string[],
  env: Record<string, string> = { MILLRACE_POSTGRES_URL: database.url },
) {
  let [out, err] = ['', ''];
  const io = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  return { code: await runAdmin(words, io, env), out, err };
}

async function rows(text: string): Promise<Record<string, unknown>[]> {
  return (await database.query(text)).rows;
}

const ada = ['--email', 'Ada@Example.com', '--name', 'Ada', '--organisation', 'Example Ltd'];

describe('millrace-admin', () => {
  it('bootstrap succeeds once, also when run twice concurrently, and says what to do the second time', async () => {
    const both = await Promise.all([
      run(['bootstrap', ...ada, '--json']),
      run(['bootstrap', ...ada, '--json']),
    ]);
    expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([exitCodes.ok, exitCodes.refused]);
    const won = both.find(({ code }) => code === exitCodes.ok);
    const made = JSON.parse(won?.out ?? '') as { key: string; slug: string; email: string };
    expect(made).toMatchObject({ slug: 'example-ltd', email: 'ada@example.com' });
    expect(parseKey(made.key)?.mode).toBe('live');

    const again = await run(['bootstrap', ...ada]);
    expect(again).toMatchObject({ code: exitCodes.refused, out: '' });
    expect(again.err).toContain('millrace-admin key create');
    expect(await rows('select role from platform_roles')).toEqual([{ role: 'operator' }]);
    expect(await rows(`select count(*)::int as n from audit_log where actor_id = 'millrace-admin'`)).toEqual([
      { n: 3 },
    ]);
  });

  it('user add adds members, and key create works only for members', async () => {
    await run(['organisation', 'add', '--organisation', 'Second', '--email', 'eve@example.com']);
    const added = await run([
      'user',
      'add',
      '--email',
      'bob@example.com',
      '--organisation',
      'second',
      '--role',
      'viewer',
    ]);
    expect(added).toMatchObject({ code: exitCodes.ok, out: 'bob@example.com is viewer of second.\n' });
    const key = ['key', 'create', '--organisation', 'second', '--mode', 'test', '--email'];
    const made = await run([...key, 'bob@example.com']);
    expect(made.code).toBe(exitCodes.ok);
    expect(made.out).toMatch(/mr_test_\w{12}_\w{38}/);
    const outsider = await run([...key, 'nobody@example.com']);
    expect(outsider).toMatchObject({ code: exitCodes.refused });
    expect(await rows(`select 1 from users where email = 'nobody@example.com'`)).toEqual([]);
  });

  it('user password sets a password, ends all sessions and writes to the audit log', async () => {
    const before = await rows(`select id from users where email = 'bob@example.com'`);
    const id = String(before[0]?.['id']);
    const token = 'a'.repeat(64);
    await rows(
      `insert into sessions (id, user_id, token, expires_at) values ('${id}', '${id}', '${token}', now())`,
    );
    const given = await run(['user', 'password', '--email', 'Bob@example.com']);
    expect(given.code).toBe(exitCodes.ok);
    const [, password = ''] = /\n {2}(\S{20})\n/.exec(given.out) ?? [];
    expect(password).not.toBe('');
    const [account] = await rows(`select password from accounts where user_id = '${id}'`);
    expect(String(account?.['password'])).toMatch(/^[0-9a-f]{32}:[0-9a-f]{128}$/);
    expect(await rows('select id from sessions')).toEqual([]);
    expect(await rows(`select email_verified from users where id = '${id}'`)).toEqual([
      { email_verified: true },
    ]);
    expect(await rows(`select org_id from audit_log where action = 'user.password_reset'`)).toEqual([
      { org_id: null },
    ]);
    const again = await run(['user', 'password', '--email', 'bob@example.com']);
    expect(again.out).not.toContain(password);
    const missing = await run(['user', 'password', '--email', 'nobody@example.com']);
    expect(missing).toMatchObject({ code: exitCodes.refused, out: '' });
  });

  it('user delete erases only users without organisations', async () => {
    const email = 'gone@example.com';
    const add = ['user', 'add', '--email', email, '--organisation', 'second', '--role', 'viewer'];
    expect((await run(add)).code).toBe(exitCodes.ok);
    await run(['user', 'password', '--email', email]);
    const [user] = await rows(`select id from users where email = '${email}'`);
    const id = String(user?.['id']);
    const member = await run(['user', 'delete', '--email', email]);
    expect(member).toMatchObject({ code: exitCodes.refused, err: expect.stringContaining('second') });
    expect(await rows(`select 1 from accounts where user_id = '${id}'`)).toHaveLength(1);
    await rows(`delete from members where user_id = '${id}'`);
    await rows(`insert into ssh_public_keys (id, org_id, user_id, mode, name, algorithm, public_key, fingerprint, bits, created_at)
                select gen_random_uuid(), id, '${id}', 'live', 'laptop', 'ssh-ed25519', 'ssh-ed25519 AAAA',
                       'SHA256:' || repeat('a', 43), 256, now() from organisations where slug = 'second'`);
    const done = await run(['user', 'delete', '--email', 'Gone@example.com']);
    expect([done.code, done.out]).toEqual([exitCodes.ok, expect.stringContaining('deleted')]);
    expect(await rows(`select name, email from users where id = '${id}'`)).toEqual([
      { name: 'Deleted person', email: `deleted-${id}@deleted.invalid` },
    ]);
    for (const table of ['accounts', 'sessions', 'ssh_public_keys', 'passkeys', 'two_factors']) {
      expect(await rows(`select 1 from ${table} where user_id = '${id}'`), table).toEqual([]);
    }
    expect(await rows(`select 1 from audit_log where action = 'user.deleted'`)).toHaveLength(1);
    expect(await run(['user', 'delete', '--email', email])).toMatchObject({ code: exitCodes.refused });
  });

  it('migrate applies migrations and reports when none is pending', async () => {
    expect(await run(['migrate'])).toMatchObject({
      code: exitCodes.ok,
      out: 'The database is up to date.\n',
    });
  });

  it.each([
    [['key', 'delete'], exitCodes.usage, 'There is no command "key delete"'],
    [['key', 'create', '--organisation', 'x'], exitCodes.usage, '--email is missing'],
    [
      ['user', 'add', '--email', 'x', '--organisation', 'second', '--role', 'viewer'],
      exitCodes.usage,
      'not an email',
    ],
    [
      ['user', 'add', '--email', 'x@y', '--organisation', 'second', '--role', 'king'],
      exitCodes.usage,
      'use owner, admin',
    ],
    [
      ['user', 'add', '--email', 'x@y', '--organisation', 'nowhere', '--role', 'viewer'],
      exitCodes.refused,
      'no organisation',
    ],
    [['bootstrap', '--emial', 'x'], exitCodes.usage, '--emial'],
  ])('explains wrong usage: %s', async (words, code, message) => {
    const response = await run(words);
    expect(response.err).toContain(message);
    expect(response.code).toBe(code);
  });

  it('distinguishes a missing setting from an unreachable database', async () => {
    expect(await run(['migrate'], {})).toMatchObject({ code: exitCodes.config });
    const away = { MILLRACE_POSTGRES_URL: 'postgres://nobody@127.0.0.1:1/nothing' };
    const refused = await run(['migrate'], away);
    expect(refused.code).toBe(exitCodes.unavailable);
    expect(refused.err).toContain('Check that it is running and that MILLRACE_POSTGRES_URL is correct.');
  });

  it('restore declare works once and blocks work until the restore is confirmed', async () => {
    const declare = ['restore', 'declare', '--reason', 'site lost'];
    expect(await run([...declare, '--last-invoice', 'many'])).toMatchObject({ code: exitCodes.usage });
    expect(await run([...declare, '--restored-to', 'noon'])).toMatchObject({ code: exitCodes.usage });
    const point = ['--restored-to', '2026-01-02T03:12:00Z'];
    const declared = await run([...declare, ...point, '--last-invoice', '4711']);
    expect(declared).toMatchObject({ code: exitCodes.ok, err: '' });
    expect(declared.out).toContain('counts as restored to about 2026-01-02T03:12:00.000Z');
    expect((await run(declare)).out).toContain('already declared');
    expect((await run(['restore', 'status'])).out).toContain('The database was restored to about');
    expect(await run(['restore', 'confirm', '--reason', 'seen'])).toMatchObject({ code: exitCodes.refused });
    const state = `select state, outside->'counters'->>'invoices' as invoices from restore_state`;
    expect(await rows(state)).toEqual([{ state: 'restored', invoices: '4711' }]);
    expect(await rows(`select count(*)::int as n from audit_log where action = 'restore.declared'`)).toEqual([
      { n: 1 },
    ]);
    await rows(`update restore_state set state = 'normal', found_at = null, outside = null`);
  });

  it('audit reports a consistent ledger, and exits with 1 and the finding otherwise', async () => {
    const sound = await run(['audit', '--full']);
    expect(sound).toMatchObject({ code: exitCodes.ok, err: '' });
    expect(sound.out).toContain('No drift found');
    expect((await run(['audit'])).out).toContain('Incremental audit since');

    const account = `(select id from ledger_accounts where kind = 'shortfall' order by id limit 1)`;
    await rows(`update ledger_accounts set balance_nano_usd = 5 where id = ${account}`);
    const drifted = await run(['audit']);
    expect(drifted.code).toBe(exitCodes.refused);
    expect(drifted.out).toMatch(/account lac_\w+: Its balance is 5 nano-USD, but its entries sum to 0\./);
    expect(drifted.err).toContain('docs/runbooks/auditor.md');
    const report = JSON.parse((await run(['audit', '--json'])).out) as { outcomes: { found: number }[] };
    expect(report.outcomes.filter(({ found }) => found > 0)).toHaveLength(1);
    await rows(`update ledger_accounts set balance_nano_usd = 0 where id = ${account}`);

    expect((await run(['audit', '--org', 'second'])).out).toContain('Audit of organisation org_');
    expect(await run(['audit', '--org', 'nobody'])).toMatchObject({ code: exitCodes.refused });
    expect(await run(['audit', '--full', '--org', 'second'])).toMatchObject({ code: exitCodes.usage });
  });
});
