import type { CheckText } from './checks.ts';

/** Checks of payments against the ledger. */

export const paymentChecks = {
  payment_top_up: {
    rule: 'Every paid payment has exactly one top-up of its amount, and other payments have none.',
    text: ({ actual, expected }) => `It should have ${expected}, and has ${actual}.`,
    remedy:
      "Compare with the provider's page of the payment; then adjust the balance, with this id in the reason.",
  },
  payment_clawback: {
    rule: 'The clawback of every payment is the sum of its clawback transfers, and there are no others.',
    text: ({ actual, expected }) => `Its clawback is ${expected}, and its transfers took ${actual}.`,
    remedy:
      "Compare with the refunds and disputes on the provider's page; then adjust the balance, with this id in the reason.",
  },
  clawback_debt: {
    rule: "An organisation's debt from clawbacks is the amount that the operator advanced and was not repaid.",
    text: ({ actual, expected }) =>
      `Debt and write-off are ${actual} nano-USD, and the operator advanced ${expected}.`,
    remedy:
      'The entries are right. Suspend the organisation, find what wrote the row, then set `owed_nano_usd` to the expected value less `written_off_nano_usd`, as the database owner.',
  },
  top_up_has_payment: {
    rule: 'Every top-up has its payment.',
    text: ({ actual }) => `There is ${actual}.`,
    remedy: 'Reverse it, because it has no payment. Then find who wrote it.',
  },
} as const satisfies Record<string, CheckText>;
