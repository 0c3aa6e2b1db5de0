import type { Output } from '@millrace/sdk';
import { ratio, usdText, usdToNano } from '@millrace/sdk/text';
import type { ResourceNames } from '../../api/resource-names.ts';

/** Texts and sums of invoices. */

export type Invoice = Output<'getInvoice'>;
export type InvoiceLine = Invoice['lines'][number];

/** Sum of the lines, to compare with the total. */
export function sumOfLines({ lines }: Pick<Invoice, 'lines'>): bigint {
  return lines.reduce((sum, { amountNanoUsd }) => sum + BigInt(amountNanoUsd), 0n);
}

/** The balance pays every charge at once, so an issued invoice is never due. */
export function paymentText({ status, totalNanoUsd }: Pick<Invoice, 'status' | 'totalNanoUsd'>): string {
  if (status === 'draft') return 'not issued yet';
  if (status === 'void') return 'no longer valid';
  return BigInt(totalNanoUsd) < 0n ? 'added to your balance' : 'paid from your balance';
}

/** `train: GPU time` and `Rental 19` instead of `Rental 19: GPU time`, if the name is known. */
export function lineTexts(
  { description, cause }: Pick<InvoiceLine, 'description' | 'cause'>,
  nameOf: ResourceNames['nameOf'],
): { readonly title: string; readonly detail: string | null } {
  const name = cause === null ? null : nameOf(cause);
  const [resource = '', ...rest] = description.split(': ');
  return name === null || rest.length === 0
    ? { title: description, detail: null }
    : { title: [name, ...rest].join(': '), detail: resource };
}

/** `122,880.5 GB-hours`; keeps every digit. */
export function quantityText({ quantity, unit }: Pick<InvoiceLine, 'quantity' | 'unit'>): string {
  const [whole = '', fraction] = quantity.split('.');
  const count = `${BigInt(whole).toLocaleString('en')}${fraction === undefined ? '' : `.${fraction}`}`;
  // Refunds and fees have no unit.
  return unit === 'items' ? count : `${count} ${unit}`;
}

/** Prices are set for these quantities. */
const priced: Readonly<Record<string, { readonly size: number; readonly per: string }>> = {
  'GPU-hours': { size: 1, per: 'per GPU-hour' },
  'GB-hours': { size: 720, per: 'per GB in 30 days' },
  tokens: { size: 1_000_000, per: 'per million tokens' },
  characters: { size: 1_000_000, per: 'per million characters' },
  requests: { size: 1, per: 'per request' },
};

/** The mean price of a line, because a price can change within a month; null if it has no quantity. */
export function meanPrice({ quantity, unit, amountNanoUsd }: Omit<InvoiceLine, 'description' | 'cause'>): {
  readonly price: string;
  readonly per: string;
} | null {
  const kind = priced[unit];
  const count = Number(quantity);
  if (kind === undefined || count <= 0) return null;
  const dollars = ratio(Number(amountNanoUsd) * 1e-9, count) * kind.size;
  return { price: usdText(usdToNano(Number(dollars.toFixed(4)))), per: kind.per };
}
