import type { Timer } from '@millrace/platform/clock';

/** Ended requests per organisation whose reservations are not settled yet. */
export interface PendingSettlements {
  started(orgId: string): void;
  ended(orgId: string): void;
  /** True once a settlement of the organisation ended here, or after a delay if none is pending here. False after the timeout. */
  next(orgId: string): Promise<boolean>;
}

/** Usage is normally stored within milliseconds; requests do not wait for an unreachable stream. */
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
