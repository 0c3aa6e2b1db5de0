import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { findingsOf, runAudit } from '@millrace/core/auditor';
import { systemClock } from '@millrace/platform/clock';
import { exportPath } from '@millrace/storage';
import { isNfsError, Nfs41Client, type OpenFile } from '@millrace/storage/nfs41';
import { eventually, fleetInvariantViolations, startStorageNode, type StorageNode } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { METAL_REGION, NODE_GPUS, openMetalStack, type MetalStack } from '../stack/metal-stack.ts';
import { seedOperator } from '../stack/supplier.ts';
import { GPU_HOUR, rentalPath, seedTenant, type ApiResponse, type StackTenant } from '../stack/tenant.ts';

// Bare metal and storage of one tenant through the public API: machines on a real Ironic, a storage node with its real agent and
// NFS server, and NFS clients at the machines' addresses.

const run = promisify(execFile);
const rentals = '/v2/on-demand/bare-metal-rentals';
const volumes = '/v2/on-demand/storage-volumes';
const GB_HOUR = 137_000n;
const BALANCE_USD = 1_000;
const HOUR_MS = 3_600_000n;
/** Seconds on an idle machine, minutes on a busy one. */
const TIMEOUT_MS = 600_000;

let node: StorageNode;
let stack: MetalStack;
let tenant: StackTenant;
const clients: Nfs41Client[] = [];

beforeAll(async () => {
  node = await startStorageNode({ poolGb: 2_048 });
  const { endpoint, vips } = node;
  const storage = [
    { name: 'eu-1', region: METAL_REGION, endpoint, credential: 'storage', vips, capacityGb: 2_000 },
  ];
  stack = await openMetalStack(2, {
    env: { MILLRACE_STORAGE_NODES: JSON.stringify(storage) },
    credentials: { storage: node.credential },
  });
  const operator = await seedOperator(stack);
  await operator('POST', '/v2/admin/prices', {
    subject: { kind: 'volume', region: null },
    unit: 'gb_hour',
    priceNanoUsd: String(GB_HOUR),
    validFrom: '2026-01-01T00:00:00.000Z',
    reason: 'list price',
  });
  tenant = await seedTenant(stack, BALANCE_USD);
  await eventually({ what: 'the storage node to be connected', timeoutMs: TIMEOUT_MS }, async () => {
    const [found] = await stack.rows<{ status: string }>('select status from storage_nodes');
    return found?.status === 'connected';
  });
});

afterAll(async () => {
  for (const client of clients) client.drop();
  await stack?.close();
  await node?.[Symbol.asyncDispose]();
});

async function call(method: string, where: string, body?: object): Promise<ApiResponse['json']> {
  const { status, json } = await tenant.call(method, where, body === undefined ? {} : { body });
  expect([status, JSON.stringify(json)]).toEqual([expect.toSatisfy((code) => code < 300), expect.anything()]);
  return json;
}

async function order(more: object = {}): Promise<ApiResponse['json']> {
  const request = { gpuCount: NODE_GPUS, region: METAL_REGION, networkType: 'ethernet', ...more };
  return call('POST', rentals, request);
}

async function until(id: number, status: string): Promise<ApiResponse['json']> {
  return eventually(
    { what: `rental ${id} to be ${status}`, timeoutMs: TIMEOUT_MS, intervalMs: 250 },
    async () => {
      const json = await call('GET', rentalPath(id));
      if (json.status === 'Failed') throw new Error(JSON.stringify(json));
      return json.status === status ? json : undefined;
    },
  );
}

async function volumeOf(id: number): Promise<ApiResponse['json']> {
  const listed = (await call('GET', volumes)) as readonly { id: number }[];
  return listed.find((volume) => volume.id === id) ?? expect.fail(`There is no volume ${id}.`);
}

/** The machine's address in the export list. */
async function addressOf(id: number): Promise<string> {
  const [machine] = await stack.rows<{ private_ip: string }>(
    `select private_ip from rental_machines join rentals on rentals.id = rental_id where wire_id = ${id}`,
  );
  return machine?.private_ip ?? expect.fail('The machine has no address.');
}

async function machineAt(vip: string, localAddress: string): Promise<Nfs41Client> {
  const client = await Nfs41Client.connect({
    ...{ host: vip, port: node.nfsPort, localAddress, clock: systemClock, timeoutMs: 120_000 },
  });
  clients.push(client);
  await client.reclaimComplete();
  return client;
}

