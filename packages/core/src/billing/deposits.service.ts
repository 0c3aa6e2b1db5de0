import type { EventData } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { Actor, Mode } from '@millrace/platform/envelope';
import type { OrgId } from '@millrace/platform/ids';
import { addUsd, nanoPerUsd, nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { appendOutbox } from '@millrace/platform/outbox';
import { findFundedAt, lockFundedAt, setFundedAt, type PublishKeyChange } from '../identity/index.ts';
import { readBalance, sumTopUps, type MoneyCause } from '../ledger/index.ts';
import type { ReadBurnRate } from './burn-rate.ts';
import { toWireEventBalance } from './billing.wire.ts';

/** Deposits of this sum lift the rate limit of an organisation. */
export const FUNDING_THRESHOLD: NanoUsd = nanoUsd(5n * nanoPerUsd);

/**
 * Notes that money is being paid in, and lifts the rate limit of the organisation once its payments have reached the
 * threshold. Call it in the transaction of the top-up, before its posting: it takes the organisation's row, and the
 * ledger's rows come last. Grants are not deposits, and money of test mode is none.
 */
export async function recordDeposit(
  tx: Tx,
  orgId: OrgId,
  mode: Mode,
  deposit: { readonly amount: NanoUsd; readonly cause: MoneyCause; readonly announce?: PublishKeyChange },
): Promise<void> {
  if (mode === 'test' || (await findFundedAt(tx, orgId)) !== null) return;
  if ((await lockFundedAt(tx, orgId)) !== null) return;
  // The same payment noted twice counts once: whatever it has paid in already is left out of the sum.
  const before = await sumTopUps(tx, orgId, mode, deposit.cause);
  if (addUsd(before, deposit.amount) < FUNDING_THRESHOLD) return;
  await setFundedAt(tx, orgId, tx.clock.now());
  tx.afterCommit(() => deposit.announce?.({ kind: 'organisation', orgId }));
}

/** Tells the organisation that money was added. Call it after the posting, in its transaction. */
export async function emitToppedUpEvent(
  tx: Tx,
  orgId: OrgId,
  mode: Mode,
  topUp: {
    readonly amount: NanoUsd;
    /** Where it came from, in a word: `grant`, `payment`. */
    readonly source: string;
    readonly actor: Actor;
    readonly burnOf: ReadBurnRate;
  },
): Promise<void> {
  const now = tx.clock.now();
  const balance = await readBalance(tx, orgId, mode, now);
  const view = { ...balance, ...(await topUp.burnOf(tx, orgId, mode, now)) };
  const data: EventData<'balance.topped_up'> = {
    ...toWireEventBalance(view),
    amountNanoUsd: topUp.amount.toString(),
    source: topUp.source,
  };
  await appendOutbox(tx, {
    kind: 'event',
    type: 'balance.topped_up',
    orgId,
    mode,
    actor: topUp.actor,
    resource: { kind: 'balance', id: orgId },
    data,
    occurredAt: tx.clock.now(),
  });
}
