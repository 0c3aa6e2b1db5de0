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

/** Deposits of this sum raise the rate limit of an organisation. */
export const FUNDING_THRESHOLD: NanoUsd = nanoUsd(5n * nanoPerUsd);

/**
 * Raises the rate limit of the organisation once its payments reach the threshold. Call it in the transaction of the
 * top-up, before the posting: it locks the organisation's row, and ledger rows are locked last. Grants and test money
 * are not deposits.
 */
export async function recordDeposit(
  tx: Tx,
  orgId: OrgId,
  mode: Mode,
  deposit: { readonly amount: NanoUsd; readonly cause: MoneyCause; readonly announce?: PublishKeyChange },
): Promise<void> {
  if (mode === 'test' || (await findFundedAt(tx, orgId)) !== null) return;
  if ((await lockFundedAt(tx, orgId)) !== null) return;
  // A payment that is recorded twice counts once: its earlier top-up is left out of the sum.
  const before = await sumTopUps(tx, orgId, mode, deposit.cause);
  if (addUsd(before, deposit.amount) < FUNDING_THRESHOLD) return;
  await setFundedAt(tx, orgId, tx.clock.now());
  tx.afterCommit(() => deposit.announce?.({ kind: 'organisation', orgId }));
}

/** Call it after the posting, in the same transaction. */
export async function emitToppedUpEvent(
  tx: Tx,
  orgId: OrgId,
  mode: Mode,
  topUp: {
    readonly amount: NanoUsd;
    /** The kind of source: `grant` or `payment`. */
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
