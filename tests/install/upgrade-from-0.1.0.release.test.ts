import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  openGuideMachine,
  readGuide,
  SLOW_MS,
  startLlama,
  waitUntilReady,
  type GuideMachine,
} from './guide-machine.ts';

// Restores the database of an installation of 0.1.0 and follows the guide. The tests are in the order of the guide, and each continues
// where the one before it ended.

const fixture = path.join(import.meta.dirname, 'installation-0.1.0');
const keys = parseEnv(readFileSync(path.join(fixture, 'keys.env'), 'utf8'));
const install = readGuide('install.md');
const guide = readGuide('upgrade-from-0.1.0.md');
const follow = (heading: string): Promise<string> => guide.follow(machine, heading);

let machine: GuideMachine;

beforeAll(async () => {
  machine = await openGuideMachine();
  await install.follow(machine, '1. Engines');
  await install.follow(machine, '2. Millrace');
  await restoreOldInstallation();
});
afterAll(() => machine[Symbol.asyncDispose]());

/** For one of the rentals that were starting, the workers stopped a moment ago. For the other one, its time limit has passed. */
const asIfStoppedNow =
  "update rentals set task_deadline_at = now() + interval '10 minutes', deadline_at = now() + interval '15 minutes' where name = 'starting'";

/** As after step 2 of the guide: the old database on this machine, with one login, and the settings. */
async function restoreOldInstallation(): Promise<void> {
  copyFileSync(path.join(fixture, 'database.sql.gz'), path.join(machine.shared, 'database.sql.gz'));
  const settings = readFileSync(path.join(fixture, 'settings.env'), 'utf8');
  const url = 'MILLRACE_POSTGRES_URL=postgres://millrace:old@127.0.0.1:5432/millrace';
  writeFileSync(path.join(machine.shared, 'settings'), settings.replace(/^MILLRACE_POSTGRES_URL=.*/m, url));
  await machine.must(`
    install -m 600 settings /root/millrace-0.1.0.env
    run() { runuser -u postgres -- psql -q -v ON_ERROR_STOP=1 "$@"; }
    run -c "create role millrace login createrole password 'old'" -c 'create role millrace_app' -c 'create database millrace owner millrace'
    zcat database.sql.gz | run -d millrace
    run -d millrace -c "${asIfStoppedNow}"`);
}

const readDatabase = (database: string, query: string): Promise<string> =>
  machine.must(`runuser -u postgres -- psql -Atd ${database} -c "${query}"`);

/** Runs the client with a key that 0.1.0 created, through the public address. */
const client = (key: string, words: string): Promise<string> =>
  machine.must(
    `MILLRACE_API_URL=https://cloud.example.com MILLRACE_API_KEY=${keys[key] ?? ''} millrace ${words}`,
  );

async function statusesOf(key: string, kind: 'rental' | 'volume'): Promise<Record<string, string>> {
  const items = JSON.parse(await client(key, `${kind} list --json`)) as {
    readonly name: string | null;
    readonly label: string | null;
    readonly status: string;
  }[];
  return Object.fromEntries(items.map(({ name, label, status }) => [label ?? name ?? '', status]));
}

test('3 to 6: the database of 0.1.0 is migrated, with its secrets and settings', async () => {
  const init = guide.commandsOf('5. Configuration and migration').join('');
  expect((await machine.run(init)).stderr).toContain('belongs to the login millrace');
  await follow('3. Copy the database');
  await follow('4. Secrets');
  const printed = await follow('5. Configuration and migration');
  expect(printed).toMatch(/The database is up to date after \d+ migration/);
  expect(printed).toContain('The installation has an operator, so none was created.');
  expect(await machine.must('cat /etc/millrace/worker.env /etc/millrace/millrace.env')).toMatch(
    /MILLRACE_SEALING_KEY_ACTIVE=2026-09[^]*MILLRACE_CELL=3/,
  );
  const appended = await follow('6. Other settings');
  expect(appended.split('\n').map((line) => line.split('=')[0])).toEqual([
    'MILLRACE_INVOICE_ISSUER',
    'MILLRACE_RATE_LIMIT_DEFAULT_RPM',
    'MILLRACE_PROVIDERS',
    '',
  ]);
});

