import type { KeyId } from '@millrace/platform/ids';
import { divideHalfEven, type NanoUsd } from '@millrace/platform/money';

/** What an organisation was charged for, summed up from the ledger. Pure. */

/** In what a thing is counted: milliseconds of a GPU or of a GB, or plain counts; `none` where nothing was counted. */
export type CostUnit = 'gpu' | 'gb' | 'token' | 'character' | 'request' | 'none';

/** `use`: charged for use, less time given back. `fee`: charged without use. `refund`: given back by a person. */
export type CostKind = 'use' | 'fee' | 'refund';

export interface CostSum {
  readonly kind: CostKind;
  /** The rental, instance, volume or model; whatever else the ledger was told. */
  readonly resource: { readonly kind: string; readonly id: string };
  readonly unit: CostUnit;
  /** Milliseconds or counts; below zero where more was given back. */
  readonly quantity: bigint;
  readonly cost: NanoUsd;
  readonly keyId: KeyId | null;
  /** Undoes what was charged in an earlier month. */
  readonly isCorrection: boolean;
}

/** A number of `10^-digits` as a decimal, without zeros at its end. */
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

/** In the units that prices are in: hours, to nine places, or counts. */
export function pricedQuantity(unit: CostUnit, quantity: bigint): string {
  return isTime(unit) ? decimalText(divideHalfEven(quantity * nano, msPerHour), 9) : quantity.toString();
}

/** As it was counted, exactly: seconds to the millisecond, or counts. */
export function countedQuantity(unit: CostUnit, quantity: bigint): string {
  return isTime(unit) ? decimalText(quantity, 3) : quantity.toString();
}
