import type { Tx } from '@millrace/platform/db';
import { markRevoked } from '../model/api-keys.store.ts';
import { appendAuditEntry } from '../model/audit.store.ts';
import type { ApiKey, AuditContext, RevocationReason } from '../model/identity.ts';
import type { PublishKeyChange } from './key-changes.ts';
import { appendKeyEvent, keyEventData } from './key-events.ts';

/** Revokes the key unless it is revoked already. Checks no rights. */
export async function revokeKey(
  tx: Tx,
  cause: AuditContext,
  key: ApiKey,
  how: { readonly at: Date; readonly reason: RevocationReason; readonly announce: PublishKeyChange },
): Promise<ApiKey> {
  const { at, reason, announce } = how;
  const revoked = await markRevoked(tx, key.orgId, key.id, { at, reason });
  if (revoked === null) return key;
  await recordRevokedKeys(tx, cause, { keys: [revoked], announce });
  return revoked;
}

/** Records keys that are revoked in this transaction: audit entry, event and notification of the processes. */
export async function recordRevokedKeys(
  tx: Tx,
  cause: AuditContext,
  { keys, announce }: { readonly keys: readonly ApiKey[]; readonly announce: PublishKeyChange },
): Promise<void> {
  for (const key of keys) await recordRevocation(tx, cause, key);
  if (keys.length === 0) return;
  tx.afterCommit(() => announce({ kind: 'keys', publicIds: keys.map((key) => key.publicId) }));
}

async function recordRevocation(tx: Tx, cause: AuditContext, key: ApiKey): Promise<void> {
  const { revokedAt, revokedReason } = key;
  if (revokedAt === null || revokedReason === null) throw new TypeError(`Key ${key.id} is not revoked.`);
  await appendAuditEntry(tx, key.orgId, cause, {
    action: 'key.revoked',
    resource: { kind: 'api-key', id: key.id },
    before: { revokedAt: null },
    after: { revokedAt: revokedAt.toISOString(), cause: revokedReason },
  });
  const data = { ...keyEventData(key), revokedAt: revokedAt.toISOString(), cause: revokedReason };
  await appendKeyEvent(tx, cause, key, 'key.revoked', data, tx.clock.now());
}
