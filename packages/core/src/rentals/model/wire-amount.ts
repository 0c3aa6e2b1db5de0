import { toNearestUsdNumber, type NanoUsd } from '@millrace/platform/money';

/** An amount as receipts and events show it: rounded for display, and exact. */
export function toWireAmount(cost: NanoUsd): { readonly amountUsd: number; readonly nanoUsd: string } {
  return { amountUsd: toNearestUsdNumber(cost), nanoUsd: String(cost) };
}
