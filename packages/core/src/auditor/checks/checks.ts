import { documentChecks } from './document-checks.ts';
import { paymentChecks } from './payment-checks.ts';
import { resourceChecks } from './resource-checks.ts';

/** Every check by its name: the rule, the message and the remedy. Stores have its SQL; the runbook has a section for each. */

/** `notice` is for reading and happens in sound books; `error` is drift. */
export type Severity = 'error' | 'notice';

export interface WrongRow {
  readonly id: string;
  readonly expected: string;
  readonly actual: string;
}

export interface CheckDefinition {
  readonly severity: Severity;
  /** What must hold, as a sentence. */
  readonly rule: string;
  readonly text: (found: WrongRow) => string;
  readonly remedy: string;
}

/** An error unless said. */
export type CheckText = Omit<CheckDefinition, 'severity'> & { readonly severity?: 'notice' };

/** A row of the books was changed, lost or written past the ledger. Nothing a process does repairs that. */
const tamperedRowsRemedy =
  'Keep the rows as they are, find who wrote them (PostgreSQL log, backups, audit_log), then correct by a new transfer: millrace-admin has no way to edit the books, on purpose.';
const wrongTotalRemedy =
  'Nothing is lost: the entries are the truth and the kept figure is wrong. Suspend the organisation, find what wrote the row, then set the kept figure to the expected one as the owner of the database.';
const wrongReferenceRemedy =
  'The entries are right and the row that refers to them is not. Find what wrote it; correct money by an operator adjustment with this id in its reason.';

