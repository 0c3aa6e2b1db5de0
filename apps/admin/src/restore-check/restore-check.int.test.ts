import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { down } from '@millrace/services';
import { createTestDatabase, queryServer, startBackedUpPostgres } from '@millrace/testing';
import { afterAll, expect, it } from 'vitest';
import { exitCodes, runAdmin } from '../app.ts';

const folder = mkdtempSync(join(tmpdir(), 'mr-'));
chmodSync(folder, 0o755);
const postgres = await startBackedUpPostgres(folder);
const database = await createTestDatabase({ postgresUrl: postgres.url });
afterAll(async () => {
  await database.db.close();
  await down([], { stateDir: join(folder, 'postgres'), purge: true });
  rmSync(folder, { recursive: true, force: true });
});

/** The settings of a worker, of which only the sealing keys are read. */
const settings = mkdtempSync(join(tmpdir(), 'mr-settings-'));
afterAll(() => rmSync(settings, { recursive: true }));
const key = Buffer.alloc(32, 7).toString('base64');
writeFileSync(join(settings, 'millrace.env'), '');
writeFileSync(
  join(settings, 'worker.env'),
  `MILLRACE_SEALING_KEYS=k1:${key}\nMILLRACE_SEALING_KEY_ACTIVE=k1\n`,
);

async function admin(...words: readonly string[]) {
  let [out, err] = ['', ''];
  const io = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  return { code: await runAdmin(words, io, { MILLRACE_POSTGRES_URL: database.url }), out, err };
}

async function check(...words: readonly string[]) {
  const { code, out, err } = await admin(
    'restore-check',
    '--config',
    postgres.configFile,
    '--json',
    ...words,
  );
  if (out === '') expect.fail(err);
  const result = JSON.parse(out) as {
    readonly facts: readonly { readonly name: string; readonly text: string }[];
    readonly problems: readonly { readonly id: string }[];
  };
  return {
    code,
    problems: result.problems.map(({ id }) => id),
    facts: Object.fromEntries(result.facts.map(({ name, text }) => [name, text])),
  };
}

const isoOf = (target: string): string => new Date(target).toISOString();

it('restore-check reports every obstacle before a restore with pgBackRest, and the next step after it', async () => {
  const archiveTimeout = 'archive-timeout';
  expect((await check()).problems).toEqual(['backup-missing', archiveTimeout]);
  await queryServer(postgres.url, "alter system set archive_timeout = '60s'");
  await queryServer(postgres.url, 'select pg_reload_conf()');

  const early = await postgres.takeTarget();
  await postgres.backUp();
  const target = await postgres.takeTarget();
  await queryServer(database.url, 'create table later as select 1 as one');
  expect(await check('--target', isoOf(target))).toMatchObject({ problems: ['target-not-archived'] });
  await postgres.archiveAll();
  expect(await check('--target', isoOf(early))).toMatchObject({ problems: ['target-too-early'] });
  expect(await check('--target', '2126-01-01T00:00:00Z')).toMatchObject({ problems: ['target-in-future'] });
  const good = await check('--target', isoOf(target));
  expect(good).toMatchObject({ code: exitCodes.ok, problems: [] });
  expect(good.facts['lost after it']).toContain('0 ledger transfers, 0 charged requests');

  await queryServer(postgres.url, `alter system set archive_command = 'false'`);
  await queryServer(postgres.url, 'select pg_reload_conf()');
  await queryServer(postgres.url, 'create table more as select 1 as one');
  await queryServer(postgres.url, 'select pg_switch_wal()');
  await expect.poll(async () => (await check()).problems, { timeout: 60_000 }).toEqual(['archive-failing']);

  await postgres.lose();
  const lost = await check('--target', isoOf(target));
  expect(lost).toMatchObject({ code: exitCodes.ok, problems: [] });
  expect(lost.facts['newest WAL']).toContain('PostgreSQL does not respond');
  await postgres.restore(target);
  const restored = await check('--restored', '--folder', settings);
  expect(restored).toMatchObject({
    problems: ['restore-undetected'],
    facts: { server: 'accepts writes, timeline 2' },
  });
  await admin('restore', 'declare', '--reason', 'the test');
  expect((await check('--restored', '--folder', join(settings, 'absent'))).problems).toEqual([
    'sealing-keys-unread',
    'restore-unreported',
  ]);
});

it('restore-check refuses a target without a time zone', async () => {
  expect(await admin('restore-check', '--target', '2026-11-16 03:12')).toMatchObject({
    code: exitCodes.usage,
  });
});
