import {
  DriverError,
  type ComputeDriver,
  type EngineEvent,
  type Inventory,
  type InventoryNode,
} from '@millrace/compute';
import type { SimulatedClock } from '@millrace/platform/clock';
import type { ClusterSetting, ProviderSetting } from '@millrace/platform/config';
import { createDb, type Db } from '@millrace/platform/db';
import { createIdSource, type ClusterId, type OrgId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import {
  createOrganisation,
  createTestDatabase,
  hybridClock,
  longDbTimeouts,
  testClock,
  type TestDatabase,
} from '@millrace/testing';
import { sql } from 'kysely';
import {
  applyFleetConfig,
  createDriverPool,
  FleetSync,
  listClusters,
  listNodes,
  type ClusterRecord,
  type NodeRecord,
  type FleetSyncDeps,
} from './index.ts';

/** A fleet with scripted engines and a simulated clock. */

export { gpu, node, unreachable } from './inventory/inventory.fixture.ts';

export const silentLogger = createLogger({ name: 'fleet', level: 'silent' });
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;

/** An engine that reports the inventory that the test sets, and supports nothing else. */
export class ScriptedEngine {
  /** Null if the engine does not respond. */
  nodes: readonly InventoryNode[] | null = [];
  reads = 0;
  /** Awaited during a read. */
  during: () => Promise<void> = async () => undefined;
  /** Awaited when a driver of the engine is closed. */
  closing: () => Promise<void> = async () => undefined;
  readonly #hints: ((event: EngineEvent) => void)[] = [];

  hint(nodeName: string): void {
    for (const notify of this.#hints) notify({ kind: 'node', nodeName, what: 'changed' });
  }

  driver(): ComputeDriver {
    const refuse = (): Promise<never> => Promise.reject(new DriverError('unsupported', 'It only reports.'));
    return {
      kind: 'incus',
      can: {
        exec: false,
        setKeys: false,
        runUserData: false,
        consoleLog: false,
        metrics: false,
        events: true,
        mapsPorts: true,
        sharesNodes: true,
        gpuUse: true,
      },
      volumes: null,
      readInventory: () => this.#report(),
      events: (signal) => this.#follow(signal),
      create: refuse,
      describe: refuse,
      start: refuse,
      stop: refuse,
      reboot: refuse,
      setKeys: refuse,
      setGpus: refuse,
      runUserData: refuse,
      setPorts: refuse,
      cutAccess: refuse,
      terminate: refuse,
      listOwned: refuse,
      consoleLog: refuse,
      metrics: refuse,
      exec: refuse,
      close: () => this.closing(),
    };
  }

  async #report(): Promise<Inventory> {
    this.reads += 1;
    const { nodes } = this;
    await this.during();
    if (nodes === null) throw new DriverError('unavailable', 'The engine does not answer.');
    return { engine: 'scripted 1', nodes };
  }

  async *#follow(signal: AbortSignal): AsyncIterable<EngineEvent> {
    const waiting: EngineEvent[] = [];
    let wake = (): void => undefined;
    this.#hints.push((event) => {
      waiting.push(event);
      wake();
    });
    signal.addEventListener('abort', () => wake(), { once: true });
    while (!signal.aborted) {
      const event = waiting.shift();
      if (event !== undefined) yield event;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }
}

export interface FleetHarness {
  readonly database: TestDatabase;
  readonly db: Db;
  readonly clock: SimulatedClock;
  /** The engine of the named cluster, created on first use. */
  engine(name: string): ScriptedEngine;
  worker(holder: string, deps?: Partial<FleetSyncDeps>): FleetSync;
  configure(...names: readonly string[]): Promise<readonly ClusterRecord[]>;
  clusterId(name: string): Promise<ClusterId>;
  cluster(name: string): Promise<ClusterRecord>;
  nodes(): Promise<readonly NodeRecord[]>;
  node(name: string): Promise<NodeRecord>;
  statuses(): Promise<Record<string, string>>;
  organisation(): Promise<OrgId>;
  rows<Row>(text: string): Promise<Row[]>;
  drop(): Promise<void>;
}

export function clusterSetting(name: string, fields: Partial<ClusterSetting> = {}): ClusterSetting {
  return {
    name,
    region: 'eu',
    endpoint: `https://${name}.example:8443`,
    offer: 'virtual-machine',
    connectionType: 'ethernet',
    credential: null,
    ports: { first: 20_000, last: 29_999 },
    settings: {},
    ...fields,
  };
}

export function providerSetting(
  clusters: readonly ClusterSetting[],
  fields: Partial<ProviderSetting> = {},
): ProviderSetting {
  const regions = [{ region: 'eu', customPorts: true }];
  return { id: 'own', variant: 'private-cloud', driver: 'incus', regions, clusters, ...fields };
}

export async function createFleetHarness(poolSize = 8): Promise<FleetHarness> {
  const database = await createTestDatabase();
  const clock = testClock();
  const ids = createIdSource({ clock, cell: 1 });
  const db = createDb({
    ...longDbTimeouts,
    url: database.url,
    poolSize,
    clock: hybridClock(clock),
    ids,
    log: silentLogger,
  });
  const engines = new Map<string, ScriptedEngine>();
  const engine = (name: string): ScriptedEngine => {
    const known = engines.get(name) ?? new ScriptedEngine();
    engines.set(name, known);
    return known;
  };
  const clusters = (): Promise<readonly ClusterRecord[]> =>
    listClusters(db, {}, { limit: 1_000, after: null });
  const nodes = (): Promise<readonly NodeRecord[]> => listNodes(db, {}, { limit: 1_000, after: null });
  const cluster = async (name: string): Promise<ClusterRecord> => {
    const found = (await clusters()).find((record) => record.name === name);
    if (found === undefined) throw new Error(`There is no cluster ${name}.`);
    return found;
  };
  return {
    database,
    db,
    clock,
    engine,
    nodes,
    cluster,
    worker: (holder, deps = {}) =>
      new FleetSync({
        db,
        clock: hybridClock(clock),
        log: silentLogger,
        holder,
        drivers: createDriverPool({
          db,
          log: silentLogger,
          connect: async ({ name }) => engine(name).driver(),
        }),
        ...deps,
      }),
    configure: async (...names) => {
      await applyFleetConfig(db, [providerSetting(names.map((name) => clusterSetting(name)))]);
      return clusters();
    },
    clusterId: async (name) => (await cluster(name)).id,
    node: async (name) => {
      const found = (await nodes()).find((record) => record.name === name);
      if (found === undefined) throw new Error(`There is no node ${name}.`);
      return found;
    },
    statuses: async () => Object.fromEntries((await nodes()).map(({ name, status }) => [name, status])),
    organisation: () => createOrganisation(database.db),
    rows: async <Row>(text: string) => (await sql.raw<Row>(text).execute(db.kysely)).rows,
    drop: async () => {
      await db.close();
      await database.drop();
    },
  };
}
