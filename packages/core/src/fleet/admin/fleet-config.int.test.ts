import { bareMetalRegions } from '@millrace/contract';
import { defaultFleet } from '@millrace/platform/config';
import { eventually } from '@millrace/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemAuditContext } from '../../identity/index.ts';
import { createCluster } from './fleet-admin.service.ts';
import {
  clusterSetting,
  createFleetHarness,
  node,
  providerSetting,
  type FleetHarness,
} from '../fleet.fixture.ts';
import { applyFleetConfig, listClusters, listProviders, setProviderEnabled } from '../index.ts';

let harness: FleetHarness;
beforeEach(async () => {
  harness = await createFleetHarness();
});
afterEach(() => harness.drop());

const first = { limit: 100, after: null } as const;
const selling = () => harness.rows('select distinct open from node_capacity');

async function watched(...names: readonly string[]): Promise<void> {
  const sync = harness.worker('one');
  for (const name of names) harness.engine(name).nodes = [node(`node-${name}`)];
  await sync.tick();
  for (const name of names) await sync.look(await harness.clusterId(name));
}

const switchedOn = { enabled: true, configured: true };

it('the default configuration has a mock fleet for test keys', async () => {
  expect(await applyFleetConfig(harness.db, defaultFleet)).toEqual([]);
  expect(await listProviders(harness.db, first)).toEqual([
    {
      id: 'mock',
      variant: 'mock',
      driver: 'mock',
      mode: 'test',
      enabled: true,
      configured: true,
      regions: ['mock-region', ...bareMetalRegions]
        .toSorted()
        .map((region) => ({ region, ...switchedOn, customPorts: region === 'mock-region' })),
    },
  ]);
  const [cluster] = await listClusters(harness.db, {}, first);
  expect(cluster).toMatchObject({
    name: 'mock',
    mode: 'test',
    status: 'connecting',
    origin: 'configuration',
  });
});

it('concurrent workers apply the configuration once, and applying it again writes nothing', async () => {
  const setting = [providerSetting(['a', 'b', 'c'].map((name) => clusterSetting(name)))];
  await Promise.all(Array.from({ length: 6 }, () => applyFleetConfig(harness.db, setting)));
  const versions = `select xmin::text from providers union all select xmin::text from provider_regions
    union all select xmin::text from clusters`;
  const before = await harness.rows(versions);
  expect(before).toHaveLength(5);
  await applyFleetConfig(harness.db, setting);
  expect(await harness.rows(versions)).toEqual(before);
});

it("applying the configuration keeps the operator's switches", async () => {
  await harness.configure('a');
  await watched('a');
  expect(await selling()).toEqual([{ open: true }]);
  await harness.db.transaction({ name: 'switch', isolation: 'read committed' }, (tx) =>
    setProviderEnabled(tx, 'own', { regions: [{ region: 'eu', enabled: false }] }),
  );
  expect(await selling()).toEqual([{ open: false }]);
  await harness.configure('a', 'b');
  expect(await selling()).toEqual([{ open: false }]);
});

it('entries that the configuration no longer names stay observed and sell nothing until they are named again', async () => {
  await harness.configure('a', 'b');
  await watched('a', 'b');
  await harness.configure('b');
  const open = `select cluster.name, open from node_capacity
    join clusters as cluster on cluster.id = cluster_id order by cluster.name`;
  expect(await harness.rows(open)).toEqual([
    { name: 'a', open: false },
    { name: 'b', open: true },
  ]);
  expect(await harness.cluster('a')).toMatchObject({ status: 'connected', configured: false, nodeCount: 1 });
  await watched('a');
  expect((await harness.node('node-a')).status).toBe('node_ready');
  await applyFleetConfig(harness.db, defaultFleet);
  expect(await selling()).toEqual([{ open: false }]);
  await harness.configure('a', 'b');
  expect(await selling()).toEqual([{ open: true }]);
});

it('applying the configuration changes the connection of a cluster, but not its offer', async () => {
  await harness.configure('a');
  const moved = clusterSetting('a', {
    endpoint: 'https://other:8443',
    credential: 'new',
    settings: { network: 'x' },
  });
  expect(await applyFleetConfig(harness.db, [providerSetting([moved])])).toEqual([]);
  expect(await harness.cluster('a')).toMatchObject({
    endpoint: 'https://other:8443',
    credentialRef: 'new',
    settings: { network: 'x' },
  });
  const refused = await applyFleetConfig(harness.db, [
    providerSetting([clusterSetting('a', { offer: 'bare-metal' })]),
  ]);
  expect(refused).toEqual([{ name: 'a', problem: expect.stringContaining('another name') as string }]);
  expect(await harness.cluster('a')).toMatchObject({ offer: 'virtual-machine', configured: true });
});

