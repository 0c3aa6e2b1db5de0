import { createHash } from 'node:crypto';
import { createContract, defaultProviders } from '@millrace/contract';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { toUuid, type KeyId, type NodeId, type OrgId, type UserId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import {
  createRouteServer,
  createTenant,
  createTestDatabase,
  fleetInvariantViolations,
  insertFleet,
  insertSupplierMachine,
  principal,
  uniqueId,
  type SupplierMachineOptions,
  type TestDatabase,
} from '@millrace/testing';
import { sql } from 'kysely';
import { issueUnrestrictedKey, systemAuditContext, type CallContext } from '../../identity/index.ts';
import { applyLedger, requireLedgerSuccess } from '../../ledger/index.ts';
import { serveInstances } from './instances.routes.ts';

/** Marketplace machines as inserted rows without engines, and HTTP calls of tenants. */

export interface MarketTenant {
  readonly orgId: OrgId;
  readonly userId: UserId;
  readonly keys: Readonly<Record<Mode, KeyId>>;
  call(mode: Mode): CallContext;
}

/** A machine as a create request names it. */
export interface MarketMachine {
  readonly cluster_name: string;
  readonly node_name: NodeId;
  /** Null for the operator's machines. */
  readonly supplierOrgId: OrgId | null;
}

export interface MarketRequest {
  readonly path: string;
  readonly method?: 'GET' | 'POST';
  readonly body?: object;
  readonly mode?: Mode;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface MarketResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads fields of an answer it then asserts on
  readonly json: any;
}

export interface MarketplaceHarness {
  readonly database: TestDatabase;
  readonly db: Db;
  tenant(options?: { readonly balanceUsd?: number; readonly ssh?: 'none' }): Promise<MarketTenant>;
  /** Grants promotional credit. */
  give(who: MarketTenant, usd: number): Promise<void>;
  /** By default one node with eight H100 at two dollars per GPU-hour. */
  machine(options?: Omit<SupplierMachineOptions, 'orgId'>): Promise<MarketMachine>;
  /** A machine of the operator, with price and images in the cluster's settings. */
  ownMachine(mode: Mode): Promise<MarketMachine>;
  send(who: MarketTenant, request: MarketRequest): Promise<MarketResponse>;
  create(who: MarketTenant, machine: MarketMachine, more?: object, mode?: Mode): Promise<MarketResponse>;
  rows<Row>(text: string): Promise<Row[]>;
  violations(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export const CREATE = '/v1/marketplace/instances/create';
export const INSTANCES = '/v1/marketplace/instances';
export const TERMINATE = '/v1/marketplace/instances/terminate';
export const HISTORY = '/v1/marketplace/instances/history';

/** A price that no fee divides evenly. */
export const GPU_HOUR = 1_999_999_999n;
export const OWN_GPU_HOUR_USD = 1.25;
export const DOMAIN = 'market.example';

export async function openMarketplaceHarness(): Promise<MarketplaceHarness> {
  const database = await createTestDatabase();
  const { db } = database;
  const { operations, ...contract } = createContract({ providers: defaultProviders });
  const callers = new Map<string, ReturnType<typeof principal>>();
  const server = createRouteServer({
    contract: { ...contract, operations },
    authenticate: async ({ key }) => callers.get(key) ?? principal(),
    db,
  });
  serveInstances({ server, operations, db, clock: systemClock, cell: 1, domain: DOMAIN });
  const send: MarketplaceHarness['send'] = async ({ orgId, userId, keys }, request) => {
    const { mode = 'live', body, path, headers = {} } = request;
    callers.set(keys[mode], principal({ orgId, userId, keyId: keys[mode], mode }));
    const response = await server.fastify.inject({
      method: request.method ?? (body === undefined ? 'GET' : 'POST'),
      url: path,
      headers: { authorization: `Bearer ${keys[mode]}`, ...headers },
      ...(body === undefined ? {} : { payload: body }),
    });
    return { status: response.statusCode, headers: response.headers, json: response.json() };
  };
  return {
    database,
    db,
    tenant: (options) => newTenant(db, options),
    give: ({ orgId }, usd) => credit(db, orgId, usd, 'grants'),
    machine: async (options = {}) => {
      const { orgId } = await createTenant(db);
      const { nodeId } = await insertSupplierMachine(db, {
        orgId,
        clusterName: 'c1',
        pricePerGpuHourNanoUsd: GPU_HOUR,
        ...options,
      });
      return { cluster_name: options.clusterName ?? 'c1', node_name: nodeId, supplierOrgId: orgId };
    },
    ownMachine: (mode) => seedOwnMachine(db, mode),
    send,
    create: (who, { cluster_name, node_name }, more = {}, mode = 'live') =>
      send(who, { path: CREATE, mode, body: { cluster_name, node_name, gpu_count: 1, ...more } }),
    rows: async <Row>(text: string) => (await sql.raw<Row>(text).execute(db.kysely)).rows,
    async violations() {
      const client = await database.connect();
      try {
        return await fleetInvariantViolations(client);
      } finally {
        await client.end();
      }
    },
    close: async () => {
      await server.close();
      await database.drop();
    },
  };
}

async function seedOwnMachine(db: Db, mode: Mode): Promise<MarketMachine> {
  const { clusterId, nodeIds } = await insertFleet(db, { nodes: 1, offer: 'marketplace', mode });
  const [nodeId] = nodeIds;
  if (nodeId === undefined) throw new Error('No node was planted.');
  const settings = JSON.stringify({
    pricePerGpuHourUsd: OWN_GPU_HOUR_USD,
    defaultImage: 'ubuntu-24.04',
    images: ['pytorch:2.8'],
  });
  const { rows } = await sql<{ name: string }>`
    update clusters set settings = ${settings}::jsonb where id = ${toUuid(clusterId)} returning name`.execute(
    db.kysely,
  );
  return { cluster_name: rows[0]?.name ?? '', node_name: nodeId, supplierOrgId: null };
}

async function newTenant(
  db: Db,
  { balanceUsd = 100, ssh }: { readonly balanceUsd?: number; readonly ssh?: 'none' } = {},
): Promise<MarketTenant> {
  const { orgId, ownerId: userId } = await createTenant(db);
  const user = { id: userId, name: 'Ada Tester', email: 'ada@example.com', image: null };
  const keyOf = (mode: Mode): Promise<KeyId> =>
    db.transaction({ name: 'test', isolation: 'read committed' }, async (tx) => {
      const request = { orgId, user, mode, name: mode };
      return (await issueUnrestrictedKey(tx, systemAuditContext('test', mode), request)).key.id;
    });
  const keys = { live: await keyOf('live'), test: await keyOf('test') };
  if (balanceUsd > 0) await credit(db, orgId, balanceUsd, 'payments_clearing');
  if (ssh !== 'none') for (const mode of ['live', 'test'] as const) await addSsh(db, { orgId, userId, mode });
  return {
    orgId,
    userId,
    keys,
    call: (mode) => ({
      orgId,
      keyId: keys[mode],
      cause: { actor: { kind: 'key', id: keys[mode] }, mode, requestId: null, ip: null },
    }),
  };
}

/** A payment, or promotional credit for `grants`. */
async function credit(
  db: Db,
  orgId: OrgId,
  usd: number,
  kind: 'payments_clearing' | 'grants',
): Promise<void> {
  const amount = nanoUsd(BigInt(usd) * 1_000_000_000n);
  const [result] = await db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
    applyLedger(tx, [
      {
        do: 'credit',
        kind: kind === 'grants' ? 'grant' : 'top_up',
        orgId,
        mode: 'live',
        cause: { kind: 'payment', id: uniqueId() },
        step: 'paid',
        amount,
        from: [{ account: { kind }, amount }],
        ...(kind === 'grants' ? { promo: { priority: 1, expiresAt: null } } : {}),
        description: 'Top-up',
      },
    ]),
  );
  requireLedgerSuccess(result);
}

async function addSsh(
  db: Db,
  { orgId, userId, mode }: { readonly orgId: OrgId; readonly userId: UserId; readonly mode: Mode },
): Promise<void> {
  await db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
    sql`insert into ssh_public_keys (id, org_id, user_id, mode, name, algorithm, bits, public_key, fingerprint, created_at)
        values (${toUuid(tx.ids.next('ssh'))}, ${toUuid(orgId)}, ${toUuid(userId)}, ${mode}, 'laptop', 'ssh-ed25519', 256,
          'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlantedPlantedPlantedPlantedPlantedPlanted planted',
          ${`SHA256:${createHash('sha256').update(userId).digest('base64').replace('=', '')}`}, ${tx.clock.now()})`.execute(
      tx.kysely,
    ),
  );
}
