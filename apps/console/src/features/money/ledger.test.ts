import { describe, expect, it } from 'vitest';
import {
  causeLink,
  entryKindText,
  entryLink,
  ledgerCommand,
  parseLedgerSearch,
  ledgerPeriod,
} from './ledger.ts';

describe('parseLedgerSearch', () => {
  it('reads known filters only', () => {
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

  it('drops unknown kinds, invalid dates, and ids without a kind', () => {
    expect(
      parseLedgerSearch({ kind: 'toString', causeId: '7', from: 'yesterday', until: '2026-13-40' }),
    ).toEqual({});
    expect(parseLedgerSearch({ causeKind: 'r'.repeat(65) })).toEqual({});
  });
});

it('ledgerPeriod includes the last day, in the local time zone', () => {
  expect(ledgerPeriod({ from: '2026-11-01', until: '2026-11-30' })).toEqual({
    from: new Date(2026, 10, 1).toISOString(),
    until: new Date(2026, 11, 1).toISOString(),
  });
  expect(ledgerPeriod({})).toEqual({});
});

describe('ledger entry', () => {
  it('links to its cause', () => {
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

  it('of an operator links to its reason in the audit log', () => {
    expect(entryLink({ id: 'txn_1', cause: { kind: 'operator', id: 'req_1' } })).toEqual({
      to: '/audit',
      search: { resource: 'txn_1' },
      label: 'Operator: reason',
    });
    expect(entryLink({ id: 'txn_1', cause: { kind: 'rental', id: '1042' } })?.to).toBe('/rentals/1042');
  });

  it('cannot link outside of its page through its id', () => {
    expect(causeLink({ kind: 'instance', id: '../keys?x=1' })?.to).toBe('/instances/..%2Fkeys%3Fx%3D1');
  });

  it('shows unknown kinds as text', () => {
    expect(entryKindText('top_up')).toBe('Top-up');
    expect(entryKindText('loyalty_bonus')).toBe('loyalty bonus');
  });
});

it('ledgerCommand uses the same filters', () => {
  expect(ledgerCommand({})).toBe('millrace ledger');
  expect(ledgerCommand({ kind: 'charge', causeKind: 'rental', causeId: '1042', from: '2026-11-01' })).toBe(
    'millrace ledger --kind charge --cause rental:1042 --from 2026-11-01',
  );
});
