import { documentChecks } from './document-checks.ts';
import { paymentChecks } from './payment-checks.ts';
import { resourceChecks } from './resource-checks.ts';

/** Defines every check: rule, message and remedy. Stores have the SQL; the runbook has a section for each check. */

/** `error` is drift; `notice` is for information and also occurs in a correct ledger. */
export type Severity = 'error' | 'notice';

export interface WrongRow {
  readonly id: string;
  readonly expected: string;
  readonly actual: string;
}

export interface CheckDefinition {
  readonly severity: Severity;
  /** The rule as a sentence. */
  readonly rule: string;
  readonly text: (found: WrongRow) => string;
  readonly remedy: string;
}

/** The default severity is `error`. */
export type CheckText = Omit<CheckDefinition, 'severity'> & { readonly severity?: 'notice' };

/** A row was changed, lost or written outside the ledger code. No process repairs it. */
const tamperedRowsRemedy =
  'Keep the rows as evidence, find who wrote them (PostgreSQL log, backups, audit_log), then correct them with a new transfer. millrace-admin cannot edit the ledger, by design.';
const wrongTotalRemedy =
  'No money is lost: the entries are right and the stored total is wrong. Suspend the organisation, find what wrote the row, then set the total to the expected value as the database owner.';
const wrongReferenceRemedy =
  'The entries are right and the row that refers to them is wrong. Find what wrote it; correct money with an operator adjustment that has this id in its reason.';