test('7: everything starts, doctor finds nothing, and the ledger is correct', async () => {
  const [start = '', check = ''] = guide.commandsOf('7. Start and check');
  await machine.must(start);
  await waitUntilReady(machine);
  // On a slow machine, some service is still starting.
  const run = async (): Promise<string> => {
    const { code, stdout, stderr } = await machine.run(check);
    return code === 0 ? 'nothing' : stdout + stderr;
  };
  await expect.poll(run, { timeout: SLOW_MS }).toBe('nothing');
});

test('balances and records are those of 0.1.0', async () => {
  const balances =
    "select slug, kind, mode, balance_nano_usd, held_nano_usd from ledger_accounts join organisations o on o.id = org_id where kind = 'credit' order by 1, 2, 3";
  const before = await readDatabase('millrace_0_1_0', balances);
  expect(before).toContain('tenant|credit|live|24999983600|0');
  expect(await readDatabase('millrace', balances)).toBe(before);
  const tables =
    'organisations users members api_keys ssh_public_keys ledger_transfers ledger_entries rentals volumes webhooks prices inference_requests nodes gpus';
  for (const table of tables.split(' ')) {
    const query = `select count(*) from ${table}`;
    expect(await readDatabase('millrace', query), table).toBe(await readDatabase('millrace_0_1_0', query));
  }
  const ledger = "select md5(string_agg(t::text, ';' order by t::text)) from ledger_entries t";
  expect(await readDatabase('millrace', ledger)).toBe(await readDatabase('millrace_0_1_0', ledger));
});

test('all tables and default privileges belong to the owner', async () => {
  const owners =
    "select distinct tableowner from pg_tables where schemaname = 'public' union all select distinct defaclrole::regrole::name from pg_default_acl";
  expect(await readDatabase('millrace', owners)).toBe('millrace_owner\nmillrace_owner\n');
});

test('old keys are accepted, and running rentals and volumes still run', async () => {
  expect(await client('OPERATOR_KEY', 'admin org list')).toContain('Tenant');
  expect(await statusesOf('LIVE_KEY', 'rental')).toEqual({ contract: 'Running' });
  expect(await statusesOf('TEST_KEY', 'rental')).toMatchObject({ runs: 'Running' });
  expect(await statusesOf('TEST_KEY', 'volume')).toEqual({ data: 'active' });
});

test('rentals in progress continue without the state of the old Restate', async () => {
  const transitions =
    "select name, string_agg(to_status, ' ' order by seq) from rental_transitions join rentals r on r.id = rental_id where name in ('starting', 'late', 'ending') group by 1 order by 1";
  const expected = [
    'ending|Pending Running Terminating Terminated',
    'late|Pending Failed Terminated',
    'starting|Pending Running',
  ];
  await expect
    .poll(() => readDatabase('millrace', transitions), { timeout: SLOW_MS })
    .toBe(`${expected.join('\n')}\n`);
});

test('an engine gets the API key that 0.1.0 sealed, and the chat is charged', async () => {
  const port = Number(new URL(keys['ENGINE_ADDRESS'] ?? '').port);
  await startLlama(machine, { port, flags: ['--api-key', keys['ENGINE_KEY'] ?? ''] });
  const chat = (): Promise<string> =>
    client('LIVE_KEY', 'chat --model tiny --max-tokens 20 "Tell me of the mill."');
  await expect.poll(() => chat().catch(String), { timeout: SLOW_MS }).toContain('toy model');
  await expect.poll(() => client('LIVE_KEY', 'balance')).toMatch(/24\.9999[0-7]/);
});

test('a new rental of a test key works', async () => {
  await machine.must("ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519");
  await client('TEST_KEY', 'ssh-key add ~/.ssh/id_ed25519.pub --name machine');
  expect(await client('TEST_KEY', 'rental create --gpu h100 --name new --yes')).toContain('(new) is running');
  expect(await client('TEST_KEY', 'ssh new -- hostname')).not.toBe('');
  expect(await client('TEST_KEY', 'rental terminate new --yes')).toContain('Terminated rental');
});
