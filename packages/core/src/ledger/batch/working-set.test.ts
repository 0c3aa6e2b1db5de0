import { toUuid } from '@millrace/platform/ids';
import { describe, expect, it } from 'vitest';
import type { LedgerCommand } from '../model/ledger.ts';
import { createTestLedger, revenue, usd, type TestLedger } from './test-ledger.fixture.ts';
import { unrecordedKeysOf, requireLoaded } from './working-set.ts';

function commandOf({ orgId }: TestLedger, step: string, fields: object): LedgerCommand {
  const base = { orgId, mode: 'live', cause: { kind: 'test', id: 'thing' }, step };
  return { ...base, ...fields } as LedgerCommand;
}

const hold = { do: 'hold', amount: usd(3), demand: 'new' } as const;
const debit = {
  do: 'debit',
  kind: 'charge',
  amount: usd(2),
  to: revenue(2),
  whenShort: 'refuse',
  description: 'Use',
};

describe('unrecordedKeysOf', () => {
  it('returns keys of holds and transfers that were not recorded, and of no other commands', () => {
    const ledger = createTestLedger({ balance: 10n });
    const taken = ledger.run({ ...hold, step: 'first' });
    if (!taken.ok || taken.holdId === null) throw new Error('The balance should cover the hold.');
    const { holdId } = taken;
    const commands = [
      commandOf(ledger, 'first', hold),
      commandOf(ledger, 'second', hold),
      commandOf(ledger, 'third', debit),
      commandOf(ledger, 'fourth', { do: 'resize', holdId, target: usd(1) }),
      commandOf(ledger, 'fifth', { do: 'close', holdId }),
    ];
    const orgId = toUuid(ledger.orgId);
    expect(unrecordedKeysOf(ledger.slice, commands)).toEqual([
      { orgId, key: 'test:thing:second' },
      { orgId, key: 'test:thing:third' },
    ]);
  });

  it('distinguishes a hold and a transfer with the same key', () => {
    const ledger = createTestLedger({ balance: 10n });
    ledger.run({ ...hold, step: 'same' });
    expect(unrecordedKeysOf(ledger.slice, [commandOf(ledger, 'same', debit)])).toHaveLength(1);
  });
});

it('requireLoaded names the row that is missing', () => {
  expect(requireLoaded(1, 'one')).toBe(1);
  expect(() => requireLoaded(undefined, 'the books')).toThrow('The ledger did not load the books.');
});
