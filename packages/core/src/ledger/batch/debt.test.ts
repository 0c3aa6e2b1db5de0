import { fromUuid, type HoldId, type TransferId } from '@millrace/platform/ids';
import { describe, expect, it } from 'vitest';
import type { LedgerSuccess, LedgerResult } from '../model/ledger.ts';
import {
  createTestLedger,
  revenue,
  findInconsistencies,
  usd,
  type TestLedger,
} from './test-ledger.fixture.ts';

const doneOf = (result: LedgerResult): LedgerSuccess => {
  if (!result.ok) throw new Error(result.reason);
  return result;
};
const hold = (ledger: TestLedger, amount: number): HoldId => {
  const { holdId } = doneOf(ledger.run({ do: 'hold', amount: usd(amount), demand: 'new' }));
  if (holdId === null) throw new Error('no hold');
  return holdId;
};
const clawBack = (ledger: TestLedger, amount: number): LedgerSuccess =>
  doneOf(
    ledger.run({
      do: 'debit',
      kind: 'clawback',
      amount: usd(amount),
      to: [{ account: { kind: 'payments_clearing' }, amount: usd(amount) }],
      whenShort: 'shortfall',
      description: 'Taken back',
    }),
  );
const topUp = (ledger: TestLedger, amount: number): LedgerSuccess =>
  doneOf(
    ledger.run({
      do: 'credit',
      kind: 'top_up',
      amount: usd(amount),
      from: [{ account: { kind: 'payments_clearing' }, amount: usd(amount) }],
      description: 'Top-up',
    }),
  );
/** Loads a transfer of this batch as the store does for a command that undoes it. */
function makeUndoable(
  { slice, wallet }: TestLedger,
  transferId: TransferId | null,
  isWrittenOff: boolean,
): TransferId {
  const transfer = slice.newTransfers.find(({ id }) => fromUuid('trf', id) === transferId);
  if (transfer === undefined || transferId === null) throw new Error('no such transfer');
  slice.undoable.set(transfer.id, {
    id: transfer.id,
    orgId: wallet.orgId,
    mode: 'live',
    kind: transfer.kind,
    keyId: null,
    entries: slice.newEntries.filter((entry) => entry.transferId === transfer.id),
    undone: new Map(),
    reversed: false,
    isWrittenOff,
  });
  return transferId;
}
const undo = (
  ledger: TestLedger,
  { transferId }: LedgerSuccess,
  { isWrittenOff = false } = {},
): LedgerSuccess =>
  doneOf(
    ledger.run({
      do: 'reverse',
      transferId: makeUndoable(ledger, transferId, isWrittenOff),
      description: 'Given back',
    }),
  );
const state = ({ wallet: { credit }, system }: TestLedger) => ({
  free: credit.balance - credit.held,
  owed: credit.owed,
  shortfall: system({ kind: 'shortfall' }).balance,
});

