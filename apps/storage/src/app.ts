import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@millrace/platform/clock';
import {
  createHealthHandler,
  createLifecycle,
  startHealthServer,
  startLoop,
  type Lifecycle,
  type Loop,
} from '@millrace/platform/lifecycle';
import { readBuildInfo } from '@millrace/platform/release';
import { createLogger, type Logger } from '@millrace/platform/log';
import { tlsFilesOf, watchTlsFiles } from '@millrace/platform/tls';
import { AcceptedClients, watchAcceptedClients } from './accepted-clients.ts';
import { createApi, minTlsVersion } from './api.ts';
import { isWithin, type StorageConfig } from './config.ts';
import { openPool } from './pool.ts';
import { Volumes } from './volumes.ts';

export interface StorageProcess {
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  readonly port: number;
}

const superviseEveryMs = 1_000;
const firstSuperviseMs = 15_000;
const drainMs = 30_000;

/** Starts the agent. NFS servers run before it starts and after it stops, so clients notice neither. */
export async function startStorageAgent(config: StorageConfig): Promise<StorageProcess> {
  const log = createLogger({ name: 'storage', level: config.log.level });
  const lifecycle = createLifecycle({
    clock: systemClock,
    log,
    drainDeadlineMs: drainMs,
    lameDuckMs: config.health.lameDuckMs,
  });
  try {
    const port = await startAgent(config, lifecycle, log);
    lifecycle.started();
    log.info({ port }, 'listening');
    return { lifecycle, log, port };
  } catch (error) {
    await lifecycle.shutdown('failed to start');
    throw error;
  }
}

async function startAgent(
  { storage, health: { host, token, commit } }: StorageConfig,
  lifecycle: Lifecycle,
  log: Logger,
): Promise<number> {
  const clock = systemClock;
  const pool = await openPool(storage.pool);
  lifecycle.onDrain('pools', 'pool', () => pool.close());
  lifecycle.addCheck({ name: 'pool', required: true, check: () => pool.totalBytes() });
  let loop: Loop | null = null;
  const volumes = new Volumes({
    pool,
    settings: { nfsPort: storage.nfsPort, leaseSeconds: storage.leaseSeconds },
    isVip: (address) => isWithin(storage.vips, address),
    clock,
    log,
    onEnd: () => loop?.wake(),
  });
  await volumes.recover();
  // Adopts running servers, so the first list reports them as served; a hanging volume delays the start by 15 s.
  await Promise.race([volumes.supervise(), clock.sleep(firstSuperviseMs)]);
  const supervision = startLoop({ name: 'supervision', clock, log, idleMs: superviseEveryMs }, async () => {
    await volumes.supervise();
    return 'idle';
  });
  loop = supervision;
  lifecycle.onDrain('consumers', 'supervision', () => supervision.stop());
  lifecycle.onDrain('consumers', 'orders', () => volumes.settle());

  const clients = new AcceptedClients(storage.clientCerts, clock);
  const api = createApi({
    volumes,
    clock,
    log,
    certificate: storage.tlsCert,
    key: storage.tlsKey,
    clients,
  });
  for (const watch of watchCertificates(storage, { api, clients, log })) {
    lifecycle.onDrain('consumers', 'TLS files', () => watch.stop());
  }
  lifecycle.onDrain('accept', 'orders', () => close(api));
  const handle = createHealthHandler({ lifecycle, build: readBuildInfo(commit), token });
  const health = await startHealthServer({ host, port: storage.healthPort }, handle);
  lifecycle.onDrain('pools', 'health', () => health.close());
  await new Promise<void>((resolve, reject) => {
    api.once('error', reject);
    api.listen(storage.port, storage.host, resolve);
  });
  return (api.address() as AddressInfo).port;
}

function watchCertificates(
  storage: StorageConfig['storage'],
  { api, clients, log }: { readonly api: Server; readonly clients: AcceptedClients; readonly log: Logger },
): readonly Loop[] {
  const clock = systemClock;
  const { clientCertsFile: file, clientCerts: loaded } = storage;
  const files = tlsFilesOf(storage);
  return [
    watchAcceptedClients({ clients, file, loaded, clock, log }),
    ...(files === null
      ? []
      : [watchTlsFiles({ ...files, server: api, minVersion: minTlsVersion, clock, log })]),
  ];
}

/** Lets requests in progress finish. */
async function close(api: Server): Promise<void> {
  if (!api.listening) return;
  const closed = new Promise<void>((resolve) => {
    api.close(() => resolve());
  });
  api.closeIdleConnections();
  await closed;
}
