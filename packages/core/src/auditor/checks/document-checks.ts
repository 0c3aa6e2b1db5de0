import type { CheckText } from './checks.ts';

/** The checks of what is made from the books and handed out: statements and invoices. */

export const documentChecks = {
  statement_adds_up: {
    rule: 'A statement is the sum of its lines, and what the ledger entered for the supplier in its month.',
    text: ({ actual, expected }) => `It says ${actual} nano-USD; the ledger has ${expected}.`,
    remedy:
      'The ledger is right. Tell the supplier which statement is not, and why; the next one has nothing of it.',
  },
  invoice_adds_up: {
    rule: 'An invoice is the sum of its lines, and what the ledger charged in its month less what was given back.',
    text: ({ actual, expected }) => `It says ${actual} nano-USD; the ledger has ${expected}.`,
    remedy:
      'The ledger is right, and an invoice is never rewritten: find what wrote the row, or was entered in a closed month; tell the organisation, and correct by an adjustment.',
  },
  invoice_exists: {
    rule: 'Every organisation with costs in a month that was invoiced has its invoice.',
    text: ({ expected }) => `It has no invoice of ${expected}.`,
    remedy:
      'Set finished_at of that row of invoice_months to null and after_org too: the next sweep makes what is missing.',
  },
  invoice_number: {
    rule: 'Invoices are numbered from 1 without holes, up to the counter.',
    text: ({ actual, expected }) => `It should have the number ${expected}, and there is ${actual}.`,
    remedy:
      'An invoice was taken out or renumbered past the product. Restore it from a backup: its number was given to somebody.',
  },
} as const satisfies Record<string, CheckText>;
