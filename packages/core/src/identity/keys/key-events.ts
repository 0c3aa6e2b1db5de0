import type { EventData } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import { appendOutbox } from '@millrace/platform/outbox';
import type { ApiKey, AuditContext } from '../model/identity.ts';

export async function appendKeyEvent<Type extends 'key.created' | 'key.revoked'>(
  tx: Tx,
  cause: AuditContext,
  key: ApiKey,
  type: Type,
  data: EventData<Type>,
  occurredAt: Date,
): Promise<void> {
  const { orgId, mode } = key;
  const { actor } = cause;
  const resource = { kind: 'api-key', id: key.id };
  await appendOutbox(tx, { kind: 'event', orgId, mode, actor, type, resource, data, occurredAt });
}

export function keyEventData(key: ApiKey) {
  return { keyId: key.id, publicId: key.publicId, name: key.name, mode: key.mode };
}
