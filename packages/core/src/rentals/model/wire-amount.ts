import { toNearestUsdNumber, type NanoUsd } from '@millrace/platform/money';

/** An amount as receipts and events show it: to look at, and exactly. */
export function toWireAmount(cost: NanoUsd): { readonly amountUsd: number; readonly nanoUsd: string } {
  return { amountUsd: toNearestUsdNumber(cost), nanoUsd: String(cost) };
}
