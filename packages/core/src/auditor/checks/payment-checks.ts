import type { CheckText } from './checks.ts';

/** The checks of payments against the ledger. */

export const paymentChecks = {
  payment_top_up: {
    rule: 'Every payment that was paid has exactly one top-up of its amount, and no other has any.',
    text: ({ actual, expected }) => `It should have ${expected}, and has ${actual}.`,
    remedy:
      "Compare with the provider's page of the payment; then adjust the balance, with this id in the reason.",
  },
  payment_clawback: {
    rule: 'What was taken back of every payment is what its transfers took, and no other transfer took any.',
    text: ({ actual, expected }) => `It says ${expected}, and its transfers took ${actual}.`,
    remedy:
      "Compare with the refunds and disputes on the provider's page; then adjust the balance, with this id in the reason.",
  },
  clawback_debt: {
    rule: 'What an organisation owes for clawbacks is what the operator advanced and did not get back.',
    text: ({ actual, expected }) =>
      `Debt and write-off are ${actual} nano-USD, and the operator advanced ${expected}.`,
    remedy:
      'The entries are right. Suspend the organisation, find what wrote the row, then set `owed_nano_usd` to the expected figure less `written_off_nano_usd`, as the owner of the database.',
  },
  top_up_has_payment: {
    rule: 'Every top-up has its payment.',
    text: ({ actual }) => `There is ${actual}.`,
    remedy: 'Reverse it: nobody paid for it. Then find who wrote it.',
  },
} as const satisfies Record<string, CheckText>;