const ledgerChecks = {
  transfer_sums_to_zero: {
    rule: 'The entries of every transfer sum to zero.',
    text: ({ actual }) => `Its entries sum to ${actual} nano-USD instead of zero.`,
    remedy: tamperedRowsRemedy,
  },
  transfer_has_entries: {
    rule: 'Every transfer has entries.',
    text: () => 'It has no entries, so it moved no money.',
    remedy: tamperedRowsRemedy,
  },
  entry_has_transfer: {
    rule: 'Every entry has its transfer.',
    text: ({ actual }) => `There are ${actual}, but the transfer is missing.`,
    remedy: tamperedRowsRemedy,
  },
  entry_has_account: {
    rule: 'Every entry has its account.',
    text: ({ actual }) => `One of its entries belongs to ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  transfer_amount: {
    rule: "The amount of a transfer is the change of the organisation's own money.",
    text: ({ actual, expected }) =>
      `Its amount is ${actual} nano-USD, but its entries change the organisation's money by ${expected}.`,
    remedy: tamperedRowsRemedy,
  },
  budget_counts_by_itself: {
    rule: 'Entries in budget accounts sum to zero on their own: a limit is never money.',
    text: ({ actual }) =>
      `Its entries in limit accounts sum to ${actual} nano-USD, offset by entries in other accounts.`,
    remedy: tamperedRowsRemedy,
  },
  transfer_one_mode: {
    rule: 'A transfer never has entries of both modes.',
    text: ({ actual, expected }) => `It is a ${expected} transfer with ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  transfer_one_owner: {
    rule: 'A transfer moves the credit and budgets of its own organisation only.',
    text: ({ actual }) => `It has ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  transfer_has_organisation: {
    rule: 'Every transfer has its organisation.',
    text: ({ actual }) => `It belongs to ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  transfer_has_its_hold: {
    rule: 'A charge from a hold names a hold of its organisation and mode.',
    text: ({ actual }) => `It was charged from ${actual}.`,
    remedy: wrongReferenceRemedy,
  },
  undo_has_its_original: {
    rule: 'A refund or reversal names a transfer of its organisation and mode.',
    text: ({ actual }) => `It undoes ${actual}.`,
    remedy: wrongReferenceRemedy,
  },
  undo_within_original: {
    rule: 'Refunds and reversals never exceed what they undo.',
    text: ({ actual, expected }) => `It moved ${expected} nano-USD, and ${actual} were returned.`,
    remedy: 'Too much was returned. Correct it with an operator adjustment that names this transfer.',
  },
  transfer_balance_after: {
    rule: "The balance after each transfer continues the previous one and leads to the organisation's balance.",
    text: ({ actual }) => `Its balance does not continue any other: ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  shortfall: {
    severity: 'notice',
    rule: 'The operator absorbed charges that hold and balance did not cover.',
    text: ({ actual }) => `The operator absorbed ${actual}.`,
    remedy:
      'Not an error: work continued after the money ended, as it can after an outage. If one cause has many, its holds are too small.',
  },
  opening_balances: {
    rule: 'The opening balances of the archive sum to zero in each mode.',
    text: ({ actual }) => `The opening balances of all accounts sum to ${actual} nano-USD.`,
    remedy: tamperedRowsRemedy,
  },
  account_balance: {
    rule: 'The balance of every account is the sum of its entries.',
    text: ({ actual, expected }) => `Its balance is ${actual} nano-USD, but its entries sum to ${expected}.`,
    remedy: wrongTotalRemedy,
  },
  account_entry_count: {
    rule: 'The entry count of every account is the number of its entries.',
    text: ({ actual, expected }) => `Its entry count is ${actual}, but it has ${expected} entries.`,
    remedy: tamperedRowsRemedy,
  },
  account_chain: {
    rule: 'The entries of every account form a chain without gaps.',
    text: ({ actual }) => `Its entries do not form a chain: ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  account_floor: {
    rule: 'The available balance of an account is never below its floor.',
    text: ({ actual, expected }) => `It has ${actual} nano-USD available, and must have ${expected}.`,
    remedy: 'Suspend the organisation, then find how the database constraint on the account was bypassed.',
  },
  account_held: {
    rule: 'The held amount of an account is the sum of its parts in holds.',
    text: ({ actual, expected }) => `It holds ${actual} nano-USD, but its holds sum to ${expected}.`,
    remedy: wrongTotalRemedy,
  },
  hold_parts: {
    rule: 'A hold is the sum of its parts.',
    text: ({ actual, expected }) => `It holds ${actual} nano-USD, but its parts sum to ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  hold_limit_parts: {
    rule: 'A hold holds no more of a budget than of money.',
    text: ({ actual, expected }) => `A part in a budget is ${actual} nano-USD, and should be ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  hold_closed: {
    rule: 'A closed hold holds nothing.',
    text: ({ actual }) => `It is closed and still holds ${actual} nano-USD.`,
    remedy: wrongReferenceRemedy,
  },
  hold_owner: {
    rule: 'A hold has parts in accounts of its organisation and mode only.',
    text: ({ actual }) => `It has ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  hold_posted: {
    rule: 'The posted amount of a hold is the sum that its charges took from the organisation.',
    text: ({ actual, expected }) =>
      `Its posted amount is ${actual} nano-USD; its charges sum to ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  budget_account: {
    rule: 'Every budget has its limit account.',
    text: () => 'It has no limit account, so it limits nothing.',
    remedy: 'Delete the budget and create it again.',
  },
  budget_left: {
    rule: 'The rest of a budget plus the spending in its period is its limit.',
    text: ({ actual, expected }) => `Its rest is ${actual} nano-USD, and should be ${expected}.`,
    remedy: 'Find what wrote the row, then change the limit of the budget, which restarts its count.',
  },
} as const satisfies Record<string, CheckText>;

const chargeChecks = {
  meter_charge: {
    rule: 'The posted amount of a meter is its frozen rate times the time of its transitions.',
    text: ({ actual, expected }) => `It posted ${actual} nano-USD; its transitions cost ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  meter_transfers: {
    rule: 'The posted amount of a meter is in the ledger, to the nano-USD.',
    text: ({ actual, expected }) =>
      `It posted ${expected} nano-USD; the ledger has ${actual}, including the operator's part.`,
    remedy: wrongReferenceRemedy,
  },
  meter_rest_of_term: {
    rule: 'The remaining term after an early end was charged at its rate less its refund, or waived.',
    text: ({ actual, expected }) =>
      `Its remaining term was charged ${actual} nano-USD, and should be ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  meter_transitions: {
    rule: 'The transitions of a meter are consecutive and lead to its state.',
    text: ({ actual, expected }) => `It should have ${expected}, and has ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  meter_hold: {
    rule: 'An open or paused meter has an open hold, and a closed meter has a closed hold.',
    text: ({ actual, expected }) => `It should have ${expected}, and has ${actual}.`,
    remedy: wrongReferenceRemedy,
  },
  meter_split: {
    rule: 'The charges of a meter on a supplier’s machine equal the supplier’s earnings plus the fee, to the nano-USD.',
    text: ({ actual, expected }) =>
      `Its supplier should have earned ${expected} nano-USD; the ledger has ${actual}.`,
    remedy:
      'Correct it with operator adjustments that name this meter, one for each account that is wrong; then find what wrote the row.',
  },
  meter_paid_money: {
    rule: 'Earnings of a supplier never come from promotional credit, which must not become cash.',
    text: ({ actual }) => `Its tenant paid ${actual} nano-USD with promotional credit.`,
    remedy:
      'Stop payouts to the supplier until the cause is known; then correct with operator adjustments that name this meter.',
  },
  meter_supplier_share: {
    rule: 'A supplier’s earnings from a meter are its frozen rate times the posted time.',
    text: ({ actual, expected }) =>
      `Its supplier was credited ${actual} nano-USD; its rate gives ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  charge_has_meter: {
    rule: 'Every charge for metered time has its meter.',
    text: ({ actual }) => `The meter does not exist, and ${actual}.`,
    remedy: 'Refund the charges that name it (their keys contain its id), then find who wrote them.',
  },
  thing_has_meter: {
    rule: 'Every resource that must be metered has a meter.',
    text: () => 'It runs without a meter.',
    remedy: 'Reconciling opens the meter again; if it does not within a minute, stop the resource.',
  },
  meter_has_thing: {
    rule: 'Every open or paused meter has its resource.',
    text: ({ expected }) => `It meters ${expected}, which does not exist: the tenant pays for nothing.`,
    remedy: 'Close the meter at the time when the resource ended, which returns later charges.',
  },
  volume_rate: {
    rule: 'The hourly rate of a volume is the frozen price of its size and its snapshots.',
    text: ({ actual, expected }) =>
      `Its meters run at ${actual} nano-USD per hour, and should run at ${expected}.`,
    remedy:
      'Find what changed the volume without its meters; then correct with an operator adjustment that names the volume.',
  },
  volume_holds: {
    rule: 'Every hold of a volume belongs to its order, its growth, a snapshot or one of its meters.',
    text: ({ actual }) => `${actual} of its holds have no known purpose.`,
    remedy: wrongReferenceRemedy,
  },
  payout_money: {
    rule: 'A requested payout has an open hold, a paid one has its transfer, and a rejected one has neither.',
    text: ({ actual, expected }) => `It should have ${expected}, and has ${actual}.`,
    remedy:
      "Compare with the bank's statement before further payouts to this supplier; then correct with an operator adjustment.",
  },
  transfer_has_payout: {
    rule: 'Every payout transfer has its payout.',
    text: ({ actual }) => `It is ${actual}.`,
    remedy: 'Reverse it if no money was paid. Then find who wrote it.',
  },
  usage_charge: {
    rule: 'Every usage charge is the sum of its requests.',
    text: ({ actual, expected }) => `It took ${actual} nano-USD for requests that cost ${expected}.`,
    remedy:
      'Refund or adjust the difference, with this transfer in the reason, then find what wrote the rows.',
  },
  usage_owner: {
    rule: 'A usage charge has requests of its organisation, mode and key only.',
    text: ({ actual }) => `It charges ${actual}.`,
    remedy: 'Refund it, and charge each organisation for its own requests with an adjustment.',
  },
  usage_has_transfer: {
    rule: 'Every charged request has its transfer.',
    text: ({ expected }) => `It should have ${expected}, and has none.`,
    remedy: 'Charge it with an adjustment, or waive it; then find why the row has no transfer.',
  },
  usage_has_request: {
    rule: 'Every charged request has a row with its usage.',
    text: ({ expected }) => `It should have ${expected}, and has none: the charge cannot be explained.`,
    remedy: 'Refund it if it cannot be explained; then find why the charge has no row.',
  },
  request_charge: {
    rule: 'The charge in the row of a request is the recorded charge.',
    text: ({ actual, expected }) => `Its row has ${expected}; the recorded charge is ${actual}.`,
    remedy: wrongReferenceRemedy,
  },
  request_price: {
    rule: 'The price of a request follows from its usage and its entries of the price list.',
    text: ({ actual, expected }) => `Its price is ${actual} nano-USD; the price list gives ${expected}.`,
    remedy:
      'Refund the difference, with this id in the reason; then find which gateway wrote it, and its version.',
  },
  request_cost: {
    rule: 'A charged request costs its price, at most its reservation; other requests cost nothing.',
    text: ({ actual, expected }) => `It cost ${actual} nano-USD, and should cost ${expected}.`,
    remedy:
      'Refund the difference, with this id in the reason; then find which gateway wrote it, and its version.',
  },
  request_shortfall: {
    severity: 'notice',
    rule: 'Usage that was not charged: beyond its reservation, reported too late, or overpriced.',
    text: ({ actual, expected }) => `It used ${expected} nano-USD, and ${actual} were charged.`,
    remedy:
      'Not drift. Many late requests: gateways die or lose their connection. Many beyond their reservation: the estimate for that model is too low.',
  },
  usage_unreadable: {
    severity: 'notice',
    rule: 'Usage that could not be read is quarantined.',
    text: ({ actual }) => `The stream had ${actual}.`,
    remedy:
      'Read the payload in usage_unreadable to find which gateway wrote it, and its version. It was not charged.',
  },
  lease_hold: {
    rule: 'An open or closing lease has an open hold of exactly what may still be charged to it; of budgets, at least that.',
    text: ({ actual, expected }) => `It should have ${expected}, and has ${actual}.`,
    remedy: 'Close the lease, so that nothing more is spent from it, then find what changed the hold.',
  },
  lease_closed: {
    rule: 'A closed lease has a closed hold.',
    text: ({ actual }) => `It is closed and has ${actual}.`,
    remedy: wrongReferenceRemedy,
  },
  lease_settled: {
    rule: 'The settled amount of a lease is the sum of the requests charged to it.',
    text: ({ actual, expected }) => `It has ${actual} nano-USD; its requests sum to ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  lease_overspent: {
    severity: 'notice',
    rule: 'Usage charged to a lease beyond its grant.',
    text: ({ actual, expected }) => `It was charged ${actual} nano-USD, and was granted ${expected}.`,
    remedy:
      'Not drift: the ledger has the charge. But a gateway let a request cost more than its reservation; find the model.',
  },
} as const satisfies Record<string, CheckText>;

const texts = { ...ledgerChecks, ...chargeChecks, ...paymentChecks, ...documentChecks, ...resourceChecks };
export type CheckName = keyof typeof texts;

export const auditChecks = Object.fromEntries(
  Object.entries(texts).map(([name, text]) => [name, { severity: 'error', ...text }]),
) as Readonly<Record<CheckName, CheckDefinition>>;