it('an engine with two names is rejected, because its machines would be sold twice', async () => {
  const at = (name: string, endpoint: string) => clusterSetting(name, { endpoint });
  const apply = (...clusters: readonly ReturnType<typeof at>[]) =>
    applyFleetConfig(harness.db, [providerSetting(clusters)]);
  expect(await apply(at('a', 'https://one:1,https://two:1'), at('b', 'https://three:1'))).toEqual([]);
  expect(await apply(at('b', 'https://three:1'), at('renamed', 'https://TWO:1/'))).toEqual([
    {
      name: 'renamed',
      problem: 'its endpoint belongs to the cluster a; remove that cluster first',
    },
  ]);
  expect(await apply(at('a', 'https://three:1'), at('b', 'https://one:1'))).toEqual([]);
  expect(await apply(at('a', 'https://one:1'), at('b', 'https://one:1'))).toMatchObject([{ name: 'b' }]);
  const byHand = harness.db.transaction({ name: 'register', isolation: 'read committed' }, (tx) =>
    createCluster(
      tx,
      systemAuditContext('test', 'live'),
      {
        name: 'c',
        providerId: 'own',
        region: 'eu',
        driver: 'incus',
        endpoint: 'https://one:1',
        credentialRef: null,
        settings: {},
        offer: 'virtual-machine',
        connectionType: 'ethernet',
      },
      () => true,
    ),
  );
  await expect(byHand).rejects.toMatchObject({ reason: 'VALIDATION_FAILED' });
});

it('the configuration does not take over a cluster that an operator registered under the same name', async () => {
  await harness.configure('a');
  await harness.rows(`update clusters set origin = 'operator'`);
  const refused = await applyFleetConfig(harness.db, [providerSetting([clusterSetting('a')])]);
  expect(refused).toEqual([{ name: 'a', problem: 'an operator registered a cluster with this name' }]);
});

it('the configuration skips a cluster that an operator registers under the same name concurrently', async () => {
  await harness.configure();
  const [client, watcher] = [await harness.database.connect(), await harness.database.connect()];
  await client.query('begin');
  await client.query(`insert into clusters (id, name, provider_id, region, driver, endpoint, offer, connection_type,
      origin, status, status_since, created_at)
    values (gen_random_uuid(), 'a', 'own', 'eu', 'incus', 'https://a.example:8443', 'virtual-machine', 'ethernet',
      'operator', 'connecting', now(), now())`);
  const outcome = applyFleetConfig(harness.db, [providerSetting([clusterSetting('a')])]).catch(
    (error: unknown) => error,
  );
  await eventually({ what: 'the configuration to wait for the name' }, async () => {
    const { rowCount } =
      await watcher.query(`select 1 from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock' and query like '%insert into clusters%'`);
    return rowCount === 1;
  });
  await client.query('commit');
  await Promise.all([client.end(), watcher.end()]);
  expect(await outcome).toEqual([{ name: 'a', problem: 'an operator registered a cluster with this name' }]);
});

it('a provider cannot change between test and live keys, and the refusal says so', async () => {
  await harness.configure('a');
  await watched('a');
  const mock = providerSetting([clusterSetting('a', { endpoint: 'mock:' })], {
    variant: 'mock',
    driver: 'mock',
  });
  const refused = await applyFleetConfig(harness.db, [mock]);
  expect(refused).toEqual([{ name: 'a', problem: expect.stringContaining('another id') as string }]);
  expect(await harness.cluster('a')).toMatchObject({ mode: 'live', driver: 'incus', configured: false });
  expect(await selling()).toEqual([{ open: false }]);
  await harness.configure('a');
  expect(await selling()).toEqual([{ open: true }]);
});

it('a switch changed while a cluster connects is not lost', async () => {
  await harness.configure('a');
  harness.engine('a').nodes = Array.from({ length: 50 }, (_, index) => node(`n${index}`));
  const sync = harness.worker('one');
  await sync.tick();
  const id = await harness.clusterId('a');
  await Promise.all([
    sync.look(id),
    harness.db.transaction({ name: 'switch', isolation: 'read committed' }, (tx) =>
      setProviderEnabled(tx, 'own', { enabled: false }),
    ),
  ]);
  expect(await selling()).toEqual([{ open: false }]);
});
