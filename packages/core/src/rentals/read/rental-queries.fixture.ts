import { createContract, defaultProviders, type Contract } from '@millrace/contract';
import type { Mode } from '@millrace/platform/envelope';
import type { HttpServer } from '@millrace/platform/http';
import { createIdSource, fromUuid, toUuid, type KeyId } from '@millrace/platform/ids';
import type { NatsClient } from '@millrace/platform/nats';
import { createRestateIngress } from '@millrace/platform/restate';
import {
  createRouteServer,
  connectTestNats,
  hybridClock,
  insertRentals,
  principal,
  testEndpoints,
  testLog,
  testNames,
  uniqueId,
  type InsertedRental,
  type RentalsOptions,
} from '@millrace/testing';
import { systemClock } from '@millrace/platform/clock';
import {
  createFeed,
  ensureEventStream,
  eventChannels,
  startRelay,
  type Feed,
  type Relay,
} from '../../events/index.ts';
import { serveRentalCreation } from '../order/create.routes.ts';
import { serveRentalLifecycle } from '../actions/lifecycle.routes.ts';
import { serveRentalQueries } from './rental-queries.routes.ts';
import {
  createRentalHarness,
  type RentalHarness,
  type RentalHarnessOptions,
  type Tenant,
} from '../model/rental.fixture.ts';

/** HTTP API of rental queries on a simulated clock; its event feed uses real time. */
export interface RentalQueryApi {
  readonly harness: RentalHarness;
  readonly operations: Contract['operations'];
  readonly url: string;
  send(who: Tenant, mode: Mode, request: RentalQueryRequest): Promise<RentalQueryResponse>;
  /** The authorization header of a tenant's key. */
  credentials(who: Tenant, mode: Mode, keyId?: KeyId): Readonly<Record<string, string>>;
  /** Inserts rentals without engines or money. */
  insertRentals(who: Tenant, request: InsertRentalsRequest): Promise<readonly InsertedRental[]>;
  close(): Promise<void>;
}

type InsertRentalsRequest = Pick<RentalsOptions, 'live' | 'ended' | 'mode' | 'kind' | 'until'>;

export interface RentalQueryRequest {
  readonly path: string;
  readonly body?: object;
  /** Default with a body: `PATCH`. */
  readonly method?: 'POST';
  readonly keyId?: KeyId;
}

export interface RentalQueryResponse {
  readonly status: number;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads fields of an answer it then asserts on
  readonly json: any;
  readonly link: unknown;
}

interface Events {
  readonly nats: NatsClient;
  readonly feed: Feed;
  readonly relay: Relay | null;
}

export interface RentalQueryOptions extends RentalHarnessOptions {
  /** Moves events from the outbox to the feed. Without it events stay in the outbox. */
  readonly relay?: boolean;
}

async function startEvents(harness: RentalHarness, withRelay: boolean): Promise<Events> {
  const log = testLog('feed');
  const channels = eventChannels(testNames().natsPrefix);
  const nats = await connectTestNats();
  await ensureEventStream(nats, channels, { replicas: 1, maxAgeMs: 3_600_000, maxBytes: 10_000_000 });
  const common = { db: harness.database.db, clock: systemClock, log, channels, nats };
  const restate = createRestateIngress({ url: testEndpoints().restate.ingressUrl });
  const holder = `relay-${uniqueId()}`;
  const relay = withRelay ? await startRelay({ ...common, holder, restate, tuning: { pollMs: 5 } }) : null;
  return { nats, feed: createFeed(common), relay };
}

export async function startRentalQueryApi(options: RentalQueryOptions = {}): Promise<RentalQueryApi> {
  const harness = await createRentalHarness({ portListeners: false, ...options });
  const { nats, feed, relay } = await startEvents(harness, options.relay ?? false);
  const contract = createContract({ providers: defaultProviders });
  const callers = new Map<string, ReturnType<typeof principal>>();
  const clock = hybridClock(harness.clock);
  const server: HttpServer = createRouteServer({
    contract,
    authenticate: async ({ key }) => callers.get(key) ?? principal(),
    db: harness.db,
    clock,
    ids: createIdSource({ clock, cell: 1 }),
  });
  const { operations } = contract;
  serveRentalQueries({ server, operations, db: harness.db, clock, feed });
  serveRentalCreation({ server, operations, db: harness.db, clock, cell: 1 });
  serveRentalLifecycle({ server, operations });
  const { host, port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const credentials: RentalQueryApi['credentials'] = ({ orgId, userId, keys }, mode, keyId = keys[mode]) => {
    const scopes = ['rentals:read', 'rentals:write', 'catalog:read', 'admin:read', 'admin:write'] as const;
    callers.set(keyId, principal({ orgId, userId, keyId, mode, scopes, platformRoles: ['operator'] }));
    return { authorization: `Bearer ${keyId}` };
  };
  return {
    harness,
    operations,
    url: `http://${host}:${port}`,
    credentials,
    async send(who, mode, { path, body, keyId, method = body === undefined ? 'GET' : 'PATCH' }) {
      const response = await server.fastify.inject({
        method,
        url: path,
        headers: credentials(who, mode, keyId),
        ...(body === undefined ? {} : { payload: body }),
      });
      const { link } = response.headers;
      return { status: response.statusCode, text: response.body, json: response.json(), link };
    },
    async insertRentals({ orgId, userId }, request) {
      const { clusterId } = harness.engines[request.mode ?? 'live'];
      const nodes = await harness.rows<{ id: string }>(
        `select id from nodes where cluster_id = '${toUuid(clusterId)}'`,
      );
      const nodeIds = nodes.map(({ id }) => fromUuid('nod', id));
      return insertRentals(harness.db, {
        until: harness.clock.now(),
        ...request,
        orgId,
        userId,
        clusterId,
        nodeIds,
      });
    },
    close: async () => {
      await server.drain();
      await server.close();
      await feed.close();
      await relay?.stop();
      await nats.close();
      await harness.drop();
    },
  };
}
