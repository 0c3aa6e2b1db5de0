import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findingsOf, runAudit } from '@millrace/core/auditor';
import { seedOrganisation } from '@millrace/core/fixture';
import { systemClock } from '@millrace/platform/clock';
import { toUuid, type UserId } from '@millrace/platform/ids';
import { exportPath } from '@millrace/storage';
import { isNfsError, Nfs41Client, type OpenFile } from '@millrace/storage/nfs41';
import {
  createTestDatabase,
  eventually,
  insertFleet,
  insertRentals,
  startApiProcess,
  startStorageNode,
  startWorkerProcess,
  testNames,
} from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

/**
 * A tenant's volume through the public API of real processes on a real storage node. The machines are only rows and addresses,
 * from which NFS clients connect.
 */

const names = testNames();
const region = 'eu-west-3';
const volumes = '/v2/alpha/on-demand/storage-volumes';
let harness: Awaited<ReturnType<typeof startHarness>>;

async function startHarness() {
  const node = await startStorageNode({ poolGb: 2_048 });
  const database = await createTestDatabase();
  const credentials = path.join(node.folder, 'credentials.json');
  await writeFile(credentials, JSON.stringify({ storage: node.credential }));
  const { endpoint, vips } = node;
  const nodes = [{ name: 'eu-1', region, endpoint, credential: 'storage', vips, capacityGb: 2_000 }];
  const env = {
    MILLRACE_STORAGE_NODES: JSON.stringify(nodes),
    MILLRACE_FLEET_CREDENTIALS_FILE: credentials,
  };
  const [api, worker] = await Promise.all([
    startApiProcess({ database, names, env }),
    startWorkerProcess({ database, names, env }),
  ]);
  const operator = await seedOrganisation(database.db, { platformRole: 'operator' });
  const tenant = await seedOrganisation(database.db);
  const rentals = await insertMachines(database, tenant, [node.client(0), node.client(1)]);
  return { node, database, api, worker, env, operator, tenant, rentals };
}

type Database = Awaited<ReturnType<typeof createTestDatabase>>;

/** Inserts two running bare-metal rentals of an engine that cannot be reached. */
async function insertMachines(
  database: Database,
  { organisation, owner }: Awaited<ReturnType<typeof seedOrganisation>>,
  addresses: readonly string[],
): Promise<readonly number[]> {
  const fleet = await insertFleet(database.db, { nodes: 1, region, offer: 'bare-metal', driver: 'incus' });
  const inserted = await insertRentals(database.db, {
    ...fleet,
    orgId: organisation.id,
    // A user id, as seedOrganisation creates it.
    userId: owner.userId as UserId,
    kind: 'bare-metal',
    // The first four rentals are not Running.
    live: 4 + addresses.length,
    brief: true,
  });
  const running = inserted.slice(4);
  for (const [index, { id }] of running.entries()) {
    await database.query('update rental_machines set private_ip = $2 where rental_id = $1', [
      toUuid(id),
      addresses[index],
    ]);
  }
  return running.map(({ wireId }) => wireId);
}

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(async () => {
  await harness?.worker.stop();
  await harness?.api.stop();
  await harness?.node[Symbol.asyncDispose]();
  await harness?.database.drop();
});

