import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate, migrationsDirectory } from '@millrace/platform/db';
import { readEndpoints } from '@millrace/services';
import { createTestDatabase, engineEnv, startWorkerProcess, testNames } from '@millrace/testing';
import { afterAll, expect, test } from 'vitest';
import { exitCodes, runAdmin } from '../app.ts';
import type { UpgradeStep } from './plan.ts';
import { createUpgradeCommand } from './upgrade.command.ts';

// The findings of `doctor` are a double, because this machine is not an installation. PostgreSQL, Restate and the worker are real.
const database = await createTestDatabase({ isMigrated: false });
const folder = mkdtempSync(join(tmpdir(), 'upgrade-'));
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});
const names = testNames();
const env = engineEnv({ database, names, endpoints: readEndpoints() }, 'worker');

/** The database of a release that had all migrations but the newest. */
const earlier = join(folder, 'migrations');
mkdirSync(earlier);
const files = readdirSync(migrationsDirectory).toSorted();
const newest = files.at(-1) ?? '';
for (const file of files.slice(0, -1)) copyFileSync(join(migrationsDirectory, file), join(earlier, file));
await migrate(database.url, { directory: earlier });

/** The settings of one machine, as `init` writes them. */
const settings = Object.entries(env)
  .map(([name, value]) => `${name}='${value}'\n`)
  .join('');
for (const file of ['millrace.env', 'api.env', 'worker.env', 'gateway.env', 'admin.env'])
  writeFileSync(join(folder, file), file === 'millrace.env' ? settings : '');

async function run(...words: readonly string[]) {
  let [out, err] = ['', ''];
  const io = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  const command = createUpgradeCommand(async () => []);
  const code = await runAdmin(['upgrade', '--folder', folder, '--json', ...words], io, env, [command]);
  const { steps } = JSON.parse(out === '' ? '{"steps":[]}' : out) as { steps: readonly UpgradeStep[] };
  return { code, err, states: steps.map(({ state }) => state), steps };
}

test('upgrade migrates only with --migrate, then waits for the processes, and is repeatable', async () => {
  const before = await run();
  expect(before).toMatchObject({
    code: exitCodes.ok,
    states: ['done', 'next', 'waiting', 'waiting', 'waiting', 'done'],
  });
  expect(before.steps[1]?.lines[0]).toContain(newest.slice(5, -4));
  const migrated = await run('--migrate');
  expect(migrated.err).toBe('');
  expect(migrated.states.slice(0, 3)).toEqual(['done', 'done', 'next']);
  expect((await run('--migrate')).states).toEqual(migrated.states);

  await using worker = await startWorkerProcess({ database, names, env });
  const [, , ofWorker, ofApi] = (await run()).steps;
  expect(ofWorker?.state).toBe('done');
  expect(ofApi).toMatchObject({ state: 'next', lines: [expect.stringContaining('No api is running.')] });
  await worker.stop();
});

test('upgrade refuses a text that is not a version, and shows the way back to a release', async () => {
  expect(await run('--rollback', 'yesterday')).toMatchObject({ code: exitCodes.usage });
  const back = await run('--rollback', '0.2.0');
  expect(back.states).toEqual(['done', 'next', 'waiting', 'waiting']);
});
