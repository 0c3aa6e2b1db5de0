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
 * Rentals with everything under them: real tables, the real ledger, mock engines whose doors are open on loopback,
 * and a clock that a test moves by hand. Live keys rent in `us-central-1`, test keys in `mock-region`.
 */

export const SECOND_MS = 1_000;
export const DAY_MS = 86_400_000;

export { HOUR_MS, MINUTE_MS, quiet, readCommitted, usd };

/** What live mode costs here: one GPU for an hour, before discounts, and one GB of disk. */
export const GPU_HOUR: NanoUsd = nanoUsd(3_980_000_001n);
export const DISK_GB_HOUR: NanoUsd = nanoUsd(137_000n);

export const liveRegion = 'us-central-1';
export const testRegion = 'mock-region';

export interface SshPair {
  /** In OpenSSH's form. */
  readonly privateKey: string;
  /** A line of `authorized_keys`. */
  readonly publicKey: string;
}

export function newSshPair(): SshPair {
  const key = sshpk.generatePrivateKey('ed25519');
  return { privateKey: key.toString('openssh'), publicKey: key.toPublic().toString('ssh') };
}

/** Someone who rents, with the same SSH key behind the keys of both modes. */
export interface Tenant extends Customer {
  readonly ssh: SshPair;
}

export type RentalBody = BodyInput<Contract['operations']['createVirtualMachineRental']>;
export type MetalBody = BodyInput<Contract['operations']['createBareMetalRental']>;

export type EngineName = Mode | 'market' | 'metal';

/** One mock engine: what it knows, how a test hurts it, and a connection whose doors are open. */
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
  /**
   * `market`: machines that live keys rent as instances, of a model that rentals do not offer. `metal`: whole nodes on fabrics
   * of four.
   */
  readonly engines: Readonly<Record<EngineName, Engine>>;
  /** As the drive, the reconciler and sampling ask for them. */
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
  tenant(options?: { readonly balanceUsd?: number; readonly ssh?: 'none' }): Promise<Tenant>;
  /** Another key of the tenant's, with limits of its own. */
  limitedKey(tenant: Tenant, mode: Mode, limits: Partial<ApiKeyLimits>): Promise<KeyId>;
  /** Accepts an order as the route would: one H100 of the mode's own region unless said otherwise. */
  rent(tenant: Tenant, mode: Mode, request?: Partial<RentalBody>, keyId?: KeyId): Promise<Rental>;
  /** The same of bare metal: one node of H100 unless said otherwise. */
  rentMetal(tenant: Tenant, request?: Partial<MetalBody>, keyId?: KeyId): Promise<Rental>;
  /** Accepts an order of an instance on one of the market's machines, which another organisation supplies. */
  rentInstance(tenant: Tenant, request?: InstanceRequest): Promise<Rental>;
  /** Whom the market's machines belong to. */
  readonly supplierOrgId: OrgId;
  /** A term on offer for live H100 machines: 20 % off, half of the rest given back. */
  offerTerm(termPeriodDays: number): Promise<void>;
  run<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Somebody looks at all engines: without it nothing is placed five minutes later. */
  watch(): Promise<void>;
  /** Moves the clock, and has the engines looked at if that is due by then. */
  advance(ms: number): Promise<void>;
  rows<Row>(text: string): Promise<Row[]>;
  /** Sentences about what is wrong with the fleet's rows, or with what was told: none, after every test. */
  violations(): Promise<readonly string[]>;
  drop(): Promise<void>;
}

const models = { h100: 4, h200: 1, b200: 1 } as const;
const marketModels = { rtx4090: 4 } as const;

/** Nodes of bare metal on each fabric. */
const FABRIC_NODES = 4;

/** Addresses of its own for each world, so that worlds at the same time can have the same ports open. */
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

/** Beside the default; the engines have further ones, which are not for tenants. */
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
  /** How often engines are looked at while the clock moves: once a minute, unless a test is about what is seen. */
  readonly lookEveryMs?: number;
  /** Of the provider that live keys rent from. */
  readonly variant?: Exclude<ProviderSetting['variant'], 'mock'>;
  /** How many times over the layout: one is four nodes of H100, one of H200, one of B200. */
  readonly nodes?: number;
  /** Fabrics of bare metal, of four nodes each; two unless said. */
  readonly metalFabrics?: number;
  readonly poolSize?: number;
  /** Further providers, with two nodes of H100 on one fabric in each cluster. */
  readonly more?: readonly ProviderSetting[];
  /** Real engines that stand behind clusters of theirs, by the name of the cluster. */
  readonly connected?: Readonly<Record<string, ComputeDriver>>;
  /** False: machines are on and nobody can log in; faster where no test does. */
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
    if (cluster === undefined) throw new Error(`There is no cluster ${which}.`);
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
    if (found === undefined) throw new Error(`There is no cluster ${clusterId}.`);
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

/** Orders go through the contract, so that its defaults are theirs. */
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

/** Whoever rents, each with an SSH key of their own. */
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