async function isLetIn(vip: string, from: string): Promise<boolean> {
  const client = await machineAt(vip, from);
  return client.lookup(exportPath).then(
    () => true,
    (error: unknown) => (isNfsError(error, 'NOENT') ? false : Promise.reject(error)),
  );
}

/** Retries until the server has applied the export list. */
async function openSoon(client: Nfs41Client, name: string): Promise<OpenFile> {
  return eventually({ what: 'the volume to be open to a machine', timeoutMs: TIMEOUT_MS }, async () =>
    client.open(exportPath, name, true).catch((error: unknown) => {
      if (isNfsError(error)) return undefined;
      throw error;
    }),
  );
}

async function untilRefused(vip: string, from: string): Promise<void> {
  await eventually(
    { what: `the server to refuse ${from}`, timeoutMs: TIMEOUT_MS },
    async () => !(await isLetIn(vip, from)),
  );
}

/** The volume and all rentals must show the same attachments. */
async function expectShown(
  volumeId: number,
  by: readonly number[],
  rentalIds: readonly number[],
): Promise<void> {
  const { vip, sizeInGb, attachedRentals, costPerHour } = await volumeOf(volumeId);
  expect(attachedRentals).toEqual(by);
  const item = {
    id: volumeId,
    label: 'datasets',
    size_in_gb: sizeInGb,
    cost_per_hour: costPerHour,
    vip,
    attached_instance_ids: by,
  };
  const listed = (await call('GET', rentals)) as readonly ApiResponse['json'][];
  for (const id of rentalIds) {
    const storage = by.includes(id) ? [item] : [];
    const shown = { attachedStorage: storage, meta: { attached_storage: storage } };
    expect(await call('GET', rentalPath(id))).toMatchObject(shown);
    expect(listed.find((rental) => rental.id === id)).toMatchObject(shown);
  }
}

test(
  'bare-metal rentals share a volume, and its NFS server admits exactly the machines of attached rentals',
  async () => {
    const made = await order({ storageVolume: { isNew: true, label: 'datasets', sizeInGb: 256 } });
    const [{ id: volumeId, vip }] = made.meta.attached_storage;
    const [first, second] = [made.id as number, (await order()).id as number];
    expect(made.meta.attached_storage[0].attached_instance_ids).toEqual([first]);
    const running = await Promise.all([first, second].map((id) => until(id, 'Running')));
    await eventually({ what: 'an active volume', timeoutMs: TIMEOUT_MS }, async () => {
      return (await volumeOf(volumeId)).status === 'active';
    });
    await expectShown(volumeId, [first], [first, second]);

    // A machine of the first rental writes; one of the second rental has no access.
    const [one, other] = await Promise.all([addressOf(first), addressOf(second)]);
    const writer = await machineAt(vip, one);
    const file = await openSoon(writer, 'weights');
    await writer.write(file, 0, 'trained');
    expect(await isLetIn(vip, other)).toBe(false);

    // After attaching, the second rental reads the file. A machine without a rental has no access.
    await call('POST', `${volumes}/attach`, { storageVolumeId: volumeId, rentalIds: [second] });
    const reader = await machineAt(vip, other);
    const seen = await openSoon(reader, 'weights');
    expect(String(await reader.read(seen, 0, 100))).toBe('trained');
    expect(await isLetIn(vip, node.client(0))).toBe(false);
    await expectShown(volumeId, [first, second], [first, second]);

    // Writes fail at the volume's size and succeed after it has grown.
    const { externalId } = await volumeOf(volumeId);
    const taken = path.join(node.pool, 'volumes', externalId, 'mount', 'taken');
    const { stdout } = await run('df', ['--output=avail', '-B1', path.dirname(taken)]);
    // Allocate most of the space at once; the client writes the rest until the volume is full.
    const block = Buffer.alloc(1_048_576, 7);
    await run('fallocate', ['-l', String(Number(stdout.split('\n')[1]) - 32 * block.length), taken]);
    const fill = async (): Promise<string> => {
      try {
        for (let at = 0; at < 64; at += 1) await writer.write(file, at * block.length, block);
        return 'written';
      } catch (error) {
        if (isNfsError(error)) return error.message;
        throw error;
      }
    };
    expect(await fill()).toContain('NOSPC');
    expect(await call('PATCH', `${volumes}/${volumeId}`, { sizeInGb: 512 })).toMatchObject({
      growingToGb: 512,
    });
    await eventually({ what: 'more room', timeoutMs: TIMEOUT_MS }, async () => {
      return (await volumeOf(volumeId)).sizeInGb === 512;
    });
    expect(await fill()).toBe('written');
    await expectShown(volumeId, [first, second], [first, second]);

    // An attached volume cannot be deleted, and the error lists its rentals.
    const refused = await tenant.call('DELETE', `${volumes}/${volumeId}`);
    expect(refused).toMatchObject({ status: 409, json: { reason: 'VOLUME_ATTACHED' } });
    for (const id of [first, second]) expect(JSON.stringify(refused.json)).toContain(String(id));

    // After detaching, the server refuses the second rental's machine, also on open files; the first continues.
    await call('POST', `${volumes}/detach`, { storageVolumeId: volumeId, rentalIds: [second] });
    await untilRefused(vip, other);
    await expect(reader.read(seen, 0, 100)).rejects.toThrow(/ACCESS|STALE|NOENT|BADSESSION|EXPIRED/u);
    expect(await writer.write(file, 0, 'goes on')).toBe(7);
    await expectShown(volumeId, [first], [first, second]);

    // Terminating a rental also revokes its access.
    const receipts = await Promise.all(
      [first, second].map((rentalId) => call('POST', `${rentals}/terminate`, { rentalId, reason: 'done' })),
    );
    await untilRefused(vip, one);
    await Promise.all([first, second].map((id) => until(id, 'Terminated')));
    expect((await volumeOf(volumeId)).attachedRentals).toEqual([]);
    const deleted = await call('DELETE', `${volumes}/${volumeId}`);
    expect(deleted).toMatchObject({ status: 'inactive', attachedRentals: [] });
    expect(deleted.purgeAt).not.toBeNull();

    await expectPaid(running, receipts, await volumeOf(volumeId));
  },
  3 * TIMEOUT_MS,
);

