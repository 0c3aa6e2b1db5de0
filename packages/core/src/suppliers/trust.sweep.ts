import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { TrustFiguresTeller } from './trust.figures.ts';
import { forgetTrust, judgeFaults, measureMachines } from './trust.service.ts';

export interface TrustSweepParts {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Logger;
}

/** A machine that fails its tenants is out of sale this soon. */
const JUDGE_EVERY_MS = 10_000;
const MEASURE_EVERY_MS = 60_000;
const TELL_EVERY_MS = 30_000;
const FORGET_EVERY_MS = 3_600_000;
const BATCH = 200;
const FORGET_BATCH = 5_000;

/** What keeps the trust in machines up to date. Several workers may do so at once: each takes what no other has. */
export function startTrust(parts: TrustSweepParts): readonly Loop[] {
  const { clock, log } = parts;
  const loop = (name: string, idleMs: number, once: () => Promise<boolean>): Loop =>
    startLoop({ name, clock, log, idleMs, maxBackoffMs: idleMs }, async () =>
      (await once()) ? 'busy' : 'idle',
    );
  const figures = new TrustFiguresTeller(parts.db);
  return [
    loop('measure machines of suppliers', MEASURE_EVERY_MS, async () => {
      const measured = await measureMachines(parts, BATCH);
      return measured >= BATCH;
    }),
    loop('judge machines of suppliers', JUDGE_EVERY_MS, async () => {
      await judgeFaults(parts);
      return false;
    }),
    loop('tell figures of suppliers', TELL_EVERY_MS, async () => {
      await figures.record();
      return false;
    }),
    loop('forget days of machines', FORGET_EVERY_MS, async () => {
      const forgotten = await forgetTrust(parts, FORGET_BATCH);
      return forgotten >= FORGET_BATCH;
    }),
  ];
}
