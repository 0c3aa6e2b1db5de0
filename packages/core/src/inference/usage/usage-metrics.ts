import { counter } from '@millrace/platform/telemetry';
import type { UsageSummary } from './usage.service.ts';

/** Counted by the sink and by the loop that charges deferred usage. */

const charged = counter('millrace_usage_charged_nano_usd_total', 'What inference requests were charged.');
const recorded = counter(
  'millrace_usage_recorded_total',
  'Inference requests recorded, by what became of them.',
);
const shortfall = counter(
  'millrace_usage_shortfall_nano_usd_total',
  'What requests used beyond their reservations: borne by the operator.',
);
const overpriced = counter(
  'millrace_usage_overpriced_total',
  'Requests that were not charged because their reported cost exceeds the highest possible cost of their model.',
);
const unreadable = counter(
  'millrace_usage_unreadable_total',
  'Usage put aside because it could not be read.',
);
const deferred = counter(
  'millrace_usage_deferred_total',
  'Usage events that could not be charged when they were read, and were kept to be charged later.',
);

export function countCharged(usage: UsageSummary): void {
  charged.add(Number(usage.charged));
  recorded.add(usage.recorded - usage.uncharged, { outcome: 'charged' });
  recorded.add(usage.uncharged, { outcome: 'not charged' });
  if (usage.overpriced > 0) overpriced.add(usage.overpriced);
  if (usage.shortfall > 0n) shortfall.add(Number(usage.shortfall));
}

export function countUnreadable(events: number): void {
  if (events > 0) unreadable.add(events);
}

export function countDeferred(events: number): void {
  if (events > 0) deferred.add(events);
}
