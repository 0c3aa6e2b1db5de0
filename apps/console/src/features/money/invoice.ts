import type { Output } from '@millrace/sdk';

export type Invoice = Output<'getInvoice'>;

/** The month of an invoice. It is one of UTC, so it is named in UTC wherever the reader is. */
export function monthText(periodStart: string, locale?: string): string {
  return new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    new Date(periodStart),
  );
}

/** What the lines come to, to hold it against the total that the invoice names. */
export function sumOfLines({ lines }: Pick<Invoice, 'lines'>): bigint {
  return lines.reduce((sum, { amountNanoUsd }) => sum + BigInt(amountNanoUsd), 0n);
}
