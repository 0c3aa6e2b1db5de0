import { toUuid } from '@millrace/platform/ids';
import type { AuditedLedger } from './audited-ledger.fixture.ts';
import { fakeId, type AuditCase } from './audit-case.fixture.ts';

const creditOf = (orgId: AuditedLedger['orgId']): string =>
  `kind = 'credit' and mode = 'live' and org_id = '${toUuid(orgId)}'`;

export const ledgerCases: readonly AuditCase[] = [
  {
    what: 'an entry with another amount',
    alter: (w) => [
      `update ledger_entries set amount_nano_usd = amount_nano_usd - 1
        where transfer_id = '${toUuid(w.charged)}' and account_id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [
      ['transfer_sums_to_zero', w.charged],
      ['transfer_amount', w.charged],
      ['account_balance', w.credit],
    ],
  },
  {
    what: 'opening balances that do not sum to zero',
    alter: () => [
      `insert into ledger_opening_balances (account_id, entry_count, balance_nano_usd) values ('${fakeId}', 1, 5)`,
    ],
    names: () => [['opening_balances', 'of no account']],
  },
  {
    what: 'deleted entries',
    alter: (w) => [`delete from ledger_entries where transfer_id = '${toUuid(w.charged)}'`],
    names: (w) => [
      ['transfer_has_entries', w.charged],
      ...w.chargedAccounts.flatMap((id) => [
        ['account_balance', id] as const,
        ['account_entry_count', id] as const,
      ]),
      ['budget_left', w.budget],
    ],
  },
  {
    what: 'a deleted transfer',
    alter: (w) => [`delete from ledger_transfers where id = '${toUuid(w.charged)}'`],
    names: (w) => [
      ['entry_has_transfer', w.charged],
      ['transfer_balance_after', w.orgId],
      ['budget_left', w.budget],
    ],
  },
  {
    what: 'an entry of an account that does not exist',
    alter: (w) => [
      `update ledger_entries set account_id = '${fakeId}'
        where transfer_id = '${toUuid(w.charged)}' and account_id = '${toUuid(w.revenue)}'`,
    ],
    names: (w) => [
      ['entry_has_account', w.charged],
      ['account_balance', w.revenue],
      ['account_entry_count', w.revenue],
    ],
  },
  {
    what: 'a transfer with another amount than its entries',
    alter: (w) => [
      `update ledger_transfers set amount_nano_usd = amount_nano_usd + 1, balance_after_nano_usd = balance_after_nano_usd + 1
        where id = '${toUuid(w.charged)}'`,
    ],
    names: (w) => [
      ['transfer_amount', w.charged],
      ['transfer_balance_after', w.orgId],
    ],
  },
  {
    what: 'a transfer with another balance after it',
    alter: (w) => [
      `update ledger_transfers set balance_after_nano_usd = balance_after_nano_usd + 7 where id = '${toUuid(w.charged)}'`,
    ],
    names: (w) => [['transfer_balance_after', w.charged]],
  },
  {
    what: 'money in entries of budgets',
    alter: (w) => [
      `update ledger_entries set amount_nano_usd = amount_nano_usd + 5
        where transfer_id = '${toUuid(w.charged)}' and account_id = '${toUuid(w.budgetAccount)}'`,
      `update ledger_entries set amount_nano_usd = amount_nano_usd - 5
        where transfer_id = '${toUuid(w.charged)}' and account_id = '${toUuid(w.revenue)}'`,
    ],
    names: (w) => [
      ['budget_counts_by_itself', w.charged],
      ['account_balance', w.budgetAccount],
      ['account_balance', w.revenue],
      ['budget_left', w.budget],
    ],
  },
  {
    what: 'live money in a test transfer',
    alter: (w) => [`update ledger_transfers set mode = 'test' where id = '${toUuid(w.charged)}'`],
    names: (w) => [
      ['transfer_one_mode', w.charged],
      ['transfer_balance_after', w.orgId],
      ['budget_left', w.budget],
    ],
  },
  {
    what: "a transfer in another organisation's ledger",
    alter: (w) => [
      `update ledger_transfers set org_id = '${toUuid(w.earner)}' where id = '${toUuid(w.charged)}'`,
    ],
    names: (w) => [
      ['transfer_one_owner', w.charged],
      ['transfer_balance_after', w.orgId],
      ['transfer_balance_after', w.charged],
      ['budget_left', w.budget],
    ],
  },
  {
    what: 'a transfer without an organisation',
    alter: (w) => [`update ledger_transfers set org_id = '${fakeId}' where id = '${toUuid(w.payout)}'`],
    names: (w) => [
      ['transfer_has_organisation', w.payout],
      ['transfer_has_its_hold', w.payout],
      ['payout_money', w.paidOut],
    ],
  },
  {
    what: 'a charge whose hold does not exist',
    alter: (w) => [
      `delete from ledger_hold_parts where hold_id = '${toUuid(w.closedHold)}'`,
      `delete from ledger_holds where id = '${toUuid(w.closedHold)}'`,
    ],
    names: (w) => [['transfer_has_its_hold', w.posted]],
  },
  {
    what: 'a refund of a transfer that does not exist',
    alter: (w) => [`update ledger_transfers set reverses = '${fakeId}' where id = '${toUuid(w.refunded)}'`],
    names: (w) => [['undo_has_its_original', w.refunded]],
  },
  {
    what: 'a refund of a smaller charge',
    alter: (w) => [
      `update ledger_transfers set reverses = '${toUuid(w.charged)}' where id = '${toUuid(w.reversed)}'`,
    ],
    names: (w) => [['undo_within_original', w.charged]],
  },
  {
    what: 'another balance',
    alter: (w) => [
      `update ledger_accounts set balance_nano_usd = balance_nano_usd + 1 where id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [
      ['account_balance', w.credit],
      ['transfer_balance_after', w.orgId],
    ],
  },
  {
    what: 'a wrong entry count',
    alter: (w) => [
      `update ledger_accounts set entry_count = entry_count + 1 where id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [['account_entry_count', w.credit]],
  },
  {
    what: 'an entry with a wrong sequence number',
    alter: (w) => [
      `update ledger_entries set account_seq = account_seq + 100
        where transfer_id = '${toUuid(w.charged)}' and account_id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [['account_chain', w.credit]],
  },
  {
    what: 'an entry with a wrong balance',
    alter: (w) => [
      `update ledger_entries set balance_after_nano_usd = balance_after_nano_usd + 1
        where transfer_id = '${toUuid(w.charged)}' and account_id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [['account_chain', w.credit]],
  },
  {
    what: 'a balance below its floor',
    alter: (w) => [
      'alter table ledger_accounts drop constraint ledger_accounts_keep_their_floor',
      `update ledger_accounts set floor_nano_usd = balance_nano_usd + 1 where id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [['account_floor', w.credit]],
  },
  {
    what: 'a held amount larger than its holds',
    alter: (w) => [`update ledger_accounts set held_nano_usd = held_nano_usd + 1 where ${creditOf(w.orgId)}`],
    names: (w) => [['account_held', w.credit]],
  },
  {
    what: 'a hold that is not the sum of its parts',
    alter: (w) => [
      `update ledger_holds set held_nano_usd = held_nano_usd + 1 where id = '${toUuid(w.openHold)}'`,
    ],
    names: (w) => [['hold_parts', w.openHold]],
  },
  {
    what: 'a hold with more of a budget than of money',
    alter: (w) => [
      `update ledger_hold_parts set held_nano_usd = held_nano_usd + 1
        where hold_id = '${toUuid(w.openHold)}' and account_id = '${toUuid(w.budgetAccount)}'`,
      `update ledger_accounts set held_nano_usd = held_nano_usd + 1 where id = '${toUuid(w.budgetAccount)}'`,
    ],
    names: (w) => [['hold_limit_parts', w.openHold]],
  },
  {
    what: 'a closed hold with a held amount',
    alter: (w) => [
      `update ledger_hold_parts set held_nano_usd = 1
        where hold_id = '${toUuid(w.closedHold)}' and account_id = '${toUuid(w.credit)}'`,
      `update ledger_accounts set held_nano_usd = held_nano_usd + 1 where id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [['hold_closed', w.closedHold]],
  },
  {
    what: 'a hold on the money of another organisation',
    alter: (w) => [
      `update ledger_holds set org_id = '${toUuid(w.supplierId)}' where id = '${toUuid(w.idleHold)}'`,
    ],
    names: (w) => [['hold_owner', w.idleHold]],
  },
  {
    what: 'a hold with a higher posted amount than its charges',
    alter: (w) => [
      `update ledger_holds set posted_nano_usd = posted_nano_usd + 1 where id = '${toUuid(w.openHold)}'`,
    ],
    names: (w) => [['hold_posted', w.openHold]],
  },
  {
    what: 'a hold with a lower posted amount than its charges',
    alter: (w) => [
      `update ledger_holds set posted_nano_usd = posted_nano_usd - 1 where id = '${toUuid(w.openHold)}'`,
    ],
    names: (w) => [['hold_posted', w.openHold]],
  },
  {
    what: 'a budget with another limit than its account',
    alter: (w) => [`update budgets set limit_nano_usd = limit_nano_usd + 1 where id = '${toUuid(w.budget)}'`],
    names: (w) => [['budget_left', w.budget]],
  },
  {
    what: 'a budget without an account',
    alter: (w) => [`update budgets set id = '${toUuid(w.spareBudget)}' where id = '${toUuid(w.budget)}'`],
    names: (w) => [['budget_account', w.spareBudget]],
  },
];
