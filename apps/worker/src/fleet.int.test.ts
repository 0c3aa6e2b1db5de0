import {
  createTestDatabase,
  eventually,
  freePorts,
  startWorkerProcess,
  testNames,
  type TestDatabase,
} from '@millrace/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

const names = testNames();
let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

async function rows(text: string): Promise<Record<string, unknown>[]> {
  return (await database.query(text)).rows;
}

test('a worker without fleet settings has a placeable mock fleet and releases its leases at stop', async () => {
  const [metricsPort] = await freePorts(1);
  const env = { MILLRACE_PROMETHEUS_PORT: String(metricsPort) };
  await using worker = await startWorkerProcess({ database, names, env });
  await eventually({ what: 'the mock fleet' }, async () => {
    const [found] = await rows(`select count(*)::int as nodes, coalesce(sum(gpus_free), 0)::int as gpus
      from node_capacity where placeable and mode = 'test' and offer = 'virtual-machine'`);
    return found?.['nodes'] === 16 && found['gpus'] === 128;
  });
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  expect(metrics).toMatch(/^millrace_fleet_nodes\{[^}]*status="node_ready"/m);
  expect(metrics).toMatch(/^millrace_fleet_read_age_seconds\{[^}]*cluster="mock"/m);
  expect(metrics).toMatch(/^millrace_fleet_reads_total\{[^}]*outcome="read"/m);
  expect(await worker.stop()).toBe(0);
  const leases = await rows('select name, observer from clusters order by name');
  expect(leases.slice(0, 3)).toMatchObject([
    { name: 'mock' },
    { name: 'mock-market' },
    { name: 'mock-metal-eu-southwest-3' },
  ]);
  expect(leases.filter(({ observer }) => observer !== null)).toEqual([]);
  expect(await rows('select holder from cluster_observers')).toEqual([]);
});

test('a worker with unreachable engines starts, is ready and reports the reason', async () => {
  const cluster = { name: 'far', region: 'eu-west-1', endpoint: 'https://127.0.0.1:1', credential: 'far' };
  const provider = { id: 'own', variant: 'V8', regions: [{ region: 'eu-west-1' }], clusters: [cluster] };
  const env = { MILLRACE_PROVIDERS: JSON.stringify([provider]) };
  await using worker = await startWorkerProcess({ database, names, env });
  await expect.poll(async () => (await fetch(`${worker.healthUrl}/readyz`)).status).toBe(200);
  await eventually({ what: 'the reason' }, async () => {
    const [found] = await rows('select status, status_reason from clusters');
    const reason =
      'The settings of the cluster are invalid: network: it is missing; storagePool: it is missing.';
    return found?.['status'] === 'connecting' && found['status_reason'] === reason;
  });
});
