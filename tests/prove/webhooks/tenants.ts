import { randomBytes } from 'node:crypto';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { toUuid, type OrgId, type WebhookId } from '@millrace/platform/ids';
import { appendOutbox } from '@millrace/platform/outbox';
import { createSealer } from '@millrace/platform/secrets';
import { createTenant, testIds, type Random } from '@millrace/testing';

/** Inserts webhooks and writes events about a few resources of each tenant. */

export interface TestWebhook {
  readonly id: WebhookId;
  readonly orgId: OrgId;
  readonly secret: string;
  readonly path: string;
}

/** The sealing key of test workers. */
const sealer = createSealer({ keys: [{ id: 'test', key: Buffer.alloc(32, 7) }], activeId: 'test' });

/** Bypasses the api, which refuses internal addresses: the proof is about connections to them. */
export async function insertWebhook(db: Db, orgId: OrgId, origin: string): Promise<TestWebhook> {
  const id = testIds.next('whk');
  const path = `/${id}`;
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const now = systemClock.now();
  const place = { table: 'webhooks', column: 'secret_sealed', rowId: id };
  const owner = { org_id: toUuid(orgId), mode: 'live' } as const;
  await db.kysely
    .insertInto('webhooks')
    .values({
      ...owner,
      id: toUuid(id),
      url: `${origin}${path}`,
      description: '',
      event_types: ['*'],
      status: 'enabled',
      secret_sealed: sealer.seal(secret, place),
      created_by: toUuid(testIds.next('usr')),
      created_at: now,
      updated_at: now,
    })
    .execute();
  await db.kysely
    .insertInto('webhook_queues')
    .values({ ...owner, webhook_id: toUuid(id) })
    .execute();
  return { id, orgId, secret, path };
}

export async function insertTenants(db: Db, count: number): Promise<readonly OrgId[]> {
  return Promise.all(Array.from({ length: count }, async () => (await createTenant(db)).orgId));
}

const RESOURCES = 10;
const EVENTS_PER_BATCH = 3;
const PAUSE_MS = 60;
const LONG_PAUSE_MS = 1_000;

/** Writes events until aborted. Returns the number of committed events. */
export async function writeEvents(
  db: Db,
  random: Random,
  request: { readonly orgIds: readonly OrgId[]; readonly plenty: number; readonly over: AbortSignal },
): Promise<number> {
  const { orgIds, plenty, over } = request;
  let written = 0;
  while (!over.aborted) {
    for (const orgId of orgIds) {
      const count = random.int(1, EVENTS_PER_BATCH);
      await db.transaction({ name: 'write events', isolation: 'read committed' }, async (tx) => {
        for (let nth = 0; nth < count; nth += 1) {
          await appendOutbox(tx, {
            kind: 'event',
            orgId,
            mode: 'live',
            type: 'machine.ready',
            resource: { kind: 'machine', id: `thing-${random.int(1, RESOURCES)}` },
            data: { machineId: 'm', clusterName: 'c', region: 'r', reason: null },
            actor: { kind: 'system', id: 'proof' },
            occurredAt: systemClock.now(),
          });
        }
      });
      written += count;
    }
    await systemClock.sleep(written < plenty ? PAUSE_MS : LONG_PAUSE_MS);
  }
  return written;
}
