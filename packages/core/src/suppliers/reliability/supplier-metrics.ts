import type { Db } from '@millrace/platform/db';
import { gauge } from '@millrace/platform/telemetry';
import { countByScore, countByStage, scoreBands } from './supplier-metrics.store.ts';

const machinesGauge = gauge('millrace_suppliers_machines', 'Machines of suppliers by stage');
const scoreGauge = gauge(
  'millrace_suppliers_machines_by_reliability',
  'Enrolled machines by their score: those below each bound and not below the one before',
);

const stages = ['trusting', 'inspecting', 'testing', 'enrolled', 'refused', 'withdrawn'] as const;

/**
 * Tells figures of all suppliers. Nothing that a supplier wrote is in them: who names a thousand machines makes no figure
 * more. Every worker tells the same, so alerts take the largest.
 */
export async function recordSupplierMetrics(db: Db): Promise<void> {
  const byStage = await countByStage(db);
  for (const stage of stages) machinesGauge.record(byStage.get(stage) ?? 0, { stage });
  const byScore = await countByScore(db);
  for (const [index, below] of scoreBands.entries()) {
    scoreGauge.record(byScore[index] ?? 0, { below_ppm: String(below) });
  }
}
