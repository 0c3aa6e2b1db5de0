import type { Output } from '@millrace/sdk';

export type Invoice = Output<'getInvoice'>;

/** Invoice months are UTC months, so they are named in UTC in every time zone. */
export function monthText(periodStart: string, locale?: string): string {
  return new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    new Date(periodStart),
  );
}

/** Sum of the lines, to compare with the total. */
export function sumOfLines({ lines }: Pick<Invoice, 'lines'>): bigint {
  return lines.reduce((sum, { amountNanoUsd }) => sum + BigInt(amountNanoUsd), 0n);
}
