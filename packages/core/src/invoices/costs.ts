import type { KeyId } from '@millrace/platform/ids';
import { divideHalfEven, type NanoUsd } from '@millrace/platform/money';

/** Types and quantities of the costs of an organisation. Pure. */

/** Milliseconds of a GPU or of a GB, or plain counts; `none` without a count. */
export type CostUnit = 'gpu' | 'gb' | 'token' | 'character' | 'request' | 'none';

/** `use`: charged usage, less returned time. `fee`: charged without usage. `refund`: refunded by an operator. */
export type CostKind = 'use' | 'fee' | 'refund';

export interface CostSum {
  readonly kind: CostKind;
  /** The rental, instance, volume or model; otherwise the cause of the transfer. */
  readonly resource: { readonly kind: string; readonly id: string };
  readonly unit: CostUnit;
  /** Milliseconds or counts; negative if more was returned than used. */
  readonly quantity: bigint;
  readonly cost: NanoUsd;
  readonly keyId: KeyId | null;
  /** Undoes a charge of an earlier month. */
  readonly isCorrection: boolean;
}

/** Formats a number of `10^-digits` as a decimal without trailing zeros. */
export function decimalText(value: bigint, digits: number): string {
  const sign = value < 0n ? '-' : '';
  const all = (value < 0n ? -value : value).toString().padStart(digits + 1, '0');
  const fraction = all.slice(all.length - digits).replace(/(?<!0)0+$/, '');
  const whole = all.slice(0, all.length - digits);
  return fraction === '' ? `${value === 0n ? '' : sign}${whole}` : `${sign}${whole}.${fraction}`;
}

const msPerHour = 3_600_000n;
const nano = 1_000_000_000n;

const isTime = (unit: CostUnit): boolean => unit === 'gpu' || unit === 'gb';

/** In the units of prices: hours with nine decimals, or counts. */
export function pricedQuantity(unit: CostUnit, quantity: bigint): string {
  return isTime(unit) ? decimalText(divideHalfEven(quantity * nano, msPerHour), 9) : quantity.toString();
}

/** Exactly as counted: seconds with milliseconds, or counts. */
export function countedQuantity(unit: CostUnit, quantity: bigint): string {
  return isTime(unit) ? decimalText(quantity, 3) : quantity.toString();
}
