import type { Db } from '@millrace/platform/db';
import { msToSeconds } from '@millrace/platform/money';
import { gauge } from '@millrace/platform/telemetry';
import { readLeaseFigures, readUnsettledUsage } from './lease-metrics.store.ts';

const leasesGauge = gauge('millrace_credit_leases');
const leasedGauge = gauge('millrace_credit_leased_nano_usd');
const oldestClosingGauge = gauge('millrace_credit_lease_oldest_closing_seconds');
const unsettledGauge = gauge('millrace_usage_unsettled_events');
const oldestUnsettledGauge = gauge('millrace_usage_unsettled_oldest_seconds');

/** Records metrics of all credit leases and of usage that is not charged. Every worker records the same values. */
export async function recordLeaseMetrics(db: Db): Promise<void> {
  const nowMs = db.clock.nowMs();
  const ageOf = (since: Date | null): number =>
    since === null ? 0 : msToSeconds(Math.max(0, nowMs - since.getTime()));
  const leases = await readLeaseFigures(db);
  leasesGauge.record(leases.open, { state: 'open' });
  leasesGauge.record(leases.closing, { state: 'closing' });
  leasedGauge.record(Number(leases.leasedNanoUsd));
  oldestClosingGauge.record(ageOf(leases.oldestClosingAt));
  const unsettled = await readUnsettledUsage(db);
  unsettledGauge.record(unsettled.events);
  oldestUnsettledGauge.record(ageOf(unsettled.oldestAt));
}
