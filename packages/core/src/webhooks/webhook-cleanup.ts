import type { Db } from '@millrace/platform/db';
import type { WebhookId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import type { Sealer } from '@millrace/platform/secrets';
import { abandonDeliveries, deleteOldDeliveries, purgeDeletedWebhooks } from './deliveries.store.ts';
import { resealLoop } from './loops.ts';
import { resealIfOutdated } from './sealed-secrets.ts';
import type { SealedSecrets, Webhook } from './webhook.ts';
import { listWebhooksToReseal, replaceSealed } from './webhooks.store.ts';

/** How long owners can read the outcome of a delivery. */
export const DELIVERY_RETENTION_MS: number = 30 * 24 * 3_600_000;

/** By then no worker sends for a deleted webhook. */
const DELETED_RETENTION_MS = 3_600_000;

/** Abandons deliveries of disabled webhooks and deletes old rows. Returns the largest of the three counts. */
export async function cleanUpWebhooks(db: Db, limit: number): Promise<number> {
  const abandoned = await db.transaction({ name: 'abandon deliveries', isolation: 'read committed' }, (tx) =>
    abandonDeliveries(tx, { webhookId: null, limit }),
  );
  const deleted = await deleteOldDeliveries(db, { olderThanMs: DELIVERY_RETENTION_MS, limit });
  const purged = await db.transaction({ name: 'forget webhooks', isolation: 'read committed' }, (tx) =>
    purgeDeletedWebhooks(tx, { deletedBefore: new Date(tx.clock.nowMs() - DELETED_RETENTION_MS), limit }),
  );
  return Math.max(abandoned, deleted, purged);
}

const RESEAL_PAGE_SIZE = 200;

/** Reseals secrets whose sealing key is not the active one. Returns how many. */
export async function resealWebhooks(
  db: Db,
  sealer: Sealer,
  log: Pick<Logger, 'warn' | 'error'>,
): Promise<number> {
  const runner = createItemRunner(resealLoop, { log });
  let count = 0;
  let after: WebhookId | null = null;
  for (;;) {
    const page: readonly Webhook[] = await listWebhooksToReseal(db, { after, limit: RESEAL_PAGE_SIZE });
    await runner.run(page, {
      key: ({ id }) => id,
      work: async (webhook) => {
        const resealed = tryReseal(sealer, webhook, log);
        if (resealed === null) return;
        await db.transaction({ name: 'reseal webhook secret', isolation: 'read committed' }, (tx) =>
          replaceSealed(tx, webhook, resealed),
        );
        count += 1;
      },
    });
    after = page.at(-1)?.id ?? null;
    if (page.length < RESEAL_PAGE_SIZE) return count;
  }
}

/** Null when the secrets are current, or cannot be opened. */
function tryReseal(sealer: Sealer, webhook: Webhook, log: Pick<Logger, 'error'>): SealedSecrets | null {
  const { id: webhookId, secrets } = webhook;
  try {
    return resealIfOutdated(sealer, webhookId, secrets);
  } catch (error) {
    log.error({ err: error, webhookId }, 'webhook secret cannot be opened; its owner must rotate it');
    return null;
  }
}
