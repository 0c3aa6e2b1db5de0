import { DriverError } from '@millrace/compute';
import { DeadlineError, withDeadline, type Timer } from '@millrace/platform/clock';

export interface SlotsOptions {
  readonly clock: Timer;
  /** Names the work in refusals. */
  readonly what: string;
  readonly most: number;
  /** Longer than work takes that does not hang. */
  readonly timeoutMs: number;
}

/**
 * Bounds how much work is under way at once. Work that hangs is answered as unavailable after its time and frees its slot, so that
 * hanging orders never use up all of them.
 */
export class Slots {
  readonly #options: SlotsOptions;
  #used = 0;

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    const { clock, what, most, timeoutMs } = this.#options;
    if (this.#used >= most) throw new DriverError('busy', `There are ${most} ${what} under way.`);
    this.#used += 1;
    try {
      return await withDeadline(clock, `One of the ${what}`, timeoutMs, work);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      throw new DriverError('unavailable', `${error.message} It goes on.`, { cause: error });
    } finally {
      this.#used -= 1;
    }
  }
}
