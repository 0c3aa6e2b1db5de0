import type { ApiKeyLimits, Scope } from '@millrace/contract';
import type { SimulatedClock } from '@millrace/platform/clock';
import { createDb, type Db, type Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { createIdSource, toUuid, type KeyId, type OrgId, type RentalId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { createWireIdAllocator } from '@millrace/platform/wire-ids';
import {
  createTestDatabase,
  hybridClock,
  longDbTimeouts,
  insertFleet,
  testClock,
  testIds,
  uniqueId,
  type InsertedFleet,
  type TestDatabase,
} from '@millrace/testing';
import { sql } from 'kysely';
import {
  customersOf,
  HOUR_MS,
  MINUTE_MS,
  quiet,
  readCommitted,
  type Customer,
  type Customers,
} from '../customers.fixture.ts';
import { createFakeBackend, type FakeBackend } from './reconcile/fake-backend.fixture.ts';
import { createBackendPool, type BackendPool } from './model/backend-pool.ts';
import { reconcileDueVolumes, type VolumeDeps } from './reconcile/reconcile-volume.ts';
import type { VolumeOrder } from './actions/volume-order.ts';
import { createVolume } from './actions/create.service.ts';
import { freezeUnpaid } from './actions/dunning.service.ts';
import { defaultVolumePolicy } from './model/policy.ts';
import { applyStorageConfig } from './model/storage-config.ts';
import type { Volume } from './model/volume.ts';
import { findVolume } from './model/volumes.store.ts';
import { checkDueNodes } from './reconcile/check-nodes.service.ts';

/** Volumes on a real database and ledger, with storage backends that tests can break and a clock that they advance. */

export const region = 'eu-west-3';
export const otherRegion = 'eu-west-4';
export const GB_HOUR: NanoUsd = nanoUsd(137_000n);
export { HOUR_MS, MINUTE_MS, quiet };
export type Tenant = Customer;

export interface RentalOptions {
  readonly kind?: 'bare-metal' | 'virtual-machine' | 'instance';
  readonly region?: string;
  readonly status?: 'Pending' | 'Running' | 'Unknown' | 'Terminating';
  readonly addresses?: readonly string[];
}

export interface InsertedRental {
  readonly id: RentalId;
  readonly wireId: number;
}

export interface VolumeHarness extends Pick<Customers, 'topUp' | 'sweepMeters' | 'balance' | 'paid'> {
  readonly database: TestDatabase;
  readonly db: Db;
  readonly clock: SimulatedClock;
  readonly backend: FakeBackend;
  readonly backends: BackendPool;
  readonly deps: VolumeDeps;
  run<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  tenant(balanceUsd?: number): Promise<Tenant>;
  limitedKey(tenant: Tenant, limits: Partial<ApiKeyLimits>, scopes?: readonly Scope[]): Promise<KeyId>;
  /** Accepts a volume of 256 GB by default, as the route would. */
  create(
    tenant: Tenant,
    request?: Partial<VolumeOrder> & { readonly rentalIds?: readonly number[] },
    by?: { readonly mode?: Mode; readonly keyId?: KeyId },
  ): Promise<Volume>;
  /** Creates a volume and waits until it is active. */
  active(tenant: Tenant, request?: Partial<VolumeOrder>): Promise<Volume>;
  read(volume: Pick<Volume, 'orgId' | 'mode' | 'wireId'>): Promise<Volume | null>;
  rental(tenant: Tenant, options?: RentalOptions): Promise<InsertedRental>;
  onRental(rental: InsertedRental, changes: string): Promise<void>;
  onMachines(rental: InsertedRental, changes: string): Promise<void>;
  /** Checks the nodes and reconciles due volumes until none is due. */
  settle(): Promise<void>;
  /** Advances the clock in steps with node checks, so that silence counts. */
  advance(ms: number): Promise<void>;
  /** Runs the sweeps of meters, dunning and volumes. */
  sweepAll(): Promise<void>;
  events(orgId: OrgId): Promise<readonly { readonly type: string; readonly data: Record<string, unknown> }[]>;
  rows<Row>(text: string): Promise<Row[]>;
  drop(): Promise<void>;
}

export async function createVolumeHarness(): Promise<VolumeHarness> {
  const database = await createTestDatabase();
  const clock = testClock();
  const ids = createIdSource({ clock, cell: 1 });
  const db = createDb({
    ...longDbTimeouts,
    url: database.url,
    poolSize: 8,
    clock: hybridClock(clock),
    ids,
    log: quiet,
  });
  const run = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    db.transaction({ name: 'test', isolation: readCommitted }, work);
  const backend = createFakeBackend();
  const mock = createFakeBackend();
  const backends = createBackendPool({
    log: quiet,
    connect: async (node) => (node.kind === 'mock' ? mock : backend),
  });
  // An error that a worker would only log fails the test.
  const mistakes: unknown[] = [];
  const log: VolumeDeps['log'] = {
    warn: () => undefined,
    error: (fields: unknown) => {
      if (typeof fields === 'object' && fields !== null && 'err' in fields) mistakes.push(fields.err);
    },
  };
  const deps: VolumeDeps = { db, clock, log, backends, policy: defaultVolumePolicy };
  await applyStorageConfig(db, [
    nodeOf('eu-1', region),
    nodeOf('eu-2', otherRegion),
    { ...nodeOf('mock', 'mock-region'), kind: 'mock' },
  ]);
  await run(async (tx) => {
    await sql`insert into prices (id, subject_kind, unit, price_nano_usd, valid_from, created_at)
      values (${toUuid(tx.ids.next('prc'))}, 'volume', 'gb_hour', ${GB_HOUR}, ${clock.now()}, ${clock.now()})`.execute(
      tx.kysely,
    );
  });
  const wireIds = createWireIdAllocator({ db, cell: 1, kind: 'volume', chunk: 50 });
  const fleets = {
    [region]: await insertFleet(db, { nodes: 1, region, offer: 'bare-metal' }),
    [otherRegion]: await insertFleet(db, { nodes: 1, region: otherRegion, offer: 'bare-metal' }),
  };
  const customers = customersOf(database, db, clock);
  const signal = new AbortController().signal;
  const settle = async (): Promise<void> => {
    await checkDueNodes(deps, signal);
    for (let round = 0; round < 20; round += 1) {
      const count = await reconcileDueVolumes(deps, 100, signal);
      if (mistakes.length > 0) throw mistakes.pop();
      if (count === 0) return;
    }
    throw new Error('Volumes stay due after 20 rounds.');
  };
  await settle();
  const create: VolumeHarness['create'] = async (tenant, request = {}, { mode = 'live', keyId } = {}) => {
    const wireId = await wireIds.next();
    const order = {
      region: mode === 'live' ? region : 'mock-region',
      label: `data-${uniqueId()}`,
      sizeGb: 256,
      name: null,
      tags: {},
      maxUsd: null,
      rentalIds: [],
      ...request,
    };
    return run((tx) => createVolume(tx, tenant.call(mode, keyId), order, wireId));
  };
  const read: VolumeHarness['read'] = (volume) => findVolume(db, volume, volume.wireId);
  const sweepAll = async (): Promise<void> => {
    await customers.sweepMeters();
    await freezeUnpaid(db, { log: quiet, limit: 100 });
    await settle();
  };
  return {
    ...customers,
    tenant: (balanceUsd = 1_000) => customers.customer(balanceUsd),
    limitedKey: (who, limits, scopes = ['volumes:read', 'volumes:write']) =>
      customers.addKey(who, { scopes, limits }),
    ...plantsOf(db, clock, fleets),
    database,
    db,
    clock,
    backend,
    backends,
    deps,
    run,
    create,
    read,
    settle,
    sweepAll,
    active: async (tenant, request) => {
      const made = await create(tenant, request);
      await settle();
      const volume = await read(made);
      if (volume?.status !== 'active') throw new Error(`Volume ${made.wireId} is not active.`);
      return volume;
    },
    advance: async (ms) => {
      const stepMs = defaultVolumePolicy.lookMs * 3;
      for (let done = 0; done < ms; done += stepMs) {
        await clock.advance(Math.min(stepMs, ms - done));
        await checkDueNodes(deps, signal);
      }
    },
    events: (orgId) => eventsOf(db, orgId),
    rows: async (text) => (await sql.raw<never>(text).execute(db.kysely)).rows,
    drop: async () => {
      await backends.close();
      await db.close();
      await database.drop();
    },
  };
}

const nodeOf = (name: string, where: string) =>
  ({
    name,
    region: where as 'eu-west-3',
    kind: 'nfs',
    endpoint: `https://${name}.example:8650`,
    credential: null,
    vips: { first: '10.8.0.10', last: '10.8.0.250' },
    capacityGb: 100_000,
    settings: {},
  }) as const;

/** Events in the order in which they were written. */
async function eventsOf(db: Db, orgId: OrgId) {
  const { rows } = await sql<{ type: string; data: Record<string, unknown> }>`
    select type, payload as data from outbox where org_id = ${toUuid(orgId)} and kind = 'event' order by seq`.execute(
    db.kysely,
  );
  return rows;
}

let nextRentalWireId = 2_000_000_000;
let addressCount = 0;

/** Unique in the region. */
function nextAddress(): string {
  addressCount += 1;
  return `10.0.${Math.trunc(addressCount / 200)}.${(addressCount % 200) + 7}`;
}

/** Rows of rentals without an engine or a meter. */
function plantsOf(db: Db, clock: SimulatedClock, fleets: Readonly<Record<string, InsertedFleet>>) {
  const rental: VolumeHarness['rental'] = async (tenant, options = {}) => {
    const {
      kind = 'bare-metal',
      region: where = region,
      status = 'Running',
      addresses = [nextAddress()],
    } = options;
    const fleet = fleets[where];
    const [nodeId] = fleet?.nodeIds ?? [];
    if (fleet === undefined || nodeId === undefined) throw new Error(`There are no machines in ${where}.`);
    const id = testIds.next('rnt');
    const wireId = (nextRentalWireId += 1);
    const now = clock.now();
    const cluster = toUuid(fleet.clusterId);
    await sql`insert into rentals (id, wire_id, org_id, mode, kind, user_id, provider_id, region, gpu_type, gpus_per_node,
        node_count, connection_type, tags, ssh_keys, labels, convert_on_expiry, status, status_since, task, task_options,
        task_deadline_at, power, created_at, started_at, trouble_since, end_accepted_at, next_action_at, deadline_at, told_as)
      select ${toUuid(id)}, ${wireId}, ${toUuid(tenant.orgId)}, 'live', ${kind}, ${toUuid(tenant.userId)}, provider_id,
        ${where}, 'h100', 8, ${addresses.length}, 'infiniband', '{}', array['ssh-ed25519 AAAA planted'], '{}', true,
        ${status}, ${now}, ${status === 'Pending' ? 'provision' : status === 'Terminating' ? 'release' : null}, '{}',
        ${status === 'Pending' || status === 'Terminating' ? now : null}, 'on', ${now},
        ${status === 'Pending' ? null : now}, ${status === 'Unknown' ? now : null},
        ${status === 'Terminating' ? now : null}, ${now}, ${now},
        ${kind === 'instance' ? JSON.stringify({ instanceId: `i-${wireId}`, clusterName: 'c', nodeName: 'n' }) : null}::jsonb
        from clusters where id = ${cluster}`.execute(db.kysely);
    for (const [index, address] of addresses.entries()) {
      await sql`insert into rental_machines (rental_id, attempt, position, org_id, mode, external_id, cluster_id, node_id,
          gpu_addresses, ports, cpu_count, ram_mb, disk_gb, state, address, private_ip)
        values (${toUuid(id)}, 1, ${index + 1}, ${toUuid(tenant.orgId)}, 'live', ${`${toUuid(id)}-${index}`}, ${cluster},
          ${toUuid(nodeId)}, '{}', '[]', 24, 262144, 3500, 'open', '127.0.0.1', ${address})`.execute(
        db.kysely,
      );
    }
    return { id, wireId };
  };
  return {
    rental,
    onRental: async (of: InsertedRental, changes: string) => {
      await sql`update rentals set ${sql.raw(changes)} where id = ${toUuid(of.id)}`.execute(db.kysely);
    },
    onMachines: async (of: InsertedRental, changes: string) => {
      await sql`update rental_machines set ${sql.raw(changes)} where rental_id = ${toUuid(of.id)}`.execute(
        db.kysely,
      );
    },
  };
}
