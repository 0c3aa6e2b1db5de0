import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newReadinessKey } from '@millrace/compute/readiness';
import { seedOrganisation } from '@millrace/core/fixture';
import {
  createTestDatabase,
  eventually,
  insertFleet,
  startApiProcess,
  startWorkerProcess,
  testIds,
  testNames,
  type TestDatabase,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli, type RunOptions } from '../../apps/cli/src/fixture.ts';
import { auditAndDrop } from '../stack/ledger-audit.ts';
import { MOCK_REGION, mockProviders } from '../stack/mock-stack.ts';
import { openTerminal, type Terminal } from './terminal.ts';

/** The CLI against real processes, in a terminal and as single commands. */

const names = testNames();
const region = MOCK_REGION;
const root = join(import.meta.dirname, '../..');
let harness: Awaited<ReturnType<typeof startHarness>>;

async function startHarness() {
  const database: TestDatabase = await createTestDatabase();
  const env = { MILLRACE_PROVIDERS: JSON.stringify(mockProviders()) };
  const [api, worker] = await Promise.all([
    startApiProcess({ database, names, env }),
    startWorkerProcess({ database, names, env }),
  ]);
  const organisation = await seedOrganisation(database.db);
  const { key } = await organisation.ownerKey('test');
  return { database, api, worker, key, liveKey: organisation.owner.key, home: makeHome() };
}

/** A home folder with an SSH key and without a CLI profile. */
function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'millrace-home-'));
  mkdirSync(join(home, '.ssh'), { mode: 0o700 });
  mkdirSync(join(home, 'bin'));
  const { privateKey, publicKey } = newReadinessKey();
  writeFileSync(join(home, '.ssh/id_ed25519'), privateKey, { mode: 0o600 });
  writeFileSync(
    join(home, '.ssh/id_ed25519.pub'),
    `${publicKey} me@laptop
`,
  );
  const program = `#!/bin/sh\nexec '${process.execPath}' --disable-warning=ExperimentalWarning '${root}/apps/cli/src/main.ts' "$@"\n`;
  writeFileSync(join(home, 'bin/millrace'), program);
  chmodSync(join(home, 'bin/millrace'), 0o755);
  return home;
}

beforeAll(async () => {
  harness = await startHarness();
  await eventually({ what: 'the mock fleet to have offers' }, async () => {
    const { json } = await run(['offers', '--json']);
    return json().length > 0;
  });
});

afterAll(async () => {
  await harness.worker.stop();
  await harness.api.stop();
  await auditAndDrop(harness.database);
  rmSync(harness.home, { recursive: true });
});

function run(args: readonly string[], options: RunOptions = {}) {
  const { api, key: apiKey } = harness;
  const now = new Date().toISOString();
  return runCli(args, { fetch: globalThis.fetch, apiUrl: api.url, apiKey, now, ...options });
}

async function succeed(args: readonly string[], options: RunOptions = {}) {
  const result = await run(args, options);
  expect(result, result.stderr).toMatchObject({ code: 0 });
  return result;
}

