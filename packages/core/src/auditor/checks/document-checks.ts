import type { CheckText } from './checks.ts';

/** Checks of documents that are made from the ledger: statements and invoices. */

export const documentChecks = {
  statement_adds_up: {
    rule: "A statement is the sum of its lines, and of the supplier's ledger entries in its month.",
    text: ({ actual, expected }) => `It has ${actual} nano-USD; the ledger has ${expected}.`,
    remedy:
      'The ledger is right. Inform the supplier which statement is wrong, and why. The next statement does not correct it.',
  },
  invoice_adds_up: {
    rule: 'An invoice is the sum of its lines, and of the ledger charges in its month less refunds.',
    text: ({ actual, expected }) => `It has ${actual} nano-USD; the ledger has ${expected}.`,
    remedy:
      'The ledger is right, and an invoice is never rewritten. Find what wrote the row or posted to a closed month, inform the organisation, and correct it with an adjustment.',
  },
  invoice_exists: {
    rule: 'Every organisation with costs in an invoiced month has an invoice.',
    text: ({ expected }) => `It has no invoice for ${expected}.`,
    remedy:
      'Set finished_at and after_org of that row of invoice_months to null: the next sweep creates the missing invoices.',
  },
  invoice_number: {
    rule: 'Invoices are numbered from 1 without gaps, up to the counter.',
    text: ({ actual, expected }) => `Its number should be ${expected}, and is ${actual}.`,
    remedy:
      'An invoice was deleted or renumbered by hand. Restore it from a backup, because its number was already sent to an organisation.',
  },
} as const satisfies Record<string, CheckText>;
