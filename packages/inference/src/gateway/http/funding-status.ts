import type { Timer } from '@millrace/platform/clock';
import type { Caller } from './authenticator.ts';

/**
 * Whether a caller can pay, as far as this gateway knows without asking: by the last reservation of its organisation here,
 * or else by whether the organisation has made its first deposits.
 */
export interface FundingStatus {
  isFunded(caller: Caller): boolean;
  /** Notes that a reservation was granted, or refused because the balance was too low. */
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
      // Cleared as a whole: the book decides until the next reservations.
      if (noted.size >= maxRecords) noted.clear();
      noted.set(orgId, { isFunded, atMs });
    },
  };
}