describe('CLI in a terminal', () => {
  let terminal: Terminal;
  beforeAll(async () => {
    terminal = await openTerminal({
      folder: harness.home,
      env: {
        HOME: harness.home,
        PATH: `${harness.home}/bin:/usr/local/bin:/usr/bin:/bin`,
        NODE_COMPILE_CACHE: join(root, '.millrace/compile-cache'),
      },
    });
  });
  afterAll(() => terminal.close());

  test('logs in, rents a machine, opens SSH on it and terminates it with a receipt', async () => {
    const anonymous = await terminal.run('millrace rental list');
    expect(anonymous.exitCode).toBe(4);
    expect(anonymous.screen).toContain('Try: millrace login');

    await terminal.clear();
    await terminal.enter(`millrace login --with-key --api-url ${harness.api.url}`);
    await terminal.shows(/API key \(not shown/);
    await terminal.enter(harness.key);
    const loggedIn = await terminal.shows('Logged in as');
    expect(loggedIn).not.toContain(harness.key);

    const added = await terminal.run('millrace ssh-key add');
    expect(added).toMatchObject({ exitCode: 0 });

    const offers = await terminal.run('millrace offers --gpu h100 --limit 3');
    expect(offers.screen).toMatch(/GPUS +REGION +TYPE/);
    expect(offers.screen).toMatch(/1 × h100 +mock-region +virtual-machine/);
    expect(offers.screen).toMatch(/Showing 3 of \d+ offers\. All offers: millrace offers --limit \d+/);

    await terminal.clear();
    await terminal.enter('millrace rental create --gpu h100 --count 2 --name train');
    const prompt = await terminal.shows('Create it? [y/N]');
    expect(prompt).toContain('train: 2 × H100, virtual machine in mock-region');
    expect(prompt).toMatch(/price +\$0\.00\/h, billed per second from the readiness check/);
    expect(prompt).toMatch(/held now +\$0\.00/);
    await terminal.enter('y');
    await terminal.shows(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] \w+ .*\(usually /);
    const running = await terminal.shows(
      /Rental \d+ \(train\) is running\. Log in: millrace ssh train/,
      30_000,
    );
    // Redraws must leave each step on the screen once.
    for (const step of ['place', 'create', 'prove', 'open']) {
      expect(running.match(new RegExp(`✓ ${step} +[0-9.]+ s  `, 'g')), running).toHaveLength(1);
    }

    await terminal.clear();
    // OpenSSH takes the home folder from the system, not from HOME.
    await terminal.enter('millrace ssh train --identity .ssh/id_ed25519');
    await terminal.shows(/^\$/m);
    await terminal.enter('nvidia-smi -L');
    const inside = await terminal.shows(/GPU 1: .*H100/);
    expect(inside).not.toContain('GPU 2');
    expect(inside).not.toMatch(/authenticity|continue connecting/);
    await terminal.enter('exit');
    await terminal.shows(/^here>$/m);
    const status = await terminal.run('millrace ssh train --identity .ssh/id_ed25519 -- false');
    expect(status.exitCode).toBe(1);

    await terminal.clear();
    await terminal.enter('millrace rental terminate train --wait');
    await terminal.shows(
      /Terminate rental \d+ \(train, 2 × h100 in mock-region\)\? All data on its disk is lost\. \[y\/N\]/,
    );
    await terminal.enter('y');
    const receipt = await terminal.shows(/Terminated rental .* It cost/, 30_000);
    expect(receipt).toMatch(/✓ release/);
    expect(receipt).toMatch(/Terminated rental \d+ \(train\)\. It cost \$0\.00\. Billing stopped at 20/);
  });

  test('prints what failed, why and what to do, with the matching exit code', async () => {
    const wrong = await terminal.run('MILLRACE_API_KEY=mr_test_wrong millrace rental list');
    expect(wrong).toMatchObject({ exitCode: 4 });
    const unknown = await terminal.run('millrace rental get nowhere');
    expect(unknown).toMatchObject({ exitCode: 5 });
    expect(unknown.screen).toMatch(
      /Error: There is no rental "nowhere"\.\n +Why: .*\n +Try: .*millrace rental list/,
    );
    const mistyped = await terminal.run('millrace rental create --cuont 2');
    expect(mistyped).toMatchObject({ exitCode: 3 });
    const full = await terminal.run('millrace rental create --count 64 --region mock-region --yes');
    expect(full).toMatchObject({ exitCode: 7 });
    expect(full.screen).toMatch(/Try: .*millrace rental create --gpu h100 --count \d/);

    await insertFleet(harness.database.db, { nodes: 1, provider: 'provider-v1', region: 'us-central-1' });
    await harness.database.query(
      `insert into prices (id, subject_kind, gpu_type, machine_type, unit, price_nano_usd, valid_from, created_at)
       values ($1, 'gpu', 'h100', 'virtual-machine', 'gpu_hour', 2000000000, now(), now())`,
      [testIds.nextUuid()],
    );
    // Offers are cached for a moment.
    await eventually({ what: 'the new machine to be on offer' }, async () => {
      const { json } = await run(['offers', '--json'], { apiKey: harness.liveKey });
      return json().length > 0;
    });
    const poor = await terminal.run(`MILLRACE_API_KEY=${harness.liveKey} millrace rental create --yes`);
    expect(poor, poor.screen).toMatchObject({ exitCode: 6 });
    expect(poor.screen).toContain('Why: $2.50 must be available to start.');
  });

  test('stops watching with Ctrl-C, prints how to continue, and leaves the rental running', async () => {
    await terminal.clear();
    const slow = '--tag millrace.fault=slow-boot --tag millrace.fault.after_ms=60000';
    await terminal.enter(`millrace rental create --name slow ${slow} --yes; echo "ended with $?"`);
    await terminal.shows(
      /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] prove +[0-9.]+ s  log in and count its GPUs \(usually 1 s to 1 min\)/,
      20_000,
    );
    await terminal.press('C-c');
    const stopped = await terminal.shows(/^ended with \d+$/m);
    expect(stopped).toMatch(/Stopped watching\. Rental (\d+) is still starting/);
    expect(stopped).toMatch(/Watch again: millrace rental wait \d+/);
    expect(stopped).toMatch(/Terminate: +millrace rental terminate \d+/);
    expect(stopped).toMatch(/^ended with 2$/m);
    const { json } = await succeed(['rental', 'get', 'slow', '--json']);
    expect(json()).toMatchObject({ status: 'Pending', name: 'slow' });
    await succeed(['rental', 'terminate', 'slow', '--yes']);
  });

  test('never prints a stack trace', () => {
    expect(terminal.seen()).not.toMatch(/^\s+at .*:\d+/m);
    expect(terminal.seen()).not.toMatch(/undefined|NaN|\[object /);
  });
});

// The tests mostly wait, so they run concurrently.
describe.concurrent('single commands', () => {
  const publicKey = (): string => readFileSync(join(harness.home, '.ssh/id_ed25519.pub'), 'utf8');
  beforeAll(async () => {
    // Needed when a test of this block runs alone.
    await run(['ssh-key', 'add', '/key.pub', '--yes'], { files: { '/key.pub': publicKey() } });
  });

  // Mock machines take seconds to boot by default.
  const quickly = ['--tag', 'millrace.fault=slow-boot', '--tag', 'millrace.fault.after_ms=200'];

  test('quote and offers explain show price and availability before an order', async () => {
    const quote = await succeed(['quote', '--gpu', 'h100', '--count', '2', '--for', '3h']);
    expect(quote.stdout).toMatch(/^2 × H100, virtual machine in mock-region/);
    expect(quote.stdout).toMatch(/for 3 h +\$0\.00/);
    expect((await succeed(['quote', '--json'])).json()).toMatchObject({ available: true, affordable: true });
    const explained = await succeed(['offers', 'explain', '--count', '16', '--region', region]);
    expect(explained.stdout).toContain('is not available now');
    expect(explained.stdout).toMatch(/Instead:\n/);
    await succeed(['offers', 'explain', '--json']);
    expect(await succeed(['reserve', 'list'])).toMatchObject({
      stderr: expect.stringContaining('No reserved terms'),
    });
    const unprompted = await run(['rental', 'create']);
    expect(unprompted).toMatchObject({ code: 3, stdout: '' });
    expect(unprompted.stderr).toMatch(/price +\$0\.00\/h/);
    expect(unprompted.stderr).toContain('--yes');
    const refused = await run(['rental', 'create'], { tty: true, answers: ['n'] });
    expect(refused).toMatchObject({ code: 2, questions: ['Create it? [y/N] '] });
  });

  test('rental commands create, rename, limit, stop, start, inspect and terminate a rental', async () => {
    const made = await succeed([
      'rental',
      'create',
      '--name',
      'first',
      '--ttl',
      '2h',
      '--port',
      '8080',
      ...quickly,
      '--no-wait',
      '--yes',
      '--json',
    ]);
    const { id } = made.json();
    const waited = await succeed(['rental', 'wait', String(id)]);
    expect(waited.stdout).toContain(`Rental ${id} (first) is running.`);
    // Without a terminal, progress is one line per step.
    expect(waited.stderr).toMatch(/^place done after/m);
    expect(waited.stderr).not.toContain('\u001B');

    expect((await succeed(['rental', 'rename', 'first', 'second', '--json'])).json()).toMatchObject({
      name: 'second',
    });
    expect(
      (await succeed(['rental', 'update', 'second', '--max-usd', '5', '--tag', 'team=x', '--json'])).json(),
    ).toMatchObject({ maxUsd: 5, tags: { team: 'x' } });
    expect((await succeed(['rental', 'extend', 'second', '--by', '4h'])).stdout).toContain(
      '(second) ends in about 5 h 59 min',
    );
    const listed = await succeed(['rental', 'list', '--columns', 'id,name,state,price']);
    expect(listed.stdout).toMatch(/second +running +\$0\.00\/h/);
    expect((await succeed(['rental', 'get', 'second'])).stdout).toMatch(/host key +SHA256:/);
    expect((await succeed(['ssh', 'second', '--json'])).json()).toMatchObject({ user: 'ubuntu' });
    expect((await succeed(['logs', 'second'])).stdout).toContain('login:');

    expect((await succeed(['rental', 'stop', 'second', '--release', '--yes'])).stdout).toContain(
      'off, GPUs released',
    );
    const off = await run(['ssh', 'second']);
    expect(off).toMatchObject({ code: 1 });
    expect(off.stderr).toContain(`Try: Start it: millrace rental start ${id}`);
    expect((await succeed(['rental', 'start', 'second'])).stdout).toContain('is running.');
    await succeed(['rental', 'reboot', 'second', '--yes', '--json']);

    expect((await succeed(['cost', 'second'])).stdout).toMatch(/^total \$0\.00$/m);
    await succeed(['cost', 'second', '--json']);
    const receipt = await succeed(['rental', 'terminate', 'second', '--yes', '--json']);
    expect(receipt.json()).toMatchObject({ rentalId: id, finalCost: { nanoUsd: '0' } });
    const events = await succeed(['rental', 'events', String(id), '--json']);
    expect(events.stdout).toContain('"rental.running"');
    await succeed(['rental', 'history', '--json']);
    expect((await succeed(['rental', 'get', 'second'])).stdout).toMatch(/state +terminat/);
  });

  test('offers and quotes show the price of live mode beside the free one', async () => {
    const operator = await seedOrganisation(harness.database.db, { platformRole: 'operator' });
    const price = await fetch(`${harness.api.url}/v2/admin/prices`, {
      method: 'POST',
      headers: { authorization: `Bearer ${operator.owner.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        subject: { kind: 'gpu', gpuType: 'b200', machineType: 'virtual-machine', region: null },
        unit: 'gpu_hour',
        priceNanoUsd: '1990000001',
        validFrom: new Date(0).toISOString(),
        reason: 'a list price',
      }),
    });
    expect(price.status).toBe(201);
    const offers = await succeed(['offers', '--gpu', 'b200', '--count', '1']);
    expect(offers.stdout).toMatch(/\$0\.00\/h +\$1\.990000001\/h/);
    expect(offers.stderr).toContain('Test mode: nothing is charged.');
    const quote = await succeed([
      'quote',
      '--gpu',
      'b200',
      '--count',
      '2',
      '--region',
      region,
      '--for',
      '1h',
    ]);
    expect(quote.stdout).toMatch(/price +\$0\.00\/h \(live \$3\.980000002\/h\)/);
    expect(quote.stdout).toMatch(
      /for 60 min +\$0\.00 \(live \$3\.980000002\)|for 1 h +\$0\.00 \(live \$3\.980000002\)/,
    );
    expect((await succeed(['balance'])).stdout).toMatch(/mode +test/);
  });

  test('market commands find, rent and terminate an instance', async () => {
    const found = await succeed(['market', 'list', '--gpu', 'H200', '--json']);
    const [machine] = found.json();
    expect((await succeed(['market', 'list', '--limit', '1'])).stderr).toContain(
      'Showing one; there are more.',
    );
    const greedy = await run(['market', 'rent', machine.id, '--gpus', '9', '--yes']);
    expect(greedy).toMatchObject({ code: 7 });
    expect(await run(['market', 'rent', 'nod_01JD8Q7XK4T2M9V6B3N5C1F0GH', '--yes'])).toMatchObject({
      code: 5,
    });
    const rented = await succeed(['market', 'rent', machine.id, '--gpus', '2', '--yes', '--json']);
    expect(rented.stderr).toMatch(
      /each +\$0\.00\/h \(live \$1\.50\/h\)\n +price +\$0\.00\/h \(live \$3\.00\/h\)/,
    );
    const { id, sshCommand } = rented.json();
    expect(sshCommand).toMatch(/^ssh /);
    expect((await succeed(['market', 'instances'])).stdout).toMatch(new RegExp(`${id} +online +2 × `));
    const login = await succeed(['ssh', id]);
    expect(login.spawned).toMatchObject([{ program: 'ssh' }]);
    await succeed(['market', 'terminate', id, '--yes', '--json']);
    await succeed(['market', 'history', '--json']);
  });

  test('volume commands create, grow, restore and delete a volume', async () => {
    const made = await succeed([
      'volume',
      'create',
      'data-1',
      '--region',
      region,
      '--size-gb',
      '256',
      '--yes',
      '--json',
    ]);
    expect(made.json()).toMatchObject({ label: 'data-1', status: 'active' });
    await succeed(['volume', 'update', 'data-1', '--size-gb', '512', '--json']);
    const snapshot = await succeed(['volume', 'snapshot', 'create', 'data-1', '--label', 'before', '--json']);
    expect((await succeed(['volume', 'snapshot', 'list', 'data-1'])).stdout).toContain('before');
    const { id } = snapshot.json();
    await eventually({ what: 'a snapshot that is ready', timeoutMs: 30_000 }, async () =>
      (await succeed(['volume', 'snapshot', 'list', 'data-1'])).stdout.includes('ready'),
    );
    const restore = ['volume', 'snapshot', 'restore', 'data-1', id, '--yes'];
    expect(await run(restore)).toMatchObject({ code: 3 });
    const copy = await succeed([...restore, '--label', 'data-old', '--json']);
    expect(copy.json()).toMatchObject({ label: 'data-old', status: 'active', restoring: null });
    expect((await succeed([...restore, '--in-place'])).stdout).toContain('has the content of the snapshot');
    await succeed(['volume', 'delete', 'data-old', '--yes']);
    await succeed(['volume', 'snapshot', 'delete', 'data-1', id, '--yes']);
    expect((await succeed(['volume', 'list'])).stdout).toMatch(/data-1 +active/);
    expect((await succeed(['volume', 'get', 'data-1'])).stderr).toContain('sudo mount -t nfs4');
    expect(await run(['volume', 'attach', 'data-1', 'nothing'])).toMatchObject({ code: 5 });
    expect((await succeed(['volume', 'delete', 'data-1', '--yes'])).stdout).toContain('Deleted volume');
  });
});
