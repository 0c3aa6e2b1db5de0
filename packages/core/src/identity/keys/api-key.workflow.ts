import type { Db } from '@millrace/platform/db';
import { parseId } from '@millrace/platform/ids';
import { step } from '@millrace/platform/restate';
import { object, TerminalError, type ObjectContext } from '@restatedev/restate-sdk';
import { keyLifecycle, type KeyExpiry } from './key-expiry.service.ts';

/** The command from the outbox. */
export interface ExpireKey {
  readonly orgId: string;
  readonly keyId: string;
}

const limits = { maxAttempts: 20, timeoutMs: 10_000 };
/** Timers and clocks can differ slightly; after this many rounds the sweep takes over. */
const ROUNDS_MAX = 5;

/**
 * Records the expiry of keys, one Restate object per key: revocation, audit entry and event. Authentication rejects an expired
 * key without it. PostgreSQL has the due time (`next_action_at`), so the sweep does the same if Restate loses its timer.
 */
export function createApiKeyLifecycle(deps: {
  readonly db: Db;
  readonly keys: KeyExpiry;
  /** A different name, so that tests can share one Restate. */
  readonly service?: string;
}) {
  return object({
    name: deps.service ?? keyLifecycle.service,
    handlers: {
      [keyLifecycle.handler]: async (ctx: ObjectContext, command: ExpireKey): Promise<string> => {
        const [orgId, keyId] = [parseId('org', command.orgId), parseId('key', command.keyId)];
        if (orgId === null || keyId === null) throw new TerminalError('The command has no valid key id.');
        for (let round = 1; round <= ROUNDS_MAX; round++) {
          const closing = await step(ctx, `note the end ${String(round)}`, limits, () =>
            deps.db.transaction({ name: 'close due api key', isolation: 'read committed' }, (tx) =>
              deps.keys.close(tx, orgId, keyId),
            ),
          );
          if (closing.state !== 'early') return closing.state;
          await ctx.sleep(closing.dueInMs + 10);
        }
        return 'left to the sweep';
      },
    },
  });
}
