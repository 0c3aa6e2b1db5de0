import type { ApiKeyLimits, Contract } from '@millrace/contract';
import { Fault, invalidField } from '@millrace/platform/fault';
import type { StorageNodeId } from '@millrace/platform/ids';
import {
  addUsd,
  affordableMs,
  formatUsd,
  fromUsdNumber,
  hourlyCharge,
  roundExact,
  toNearestUsdNumber,
  type NanoUsd,
} from '@millrace/platform/money';
import type { z } from 'zod';
import { rateOf, type FrozenPrice } from '../../prices/index.ts';
import type { KeyRunningTotals } from '../money/key-running-totals.store.ts';
import type { Snapshot } from '../model/volume.ts';

/** What somebody orders, and what may stand against it. Pure. */

export interface VolumeOrder {
  readonly region: string;
  readonly label: string;
  readonly sizeGb: number;
  readonly name: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly maxUsd: NanoUsd | null;
}

/** The snapshot that a new volume is made from. Its lock is that of its volume, which is held. */
export interface RestoreSource {
  readonly snapshot: Pick<Snapshot, 'id' | 'volumeId'>;
  readonly nodeId: StorageNodeId;
}

/** What a thing may cost altogether, exactly as it was written. */
export function requireMaxUsd(maxUsd: number, field = 'maxUsd'): NanoUsd {
  const amount = fromUsdNumber(maxUsd);
  if (amount === null || amount <= 0n) {
    throw invalidField(field, 'must have at most nine decimals and be below 8388608');
  }
  return amount;
}

/** What a new volume is to be; null where the snapshot goes into its own volume, which stays what it is otherwise. */
export function requireRestoreOrder(
  body: z.output<Contract['operations']['restoreStorageVolumeSnapshot']['body']>,
): (Omit<VolumeOrder, 'region' | 'sizeGb'> & { readonly sizeGb: number | null }) | null {
  const { into, label, sizeInGb, name, tags, maxUsd } = body;
  if (into === 'new-volume') {
    if (label === undefined) throw invalidField('label', 'is required for a new volume');
    return {
      label,
      sizeGb: sizeInGb ?? null,
      name: name ?? null,
      tags: tags ?? {},
      maxUsd: maxUsd === undefined ? null : requireMaxUsd(maxUsd),
    };
  }
  for (const [field, value] of Object.entries({ label, sizeInGb, name, tags, maxUsd })) {
    if (value !== undefined) throw invalidField(field, 'is for a new volume only');
  }
  return null;
}

export function keyLimitExceeded(limit: keyof ApiKeyLimits, message: string): Fault {
  return new Fault('KEY_LIMIT_EXCEEDED', {
    message,
    issues: [{ path: ['limits', limit], message, code: 'key_limit' }],
  });
}

/** What a key may have at all, whatever else runs. */
export function requireVolumeRegionAllowed(region: string, limits: Pick<ApiKeyLimits, 'regions'>): void {
  const { regions } = limits;
  if (regions !== null && !(regions as readonly string[]).includes(region)) {
    throw keyLimitExceeded('regions', `This API key may not have volumes in ${region}.`);
  }
}

/** Whether what the key runs may cost `more` by the hour beside what it costs already. */
export function requireKeySpendLimit(
  limits: Pick<ApiKeyLimits, 'maxUsdPerHour'>,
  load: Pick<KeyRunningTotals, 'perHour'>,
  more: NanoUsd,
): void {
  const { maxUsdPerHour } = limits;
  if (maxUsdPerHour === null) return;
  // Both sides are the number that is nearest to an amount of nine decimals, so they compare as the amounts do.
  const total = addUsd(load.perHour, more);
  if (toNearestUsdNumber(total) > maxUsdPerHour) {
    throw keyLimitExceeded(
      'maxUsdPerHour',
      `What this API key runs may cost ${maxUsdPerHour} USD an hour; with this it would cost ${formatUsd(total)}.`,
    );
  }
}

/** Nobody makes a volume that would be over before it could be used. */
const MIN_USE_MS = 60_000;

export function requireVolumeWithinSpendingLimit(maxUsd: NanoUsd | null, price: FrozenPrice): void {
  if (maxUsd === null) return;
  const least = roundExact(hourlyCharge(rateOf(price), MIN_USE_MS), 'up');
  const paidMs = affordableMs(maxUsd, rateOf(price));
  if (paidMs !== null && paidMs < BigInt(MIN_USE_MS)) {
    throw new Fault('MAX_USD_EXCEEDED', {
      message: `A minute of this would cost ${formatUsd(least)} USD, and maxUsd is ${formatUsd(maxUsd)}.`,
    });
  }
}
