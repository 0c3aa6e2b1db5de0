import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createHealthReader } from '@millrace/core/operator-health';
import { createStatusMonitor, type PublicStatus } from '@millrace/core/public-status';
import { systemClock } from '@millrace/platform/clock';
import { createDb } from '@millrace/platform/db';
import { createHealthHandler, createLifecycle, startHealthServer } from '@millrace/platform/lifecycle';
import { createLogger } from '@millrace/platform/log';
import { connectNats } from '@millrace/platform/nats';
import { readEndpoints } from '@millrace/services';
import {
  callServer,
  createRouteServer,
  createTestDatabase,
  freePorts,
  insertFleet,
  natsAccess,
  startTcpProxy,
  testIds,
} from '@millrace/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { serveStatusPage } from './status-page.ts';

/** The public status of an api and a gateway while PostgreSQL, NATS or clusters fail. Waits are skipped by the test's clock. */

const log = createLogger({ name: 'status', level: 'silent' });
let skippedMs = 0;
const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skippedMs };
const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

const version = '9.8.7-planted';
const token = 'planted-token-of-health';
const internalNames = [
  version,
  token,
  'planted-cluster',
  'planted-node',
  'planted-reason',
  'planted-summary',
  '10.66.0.',
  'gateway 7',
];

const database = await createTestDatabase();
closers.push(() => database.drop());
const [natsUrl = ''] = readEndpoints().natsUrls;
const [postgres, nats] = [await startTcpProxy(database.url), await startTcpProxy(natsUrl)];
closers.push(
  () => postgres.close(),
  () => nats.close(),
);
const db = createDb({ url: postgres.rewrite(database.url), poolSize: 4, ids: testIds, log });
closers.push(() => db.close());

async function startGateway(): Promise<{ readonly name: string; readonly url: string }> {
  const client = await connectNats({
    ...natsAccess(),
    servers: [nats.rewrite(natsUrl)],
    name: 'status',
    log,
  });
  const lifecycle = createLifecycle({ clock, log, drainDeadlineMs: 1_000 });
  lifecycle.addCheck({ name: 'nats', required: true, timeoutMs: 1_000, check: () => client.ping() });
  lifecycle.started();
  const [port = 0] = await freePorts(1);
  const handle = createHealthHandler({ lifecycle, build: { version, commit: null }, token });
  const server = await startHealthServer({ host: '127.0.0.1', port }, handle);
  closers.push(
    () => client.close(),
    () => server.close(),
  );
  return { name: 'gateway 7', url: `http://127.0.0.1:${port}` };
}

const folder = await mkdtemp(path.join(tmpdir(), 'status-'));
closers.push(() => rm(folder, { recursive: true }));
const noticeFile = path.join(folder, 'status.txt');

const lifecycle = createLifecycle({ clock, log, drainDeadlineMs: 1_000 });
lifecycle.addCheck({ name: 'postgres', required: true, timeoutMs: 1_000, check: () => db.ping() });
lifecycle.started();
const build = { version, commit: null };
const health = createHealthReader({
  db,
  clock,
  log,
  lifecycle,
  build,
  processes: [await startGateway()],
  token,
});
const status = createStatusMonitor({ health, db, clock, log, noticeFile });
const server = createRouteServer({ db, log, authenticate: async () => Promise.reject(new Error('no keys')) });
serveStatusPage(server, { status, name: 'Mill & Sons', hasConsole: true });
closers.push(() => server.close());

async function read(): Promise<{ readonly html: string; readonly json: PublicStatus }> {
  const page = await callServer(server, { method: 'GET', path: '/status' });
  const data = await callServer(server, { method: 'GET', path: '/status.json' });
  expect([page.status, data.status]).toEqual([200, 200]);
  for (const name of internalNames) expect(page.text + data.text).not.toContain(name);
  return { html: page.text, json: data.json as PublicStatus };
}

/** Two checks that are far enough apart to confirm an incident. */
async function checkTwice(): Promise<void> {
  for (let nth = 0; nth < 2; nth += 1) {
    skippedMs += 20_000;
    await status.check();
  }
}

const titlesOf = ({ incidents }: PublicStatus): readonly string[] => incidents.map(({ title }) => title);
const statesOf = ({ components }: PublicStatus): Record<string, string> =>
  Object.fromEntries(components.map((each) => [`${each.component} ${each.region ?? ''}`.trim(), each.state]));

