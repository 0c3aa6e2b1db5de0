import { systemClock } from '@millrace/platform/clock';
import { isUnavailable } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';

const ATTEMPTS = 10;
const RETRY_MS = 1_000;

/**
 * Runs a transaction that a worker needs at its start, again while the database is not available. A worker that was frozen
 * in a transaction, for example, holds its locks until PostgreSQL ends its session.
 */
export async function retryAtStart<T>(what: string, log: Logger, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || !isUnavailable(error)) throw error;
      log.warn({ err: error, attempt }, `${what} could not be applied yet`);
      await systemClock.sleep(RETRY_MS);
    }
  }
}