describe('clawback debt', () => {
  it('is the part that free credit does not cover; held money covers none of it', () => {
    const ledger = createTestLedger({ balance: 100n });
    hold(ledger, 90);
    clawBack(ledger, 100);
    expect(state(ledger)).toEqual({ free: 0n, owed: 90n, shortfall: -90n });
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('is repaid when holds are closed, shrunk or partly charged', () => {
    const ledger = createTestLedger({ balance: 100n });
    const [one, two, three] = [hold(ledger, 30), hold(ledger, 30), hold(ledger, 30)];
    clawBack(ledger, 100);
    doneOf(ledger.run({ do: 'close', holdId: one }));
    expect(state(ledger)).toEqual({ free: 0n, owed: 60n, shortfall: -60n });
    doneOf(ledger.run({ do: 'resize', holdId: two, target: usd(10), demand: 'running' }));
    expect(state(ledger)).toEqual({ free: 0n, owed: 40n, shortfall: -40n });
    doneOf(
      ledger.run({
        do: 'post',
        holdId: three,
        amount: usd(25),
        to: revenue(25),
        afterwards: 'close',
        description: 'Used',
      }),
    );
    expect(state(ledger)).toEqual({ free: 0n, owed: 35n, shortfall: -35n });
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('is repaid from deposits before they can be spent, and only up to the debt', () => {
    const ledger = createTestLedger({ balance: 0n });
    clawBack(ledger, 50);
    topUp(ledger, 20);
    expect(state(ledger)).toEqual({ free: 0n, owed: 30n, shortfall: -30n });
    expect(ledger.run({ do: 'hold', amount: usd(1), demand: 'new' })).toMatchObject({
      ok: false,
      reason: 'INSUFFICIENT_BALANCE',
    });
    topUp(ledger, 100);
    expect(state(ledger)).toEqual({ free: 70n, owed: 0n, shortfall: 0n });
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('is cancelled when its clawback is undone, and repayments return to the organisation', () => {
    const ledger = createTestLedger({ balance: 100n });
    const holdId = hold(ledger, 90);
    const taken = clawBack(ledger, 100);
    doneOf(ledger.run({ do: 'resize', holdId, target: usd(50), demand: 'running' }));
    expect(state(ledger)).toEqual({ free: 0n, owed: 50n, shortfall: -50n });
    undo(ledger, taken);
    expect(state(ledger)).toEqual({ free: 50n, owed: 0n, shortfall: 0n });
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('is reduced by undoing one of two clawbacks, regardless of which one was repaid', () => {
    const ledger = createTestLedger({ balance: 100n });
    const holdId = hold(ledger, 100);
    const first = clawBack(ledger, 60);
    clawBack(ledger, 40);
    doneOf(ledger.run({ do: 'resize', holdId, target: usd(30), demand: 'running' }));
    expect(state(ledger)).toEqual({ free: 0n, owed: 30n, shortfall: -30n });
    undo(ledger, first);
    expect(state(ledger)).toEqual({ free: 30n, owed: 0n, shortfall: 0n });
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('returns to the operator if it was written off and its clawback is undone', () => {
    const ledger = createTestLedger({ balance: 0n });
    const taken = clawBack(ledger, 50);
    const { credit } = ledger.wallet;
    credit.writtenOff = credit.owed;
    credit.owed = 0n;
    undo(ledger, taken, { isWrittenOff: true });
    expect(state(ledger)).toEqual({ free: 0n, owed: 0n, shortfall: 0n });
    expect(credit.writtenOff).toBe(0n);
  });

  it('is returned with its repayments after a won dispute, regardless of earlier write-offs', () => {
    const ledger = createTestLedger({ balance: 100n });
    const { credit } = ledger.wallet;
    const old = clawBack(ledger, 190);
    credit.writtenOff = credit.owed;
    credit.owed = 0n;
    topUp(ledger, 100);
    const holdId = hold(ledger, 100);
    const disputed = clawBack(ledger, 50);
    doneOf(ledger.run({ do: 'close', holdId }));
    expect(state(ledger)).toEqual({ free: 50n, owed: 0n, shortfall: -90n });
    undo(ledger, disputed);
    expect([state(ledger), credit.writtenOff]).toEqual([{ free: 100n, owed: 0n, shortfall: -90n }, 90n]);
    undo(ledger, old, { isWrittenOff: true });
    expect([state(ledger), credit.writtenOff]).toEqual([{ free: 200n, owed: 0n, shortfall: 0n }, 0n]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('is not created by charges that the balance does not cover', () => {
    const ledger = createTestLedger({ balance: 10n });
    doneOf(
      ledger.run({
        do: 'debit',
        kind: 'charge',
        amount: usd(30),
        to: revenue(30),
        whenShort: 'shortfall',
        description: 'Used',
      }),
    );
    topUp(ledger, 5);
    expect(state(ledger)).toEqual({ free: 5n, owed: 0n, shortfall: -20n });
  });
});
