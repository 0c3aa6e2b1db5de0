import { fragment } from './fragment.ts';
import { values } from './values.ts';

const ISSUER_MAX = 1_000;

/** The seller that invoices and the cost export show. */
export const invoicesConfig = fragment('invoices', {
  issuer: {
    env: 'MILLRACE_INVOICE_ISSUER',
    schema: values.text
      .transform((text) => text.replaceAll('\\n', '\n'))
      .refine((text) => text.length <= ISSUER_MAX, `it is longer than ${ISSUER_MAX} characters`)
      .default('Millrace'),
    expected: 'the name of the invoice issuer, followed by the address lines, separated by \\n',
    example: 'Example Cloud Ltd\\n1 Mill Road\\nExampleton',
  },
});