beforeAll(async () => {
  expect((await read()).json.state).toBe('unknown');
  for (const region of ['north', 'south']) await insertFleet(database.db, { nodes: 1, region });
  await database.query(
    `update clusters set name = 'planted-cluster-' || region, endpoint = 'https://10.66.0.9:8443'`,
  );
  await database.query(`update nodes set name = 'planted-node-' || id::text, address = '10.66.0.8'`);
  await database.query(`
    with announced as (
      insert into maintenance_windows (id, summary, status, drains_at, starts_at, ends_at, created_at)
      values (gen_random_uuid(), 'planted-summary', 'announced', now(), now() + interval '2 hours', now() + interval '3 hours', now())
      returning id)
    insert into maintenance_nodes (window_id, node_id)
    select announced.id, node.id from announced, nodes as node join clusters on clusters.id = node.cluster_id
     where clusters.region = 'north'`);
});
beforeEach(checkTwice);

it('shows every service as operational, regions and planned maintenance, without a key', async () => {
  const { html, json } = await read();
  expect(json).toMatchObject({ state: 'operational', incidents: [], notice: null });
  expect(json.completeCheckAt).toBe(json.checkedAt);
  expect(Object.keys(statesOf(json))).toEqual([
    'api',
    'inference',
    'rentals north',
    'rentals south',
    'volumes',
    'billing',
  ]);
  expect(json.maintenance).toEqual([expect.objectContaining({ regions: ['north'], inProgress: false })]);
  expect(html).toContain('<h1>Status of Mill &amp; Sons</h1>');
  expect(html).toContain('All services work');
});

it('answers from memory while PostgreSQL is down, with the time of the last complete check', async () => {
  const before = (await read()).json;
  postgres.cut();
  skippedMs += 20_000;
  await status.check();
  expect(titlesOf((await read()).json)).toEqual([]);
  await checkTwice();
  const { html, json } = await read();
  expect(titlesOf(json)).toEqual(['The API and the console are not available']);
  expect(statesOf(json)).toMatchObject({ api: 'outage', 'rentals south': 'degraded' });
  expect(json.maintenance).toEqual(before.maintenance);
  expect(json.completeCheckAt).toBe(before.completeCheckAt);
  expect(Date.parse(json.checkedAt ?? '')).toBeGreaterThan(Date.parse(json.completeCheckAt ?? ''));
  expect(html).toContain('The last complete check was at');
  postgres.heal();
  await expect
    .poll(async () =>
      db.ping().then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  await checkTwice();
  expect((await read()).json.state).toBe('operational');
});

it('shows an outage of NATS and of the clusters of a region in words for tenants', async () => {
  nats.cut();
  await database.query(
    `update clusters set status = 'silent', status_reason = 'planted-reason' where region = 'south'`,
  );
  await checkTwice();
  const { html, json } = await read();
  expect(titlesOf(json)).toEqual(['Inference is not available', 'Rentals in south cannot be changed']);
  expect(statesOf(json)).toMatchObject({
    ...{ api: 'operational', inference: 'outage', 'rentals north': 'operational', 'rentals south': 'outage' },
  });
  expect(html).toContain('Some services are not available');
  nats.heal();
  await database.query(`update clusters set status = 'connected' where region = 'south'`);
  await expect
    .poll(async () => {
      await checkTwice();
      return titlesOf((await read()).json);
    })
    .toEqual([]);
});

it('shows the text of the operator while its file exists', async () => {
  await writeFile(noticeFile, 'We replace <b>switches</b>.\n\nMachines continue.\n');
  await status.check();
  const { html, json } = await read();
  expect(json.notice).toBe('We replace <b>switches</b>.\n\nMachines continue.');
  expect(html).toContain('<p>We replace &lt;b&gt;switches&lt;/b&gt;.</p><p>Machines continue.</p>');
  await rm(noticeFile);
  await status.check();
  expect((await read()).json.notice).toBeNull();
});

it('says that the status is not known after checks have stopped', async () => {
  skippedMs += 300_000;
  const { html, json } = await read();
  expect(json.state).toBe('unknown');
  expect(html).toContain('The checks have stopped.');
});

it('sends a policy that allows only its own style, and no script', async () => {
  const { headers, text } = await callServer(server, { method: 'GET', path: '/status' });
  expect(headers['content-security-policy']).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  );
  expect(headers['cache-control']).toBe('public, max-age=10');
  expect(text).not.toMatch(/<script|style="|onclick/);
});
