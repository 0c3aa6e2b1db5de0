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
 * Tracks clawback debts. The database refuses free credit beside a debt, so a command that frees credit must settle the
 * debt in its own batch. The shortfall account advances the missing part meanwhile.
 */

export const debtCause = 'clawback_debt';

/** Adds the missing part of a clawback, `shortfall`, to the debt. */
export function addDebt({ credit }: Wallet, shortfall: bigint): void {
  if (shortfall === 0n) return;
  credit.owed += shortfall;
  credit.touched = true;
}

/** Reduces the debt by an undone clawback; a written-off one never was a debt. `settleDebt` returns any excess. */
export function reduceDebt({ credit }: Wallet, returned: bigint, { isWrittenOff }: UndoableTransfer): void {
  const writtenOff = isWrittenOff ? minBigint(returned, credit.writtenOff) : 0n;
  if (returned === 0n) return;
  credit.writtenOff -= writtenOff;
  credit.owed -= returned - writtenOff;
  credit.touched = true;
}

/** Repays as much of the debt as the free credit covers. Call it after each command. */
export function settleDebt(slice: WorkingSet, wallet: Wallet): void {
  const { credit } = wallet;
  if (credit.owed === 0n) return;
  if (credit.owed < 0n) {
    // The debt was repaid before its clawback was undone.
    moveDebt(slice, wallet, -credit.owed, 'Top-up clawback reversed: repaid debt returned');
    return;
  }
  const free = credit.balance - credit.held;
  if (free > 0n) {
    moveDebt(
      slice,
      wallet,
      -minBigint(credit.owed, free),
      'Top-up clawback: remainder of a refund or dispute',
    );
  }
}

/** Moves an amount from (positive) or to (negative) the shortfall account and adjusts the debt by it. */
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
    // Entry numbers are unique in an account, so a later repayment cannot reuse this key.
    command: { cause, step: `entry:${credit.entryCount + 1n}` },
    amount,
    description,
  });
}
