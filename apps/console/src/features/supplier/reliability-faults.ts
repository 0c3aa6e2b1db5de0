import type { Item } from '@millrace/sdk';
import { approximateDuration } from '@millrace/sdk/text';

type Reliability = NonNullable<Item<'supplierListMachines'>['reliability']>;

/** The uptime of a machine includes a day at 90 %, which was not measured. */
const ASSUMED_SECONDS = 86_400;
const ASSUMED_UPTIME = 0.9;
/** Shares are rounded, so a shorter time can be a rounding error. */
const SHORTEST_SECONDS = 60;

/** Measured time in which the machine did not respond. */
export function downtimeSeconds({
  uptime,
  watchedSeconds,
}: Pick<Reliability, 'uptime' | 'watchedSeconds'>): number {
  const upSeconds = uptime * (watchedSeconds + ASSUMED_SECONDS) - ASSUMED_UPTIME * ASSUMED_SECONDS;
  const seconds = watchedSeconds - upSeconds;
  return seconds < SHORTEST_SECONDS ? 0 : seconds;
}

function countText(count: number, what: string): string | null {
  if (count === 0) return null;
  return `${count === 1 ? '1 instance' : `${String(count)} instances`} ${what}`;
}

/** The faults that lowered the reliability; null if there were none. */
export function reliabilityFaults(reliability: Reliability): string | null {
  const down = downtimeSeconds(reliability);
  const faults = [
    down === 0 ? null : `it did not respond for ${approximateDuration(down)}`,
    countText(reliability.failedStarts, 'failed to start'),
    reliability.losses === 0
      ? null
      : countText(reliability.losses, reliability.losses === 1 ? 'was lost' : 'were lost'),
  ].filter((fault) => fault !== null);
  if (faults.length === 0) return null;
  return `In the last 30 days, ${new Intl.ListFormat('en').format(faults)}.`;
}
