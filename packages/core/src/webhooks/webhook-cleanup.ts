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

/** How long what became of a delivery can be read. */
export const DELIVERY_RETENTION_MS: number = 30 * 24 * 3_600_000;

/** After this nobody sends for a deleted webhook any more, whatever it was doing. */
const DELETED_RETENTION_MS = 3_600_000;

/** Gives up what waits for webhooks that are off, and forgets what is old. Answers the most that any of it came to. */
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

/** Seals secrets anew that were sealed with a key that is no longer the active one. Answers how many. */
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

/** Null when there is nothing to do, or nothing that can be done. */
function tryReseal(sealer: Sealer, webhook: Webhook, log: Pick<Logger, 'error'>): SealedSecrets | null {
  const { id: webhookId, secrets } = webhook;
  try {
    return resealIfOutdated(sealer, webhookId, secrets);
  } catch (error) {
    log.error(
      { err: error, webhookId },
      'the secret of a webhook cannot be opened; its owner must rotate it',
    );
    return null;
  }
}
