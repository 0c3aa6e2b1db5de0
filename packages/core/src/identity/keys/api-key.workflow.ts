import type { Db } from '@millrace/platform/db';
import { parseId } from '@millrace/platform/ids';
import { step } from '@millrace/platform/restate';
import { object, TerminalError, type ObjectContext } from '@restatedev/restate-sdk';
import { keyLifecycle, type ApiKeyService } from './api-keys.service.ts';

/** What the outbox hands over: which key has come to its end. */
export interface ExpireKey {
  readonly orgId: string;
  readonly keyId: string;
}

const limits = { maxAttempts: 20, timeoutMs: 10_000 };
/** Timers and our clock may disagree by a little; beyond this many rounds the sweep takes over. */
const ROUNDS_MAX = 5;

/**
 * Notes the end of keys that expire, one object per key. The key is refused from its expiry on without any of this;
 * what happens here is that it is marked, audited and announced. PostgreSQL knows when that is due (`next_action_at`),
 * so if Restate forgets, the sweep does the same thing a little later.
 */
export function createApiKeyLifecycle(deps: {
  readonly db: Db;
  readonly keys: Pick<ApiKeyService, 'close'>;
  /** Another name, so that tests can share one Restate. */
  readonly service?: string;
}) {
  return object({
    name: deps.service ?? keyLifecycle.service,
    handlers: {
      [keyLifecycle.handler]: async (ctx: ObjectContext, command: ExpireKey): Promise<string> => {
        const [orgId, keyId] = [parseId('org', command.orgId), parseId('key', command.keyId)];
        if (orgId === null || keyId === null) throw new TerminalError('The command names no key.');
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
