import { DriverError } from '@millrace/compute';
import { DeadlineError, withDeadline, type Timer } from '@millrace/platform/clock';

export interface SlotsOptions {
  readonly clock: Timer;
  /** Plural noun for error messages. */
  readonly what: string;
  readonly most: number;
  /** Longer than any work takes unless it hangs. */
  readonly timeoutMs: number;
}

/** Limits concurrent work. Hanging work is unavailable after its timeout and frees its slot. */
export class Slots {
  readonly #options: SlotsOptions;
  #used = 0;

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    const { clock, what, most, timeoutMs } = this.#options;
    if (this.#used >= most)
      throw new DriverError('busy', `${most} ${what} are already in progress; retry later.`);
    this.#used += 1;
    try {
      return await withDeadline(clock, `One of the ${what}`, timeoutMs, work);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      throw new DriverError('unavailable', `${error.message} It continues in the background.`, {
        cause: error,
      });
    } finally {
      this.#used -= 1;
    }
  }
}