interface MeterRow {
  readonly cause_kind: string;
  readonly name: string;
  readonly state: string;
  readonly rate: string;
  readonly posted: string;
  readonly opened_ms: string;
  readonly closed_ms: string | null;
}

const cost = (ratePerHour: bigint, ms: number | bigint): bigint => (ratePerHour * BigInt(ms)) / HOUR_MS;

/** Rentals pay from Running until termination, the volume pays by size and time, and nothing else is charged. */
async function expectPaid(
  running: readonly ApiResponse['json'][],
  receipts: readonly ApiResponse['json'][],
  volume: ApiResponse['json'],
): Promise<void> {
  let owed = 0n;
  for (const [index, { startedAt }] of running.entries()) {
    const ranMs = Date.parse(receipts[index].billingStoppedAt) - Date.parse(startedAt);
    const due = cost(BigInt(NODE_GPUS) * GPU_HOUR, ranMs);
    expect(receipts[index].finalCost.nanoUsd).toBe(String(due));
    owed += due;
  }
  const meters = await stack.rows<MeterRow>(`
    select cause_kind, name, state, rate_nano_usd_per_hour::text as rate, posted_nano_usd::text as posted,
           (extract(epoch from opened_at) * 1000)::bigint::text as opened_ms,
           (extract(epoch from closed_at) * 1000)::bigint::text as closed_ms
      from meters where cause_kind = 'volume' order by opened_at, name`);
  const [small, large, retained] = meters;
  if (small === undefined || large === undefined) expect.fail(JSON.stringify(meters));
  expect(small).toMatchObject({
    rate: String(256n * GB_HOUR),
    opened_ms: String(Date.parse(volume.startedAt)),
  });
  expect(large).toMatchObject({ rate: String(512n * GB_HOUR), opened_ms: small.closed_ms });
  expect(large.closed_ms).toBe(String(Date.parse(volume.terminatedAt)));
  for (const { rate, posted, opened_ms: from, closed_ms: to } of [small, large]) {
    const due = cost(BigInt(rate), BigInt(to ?? 0) - BigInt(from));
    expect(posted).toBe(String(due));
    owed += due;
  }
  // Retention is paid from its hold.
  expect(retained).toMatchObject({ name: 'kept-1', state: 'open', posted: '0' });
  const balance = await call('GET', '/v2/customer/balance');
  expect(balance.balanceNanoUsd).toBe(String(BigInt(BALANCE_USD) * 1_000_000_000n - owed));

  const client = await stack.database.connect();
  expect(await fleetInvariantViolations(client)).toEqual([]);
  await client.end();
  const report = await runAudit(stack.database.db, { kind: 'full', whenBusy: 'unrecorded' });
  expect(report === null ? ['no audit'] : findingsOf(report, 'error')).toEqual([]);
  expect((await stack.engine.listOwned(AbortSignal.timeout(300_000))).machines).toEqual([]);
}
