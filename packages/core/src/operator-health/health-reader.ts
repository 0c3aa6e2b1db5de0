import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { Lifecycle } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { measureFailingLoops } from '@millrace/platform/loops';
import { msToSecondsRoundDown } from '@millrace/platform/money';
import type { BuildInfo } from '@millrace/platform/release';
import { readAuditState } from '../auditor/index.ts';
import { measureOutbox } from '../events/index.ts';
import { countNodes, listObservations, readRegionHealth, SingleFlightCache } from '../fleet/index.ts';
import { hasModelWithoutEngine, listModelsOfDownEngines } from '../inference/index.ts';
import { listStorageNodes, type StorageNode } from '../volumes/index.ts';
import { measureQueues } from '../webhooks/index.ts';
import type { FleetReadings, HealthReadings } from './problems.ts';
import { probeProcess, toProcessHealth, type ProcessAddress, type ProcessHealth } from './process-probe.ts';

export interface HealthReaderDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn'>;
  readonly lifecycle: Pick<Lifecycle, 'ready'>;
  readonly build: BuildInfo;
  /** Workers and gateways to ask. */
  readonly processes: readonly ProcessAddress[];
  readonly token: string | null;
}

export interface Health {
  readonly readings: HealthReadings;
  /** Sections that could not be read. */
  readonly unread: readonly string[];
  readonly readAt: Date;
}

export interface HealthReader {
  /** Shared by all callers, so any number of them causes at most one reading in this time. */
  read(): Promise<Health>;
}

const MAX_AGE_MS = 5_000;
const SECTION_TIMEOUT_MS = 3_000;
const CLUSTERS_MAX = 1_000;

export function createHealthReader(deps: HealthReaderDeps): HealthReader {
  const cache = new SingleFlightCache(deps.clock, () => readHealth(deps));
  return { read: () => cache.get(MAX_AGE_MS) };
}

async function readHealth(deps: HealthReaderDeps): Promise<Health> {
  const { db } = deps;
  const unread: string[] = [];
  /** Null if the section cannot be read in time: one slow part must not hide the others. */
  const section = async <T>(name: string, read: () => Promise<T>): Promise<T | null> => {
    try {
      return await withDeadline(deps.clock, `Reading ${name}`, SECTION_TIMEOUT_MS, read);
    } catch (error) {
      deps.log.warn({ err: error, section: name }, 'a section of the health page could not be read');
      unread.push(name);
      return null;
    }
  };
  const [processes, queues, money, fleet, loops] = await Promise.all([
    readProcesses(deps),
    section('queues', () => readQueues(db)),
    section('money', () => readMoney(db)),
    section('fleet', () => readFleet(db)),
    section('loops', () => readLoops(db)),
  ]);
  return { readings: { processes, queues, money, fleet, loops }, unread, readAt: db.clock.now() };
}

async function readProcesses(deps: HealthReaderDeps): Promise<readonly ProcessHealth[]> {
  const { clock, lifecycle, build, processes, token } = deps;
  const startedMs = clock.monotonicMs();
  const own = lifecycle
    .ready()
    .then((report) =>
      toProcessHealth('api', { ...report, ...build }, Math.round(clock.monotonicMs() - startedMs)),
    );
  return Promise.all([own, ...processes.map((address) => probeProcess(clock, address, token))]);
}

async function readQueues(db: Db) {
  const outbox = await measureOutbox(db);
  const { oldestDueMs } = await measureQueues(db, db.clock.now());
  return {
    outboxWaiting: outbox.waiting,
    outboxOldestSeconds: msToSecondsRoundDown(outbox.oldestWaitingMs),
    outboxParked: outbox.parked,
    webhooksOldestSeconds: msToSecondsRoundDown(oldestDueMs),
  };
}

async function readMoney(db: Db) {
  const { isClean, lastCleanAgeMs } = await readAuditState(db);
  return { isClean, lastCleanSeconds: lastCleanAgeMs === null ? null : msToSecondsRoundDown(lastCleanAgeMs) };
}

async function readFleet(db: Db): Promise<FleetReadings> {
  const clusters = await listObservations(db, CLUSTERS_MAX);
  const nodes = await countNodes(db, null);
  const storage = (await listStorageNodes(db)).filter(({ configured }) => configured);
  const present = [...nodes].filter(([status]) => status !== 'node_removed');
  return {
    clusters: clusters.length,
    silentClusters: clusters
      .filter(({ status }) => status === 'silent')
      .map(({ clusterName }) => clusterName),
    nodes: present.reduce((sum, [, count]) => sum + count, 0),
    nodesFaulty: (nodes.get('node_offline') ?? 0) + (nodes.get('node_quarantined') ?? 0),
    storageNodes: storage.length,
    silentStorageNodes: storage.filter(({ status }) => status === 'silent').map(({ name }) => name),
    enginesDown: await listModelsOfDownEngines(db),
    hasModelWithoutEngine: await hasModelWithoutEngine(db),
    regions: await readRegionHealth(db),
    storageRegions: storageRegionsOf(storage),
  };
}

/** Storage nodes of live mode by region. */
function storageRegionsOf(nodes: readonly StorageNode[]): FleetReadings['storageRegions'] {
  const live = nodes.filter(({ mode }) => mode === 'live');
  return [...Map.groupBy(live, ({ region }) => region)].map(([region, all]) => ({
    region,
    total: all.length,
    silent: all.filter(({ status }) => status === 'silent').length,
  }));
}

async function readLoops(db: Db) {
  const now = db.clock.nowMs();
  return (await measureFailingLoops(db)).map(({ loop, items, failingSince }) => ({
    loop,
    items,
    failingSeconds: msToSecondsRoundDown(Math.max(0, now - failingSince.getTime())),
  }));
}
