import type { Db, Tx } from '@millrace/platform/db';
import { toUuid, type KeyId, type OrgId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import { hasSuccessor, listDueKeys, lockKey } from '../model/api-keys.store.ts';
import { systemAuditContext } from '../model/identity.ts';
import { keyExpiryLoop } from '../model/loops.ts';
import type { PublishKeyChange } from './key-changes.ts';
import { revokeKey } from './key-revocation.ts';

/** The expiry of API keys. Workers record it. They have no right to create keys, so this file must not import code that does. */

/** The durable handler that records the expiry of a key. See api-key.workflow.ts. */
export const keyLifecycle = { service: 'ApiKeyLifecycle', handler: 'expire' } as const;

export type KeyExpiryResult =
  | { readonly state: 'closed' }
  /** The key is already revoked, does not exist or does not expire. */
  | { readonly state: 'nothing to do' }
  | { readonly state: 'early'; readonly dueInMs: number };

export interface KeyExpiry {
  /** Records the expiry of a due key. Idempotent. */
  close(tx: Tx, orgId: OrgId, keyId: KeyId): Promise<KeyExpiryResult>;
}

export function createKeyExpiry({ announce }: { readonly announce: PublishKeyChange }): KeyExpiry {
  return {
    async close(tx, orgId, keyId) {
      const key = await lockKey(tx, orgId, keyId);
      if (key === null || key.revokedAt !== null || key.expiresAt === null) return { state: 'nothing to do' };
      const dueInMs = key.expiresAt.getTime() - tx.clock.nowMs();
      if (dueInMs > 0) return { state: 'early', dueInMs };
      const reason = (await hasSuccessor(tx, orgId, keyId)) ? 'rotated' : 'expired';
      const cause = systemAuditContext('api-key-lifecycle', key.mode);
      await revokeKey(tx, cause, key, { at: key.expiresAt, reason, announce });
      return { state: 'closed' };
    },
  };
}

/** Records the expiry of keys whose timer was lost, and returns their number. */
export async function sweepDueKeys(
  db: Db,
  options: { readonly keys: KeyExpiry; limit: number; log: Pick<Logger, 'warn'> },
): Promise<number> {
  let closed = 0;
  const due = await listDueKeys(db, { at: db.clock.now(), limit: options.limit });
  await createItemRunner(keyExpiryLoop, { db, log: options.log }).run(due, {
    key: ({ keyId }) => toUuid(keyId),
    work: async ({ orgId, keyId }) => {
      const { state } = await db.transaction(
        { name: 'close due api key', isolation: 'read committed' },
        (tx) => options.keys.close(tx, orgId, keyId),
      );
      if (state === 'closed') closed += 1;
    },
  });
  return closed;
}
