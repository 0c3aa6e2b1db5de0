import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { recordSupplierMetrics } from './supplier-metrics.ts';
import {
  deleteOldReliabilityDays,
  quarantineFaultyMachines,
  measureMachines,
} from './reliability.service.ts';

export interface ReliabilitySweepDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Logger;
}

/** The delay until a faulty machine is quarantined. */
const QUARANTINE_EVERY_MS = 10_000;
const MEASURE_EVERY_MS = 60_000;
const METRICS_EVERY_MS = 30_000;
const DAYS_DELETE_EVERY_MS = 3_600_000;
const BATCH = 200;
const DAYS_DELETE_BATCH = 5_000;

/** Several workers may run these loops; each claims other machines. */
export function startReliabilityLoops(deps: ReliabilitySweepDeps): readonly Loop[] {
  const { clock, log } = deps;
  const loop = (name: string, idleMs: number, once: () => Promise<boolean>): Loop =>
    startLoop({ name, clock, log, idleMs, maxBackoffMs: idleMs }, async () =>
      (await once()) ? 'busy' : 'idle',
    );
  return [
    loop('measure machines of suppliers', MEASURE_EVERY_MS, async () => {
      const measured = await measureMachines(deps, BATCH);
      return measured >= BATCH;
    }),
    loop('judge machines of suppliers', QUARANTINE_EVERY_MS, async () => {
      await quarantineFaultyMachines(deps);
      return false;
    }),
    loop('tell figures of suppliers', METRICS_EVERY_MS, async () => {
      await recordSupplierMetrics(deps.db);
      return false;
    }),
    loop('forget days of machines', DAYS_DELETE_EVERY_MS, async () => {
      const deleted = await deleteOldReliabilityDays(deps, DAYS_DELETE_BATCH);
      return deleted >= DAYS_DELETE_BATCH;
    }),
  ];
}
