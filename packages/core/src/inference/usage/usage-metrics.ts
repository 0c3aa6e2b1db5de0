import { counter } from '@millrace/platform/telemetry';
import type { UsageSummary } from './usage.service.ts';

/** Recorded by the sink and by the loop that charges deferred usage. */

const charged = counter('millrace_usage_charged_nano_usd_total', 'Amount charged for inference requests.');
const recorded = counter('millrace_usage_recorded_total', 'Recorded inference requests by outcome.');
const shortfall = counter(
  'millrace_usage_shortfall_nano_usd_total',
  'Usage beyond reservations, absorbed by the operator.',
);
const overpriced = counter(
  'millrace_usage_overpriced_total',
  'Requests that were not charged because their reported cost exceeds the maximum cost of their model.',
);
const unreadable = counter(
  'millrace_usage_unreadable_total',
  'Usage events quarantined because they could not be read.',
);
const deferred = counter(
  'millrace_usage_deferred_total',
  'Usage events that could not be charged when they were read, and are charged later.',
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
