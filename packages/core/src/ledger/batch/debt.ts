import { fromUuid } from '@millrace/platform/ids';
import { minBigint } from './draw.ts';
import {
  recordTransfer,
  findSystemAccount,
  Legs,
  type WorkingSet,
  type UndoableTransfer,
  type Wallet,
} from './working-set.ts';

/**
 * The debt of an organisation whose payment was taken back while its money was held or spent. The operator's shortfall
 * account advances the missing part; credit that becomes free afterwards, by a released hold or a deposit, repays it first.
 * The database refuses free credit beside a debt, so every command that frees credit must settle within its own batch.
 */

/** The cause of transfers that repay a debt, or return a repayment. */
export const debtCause = 'clawback_debt';

/** A clawback took `shortfall` less than its amount. */
export function addDebt({ credit }: Wallet, shortfall: bigint): void {
  if (shortfall === 0n) return;
  credit.owed += shortfall;
  credit.touched = true;
}

/**
 * A clawback was undone, and `returned` of it went back to the operator. A written-off clawback never was a debt, so it reduces none;
 * every other one reduces the debt, and repayments beyond the remaining debt return to the organisation.
 */
export function reduceDebt({ credit }: Wallet, returned: bigint, { isWrittenOff }: UndoableTransfer): void {
  const writtenOff = isWrittenOff ? minBigint(returned, credit.writtenOff) : 0n;
  if (returned === 0n) return;
  credit.writtenOff -= writtenOff;
  credit.owed -= returned - writtenOff;
  credit.touched = true;
}

/** Repays as much of the debt as the credit covers. Call after each command. */
export function settleDebt(slice: WorkingSet, wallet: Wallet): void {
  const { credit } = wallet;
  if (credit.owed === 0n) return;
  if (credit.owed < 0n) {
    // A clawback was undone after its debt was repaid.
    moveDebt(slice, wallet, -credit.owed, 'Top-up given back: repaid debt returned');
    return;
  }
  const free = credit.balance - credit.held;
  if (free > 0n) {
    moveDebt(slice, wallet, -minBigint(credit.owed, free), 'Top-up taken back: rest of a refund or dispute');
  }
}

/** Moves credit from (positive) or to (negative) the shortfall account, and the debt with it. */
function moveDebt(slice: WorkingSet, wallet: Wallet, amount: bigint, description: string): void {
  if (amount === 0n) return;
  const { credit } = wallet;
  const cause = { kind: debtCause, id: fromUuid('lac', credit.id) };
  const legs = new Legs();
  legs.add(credit, amount);
  legs.add(findSystemAccount(slice, { kind: 'shortfall' }, wallet.mode), -amount);
  credit.owed += amount;
  recordTransfer(slice, legs, {
    wallet,
    kind: 'clawback',
    // Each entry of the account has its own number, so a later repayment cannot reuse this key.
    command: { cause, step: `entry:${credit.entryCount + 1n}` },
    amount,
    description,
  });
}
