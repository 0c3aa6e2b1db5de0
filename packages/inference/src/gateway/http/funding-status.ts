import type { Timer } from '@millrace/platform/clock';
import type { Caller } from './authenticator.ts';

/** Whether a caller can pay, by its organisation's last reservation at this gateway, or else by its deposits. */
export interface FundingStatus {
  isFunded(caller: Caller): boolean;
  /** Records that a reservation succeeded, or failed because of the balance. */
  note(orgId: string, isFunded: boolean): void;
}

interface FundingRecord {
  isFunded: boolean;
  atMs: number;
}

const recordTtlMs = 600_000;
const maxRecords = 20_000;

export function createFundingStatus(clock: Pick<Timer, 'monotonicMs'>): FundingStatus {
  const noted = new Map<string, FundingRecord>();
  return {
    isFunded({ key, organisation }) {
      if (key.mode === 'test') return false;
      const last = noted.get(key.orgId);
      if (last === undefined || clock.monotonicMs() - last.atMs > recordTtlMs) return organisation.isFunded;
      return last.isFunded;
    },
    note(orgId, isFunded) {
      const atMs = clock.monotonicMs();
      const last = noted.get(orgId);
      if (last !== undefined) {
        last.isFunded = isFunded;
        last.atMs = atMs;
        return;
      }
      // Cleared as a whole: deposits decide until the next reservations.
      if (noted.size >= maxRecords) noted.clear();
      noted.set(orgId, { isFunded, atMs });
    },
  };
}
