import { contract, type EventData, type OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { toUuid } from '@millrace/platform/ids';
import { testIds } from '@millrace/testing';
import type { AccessRow } from './access.rows.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** Access rows of webhooks. No worker runs, so nothing is delivered. */

const { operations } = contract;

export const newWebhook = { url: 'https://hooks.example.com/in', eventTypes: ['*'] };

export const webhookAccessRows: Partial<Record<OperationId, AccessRow>> = {
  createWebhook: { own: async () => ({ body: newWebhook }), others: 'none' },
  listWebhooks: { own: async () => ({}), others: 'none' },
  getWebhook: webhookRow(),
  updateWebhook: webhookRow({ body: { description: 'for the billing robot' } }),
  deleteWebhook: webhookRow(),
  rotateWebhookSecret: webhookRow({ body: { overlapSeconds: 60 } }),
  listWebhookDeliveries: webhookRow(),
  replayWebhook: webhookRow({ body: { after: 0 } }),
  replayWebhookDelivery: {
    own: async (harness) => ({ params: await createDelivery(harness, harness.acme) }),
    others: {
      absent: { params: { webhookId: testIds.next('whk'), deliveryId: testIds.next('dlv') } },
      foreign: async (harness) => ({ params: await createDelivery(harness, harness.other) }),
    },
  },
};

function webhookRow(input: CallInput = {}): AccessRow {
  const of = (webhookId: string): CallInput => ({ ...input, params: { webhookId } });
  return {
    own: async (harness) => of(await createTestWebhook(harness, harness.acme)),
    others: {
      absent: of(testIds.next('whk')),
      foreign: async (harness) => of(await createTestWebhook(harness, harness.other)),
    },
  };
}

async function createTestWebhook(harness: Harness, who: SeededOrganisation): Promise<string> {
  const made = await callOperation(harness, operations.createWebhook, { body: newWebhook }, who.owner.key);
  if (made.status !== 201) throw new Error(made.text);
  return made.json.id;
}

/** Inserts an event as a relay would, which creates a delivery for the webhook. */
export async function createDelivery(
  harness: Harness,
  who: SeededOrganisation,
): Promise<{ readonly webhookId: string; readonly deliveryId: string }> {
  const webhookId = await createTestWebhook(harness, who);
  await harness.fixture.database.query(
    `with head as (
       insert into event_heads as head (org_id, last_seq) values ($1, 1)
       on conflict (org_id) do update set last_seq = head.last_seq + 1 returning last_seq)
     insert into events (org_id, seq, id, type, resource_kind, resource_id, mode, cell, shard, actor, schema_version,
                         api_version, occurred_at, data)
     select $1, last_seq, $2, 'key.created', 'api-key', 'planted', 'live', 1, 1, '{"kind":"system","id":"test"}', 1,
            '2.0.0', now(), $3 from head`,
    [toUuid(who.organisation.id), toUuid(testIds.next('evt')), JSON.stringify(keyCreatedBy(who))],
  );
  const params = { webhookId };
  const { json } = await callOperation(harness, operations.listWebhookDeliveries, { params }, who.owner.key);
  return { webhookId, deliveryId: json.items[0].id };
}

function keyCreatedBy({ owner }: SeededOrganisation): EventData<'key.created'> {
  const { keyId, userId: createdBy } = owner;
  const key = { keyId, publicId: 'planted', name: 'planted', mode: 'live' } as const;
  return { ...key, createdBy, scopes: [], expiresAt: null, rotatedFrom: null };
}
