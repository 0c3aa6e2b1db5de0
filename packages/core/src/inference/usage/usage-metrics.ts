import { counter } from '@millrace/platform/telemetry';
import type { UsageSummary } from './usage.service.ts';

/** Recorded by the sink and by the loop that charges deferred usage. */

const charged = counter('millrace_usage_charged_nano_usd_total');
const processed = counter('millrace_usage_messages_total');
const recorded = counter('millrace_usage_recorded_total');
const shortfall = counter('millrace_usage_shortfall_nano_usd_total');
const overpriced = counter('millrace_usage_overpriced_total');
const unreadable = counter('millrace_usage_unreadable_total');
const deferred = counter('millrace_usage_deferred_total');

export function countCharged(usage: UsageSummary): void {
  charged.add(Number(usage.charged));
  recorded.add(usage.recorded - usage.uncharged, { outcome: 'charged' });
  recorded.add(usage.uncharged, { outcome: 'not charged' });
  if (usage.overpriced > 0) overpriced.add(usage.overpriced);
  if (usage.shortfall > 0n) shortfall.add(Number(usage.shortfall));
}

export function countProcessed(messages: number): void {
  processed.add(messages);
}

export function countUnreadable(events: number): void {
  if (events > 0) unreadable.add(events);
}

export function countDeferred(events: number): void {
  if (events > 0) deferred.add(events);
}
