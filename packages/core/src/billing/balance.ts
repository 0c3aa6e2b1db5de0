import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { OrgId } from '@millrace/platform/ids';
import { affordableMs, divideRoundDown, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import type { Balance } from '../ledger/index.ts';

/**
 * What an organisation spends in an hour as things run now. Who meters knows it; billing is only told, because it must
 * not depend on what is metered.
 */
export type BurnOf = (reader: Reader, orgId: OrgId, mode: Mode) => Promise<NanoUsd>;

/** For an installation where nothing is metered. */
export const noBurn: BurnOf = () => Promise.resolve(zeroUsd);

/** An organisation's money, and how fast it goes. */
export interface BalanceView extends Balance {
  readonly burnPerHour: NanoUsd;
}

const msPerSecond = 1_000n;
const largestSeconds = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * How long what is available lasts at this rate, in whole seconds; null when nothing is being spent. Holds are left
 * out: they are promised to what runs already.
 */
export function runwaySeconds(view: Pick<BalanceView, 'available' | 'burnPerHour'>): number | null {
  const ms = affordableMs(view.available, view.burnPerHour);
  if (ms === null) return null;
  const seconds = divideRoundDown(ms, msPerSecond);
  return Number(seconds > largestSeconds ? largestSeconds : seconds);
}
