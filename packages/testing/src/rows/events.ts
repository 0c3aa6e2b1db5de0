import type { EventData } from '@millrace/contract';
import { systemClock } from '@millrace/platform/clock';
import type { Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { EventId, OrgId } from '@millrace/platform/ids';
import { appendOutbox } from '@millrace/platform/outbox';

/** Appends a complete `key.created` event for tests, proofs and benches of the feed. */
export function appendTestEvent(
  tx: Tx,
  orgId: OrgId,
  fields: { readonly name: string; readonly mode?: Mode },
): Promise<EventId> {
  const keyId = tx.ids.next('key');
  const data: EventData<'key.created'> = {
    keyId,
    publicId: 'abcdefgh2345',
    name: fields.name,
    mode: fields.mode ?? 'live',
    createdBy: tx.ids.next('usr'),
    scopes: ['events:read'],
    expiresAt: null,
    rotatedFrom: null,
  };
  return appendOutbox(tx, {
    kind: 'event',
    orgId,
    mode: fields.mode ?? 'live',
    type: 'key.created',
    resource: { kind: 'api-key', id: keyId },
    data,
    actor: { kind: 'system', id: 'test' },
    occurredAt: systemClock.now(),
  });
}
