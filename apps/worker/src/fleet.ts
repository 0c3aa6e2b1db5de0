import { readFile, stat } from 'node:fs/promises';
import { DriverError, type ComputeDriver } from '@millrace/compute';
import { createIncusDriver, readIncusSettings, type IncusReach } from '@millrace/compute/incus';
import { createMockDriver, createPostgresMemory, readMockLayout } from '@millrace/compute/mock';
import {
  applyFleetConfig,
  createDriverPool,
  FleetSync,
  startFleetFigures,
  type ClusterReach,
  type DriverPool,
  type SyncParts,
} from '@millrace/core/fleet';
import { systemClock } from '@millrace/platform/clock';
import { defaultFleet, type CredentialSetting } from '@millrace/platform/config';
import type { Db } from '@millrace/platform/db';
import type { Lifecycle } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import type { WorkerConfig } from './config.ts';

const FIGURES_EVERY_MS = 30_000;

/**
 * One driver for each cluster, for all that this process does with its engine. Closed last of all that uses them:
 * whatever is still under way then is `unavailable`, and another worker does it.
 */
export function openDrivers(
  config: WorkerConfig,
  parts: { readonly db: Db; readonly lifecycle: Lifecycle; readonly log: Logger },
): DriverPool {
  const { db, lifecycle, log } = parts;
  const { credentials } = config.fleet;
  const drivers = createDriverPool({
    db,
    log,
    connect: (cluster) => connectDriver(cluster, { db, log, credentials }),
    markOf: (cluster) => markOf(credentialOf(cluster, credentials)),
  });
  lifecycle.onDrain('pools', 'drivers', () => drivers.close());
  return drivers;
}

interface FleetParts {
  readonly db: Db;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  /** Names this process among the observers. */
  readonly holder: string;
  readonly drivers: DriverPool;
  readonly onMachine: NonNullable<SyncParts['onMachine']>;
}

/** Watches the clusters. An engine that is away holds nothing up: it is asked again until it answers. */
export async function startFleet(config: WorkerConfig, parts: FleetParts): Promise<void> {
  const { db, lifecycle, log, holder, drivers, onMachine } = parts;
  const providers = config.providers.list ?? config.providers.file ?? defaultFleet;
  for (const { name, problem } of await applyFleetConfig(db, providers)) {
    log.error({ cluster: name, problem }, 'a cluster of the configuration was left as it is');
  }
  const sync = new FleetSync({
    db,
    clock: systemClock,
    log,
    holder,
    drivers,
    onMachine,
    tuning: { readEveryMs: config.worker.fleetReadMs, silentMs: config.worker.fleetSilentMs },
  });
  sync.start();
  lifecycle.onDrain('consumers', 'fleet sync', () => sync.stop());
  const figures = startFleetFigures({ db, clock: systemClock, log, everyMs: FIGURES_EVERY_MS });
  lifecycle.onDrain('consumers', 'fleet figures', () => figures.stop());
}

type Credentials = Readonly<Record<string, CredentialSetting>>;

interface DriverParts {
  readonly db: Db;
  readonly log: Logger;
  readonly credentials: Credentials;
}

/** The driver that a cluster asks for. Whatever is wrong with what it was told becomes the reason of its silence. */
async function connectDriver(cluster: ClusterReach, parts: DriverParts): Promise<ComputeDriver> {
  const { db, log } = parts;
  const clock = systemClock;
  switch (cluster.driver) {
    case 'mock': {
      const memory = createPostgresMemory(db, { cluster: cluster.name, clock });
      // Its machines are logged into for real: this process listens for them at the addresses of their nodes.
      const layout = readMockLayout(cluster.settings);
      return createMockDriver({ cluster: cluster.name, clock, memory, layout, doors: { bind: null } });
    }
    case 'incus': {
      const settings = readIncusSettings(cluster.settings);
      return createIncusDriver({ ...settings, ...(await reachOf(cluster, parts)), clock, log });
    }
    case 'ironic':
      throw new DriverError('unsupported', 'This release has no driver for Ironic.');
  }
}

async function reachOf(cluster: ClusterReach, { credentials }: DriverParts): Promise<IncusReach> {
  const { endpoint, credentialRef } = cluster;
  if (endpoint.startsWith('unix:')) return { socketPath: endpoint.slice('unix:'.length) };
  const credential = credentialOf(cluster, credentials);
  if (credential === undefined) {
    const named =
      credentialRef === null ? 'It names no credential' : `This worker has no credential ${credentialRef}`;
    throw new DriverError('refused', `${named}; an engine that is reached over the network needs one.`);
  }
  return {
    endpoints: endpoint.split(','),
    tls: {
      clientCertificate: await readSecret(credential.certificateFile),
      clientKey: await readSecret(credential.keyFile),
      serverCertificate: await readSecret(credential.serverCertificateFile),
    },
  };
}

function credentialOf(
  { credentialRef }: ClusterReach,
  credentials: Credentials,
): CredentialSetting | undefined {
  return credentialRef === null ? undefined : credentials[credentialRef];
}

/** Changes when one of the files does. One that cannot be read is complained of by whoever reads it. */
async function markOf(credential: CredentialSetting | undefined): Promise<string> {
  const marks = Object.values(credential ?? {}).map(async (path) => {
    const { mtimeMs, size } = await stat(path);
    return `${mtimeMs} ${size}`;
  });
  return (await Promise.allSettled(marks))
    .map((mark) => (mark.status === 'fulfilled' ? mark.value : ''))
    .join();
}

async function readSecret(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new DriverError('refused', `The file ${path} of its credential cannot be read.`, { cause: error });
  }
}
