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

export interface VolumeOrder {
  readonly region: string;
  readonly label: string;
  readonly sizeGb: number;
  readonly name: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly maxUsd: NanoUsd | null;
}

/** The snapshot for a new volume. The caller holds the lock of its volume. */
export interface RestoreSource {
  readonly snapshot: Pick<Snapshot, 'id' | 'volumeId'>;
  readonly nodeId: StorageNodeId;
}

export function requireMaxUsd(maxUsd: number, field = 'maxUsd'): NanoUsd {
  const amount = fromUsdNumber(maxUsd);
  if (amount === null || amount <= 0n) {
    throw invalidField(field, 'must have at most nine decimals and be below 8388608');
  }
  return amount;
}

/** The order of a new volume; null for a restore into the snapshot's own volume. */
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
    if (value !== undefined) throw invalidField(field, 'applies only to a new volume');
  }
  return null;
}

export function keyLimitExceeded(limit: keyof ApiKeyLimits, message: string): Fault {
  return new Fault('KEY_LIMIT_EXCEEDED', {
    message,
    issues: [{ path: ['limits', limit], message, code: 'key_limit' }],
  });
}

export function requireVolumeRegionAllowed(region: string, limits: Pick<ApiKeyLimits, 'regions'>): void {
  const { regions } = limits;
  if (regions !== null && !(regions as readonly string[]).includes(region)) {
    throw keyLimitExceeded('regions', `This API key is not allowed to create volumes in ${region}.`);
  }
}

/** Checks the hourly cost of everything that the key runs, including `more`. */
export function requireKeySpendLimit(
  limits: Pick<ApiKeyLimits, 'maxUsdPerHour'>,
  load: Pick<KeyRunningTotals, 'perHour'>,
  more: NanoUsd,
): void {
  const { maxUsdPerHour } = limits;
  if (maxUsdPerHour === null) return;
  // Both values are the numbers nearest to amounts with nine decimals, so they compare like the amounts.
  const total = addUsd(load.perHour, more);
  if (toNearestUsdNumber(total) > maxUsdPerHour) {
    throw keyLimitExceeded(
      'maxUsdPerHour',
      `The limit of this API key is ${maxUsdPerHour} USD per hour. With this request its resources would cost ${formatUsd(total)} USD per hour.`,
    );
  }
}

/** A volume must be usable for at least this time. */
const MIN_USE_MS = 60_000;

export function requireVolumeWithinSpendingLimit(maxUsd: NanoUsd | null, price: FrozenPrice): void {
  if (maxUsd === null) return;
  const least = roundExact(hourlyCharge(rateOf(price), MIN_USE_MS), 'up');
  const paidMs = affordableMs(maxUsd, rateOf(price));
  if (paidMs !== null && paidMs < BigInt(MIN_USE_MS)) {
    throw new Fault('MAX_USD_EXCEEDED', {
      message: `One minute of this volume costs ${formatUsd(least)} USD, but maxUsd is ${formatUsd(maxUsd)}.`,
    });
  }
}
