import { isIP, type LookupFunction } from 'node:net';
import type { SimulatedClock, Timer } from '@millrace/platform/clock';
import { createDb, type Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { createIdSource, toUuid, type OrgId, type WebhookId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { createNetGuard } from '@millrace/platform/net';
import { createSealer, type Sealer } from '@millrace/platform/secrets';
import {
  createTenant,
  createTestDatabase,
  eventually,
  hybridClock,
  makeCertificate,
  longDbTimeouts,
  startWebhookReceiver,
  testClock,
  uniqueId,
  type TestCertificate,
  type TestDatabase,
  type WebhookReceiver,
} from '@millrace/testing';
import { sql } from 'kysely';
import { startDeliverer, type Deliverer, type DelivererTuning } from './deliverer.ts';
import { createWebhookSender, type SendWebhook } from './webhook-sender.ts';
import { sealSecret } from './sealed-secrets.ts';
import { mintSecret } from './signing.ts';
import type { Attempt, DeliveryStatus } from './webhook.ts';
import { findWebhook, insertWebhook } from './webhooks.store.ts';

/** Runs webhooks on a test database, with receivers on addresses that represent the internet and the internal network. */

/** The one address that the guard allows. */
export const PUBLIC_ADDRESS = '127.0.0.2';
/** An internal address that deliveries must never reach. */
export const PRIVATE_ADDRESS = '127.0.0.1';
const DNS_NAMES = ['hooks.example.com', 'other.example.com', 'turncoat.example.com', 'inside.example.com'];

export interface StoredDelivery {
  readonly seq: number;
  readonly status: DeliveryStatus;
  readonly attempts: readonly Attempt[];
  readonly nextAttemptAt: Date | null;
}

export interface SeededWebhook {
  readonly id: WebhookId;
  readonly secret: string;
}

export interface WebhookHarness {
  readonly database: TestDatabase;
  readonly db: Db;
  readonly clock: SimulatedClock;
  readonly sealer: Sealer;
  /** Has both keys and seals with the newer one. */
  readonly nextSealer: Sealer;
  /** The address of each name, resolved for each connection. */
  readonly names: Map<string, () => string>;
  newReceiver(host?: string): Promise<WebhookReceiver>;
  newOrganisation(): Promise<OrgId>;
  seed(
    orgId: OrgId,
    url: string,
    options?: { readonly mode?: Mode; readonly eventTypes?: readonly string[] },
  ): Promise<SeededWebhook>;
  /** Numbers and stores one event per resource, as the relay does. */
  publish(
    orgId: OrgId,
    resources: readonly string[],
    options?: { readonly type?: string; readonly mode?: Mode },
  ): Promise<void>;
  deliveries(id: WebhookId): Promise<readonly StoredDelivery[]>;
  /** Waits until no delivery of the webhook is due. */
  settled(id: WebhookId): Promise<readonly StoredDelivery[]>;
  /** With its own clock where a test controls the time limit of an attempt. */
  post(options?: { readonly timeoutMs?: number; readonly clock?: Timer }): SendWebhook;
  deliverer(options?: {
    readonly post?: SendWebhook;
    readonly sealer?: Sealer;
    readonly tuning?: Partial<DelivererTuning>;
  }): Deliverer;
  webhook(orgId: OrgId, id: WebhookId): ReturnType<typeof findWebhook>;
  stopAll(): Promise<void>;
  close(): Promise<void>;
}

export async function openWebhookHarness(): Promise<WebhookHarness> {
  const database = await createTestDatabase();
  const clock = testClock();
  const hybrid = hybridClock(clock);
  const log = createLogger({ name: 'webhooks', level: 'silent' });
  const db = createDb({
    ...longDbTimeouts,
    url: database.url,
    poolSize: 16,
    clock: hybrid,
    ids: createIdSource({ clock, cell: 1 }),
    log,
  });
  const certificate: TestCertificate = await makeCertificate('receiver', { dnsNames: DNS_NAMES });
  const keys = [1, 2].map((nth) => ({ id: `k${nth}`, key: new Uint8Array(32).fill(nth) }));
  const sealer = createSealer({ keys, activeId: 'k1' });
  const nextSealer = createSealer({ keys, activeId: 'k2' });
  const guard = createNetGuard({ allowedNetworks: [`${PUBLIC_ADDRESS}/32`] });
  const names = new Map<string, () => string>();
  const receivers: WebhookReceiver[] = [];
  const deliverers: Deliverer[] = [];
  const post: WebhookHarness['post'] = ({ timeoutMs = 5_000, clock: timer = hybrid } = {}) =>
    createWebhookSender({
      clock: timer,
      guard,
      timeoutMs,
      ca: certificate.certificate,
      resolve: resolveBy(names),
    });

  const deliveries: WebhookHarness['deliveries'] = async (id) => {
    const rows = await db.kysely
      .selectFrom('webhook_deliveries')
      .select(['seq', 'status', 'attempts', 'next_attempt_at'])
      .where('webhook_id', '=', toUuid(id))
      .orderBy('seq')
      .execute();
    return rows.map((row) => ({
      seq: Number(row.seq),
      status: row.status,
      attempts: row.attempts as unknown as readonly Attempt[],
      nextAttemptAt: row.next_attempt_at,
    }));
  };

  return {
    database,
    db,
    clock,
    sealer,
    nextSealer,
    names,
    post,
    deliveries,
    newReceiver: async (host = PUBLIC_ADDRESS) => {
      const receiver = await startWebhookReceiver({ host, certificate });
      receivers.push(receiver);
      return receiver;
    },
    newOrganisation: async () => (await createTenant(db)).orgId,
    seed: (orgId, url, { mode = 'live', eventTypes = ['*'] } = {}) => {
      const secret = mintSecret();
      return db.transaction({ name: 'plant webhook', isolation: 'read committed' }, async (tx) => {
        const id = tx.ids.next('whk');
        const secretSealed = sealSecret(sealer, id, 'current', secret);
        const createdBy = tx.ids.next('usr');
        await insertWebhook(tx, orgId, {
          id,
          mode,
          url,
          description: '',
          eventTypes,
          secretSealed,
          createdBy,
        });
        return { id, secret };
      });
    },
    publish: (orgId, resources, options) => publish(db, orgId, resources, options),
    settled: (id) =>
      eventually({ what: 'no delivery of the webhook is due', intervalMs: 5 }, async () => {
        const queue = await db.kysely
          .selectFrom('webhook_queues')
          .select(['holder', 'next_due_at'])
          .where('webhook_id', '=', toUuid(id))
          .executeTakeFirstOrThrow();
        const isQuiet = queue.next_due_at === null || queue.next_due_at > clock.now();
        return queue.holder === null && isQuiet && (await deliveries(id));
      }),
    deliverer: (options = {}) => {
      const started = startDeliverer({
        db,
        clock: hybrid,
        log,
        holder: `test-${uniqueId()}`,
        sealer: options.sealer ?? sealer,
        post: options.post ?? post(),
        random: () => 0,
        tuning: { pollMs: 5, leaseTtlMs: 30_000, ...options.tuning },
      });
      deliverers.push(started);
      return started;
    },
    webhook: (orgId, id) => findWebhook(db, orgId, 'live', id),
    stopAll: async () => {
      names.clear();
      // Stop receivers first: deliverers wait for attempts that hang on them.
      await Promise.all(receivers.splice(0).map((receiver) => receiver[Symbol.asyncDispose]()));
      await Promise.all(deliverers.splice(0).map((deliverer) => deliverer.stop()));
      // No delivery of one test must be due in another.
      await sql`update webhook_queues set next_due_at = null`.execute(db.kysely);
    },
    close: async () => {
      await db.close();
      await database.drop();
    },
  };
}

type Resolve = NonNullable<Parameters<typeof createWebhookSender>[0]['resolve']>;

function resolveBy(names: ReadonlyMap<string, () => string>): Resolve {
  return (hostname, _options, callback: Parameters<LookupFunction>[2] | Parameters<Resolve>[2]) => {
    const found = names.get(hostname)?.();
    const response = callback as Parameters<Resolve>[2];
    if (found === undefined) response(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    else response(null, [{ address: found, family: isIP(found) }]);
  };
}

async function publish(
  db: Db,
  orgId: OrgId,
  resources: readonly string[],
  { type = 'key.created', mode = 'live' }: { readonly type?: string; readonly mode?: Mode } = {},
): Promise<void> {
  await db.transaction({ name: 'publish', isolation: 'read committed' }, async (tx) => {
    const ids = resources.map(() => toUuid(tx.ids.next('evt')));
    await sql`
      with head as (
        insert into event_heads as head (org_id, last_seq) values (${toUuid(orgId)}, ${resources.length})
        on conflict (org_id) do update set last_seq = head.last_seq + excluded.last_seq
        returning last_seq
      )
      insert into events (org_id, seq, id, type, resource_kind, resource_id, mode, cell, shard, actor, schema_version,
                          api_version, occurred_at, data)
      select ${toUuid(orgId)}, head.last_seq - ${resources.length} + nth, id, ${type}, 'api-key', resource, ${mode}, 1, 1,
             '{"kind":"system","id":"test"}', 1, '2.0.0', ${tx.clock.now()}, '{}'
        from head, unnest(${ids}::uuid[], ${resources}::text[]) with ordinality as made (id, resource, nth)
    `.execute(tx.kysely);
  });
}
