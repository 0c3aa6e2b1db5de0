import type { Db } from '@millrace/platform/db';
import { gauge } from '@millrace/platform/telemetry';
import { countByScore, countByStage, scoreBands } from './supplier-metrics.store.ts';

const machinesGauge = gauge('millrace_suppliers_machines');
const scoreGauge = gauge('millrace_suppliers_machines_by_reliability');

const stages = ['trusting', 'inspecting', 'testing', 'enrolled', 'refused', 'withdrawn'] as const;

/**
 * Labels contain no text of suppliers, so suppliers cannot create new series. All workers report the same values, so
 * alerts use the maximum.
 */
export async function recordSupplierMetrics(db: Db): Promise<void> {
  const byStage = await countByStage(db);
  for (const stage of stages) machinesGauge.record(byStage.get(stage) ?? 0, { stage });
  const byScore = await countByScore(db);
  for (const [index, below] of scoreBands.entries()) {
    scoreGauge.record(byScore[index] ?? 0, { below_ppm: String(below) });
  }
}
