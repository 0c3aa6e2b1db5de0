import { systemClock } from '@millrace/platform/clock';
import { isUnavailable } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';

const ATTEMPTS = 10;
const RETRY_MS = 1_000;

/** Retries while the database is unavailable, for example because a frozen worker holds locks until its session ends. */
export async function retryAtStart<T>(what: string, log: Logger, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || !isUnavailable(error)) throw error;
      log.warn({ err: error, attempt }, `${what} could not be applied yet; retrying`);
      await systemClock.sleep(RETRY_MS);
    }
  }
}
