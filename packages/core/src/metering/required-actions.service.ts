import type { Db, Tx } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner, type SharedLoop } from '@millrace/platform/loops';
import { readBalance, runwayMs } from '../ledger/index.ts';
import {
  claimRequiredActions,
  completeRequiredAction,
  readBurnRate,
  type RequiredAction,
} from './dunning.store.ts';
import { dunningThresholds } from './policy.ts';

/** Executes the actions that dunning, a budget or a suspension requires of a feature's resources. */

export interface RequiredActionSweep {
  readonly log: Pick<Logger, 'warn'>;
  readonly limit: number;
}

/** After this time an action that had no effect is claimed again. */
const CLAIM_MS = 20_000;

const isolation = 'read committed';

/** Each action runs in its own transaction and is done once `execute` returns true. Returns the number of claims. */
export async function runRequiredActions(
  db: Db,
  { log, limit }: RequiredActionSweep,
  feature: {
    readonly kinds: readonly string[];
    readonly loop: SharedLoop;
    readonly execute: (tx: Tx, action: RequiredAction) => Promise<boolean>;
  },
): Promise<number> {
  const { kinds, loop, execute } = feature;
  const claimed = await db.transaction({ name: 'claim required actions', isolation }, (tx) =>
    claimRequiredActions(tx, { kinds, now: tx.clock.now(), claimMs: CLAIM_MS, limit, loop }),
  );
  await createItemRunner(loop, { db, log }).run(claimed, {
    key: ({ id }) => id,
    work: (action) =>
      db.transaction({ name: 'carry out required', isolation }, async (tx) => {
        if (await execute(tx, action)) await completeRequiredAction(tx, action.orgId, action.id);
      }),
  });
  return claimed.length;
}

/** Whether the wallet has money again or no costs, so that unclaimed actions are not needed. */
export async function hasRecovered(tx: Tx, { orgId, mode }: RequiredAction): Promise<boolean> {
  const now = tx.clock.now();
  const { available } = await readBalance(tx, orgId, mode, now);
  const runway = runwayMs(await readBurnRate(tx, orgId, mode, now), available);
  return runway === null || runway > (dunningThresholds.at(-1)?.leftAboveMs ?? 0);
}
