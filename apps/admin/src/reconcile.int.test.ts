import { createMockDriver, createPostgresStore } from '@millrace/compute/mock';
import { applyFleetConfig, listClusters } from '@millrace/core/fleet';
import type { DryRun } from '@millrace/core/rentals';
import { systemClock } from '@millrace/platform/clock';
import { bareMetalRegions } from '@millrace/contract';
import { defaultFleet } from '@millrace/platform/config';
import { createIdSource } from '@millrace/platform/ids';
import { createOrganisation, createTestDatabase } from '@millrace/testing';
import { afterAll, expect, it } from 'vitest';
import { exitCodes, runAdmin } from './app.ts';

const never = new AbortController().signal;
const ids = createIdSource({ clock: systemClock, cell: 1 });
const orphan = ids.nextUuid();

const database = await createTestDatabase();
await applyFleetConfig(database.db, defaultFleet);
const memory = createPostgresStore(database.db, { cluster: 'mock', clock: systemClock });
const driver = createMockDriver({ cluster: 'mock', clock: systemClock, memory, listen: null });
const { nodes } = await driver.readInventory(never);
await driver.create(
  {
    externalId: orphan,
    orgId: await createOrganisation(database.db),
    mode: 'test',
    nodeName: nodes[0]?.name ?? '',
    gpuPciAddresses: [],
    cpuCount: 1,
    ramMb: 1_024,
    diskGb: 10,
    image: 'ubuntu-24.04',
    hostname: 'stray',
    sshKeys: [],
    userData: null,
    ports: [],
    labels: {},
  },
  never,
);
await driver.close();
afterAll(() => database.drop());

async function run(...words: readonly string[]) {
  let [out, err] = ['', ''];
  const io = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  return { code: await runAdmin(words, io, { MILLRACE_POSTGRES_URL: database.url }), out, err };
}

async function count(table: string): Promise<number> {
  const { rows } = await database.query<{ n: number }>(`select count(*)::int as n from ${table}`);
  return rows[0]?.n ?? -1;
}

it('reconcile --dry-run prints the repairs for users and as JSON and changes nothing', async () => {
  const report = await run('reconcile', '--dry-run');
  expect(report).toMatchObject({ code: exitCodes.ok, err: '' });
  expect(report.out).toContain('Nothing was changed.');
  expect(report.out).toMatch(new RegExp(`machine ${orphan} on mock-\\d+, .*: seen for the first time`));
  const { clusters, late } = JSON.parse((await run('reconcile', '--dry-run', '--json')).out) as DryRun;
  expect(clusters).toMatchObject([
    { cluster: 'mock', problem: null, comparedAt: null, machines: 0, repairs: [] },
    { cluster: 'mock-market', problem: null, machines: 0, strays: [] },
    ...bareMetalRegions.map((region) => ({ cluster: `mock-metal-${region}`, problem: null, machines: 0 })),
  ]);
  expect(clusters[0]?.strays).toMatchObject([{ externalId: orphan, plan: 'new' }]);
  expect(late).toEqual([]);
  expect([await count('stray_machines'), await count('cluster_comparisons')]).toEqual([0, 0]);
  expect(await count('mock_machines')).toBe(1);
});

it('reconcile without --dry-run is refused with an explanation', async () => {
  expect(await run('reconcile')).toMatchObject({ code: exitCodes.usage });
  const absent = await run('reconcile', '--dry-run', '--cluster', 'nowhere');
  expect(absent).toMatchObject({ code: exitCodes.refused });
  expect(absent.err).toContain('There is no cluster "nowhere"');
});

it('strays allow records who approved the removal and until when', async () => {
  const allowed = await run('strays', 'allow', '--cluster', 'mock', '--reason', 'leftovers');
  expect(allowed).toMatchObject({ code: exitCodes.ok });
  const [cluster] = await listClusters(database.db, {}, { limit: 1, after: null });
  const { rows } = await database.query(
    `select reap_allowed_until > now() as allowed,
            (select reason from audit_log where action = 'strays.allowed' and resource_id = $1) as reason
       from cluster_comparisons`,
    [cluster?.id],
  );
  expect(rows).toEqual([{ allowed: true, reason: 'leftovers' }]);
  expect(await run('strays', 'allow', '--cluster', 'nowhere', '--reason', 'x')).toMatchObject({
    code: exitCodes.refused,
  });
});
