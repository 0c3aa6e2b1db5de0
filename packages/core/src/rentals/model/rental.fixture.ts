import { randomInt } from 'node:crypto';
import {
  createContract,
  defaultProviders,
  type ApiKeyLimits,
  type BodyInput,
  type Contract,
} from '@millrace/contract';
import type { ComputeDriver } from '@millrace/compute';
import {
  createMockControls,
  createMockDriver,
  createInMemoryStore,
  type MockControls,
  type MockLayout,
  type MockNode,
  type MachineStore,
} from '@millrace/compute/mock';
import type { SimulatedClock } from '@millrace/platform/clock';
import type { ProviderSetting } from '@millrace/platform/config';
import { createDb, type Db, type Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import {
  createIdSource,
  toUuid,
  type ClusterId,
  type KeyId,
  type OrgId,
  type UserId,
} from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { createSealer, type Sealer } from '@millrace/platform/secrets';
import { createWireIdAllocator, type WireIdAllocator } from '@millrace/platform/wire-ids';
import {
  createTenant,
  createTestDatabase,
  fleetInvariantViolations,
  hybridClock,
  longDbTimeouts,
  testClock,
  type TestDatabase,
} from '@millrace/testing';
import { sql } from 'kysely';
import sshpk from 'sshpk';
import {
  customersOf,
  HOUR_MS,
  MINUTE_MS,
  quiet,
  readCommitted,
  usd,
  type Customer,
  type Customers,
} from '../../customers.fixture.ts';
import { applyFleetConfig, FleetSync, listClusters } from '../../fleet/index.ts';
import { toBareMetalOrder, toVirtualMachineOrder } from '../order/order.ts';
import { createRental } from '../order/accept-order.service.ts';
import { createInstanceRenter, type InstanceRequest } from '../marketplace.fixture.ts';
import type { Rental } from './rental.ts';
import { findEventMismatches } from '../rental-event-checks.fixture.ts';

/**
 * Harness for rentals: real tables and ledger, mock engines with SSH on loopback, and a simulated clock. Live keys rent in
 * `us-central-1`, test keys in `mock-region`.
 */

export const SECOND_MS = 1_000;
export const DAY_MS = 86_400_000;

export { HOUR_MS, MINUTE_MS, quiet, readCommitted, usd };

/** Prices in live mode: one GPU for one hour before discounts, and one GB of disk for one hour. */
export const GPU_HOUR: NanoUsd = nanoUsd(3_980_000_001n);
export const DISK_GB_HOUR: NanoUsd = nanoUsd(137_000n);

export const liveRegion = 'us-central-1';
export const testRegion = 'mock-region';

export interface SshPair {
  /** OpenSSH format. */
  readonly privateKey: string;
  /** A line of `authorized_keys`. */
  readonly publicKey: string;
}

export function newSshPair(): SshPair {
  const key = sshpk.generatePrivateKey('ed25519');
  return { privateKey: key.toString('openssh'), publicKey: key.toPublic().toString('ssh') };
}

export interface Tenant extends Customer {
  readonly ssh: SshPair;
}

export type RentalBody = BodyInput<Contract['operations']['createVirtualMachineRental']>;
export type MetalBody = BodyInput<Contract['operations']['createBareMetalRental']>;

export type EngineName = Mode | 'market' | 'metal';

/** A mock engine with its stored machines, fault controls, and a driver with open port listeners. */
export interface Engine {
  readonly clusterId: ClusterId;
  readonly memory: MachineStore;
  readonly controls: MockControls;
  readonly driver: ComputeDriver;
}

export interface RentalHarness extends Pick<
  Customers,
  'rotate' | 'topUp' | 'sweepMeters' | 'balance' | 'paid'
> {
  readonly database: TestDatabase;
  readonly db: Db;
  readonly clock: SimulatedClock;
  readonly sealer: Sealer;
  /** `market`: instances with a GPU model that rentals do not offer. `metal`: whole nodes on fabrics of four. */
  readonly engines: Readonly<Record<EngineName, Engine>>;
  /** As reconciling, the inventory reconciler and sampling look drivers up. */
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
  tenant(options?: { readonly balanceUsd?: number; readonly ssh?: 'none' }): Promise<Tenant>;
  /** Adds a key with its own limits to the tenant. */
  limitedKey(tenant: Tenant, mode: Mode, limits: Partial<ApiKeyLimits>): Promise<KeyId>;
  /** Accepts an order as the route does. Default: one H100 in the region of the mode. */
  rent(tenant: Tenant, mode: Mode, request?: Partial<RentalBody>, keyId?: KeyId): Promise<Rental>;
  /** Accepts a bare-metal order. Default: one node of H100. */
  rentMetal(tenant: Tenant, request?: Partial<MetalBody>, keyId?: KeyId): Promise<Rental>;
  /** Accepts an order for an instance on a marketplace machine that another organisation supplies. */
  rentInstance(tenant: Tenant, request?: InstanceRequest): Promise<Rental>;
  /** The organisation that supplies the marketplace machines. */
  readonly supplierOrgId: OrgId;
  /** Offers a reserved term for live H100 machines with 20 % discount and a refund of half of the remaining term. */
  offerTerm(termPeriodDays: number): Promise<void>;
  run<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Polls all engines. Without a poll in the last five minutes nothing is placed. */
  watch(): Promise<void>;
  /** Advances the clock, and polls the engines if a poll is due. */
  advance(ms: number): Promise<void>;
  rows<Row>(text: string): Promise<Row[]>;
  /** Inconsistent fleet rows and events that do not match the contract. Must be empty after every test. */
  violations(): Promise<readonly string[]>;
  drop(): Promise<void>;
}

const models = { h100: 4, h200: 1, b200: 1 } as const;
const marketModels = { rtx4090: 4 } as const;

const FABRIC_NODES = 4;

/** Each harness has its own loopback addresses, so that concurrent harnesses can open the same ports. */
function layoutOf(
  nodes: number,
  shares: Readonly<Record<string, number>>,
  fabricNodes: number | null = null,
): MockLayout {
  const block = `127.${randomInt(90, 250)}.${randomInt(1, 250)}`;
  const kinds = Object.entries(shares).flatMap(([model, share]) =>
    Array.from({ length: share * nodes }, () => model as MockNode['gpuModel']),
  );
  return {
    images: ['ubuntu-24.04', 'debian-12', 'ubuntu-24.04-cuda12.9'],
    nodes: kinds.map((gpuModel, index) => ({
      name: `node-${index + 1}`,
      address: `${block}.${index + 1}`,
      gpuModel,
      gpuCount: 8,
      cpuCount: 192,
      ramMb: 2_048_000,
      storageGb: 28_000,
      numaNodes: 2,
      fabric: fabricNodes === null ? null : `fabric-${Math.floor(index / fabricNodes) + 1}`,
    })),
  };
}

/** Offered in addition to the default. The engines have more images, which tenants cannot use. */
const offeredImages = ['debian-12'];

function providerOf(mode: Mode, variant: ProviderSetting['variant']): ProviderSetting {
  const region = mode === 'live' ? liveRegion : testRegion;
  const id =
    mode === 'test' ? 'mock' : variant === 'private-cloud' ? variant : `provider-${variant.toLowerCase()}`;
  const cluster = {
    name: mode as string,
    region,
    endpoint: mode === 'test' ? 'mock:' : 'https://live.example:8443',
    offer: 'virtual-machine',
    connectionType: 'ethernet',
    credential: null,
    ports: { first: 20_000, last: 29_999 },
    settings: { defaultImage: 'ubuntu-24.04', images: offeredImages },
  } as const;
  const market = {
    ...cluster,
    name: 'market',
    endpoint: 'https://market.example:8443',
    offer: 'marketplace',
  } as const;
  const metal = {
    ...cluster,
    name: 'metal',
    endpoint: 'https://metal.example:8443',
    offer: 'bare-metal',
    connectionType: 'infiniband',
    settings: { ...cluster.settings, cudaImages: { '12.9': 'ubuntu-24.04-cuda12.9' } },
  } as const;
  return {
    id,
    variant: mode === 'test' ? 'mock' : variant,
    driver: mode === 'test' ? 'mock' : 'incus',
    regions: [{ region, customPorts: true }],
    clusters: mode === 'test' ? [cluster] : [cluster, market, metal],
  };
}

export interface RentalHarnessOptions {
  /** Interval at which engines are polled while the clock advances. Default: one minute. */
  readonly lookEveryMs?: number;
  /** Variant of the provider that live keys rent from. */
  readonly variant?: Exclude<ProviderSetting['variant'], 'mock'>;
  /** Multiplier of the layout of four H100 nodes, one H200 node and one B200 node. */
  readonly nodes?: number;
  /** Bare-metal fabrics of four nodes each. Default: two. */
  readonly metalFabrics?: number;
  readonly poolSize?: number;
  /** Additional providers, with two H100 nodes on one fabric in each cluster. */
  readonly more?: readonly ProviderSetting[];
  /** Real engines by cluster name, used in place of mocks. */
  readonly connected?: Readonly<Record<string, ComputeDriver>>;
  /** False: machines are on but refuse logins. Faster for tests that do not log in. */
  readonly portListeners?: boolean;
}

export async function createRentalHarness(options: RentalHarnessOptions = {}): Promise<RentalHarness> {
  const { variant = 'V8', nodes = 1, metalFabrics = 2, poolSize = 10, portListeners = true } = options;
  const { more = [], connected = {} } = options;
  const database = await createTestDatabase();
  const clock = testClock();
  const ids = createIdSource({ clock, cell: 1 });
  const db = createDb({
    ...longDbTimeouts,
    url: database.url,
    poolSize,
    clock: hybridClock(clock),
    ids,
    log: quiet,
  });
  await applyFleetConfig(db, [providerOf('live', variant), providerOf('test', 'mock'), ...more]);
  const clusters = await listClusters(db, {}, { limit: 100, after: null });
  const engineOf = (which: string, layout: MockLayout): Engine & { readonly reader: ComputeDriver } => {
    const cluster = clusters.find(({ name }) => name === which);
    if (cluster === undefined) throw new Error(`Cluster ${which} does not exist.`);
    const shared = {
      cluster: which,
      clock,
      memory: createInMemoryStore(),
      controls: createMockControls(),
      layout,
    };
    const real = connected[which];
    return {
      clusterId: cluster.id,
      memory: shared.memory,
      controls: shared.controls,
      driver: real ?? createMockDriver({ ...shared, listen: portListeners ? { bind: null } : null }),
      reader: real ?? createMockDriver({ ...shared, listen: null }),
    };
  };
  const engines = {
    live: engineOf('live', layoutOf(nodes, models)),
    test: engineOf('test', layoutOf(nodes, models)),
    market: engineOf('market', layoutOf(1, marketModels)),
    metal: engineOf('metal', layoutOf(metalFabrics, { h100: FABRIC_NODES }, FABRIC_NODES)),
  };
  const others = more.flatMap((provider) => provider.clusters.map(({ name }) => name));
  const all = [
    ...Object.values(engines),
    ...others.map((name) => engineOf(name, layoutOf(1, { h100: 2 }, FABRIC_NODES))),
  ];
  const engineBy = (clusterId: ClusterId): (typeof all)[number] => {
    const found = all.find((engine) => engine.clusterId === clusterId);
    if (found === undefined) throw new Error(`Cluster ${clusterId} does not exist.`);
    return found;
  };
  const sync = new FleetSync({
    db,
    clock: hybridClock(clock),
    log: quiet,
    holder: 'world',
    drivers: { of: async (id) => engineBy(id).reader, renew: () => undefined },
  });
  const { lookEveryMs = MINUTE_MS } = options;
  let lookedAtMs = 0;
  const watch = async (): Promise<void> => {
    await sync.tick();
    for (const { clusterId } of all) await sync.look(clusterId);
    lookedAtMs = clock.nowMs();
  };
  const customers = customersOf(database, db, clock);
  await watch();
  await insertPrices(db, clock.now());
  const { orgId: supplierOrgId } = await createTenant(database.db);
  const wireIds = createWireIdAllocator({ db, cell: 1, kind: 'rental', chunk: 50 });
  return {
    database,
    db,
    clock,
    engines,
    sealer: createSealer({ keys: [{ id: 'test', key: new Uint8Array(32).fill(7) }], activeId: 'test' }),
    drivers: async (clusterId) => engineBy(clusterId).driver,
    ...customers,
    tenant: tenantsOf(customers, db, clock),
    limitedKey: (tenant, mode, limits) => customers.addKey(tenant, { mode, scopes: limitedScopes, limits }),
    offerTerm: termsOf(db, clock),
    rent: renterOf(db, wireIds),
    rentMetal: metalRenterOf(db, wireIds),
    rentInstance: createInstanceRenter(db, wireIds, { clusterId: engines.market.clusterId, supplierOrgId }),
    supplierOrgId,
    run: (work) => db.transaction({ name: 'test', isolation: readCommitted }, work),
    watch,
    advance: async (ms) => {
      await clock.advance(ms);
      if (clock.nowMs() - lookedAtMs >= lookEveryMs) await watch();
    },
    rows: async <Row>(text: string) => (await sql.raw<Row>(text).execute(db.kysely)).rows,
    async violations() {
      const client = await database.connect();
      try {
        return [...(await fleetInvariantViolations(client)), ...(await findEventMismatches(client))];
      } finally {
        await client.end();
      }
    },
    drop: async () => {
      await sync.stop();
      await Promise.all(all.flatMap(({ driver, reader }) => [driver.close(), reader.close()]));
      await db.close();
      await database.drop();
    },
  };
}

const limitedScopes = ['rentals:read', 'rentals:write', 'catalog:read'] as const;

const { operations } = createContract({ providers: defaultProviders });
const orderBody = operations.createVirtualMachineRental.body;
const metalBody = operations.createBareMetalRental.body;

/** Parses orders with the contract, so that its defaults apply. */
function renterOf(db: Db, wireIds: WireIdAllocator): RentalHarness['rent'] {
  return async (tenant, mode, request = {}, keyId) => {
    const region = mode === 'live' ? liveRegion : testRegion;
    const body = orderBody.parse({ gpuCount: 1, region, ...request });
    const wireId = await wireIds.next();
    return db.transaction({ name: 'create rental', isolation: readCommitted }, (tx) =>
      createRental(tx, tenant.call(mode, keyId), toVirtualMachineOrder(body), wireId),
    );
  };
}

function metalRenterOf(db: Db, wireIds: WireIdAllocator): RentalHarness['rentMetal'] {
  return async (tenant, request = {}, keyId) => {
    const body = metalBody.parse({ gpuCount: 8, networkType: 'infiniband', region: liveRegion, ...request });
    const wireId = await wireIds.next();
    return db.transaction({ name: 'create rental', isolation: readCommitted }, (tx) =>
      createRental(tx, tenant.call('live', keyId), toBareMetalOrder(body), wireId),
    );
  };
}

function tenantsOf(customers: Customers, db: Db, clock: SimulatedClock): RentalHarness['tenant'] {
  return async ({ balanceUsd = 1_000, ssh: wanted } = {}) => {
    const customer = await customers.customer(balanceUsd);
    const { orgId, userId } = customer;
    const ssh = newSshPair();
    if (wanted !== 'none')
      for (const mode of ['live', 'test'] as const)
        await addSsh(db, { orgId, userId, mode, ssh, now: clock.now() });
    return { ...customer, ssh };
  };
}

async function addSsh(
  db: Db,
  key: {
    readonly orgId: OrgId;
    readonly userId: UserId;
    readonly mode: Mode;
    readonly ssh: SshPair;
    readonly now: Date;
  },
): Promise<void> {
  await db.transaction({ name: 'test', isolation: readCommitted }, async (tx) => {
    await tx.kysely
      .insertInto('ssh_public_keys')
      .values({
        id: toUuid(tx.ids.next('ssh')),
        org_id: toUuid(key.orgId),
        user_id: toUuid(key.userId),
        mode: key.mode,
        name: 'laptop',
        algorithm: 'ssh-ed25519',
        bits: 256,
        public_key: key.ssh.publicKey,
        fingerprint: sshpk.parseKey(key.ssh.publicKey, 'ssh').fingerprint('sha256').toString(),
        created_at: key.now,
      })
      .execute();
  });
}

function termsOf(db: Db, clock: SimulatedClock): RentalHarness['offerTerm'] {
  return async (termPeriodDays) => {
    await db.transaction({ name: 'test', isolation: readCommitted }, (tx) =>
      sql`insert into reserve_options (id, machine_type, gpu_type, region, term_period_days, discount_ppm, refund_ppm,
            created_at)
          values (${toUuid(tx.ids.next('rso'))}, 'virtual-machine', 'h100', null, ${termPeriodDays}, 200000, 500000,
            ${clock.now()})`.execute(tx.kysely),
    );
  };
}

async function insertPrices(db: Db, now: Date): Promise<void> {
  await db.transaction({ name: 'test', isolation: readCommitted }, async (tx) => {
    for (const gpuType of Object.keys(models)) {
      for (const machineType of ['virtual-machine', 'bare-metal']) {
        await sql`insert into prices (id, subject_kind, gpu_type, machine_type, unit, price_nano_usd, valid_from, created_at)
          values (${toUuid(tx.ids.next('prc'))}, 'gpu', ${gpuType}, ${machineType}, 'gpu_hour', ${GPU_HOUR}, ${now},
            ${now})`.execute(tx.kysely);
      }
    }
    await sql`insert into prices (id, subject_kind, unit, price_nano_usd, valid_from, created_at)
      values (${toUuid(tx.ids.next('prc'))}, 'disk', 'gb_hour', ${DISK_GB_HOUR}, ${now}, ${now})`.execute(
      tx.kysely,
    );
  });
}
