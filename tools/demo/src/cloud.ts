import { createApi } from '@millrace/api';
import { connectDriver } from '@millrace/compute/connect';
import { contract } from '@millrace/contract';
import { eventChannels } from '@millrace/core/events';
import { applyFleetConfig, createDriverPool, FleetSync, type DriverPool } from '@millrace/core/fleet';
import { keyChangeSubject } from '@millrace/core/identity';
import { consoleSubject } from '@millrace/core/rentals';
import { applyStorageConfig } from '@millrace/core/volumes';
import { SimulatedClock, systemClock, type Clock } from '@millrace/platform/clock';
import { demoConfig, loadConfig, providersConfig, storageConfig } from '@millrace/platform/config';
import { createDb, migrate, type Db } from '@millrace/platform/db';
import { createIdSource, type IdSource } from '@millrace/platform/ids';
import { createLifecycle } from '@millrace/platform/lifecycle';
import type { RefundingLimiter } from '@millrace/platform/limiter';
import { createLogger, type Logger } from '@millrace/platform/log';
import { connectNats } from '@millrace/platform/nats';
import { createNetGuard } from '@millrace/platform/net';
import { createSealer, type Sealer } from '@millrace/platform/secrets';
import type { Endpoints } from '@millrace/services';
import { callServer, longDbTimeouts, type CallRequest } from '@millrace/testing';
import { demoProviders, demoStorage } from './fleet.ts';
import { createByteSource } from './seeded-random.ts';

/** The api of the demo in this process, on a simulated clock: real database and ledger, mock machines. */

/** The caller names the fields of the response that it reads. */
export type Call = <Response = unknown>(
  method: CallRequest['method'],
  path: string,
  body?: object,
) => Promise<Response>;

export interface Cloud extends AsyncDisposable {
  readonly db: Db;
  /** Another pool with ids of its own, for a loop that runs beside the scenario: it takes no ids of others. */
  openDb(name: string): Db;
  readonly clock: SimulatedClock;
  readonly ids: IdSource;
  readonly log: Logger;
  readonly sealer: Sealer;
  readonly drivers: DriverPool;
  readonly sync: FleetSync;
  /** Calls the api with this key. Fails unless the api accepts the request. */
  as(key: string): Call;
  /** Reads the marketplace, which the api lists from memory. */
  refreshListing(): Promise<void>;
  /** Applies the fleet settings. `silentNode` does not respond from now on. */
  applyFleet(silentNode: string | null): Promise<void>;
}

/** Seals the secrets of the dump. Not a secret: the dump has only data of the demo. */
export const demoSealingKey = { id: 'demo', key: new Uint8Array(32).fill(0xde) } as const;

const unlimited: RefundingLimiter = {
  consume: async () => ({ allowed: true, degraded: false, policies: [], refusedBy: null }),
  peek: async () => ({ allowed: true, degraded: false, policies: [], refusedBy: null }),
  giveBack: async () => undefined,
};

/** Simulated time with real waits: a driver that waits for a connection must not wait for the scenario to continue. */
function withRealWaits(simulated: SimulatedClock): Clock {
  return {
    nowMs: () => simulated.nowMs(),
    now: () => simulated.now(),
    monotonicMs: () => systemClock.monotonicMs(),
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
    after: (ms, action) => systemClock.after(ms, action),
  };
}

function openDrivers(deps: { readonly db: Db; readonly clock: Clock; readonly log: Logger }): DriverPool {
  const guard = createNetGuard({ allowedNetworks: ['127.0.0.0/8'] });
  return createDriverPool({
    ...deps,
    connect: (cluster) => connectDriver(cluster, { ...deps, credentials: {}, guard, opensPorts: true }),
  });
}

const UNLIMITED_RPM = 1_000_000;
const CELL = 0;

async function applyFleet(db: Db, silentNode: Parameters<Cloud['applyFleet']>[0]): Promise<void> {
  const { providers, storage } = loadConfig([demoConfig, providersConfig, storageConfig], {
    MILLRACE_DEMO: 'true',
    MILLRACE_PROVIDERS: JSON.stringify(demoProviders(silentNode)),
    MILLRACE_STORAGE_NODES: JSON.stringify(demoStorage),
  });
  const refused = [
    ...(await applyFleetConfig(db, providers.list ?? [])),
    ...(await applyStorageConfig(db, storage.list ?? [])),
  ];
  if (refused.length > 0) throw new Error(`Settings were refused: ${JSON.stringify(refused)}`);
}

export async function openCloud(
  endpoints: Pick<Endpoints, 'natsUrls'>,
  options: { readonly databaseUrl: string; readonly startMs: number },
): Promise<Cloud> {
  await migrate(options.databaseUrl);
  const clock = new SimulatedClock(options.startMs);
  const hybrid = withRealWaits(clock);
  const log = createLogger({ name: 'demo', level: 'warn' });
  const idsOf = (name: string): IdSource => {
    const takeBytes = createByteSource(name);
    return createIdSource({ clock, cell: CELL, random: (bytes) => bytes.set(takeBytes(bytes.length)) });
  };
  const ids = idsOf('ids');
  const dbOptions = { ...longDbTimeouts, url: options.databaseUrl, poolSize: 8, clock: hybrid, log };
  const db = createDb({ ...dbOptions, ids });
  const sealer = createSealer({ keys: [demoSealingKey], activeId: demoSealingKey.id });
  const nats = await connectNats({ servers: endpoints.natsUrls, name: 'demo', log });
  const prefix = `demo${process.pid}`;
  const api = createApi({
    contract,
    cell: CELL,
    clock: hybrid,
    ids,
    log,
    db,
    nats,
    natsPrefix: prefix,
    sealer,
    feedSealer: sealer,
    limiter: unlimited,
    lifecycle: createLifecycle({ clock: hybrid, log, drainDeadlineMs: 5_000 }),
    channels: eventChannels(prefix),
    keyChangeSubject: keyChangeSubject(prefix),
    consoleSubject: consoleSubject(prefix, CELL),
    organisationRpm: UNLIMITED_RPM,
    trustedProxies: [],
    validateResponses: true,
    isDemo: true,
    openDocuments: false,
  });
  const drivers = openDrivers({ db, clock: hybrid, log });
  const sync = new FleetSync({ db, clock: hybrid, log, holder: 'demo', drivers });
  return {
    ...{ db, clock, ids, log, sealer, drivers, sync },
    openDb: (name) => createDb({ ...dbOptions, ids: idsOf(name) }),
    as:
      (key) =>
      async <Response>(method: CallRequest['method'], path: string, body?: object) => {
        const response = await callServer(api.server, {
          method,
          path,
          key,
          ...(body === undefined ? {} : { body }),
        });
        const { status, text } = response;
        if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}`);
        return response.json as Response;
      },
    refreshListing: async () => {
      while ((await api.listing.step()) === 'busy');
    },
    applyFleet: (silentNode) => applyFleet(db, silentNode),
    [Symbol.asyncDispose]: async () => {
      await sync.stop();
      await drivers.close();
      await api.server.close();
      await api.close();
      await nats.close();
      await db.close();
    },
  };
}
