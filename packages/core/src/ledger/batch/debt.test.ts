import { fromUuid, type HoldId, type TransferId } from '@millrace/platform/ids';
import { describe, expect, it } from 'vitest';
import type { LedgerSuccess, LedgerResult } from '../ledger.ts';
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
const hold = (books: TestLedger, amount: number): HoldId => {
  const { holdId } = doneOf(books.run({ do: 'hold', amount: usd(amount), demand: 'new' }));
  if (holdId === null) throw new Error('nothing was held');
  return holdId;
};
const clawBack = (books: TestLedger, amount: number): LedgerSuccess =>
  doneOf(
    books.run({
      do: 'debit',
      kind: 'clawback',
      amount: usd(amount),
      to: [{ account: { kind: 'payments_clearing' }, amount: usd(amount) }],
      whenShort: 'shortfall',
      description: 'Taken back',
    }),
  );
const topUp = (books: TestLedger, amount: number): LedgerSuccess =>
  doneOf(
    books.run({
      do: 'credit',
      kind: 'top_up',
      amount: usd(amount),
      from: [{ account: { kind: 'payments_clearing' }, amount: usd(amount) }],
      description: 'Top-up',
    }),
  );
/** Loads a transfer of this batch as the store would for a command that undoes it. */
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
  books: TestLedger,
  { transferId }: LedgerSuccess,
  { isWrittenOff = false } = {},
): LedgerSuccess =>
  doneOf(
    books.run({
      do: 'reverse',
      transferId: makeUndoable(books, transferId, isWrittenOff),
      description: 'Given back',
    }),
  );
const state = ({ wallet: { credit }, system }: TestLedger) => ({
  free: credit.balance - credit.held,
  owed: credit.owed,
  shortfall: system({ kind: 'shortfall' }).balance,
});

describe('the debt of a clawback', () => {
  it('is what the free credit does not cover, held money included', () => {
    const books = createTestLedger({ balance: 100n });
    hold(books, 90);
    clawBack(books, 100);
    expect(state(books)).toEqual({ free: 0n, owed: 90n, shortfall: -90n });
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('is repaid by closing, shrinking and partly charging holds', () => {
    const books = createTestLedger({ balance: 100n });
    const [one, two, three] = [hold(books, 30), hold(books, 30), hold(books, 30)];
    clawBack(books, 100);
    doneOf(books.run({ do: 'close', holdId: one }));
    expect(state(books)).toEqual({ free: 0n, owed: 60n, shortfall: -60n });
    doneOf(books.run({ do: 'resize', holdId: two, target: usd(10), demand: 'running' }));
    expect(state(books)).toEqual({ free: 0n, owed: 40n, shortfall: -40n });
    doneOf(
      books.run({
        do: 'post',
        holdId: three,
        amount: usd(25),
        to: revenue(25),
        afterwards: 'close',
        description: 'Used',
      }),
    );
    expect(state(books)).toEqual({ free: 0n, owed: 35n, shortfall: -35n });
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('is repaid from deposits before they can be spent, and never from more than is owed', () => {
    const books = createTestLedger({ balance: 0n });
    clawBack(books, 50);
    topUp(books, 20);
    expect(state(books)).toEqual({ free: 0n, owed: 30n, shortfall: -30n });
    expect(books.run({ do: 'hold', amount: usd(1), demand: 'new' })).toMatchObject({
      ok: false,
      reason: 'INSUFFICIENT_BALANCE',
    });
    topUp(books, 100);
    expect(state(books)).toEqual({ free: 70n, owed: 0n, shortfall: 0n });
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('ends with the clawback that made it, and what was repaid returns to the organisation', () => {
    const books = createTestLedger({ balance: 100n });
    const holdId = hold(books, 90);
    const taken = clawBack(books, 100);
    doneOf(books.run({ do: 'resize', holdId, target: usd(50), demand: 'running' }));
    expect(state(books)).toEqual({ free: 0n, owed: 50n, shortfall: -50n });
    undo(books, taken);
    expect(state(books)).toEqual({ free: 50n, owed: 0n, shortfall: 0n });
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('of two clawbacks is reduced by undoing one of them, whichever the repayments were for', () => {
    const books = createTestLedger({ balance: 100n });
    const holdId = hold(books, 100);
    const first = clawBack(books, 60);
    clawBack(books, 40);
    doneOf(books.run({ do: 'resize', holdId, target: usd(30), demand: 'running' }));
    expect(state(books)).toEqual({ free: 0n, owed: 30n, shortfall: -30n });
    undo(books, first);
    expect(state(books)).toEqual({ free: 30n, owed: 0n, shortfall: 0n });
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('that was written off returns to the operator when its clawback is undone', () => {
    const books = createTestLedger({ balance: 0n });
    const taken = clawBack(books, 50);
    const { credit } = books.wallet;
    credit.writtenOff = credit.owed;
    credit.owed = 0n;
    undo(books, taken, { isWrittenOff: true });
    expect(state(books)).toEqual({ free: 0n, owed: 0n, shortfall: 0n });
    expect(credit.writtenOff).toBe(0n);
  });

  it('and its repayment return to the organisation when its dispute is won, however much was written off before', () => {
    const books = createTestLedger({ balance: 100n });
    const { credit } = books.wallet;
    const old = clawBack(books, 190);
    credit.writtenOff = credit.owed;
    credit.owed = 0n;
    topUp(books, 100);
    const holdId = hold(books, 100);
    const disputed = clawBack(books, 50);
    doneOf(books.run({ do: 'close', holdId }));
    expect(state(books)).toEqual({ free: 50n, owed: 0n, shortfall: -90n });
    undo(books, disputed);
    expect([state(books), credit.writtenOff]).toEqual([{ free: 100n, owed: 0n, shortfall: -90n }, 90n]);
    undo(books, old, { isWrittenOff: true });
    expect([state(books), credit.writtenOff]).toEqual([{ free: 200n, owed: 0n, shortfall: 0n }, 0n]);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('is not made by charges that the balance does not cover', () => {
    const books = createTestLedger({ balance: 10n });
    doneOf(
      books.run({
        do: 'debit',
        kind: 'charge',
        amount: usd(30),
        to: revenue(30),
        whenShort: 'shortfall',
        description: 'Used',
      }),
    );
    topUp(books, 5);
    expect(state(books)).toEqual({ free: 5n, owed: 0n, shortfall: -20n });
  });
});
