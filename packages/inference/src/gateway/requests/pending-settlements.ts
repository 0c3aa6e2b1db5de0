import type { Timer } from '@millrace/platform/clock';

/** Requests that are over while the rest of their reservations is not given back yet, by organisation. */
export interface PendingSettlements {
  started(orgId: string): void;
  ended(orgId: string): void;
  /**
   * True once one of the organisation has ended here, or after a moment when there is none here: it may be at another gateway. False
   * when none ends in time.
   */
  next(orgId: string): Promise<boolean>;
}

/** Usage is stored within milliseconds as a rule; a request is not kept waiting for a stream that is away. */
const settlementTimeoutMs = 500;
const noSettlementDelayMs = 50;

interface PendingCount {
  count: number;
  waiters: Set<(hasEnded: boolean) => void>;
}

export function createPendingSettlements(clock: Pick<Timer, 'after' | 'sleep'>): PendingSettlements {
  const pending = new Map<string, PendingCount>();
  return {
    started(orgId) {
      const found = pending.get(orgId);
      if (found === undefined) pending.set(orgId, { count: 1, waiters: new Set() });
      else found.count += 1;
    },
    ended(orgId) {
      const found = pending.get(orgId);
      if (found === undefined) return;
      found.count -= 1;
      if (found.count === 0) pending.delete(orgId);
      const { waiters } = found;
      found.waiters = new Set();
      for (const wake of waiters) wake(true);
    },
    next(orgId) {
      const found = pending.get(orgId);
      if (found === undefined) return clock.sleep(noSettlementDelayMs).then(() => true);
      return new Promise((resolve) => {
        const cancel = clock.after(settlementTimeoutMs, () => {
          found.waiters.delete(wake);
          resolve(false);
        });
        const wake = (hasEnded: boolean): void => {
          cancel();
          resolve(hasEnded);
        };
        found.waiters.add(wake);
      });
    },
  };
}
