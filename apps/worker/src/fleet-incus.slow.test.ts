import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { down, ensureUp, killNode, type IncusClusterEndpoints } from '@millrace/services';
import {
  createTestDatabase,
  eventually,
  startWorkerProcess,
  testNames,
  type TestDatabase,
} from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

// A cluster of three real Incus daemons with simulated GPUs, owned by this file because it kills one.

const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
const place = { stateDir: path.join(folder, 's'), portBase: 'auto', topology: 'cluster' } as const;
/** Incus notices a lost member after 20 s, and the machine has two cores. */
const within = { timeoutMs: 90_000 };

let database: TestDatabase;
let incus: IncusClusterEndpoints;

beforeAll(async () => {
  chmodSync(folder, 0o755);
  database = await createTestDatabase();
  const { incusCluster } = await ensureUp(['incus'], place);
  if (incusCluster === undefined) throw new Error('The cluster has no endpoints.');
  incus = incusCluster;
});

afterAll(async () => {
  await down([], { stateDir: place.stateDir, purge: true });
  rmSync(folder, { recursive: true, force: true });
  await database.drop();
});

async function rows(text: string): Promise<Record<string, unknown>[]> {
  return (await database.query(text)).rows;
}

const statuses = async (): Promise<Record<string, unknown>> => {
  const found = await rows('select name, status from nodes order by name');
  return Object.fromEntries(found.map(({ name, status }) => [name, status]));
};

/** As an operator configures it: the cluster by its members, the credential by its files. */
function settings(): Record<string, string> {
  const credentials = path.join(folder, 'credentials.json');
  const { clientCertificateFile, clientKeyFile, serverCertificateFile } = incus;
  const certificate = {
    certificateFile: clientCertificateFile,
    keyFile: clientKeyFile,
    serverCertificateFile,
  };
  writeFileSync(credentials, JSON.stringify({ lab: certificate }));
  const cluster = {
    name: 'lab',
    region: 'eu-west-1',
    endpoints: incus.members.map(({ url }) => url),
    credential: 'lab',
    settings: { instanceType: 'container', network: incus.network, storagePool: 'default' },
  };
  const provider = { id: 'own', variant: 'V8', regions: [{ region: 'eu-west-1' }], clusters: [cluster] };
  return {
    MILLRACE_PROVIDERS: JSON.stringify([provider]),
    MILLRACE_FLEET_CREDENTIALS_FILE: credentials,
    MILLRACE_FLEET_READ_MS: '1000',
  };
}

test('a real Incus cluster yields three nodes with 24 GPUs, and a dead member is offline until it is restored', async () => {
  await using worker = await startWorkerProcess({ database, names: testNames(), env: settings() });
  expect((await fetch(`${worker.healthUrl}/readyz`)).status).toBe(200);
  await eventually({ what: '24 GPUs', ...within }, async () => {
    const [found] = await rows(`select coalesce(sum(gpus_free), 0)::int as gpus, count(*)::int as nodes
      from node_capacity where placeable and gpu_type = 'h100'`);
    return found?.['gpus'] === 24 && found['nodes'] === 3;
  });
  const [first, second, third] = incus.members.map(({ name }) => name).toSorted();
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('The cluster does not have three members.');
  const ready = { [first]: 'node_ready', [second]: 'node_ready', [third]: 'node_ready' };
  expect(await statuses()).toEqual(ready);

  await killNode(second, { stateDir: place.stateDir });
  await eventually({ what: 'the dead member offline', ...within }, async () => {
    return (await statuses())[second] === 'node_offline';
  });
  expect(await statuses()).toEqual({ ...ready, [second]: 'node_offline' });
  expect(await rows('select status from clusters')).toEqual([{ status: 'connected' }]);

  await ensureUp(['incus'], place);
  await eventually({ what: 'the healed member ready', ...within }, async () => {
    return (await statuses())[second] === 'node_ready';
  });
  expect(await statuses()).toEqual(ready);
  expect(await rows('select count(*)::int as gpus from gpus')).toEqual([{ gpus: 24 }]);
}, 420_000);
