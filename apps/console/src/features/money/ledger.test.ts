import { describe, expect, it } from 'vitest';
import { causeLink, entryKindText, ledgerCommand, parseLedgerSearch, ledgerPeriod } from './ledger.ts';

describe('the filters of an address', () => {
  it('are those that are known, and nothing else', () => {
    const search = {
      kind: 'charge',
      causeKind: 'rental',
      causeId: 1042,
      from: '2026-11-01',
      until: '2026-11-16',
      x: 1,
    };
    expect(parseLedgerSearch(search)).toEqual({
      kind: 'charge',
      causeKind: 'rental',
      causeId: '1042',
      from: '2026-11-01',
      until: '2026-11-16',
    });
  });

  it('leave out what is no kind, no day, or an id without its kind', () => {
    expect(
      parseLedgerSearch({ kind: 'toString', causeId: '7', from: 'yesterday', until: '2026-13-40' }),
    ).toEqual({});
    expect(parseLedgerSearch({ causeKind: 'r'.repeat(65) })).toEqual({});
  });
});

it('a period has its last day in it, in the zone of the reader', () => {
  expect(ledgerPeriod({ from: '2026-11-01', until: '2026-11-30' })).toEqual({
    from: new Date(2026, 10, 1).toISOString(),
    until: new Date(2026, 11, 1).toISOString(),
  });
  expect(ledgerPeriod({})).toEqual({});
});

describe('a line', () => {
  it('leads to its cause', () => {
    expect(causeLink({ kind: 'rental', id: '1042' })).toEqual({ to: '/rentals/1042', label: 'Rental 1042' });
    expect(causeLink({ kind: 'payment', id: 'pay_1' })?.to).toBe('/money');
    expect(causeLink({ kind: 'inference', id: 'req_1' })).toMatchObject({
      to: '/usage',
      search: { request: 'req_1' },
    });
    expect(causeLink({ kind: 'inference', id: 'bat_1' })).toMatchObject({
      to: '/usage',
      search: { batch: 'bat_1' },
    });
    expect(causeLink({ kind: 'operator', id: 'req_1' })).toBeNull();
  });

  it('cannot lead anywhere else by its id', () => {
    expect(causeLink({ kind: 'instance', id: '../keys?x=1' })?.to).toBe('/instances/..%2Fkeys%3Fx%3D1');
  });

  it('of a kind that came later is still told', () => {
    expect(entryKindText('top_up')).toBe('Top-up');
    expect(entryKindText('loyalty_bonus')).toBe('loyalty bonus');
  });
});

it('the command asks the same', () => {
  expect(ledgerCommand({})).toBe('millrace ledger');
  expect(ledgerCommand({ kind: 'charge', causeKind: 'rental', causeId: '1042', from: '2026-11-01' })).toBe(
    'millrace ledger --kind charge --cause rental:1042 --from 2026-11-01',
  );
});