const ledgerChecks = {
  transfer_sums_to_zero: {
    rule: 'The entries of every transfer sum to zero.',
    text: ({ actual }) => `Its entries sum to ${actual} nano-USD instead of zero.`,
    remedy: tamperedRowsRemedy,
  },
  transfer_has_entries: {
    rule: 'Every transfer has entries.',
    text: () => 'It has no entries, so no money moved by it.',
    remedy: tamperedRowsRemedy,
  },
  entry_has_transfer: {
    rule: 'Every entry has its transfer.',
    text: ({ actual }) => `There are ${actual}: the transfer itself is missing.`,
    remedy: tamperedRowsRemedy,
  },
  entry_has_account: {
    rule: 'Every entry has its account.',
    text: ({ actual }) => `One of its entries belongs to ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  transfer_amount: {
    rule: "A transfer says what the organisation's own money changed by.",
    text: ({ actual, expected }) =>
      `It says ${actual} nano-USD, but its entries change the organisation's money by ${expected}.`,
    remedy: tamperedRowsRemedy,
  },
  budget_counts_by_itself: {
    rule: 'What budgets count sums to zero by itself: a limit is never money.',
    text: ({ actual }) =>
      `Its entries in limit accounts sum to ${actual} nano-USD, which others made up for.`,
    remedy: tamperedRowsRemedy,
  },
  transfer_one_mode: {
    rule: 'Live and test never meet in one transfer.',
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
    text: ({ actual, expected }) => `It moved ${expected} nano-USD, and ${actual} came back.`,
    remedy: 'Too much was given back. Correct it by an operator adjustment that names this transfer.',
  },
  transfer_balance_after: {
    rule: "The balance after each transfer follows on the one before and ends at the organisation's balance.",
    text: ({ actual }) => `The balance it states follows on nothing: ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  shortfall: {
    severity: 'notice',
    rule: 'What the operator bore because hold and balance did not reach.',
    text: ({ actual }) => `The operator bore ${actual}.`,
    remedy:
      'Not an error: work went on past the money, as it may after an outage. Many of one cause say that its holds are too small.',
  },
  account_balance: {
    rule: 'The balance of every account is the sum of its entries.',
    text: ({ actual, expected }) => `Its balance is ${actual} nano-USD, but its entries sum to ${expected}.`,
    remedy: wrongTotalRemedy,
  },
  account_entry_count: {
    rule: 'Every account has as many entries as it counts.',
    text: ({ actual, expected }) => `It counts ${actual} entries, but there are ${expected}.`,
    remedy: tamperedRowsRemedy,
  },
  account_chain: {
    rule: 'The entries of every account are a chain without holes.',
    text: ({ actual }) => `Its entries are no chain: ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  account_floor: {
    rule: 'No balance, less what is held, is below its floor.',
    text: ({ actual, expected }) => `It has ${actual} nano-USD free, and must have ${expected}.`,
    remedy:
      'Suspend the organisation, then find how the constraint on the account was passed: it is in the database itself.',
  },
  account_held: {
    rule: 'What an account has set aside is the sum of its parts in holds.',
    text: ({ actual, expected }) => `It sets aside ${actual} nano-USD, but its holds make ${expected}.`,
    remedy: wrongTotalRemedy,
  },
  hold_parts: {
    rule: 'A hold is the sum of its parts.',
    text: ({ actual, expected }) => `It sets aside ${actual} nano-USD, but its parts make ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  hold_limit_parts: {
    rule: 'A hold sets aside no more of a budget than of money.',
    text: ({ actual, expected }) => `A part in a budget is ${actual} nano-USD, and should be ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  hold_closed: {
    rule: 'A closed hold sets nothing aside.',
    text: ({ actual }) => `It is closed and still sets aside ${actual} nano-USD.`,
    remedy: wrongReferenceRemedy,
  },
  hold_owner: {
    rule: 'A hold has parts in accounts of its organisation and mode only.',
    text: ({ actual }) => `It has ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  hold_posted: {
    rule: 'What was posted through a hold is what its charges took of the organisation.',
    text: ({ actual, expected }) =>
      `It says that ${actual} nano-USD were posted through it; its charges make ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  budget_account: {
    rule: 'Every budget has its limit account.',
    text: () => 'It has no limit account, so it counts nothing.',
    remedy: 'Delete the budget and make it again.',
  },
  budget_left: {
    rule: 'What is left of a budget, and what was spent in its period, are its limit.',
    text: ({ actual, expected }) => `It leaves ${actual} nano-USD, and should leave ${expected}.`,
    remedy:
      'Change the limit of the budget, which counts it anew from then on, after finding what wrote the row.',
  },
} as const satisfies Record<string, CheckText>;

const chargeChecks = {
  meter_charge: {
    rule: 'What a meter has posted is its frozen rate times the time of its transitions.',
    text: ({ actual, expected }) => `It posted ${actual} nano-USD; by its transitions it cost ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  meter_transfers: {
    rule: 'What a meter has posted is in the ledger, to the nano-USD.',
    text: ({ actual, expected }) =>
      `It says that it posted ${expected} nano-USD; the ledger has ${actual} of it, the operator's part included.`,
    remedy: wrongReferenceRemedy,
  },
  meter_rest_of_term: {
    rule: 'The rest of a term that ended early was charged by its own rate and refund, or waived.',
    text: ({ actual, expected }) =>
      `The rest of its term was charged ${actual} nano-USD, and should be ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  meter_transitions: {
    rule: 'The transitions of a meter follow on each other and lead to its state.',
    text: ({ actual, expected }) => `It should have ${expected}, and has ${actual}.`,
    remedy: tamperedRowsRemedy,
  },
  meter_hold: {
    rule: 'A meter that is not closed has its open hold, and a closed one a closed hold.',
    text: ({ actual, expected }) => `It should have ${expected}, and has ${actual}.`,
    remedy: wrongReferenceRemedy,
  },
  meter_split: {
    rule: 'What the meter of a supplier’s machine took is what the supplier earned by it and the fee, to the nano-USD.',
    text: ({ actual, expected }) =>
      `Its supplier should have earned ${expected} nano-USD; in the ledger it earned ${actual}.`,
    remedy:
      'Correct it by operator adjustments that name this meter, one for each who has too little or too much; then find what wrote the row.',
  },
  meter_paid_money: {
    rule: 'What a supplier is paid for was paid with no promotional credit, for that would make cash of a gift.',
    text: ({ actual }) => `Its tenant paid ${actual} nano-USD of it with promotional credit.`,
    remedy:
      'Pay the supplier nothing more before it is clear how that came about; then correct by operator adjustments that name this meter.',
  },
  meter_supplier_share: {
    rule: 'What a supplier earned by a meter is its own frozen rate times the time that was posted.',
    text: ({ actual, expected }) =>
      `Its supplier was credited ${actual} nano-USD; by its rate it earned ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  charge_has_meter: {
    rule: 'Every charge for metered time has its meter.',
    text: ({ actual }) => `There is no such meter, and ${actual}.`,
    remedy: 'Refund the charges that name it (their keys hold its id), then find who wrote them.',
  },
  thing_has_meter: {
    rule: 'Everything that should be metered has a meter.',
    text: () => 'It runs and nobody counts.',
    remedy:
      'Its owner opens the meter again when it reconciles; if it does not within a minute, stop the thing.',
  },
  meter_has_thing: {
    rule: 'Every meter that is not closed has the thing that it counts.',
    text: ({ expected }) => `It counts ${expected}, which is not there: somebody pays for nothing.`,
    remedy: 'Close the meter at the instant the thing ended, which gives back what was posted since.',
  },
  volume_rate: {
    rule: 'A volume that is kept costs by the hour what its size and its snapshots were sold at.',
    text: ({ actual, expected }) =>
      `Its meters run at ${actual} nano-USD an hour, and should run at ${expected}.`,
    remedy:
      'Find what changed the volume without its meters; then correct by an operator adjustment that names the volume.',
  },
  volume_holds: {
    rule: 'Money that is set aside for a volume is for its order, its growth, a snapshot or a meter of it.',
    text: ({ actual }) => `${actual} of its holds are for nothing that is known.`,
    remedy: wrongReferenceRemedy,
  },
  payout_money: {
    rule: 'A payout that waits is set aside, one that was paid has its transfer, and one that was rejected has neither.',
    text: ({ actual, expected }) => `It should have ${expected}, and has ${actual}.`,
    remedy:
      "Compare with the bank's statement before anything else is paid to this supplier; then correct by an operator adjustment.",
  },
  transfer_has_payout: {
    rule: 'Every transfer that paid a supplier out has its payout.',
    text: ({ actual }) => `It is ${actual}.`,
    remedy: 'Reverse it if nobody was paid by it. Then find who wrote it.',
  },
  usage_charge: {
    rule: 'Every charge for usage is the sum of the requests it is for.',
    text: ({ actual, expected }) => `It took ${actual} nano-USD for requests that cost ${expected}.`,
    remedy:
      'Refund or adjust the difference, with this transfer in the reason, then find what wrote the rows.',
  },
  usage_owner: {
    rule: 'A charge for usage holds requests of its organisation, mode and key only.',
    text: ({ actual }) => `It charges ${actual}.`,
    remedy: 'Refund it, and charge each organisation for its own by an adjustment.',
  },
  usage_has_transfer: {
    rule: 'Every request that was charged has its transfer.',
    text: ({ expected }) => `It should have ${expected}, and has none.`,
    remedy: 'Charge it by an adjustment, or let it go; then find how the row came without its transfer.',
  },
  usage_has_request: {
    rule: 'Every request that was charged has a row that says what it used.',
    text: ({ expected }) => `It should have ${expected}, and has none: nobody can be told what it was for.`,
    remedy: 'Refund it if it cannot be explained; then find how the charge came without its row.',
  },
  request_charge: {
    rule: 'What the row of a request says of its charge is what was charged.',
    text: ({ actual, expected }) => `Its row says ${expected}; on record is ${actual}.`,
    remedy: wrongReferenceRemedy,
  },
  request_price: {
    rule: 'A request is priced by what it used and the entries of the price book that it names.',
    text: ({ actual, expected }) => `It was priced ${actual} nano-USD; by the book it is ${expected}.`,
    remedy:
      'Refund what is too much, with this id in the reason; then see which gateway wrote it, and its version.',
  },
  request_cost: {
    rule: 'A request costs its price, and never more than was reserved for it; what is not charged costs nothing.',
    text: ({ actual, expected }) => `It cost ${actual} nano-USD, and should cost ${expected}.`,
    remedy:
      'Refund what is too much, with this id in the reason; then see which gateway wrote it, and its version.',
  },
  request_shortfall: {
    severity: 'notice',
    rule: 'What requests used that was not charged: beyond their reservations, reported too late, or overpriced.',
    text: ({ actual, expected }) => `It used ${expected} nano-USD, and ${actual} were charged.`,
    remedy:
      'Not drift. Many that came too late: gateways die or are cut off. Many beyond their reservation: the bound for that model is wrong.',
  },
  usage_unreadable: {
    severity: 'notice',
    rule: 'Usage that could not be read was put aside.',
    text: ({ actual }) => `In the stream stood ${actual}.`,
    remedy:
      'Read the payload in usage_unreadable: who wrote it, and which version. Nobody was charged for it.',
  },
  lease_hold: {
    rule: 'A lease that is not closed has an open hold of exactly what may still be charged to it; of budgets, at least that.',
    text: ({ actual, expected }) => `It should have ${expected}, and has ${actual}.`,
    remedy: 'Call the lease in, so that nothing more is spent from it, then find what changed the hold.',
  },
  lease_closed: {
    rule: 'A closed lease has a closed hold.',
    text: ({ actual }) => `It is closed and has ${actual}.`,
    remedy: wrongReferenceRemedy,
  },
  lease_settled: {
    rule: 'What was settled of a lease is the sum of the requests charged to it.',
    text: ({ actual, expected }) => `It says ${actual} nano-USD; its requests make ${expected}.`,
    remedy: wrongReferenceRemedy,
  },
  lease_overspent: {
    severity: 'notice',
    rule: 'Usage charged to a lease beyond what was lent.',
    text: ({ actual, expected }) => `It was charged ${actual} nano-USD, and was lent ${expected}.`,
    remedy:
      'Not drift: the books have it. But a gateway let a request cost more than it had reserved; see which model.',
  },
} as const satisfies Record<string, CheckText>;

const texts = { ...ledgerChecks, ...chargeChecks, ...paymentChecks, ...documentChecks, ...resourceChecks };
export type CheckName = keyof typeof texts;

export const auditChecks = Object.fromEntries(
  Object.entries(texts).map(([name, text]) => [name, { severity: 'error', ...text }]),
) as Readonly<Record<CheckName, CheckDefinition>>;