async function call(
  method: string,
  where: string,
  body?: unknown,
  key = harness.tenant.owner.key,
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on any field of a response
): Promise<{ status: number; json: any }> {
  const response = await fetch(`${harness.api.url}${where}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? null : JSON.parse(text) };
}

async function listed(id: number): Promise<Record<string, unknown> | undefined> {
  const { json } = await call('GET', volumes);
  return (json as readonly Record<string, unknown>[]).find((volume) => volume['id'] === id);
}

const clients: Nfs41Client[] = [];
afterAll(() => {
  for (const client of clients) client.drop();
});

async function machine(vip: string, index: number): Promise<Nfs41Client> {
  const { node } = harness;
  const localAddress = node.client(index);
  const reach = { host: vip, port: node.nfsPort, localAddress, clock: systemClock, timeoutMs: 120_000 };
  const client = await Nfs41Client.connect(reach);
  clients.push(client);
  return client;
}

/** Opens the file as soon as the server has applied the export list and its grace period is over. */
async function openSoon(vip: string, index: number): Promise<{ client: Nfs41Client; file: OpenFile }> {
  return eventually({ what: 'the volume to be open to a machine', timeoutMs: 600_000 }, async () => {
    try {
      const client = await machine(vip, index);
      await client.reclaimComplete();
      return { client, file: await client.open(exportPath, 'shared', true) };
    } catch (error) {
      if (isNfsError(error) || (error instanceof Error && 'code' in error)) return undefined;
      throw error;
    }
  });
}

/** Uses a new client each time, because a client without traffic loses its lease and open files. */
async function mayEnter(vip: string, index: number): Promise<boolean> {
  const client = await machine(vip, index);
  return client.lookup(exportPath).then(
    () => true,
    (error: unknown) => (isNfsError(error) ? false : Promise.reject(error)),
  );
}

async function untilRefused(vip: string, index: number): Promise<void> {
  await eventually(
    { what: 'the storage server to refuse a machine', timeoutMs: 600_000 },
    async () => !(await mayEnter(vip, index)),
  );
}

test('only machines of attached rentals can use a volume, also after kills of the NFS server and the worker', async () => {
  const { node, rentals, operator } = harness;
  const [first = 0, second = 0] = rentals;
  const price = {
    subject: { kind: 'volume', region: null },
    unit: 'gb_hour',
    priceNanoUsd: '137000',
    validFrom: '2026-01-01T00:00:00.000Z',
    reason: 'list price',
  };
  expect(await call('POST', '/v2/admin/prices', price, operator.owner.key)).toMatchObject({ status: 201 });
  const grant = { amountNanoUsd: '100000000000', reason: 'to store with' };
  const money = `/v2/admin/organisations/${harness.tenant.organisation.id}/grants`;
  const granted = await call('POST', money, grant, operator.owner.key);
  expect(granted, JSON.stringify(granted.json)).toMatchObject({ status: 201 });
  await eventually({ what: 'the storage node to be connected', timeoutMs: 600_000 }, async () => {
    const nodes = harness.database.db.kysely.selectFrom('storage_nodes').select('status');
    return (await nodes.execute()).some(({ status }) => status === 'connected');
  });

  const order = { region, label: 'datasets', sizeInGb: 256, rentalIds: [first, second] };
  const made = await call('POST', volumes, order);
  expect(made, JSON.stringify(made.json)).toMatchObject({ status: 200, json: { status: 'inactive' } });
  const id = made.json.storageVolumeId as number;
  const active = await eventually({ what: 'an active volume', timeoutMs: 600_000 }, async () => {
    const volume = await listed(id);
    return volume?.['status'] === 'active' && volume;
  });
  expect(active).toMatchObject({ attachedRentals: [first, second], sizeGb: 256, label: 'datasets' });
  const vip = String(active['vip']);

  const writer = await openSoon(vip, 0);
  await writer.client.write(writer.file, 0, 'from the first machine');
  const reader = await openSoon(vip, 1);
  expect(String(await reader.client.read(reader.file, 0, 100))).toBe('from the first machine');
  expect(await mayEnter(vip, 2)).toBe(false);

  // An attached volume cannot be deleted, and the error lists its rentals.
  const refused = await call('DELETE', `${volumes}/${id}`);
  expect(refused).toMatchObject({ status: 409, json: { reason: 'VOLUME_ATTACHED' } });
  expect(refused.json.message).toContain(String(first));

  // The worker is killed before it can update the server; after its restart the server refuses the detached machine.
  await harness.worker.crash();
  const detached = await call('POST', `${volumes}/detach`, { storageVolumeId: id, rentalIds: [second] });
  expect(detached).toMatchObject({ status: 200, json: { detachedRentalIds: [second] } });
  expect(await mayEnter(vip, 1)).toBe(true);
  const { database, env } = harness;
  harness = { ...harness, worker: await startWorkerProcess({ database, names, env }) };
  await untilRefused(vip, 1);
  expect(await mayEnter(vip, 0)).toBe(true);

  // After a kill of the server, attached machines still read the data.
  const external = String(active['externalId']);
  const pid = node.serverPid(external);
  if (pid === null) throw new Error('The volume has no NFS server.');
  process.kill(pid, 'SIGKILL');
  const again = await openSoon(vip, 0);
  expect(String(await again.client.read(again.file, 0, 100))).toBe('from the first machine');
  expect(await mayEnter(vip, 1)).toBe(false);

  const grown = await call('PATCH', `${volumes}/${id}`, { sizeInGb: 512 });
  expect(grown).toMatchObject({ status: 200, json: { sizeInGb: 256, growingToGb: 512 } });
  const snapshot = await call('POST', `${volumes}/${id}/snapshots`, { label: 'before' });
  expect(snapshot).toMatchObject({ status: 202, json: { status: 'creating' } });
  await eventually(
    { what: 'more room', timeoutMs: 600_000 },
    async () => (await listed(id))?.['sizeInGb'] === 512,
  );
  await eventually({ what: 'a snapshot', timeoutMs: 600_000 }, async () => {
    const { json } = await call('GET', `${volumes}/${id}/snapshots`);
    return json.items[0]?.status === 'ready';
  });
  const later = await openSoon(vip, 0);
  await later.client.write(later.file, 0, 'FROM');

  // After deletion no machine has access, the data is retained, and the audit has no findings about the volume.
  await call('POST', `${volumes}/detach`, { storageVolumeId: id, rentalIds: [first] });
  const deleted = await call('DELETE', `${volumes}/${id}`);
  expect(deleted).toMatchObject({ status: 202, json: { status: 'inactive' } });
  expect(deleted.json.purgeAt).not.toBeNull();
  await untilRefused(vip, 0);
  const report = await runAudit(harness.database.db, { kind: 'full', whenBusy: 'unrecorded' });
  const about = (report === null ? [] : findingsOf(report, 'error')).filter(
    ({ check, subject }) => check.startsWith('volume_') || subject.id.startsWith('volume:'),
  );
  expect(about).toEqual([]);
});
