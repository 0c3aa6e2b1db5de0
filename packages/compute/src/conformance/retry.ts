import { systemClock } from '@millrace/platform/clock';
import type { ComputeDriver } from '../driver.ts';

const attempts = 5;
const pauseMs = 1_000;

/** Repeats the call while `isLost` accepts its error, up to five attempts. */
export async function retryWhile<T>(isLost: (error: unknown) => boolean, call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (attempt >= attempts || !isLost(error)) throw error;
    }
    await systemClock.sleep(pauseMs);
  }
}

/** Repeats calls that a stall lost, with a new deadline if the first has expired. Aborted calls are not repeated. */
export function retryingDriver(
  driver: ComputeDriver,
  isLost: (error: unknown) => boolean,
  deadline: () => AbortSignal,
): ComputeDriver {
  return new Proxy(driver, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      const call = (words: readonly unknown[]): unknown => Reflect.apply(member, target, words);
      if (name === 'events' || name === 'close') return (...words: readonly unknown[]) => call(words);
      return async (...words: readonly unknown[]) => {
        const given = words.at(-1);
        if (!(given instanceof AbortSignal)) return call(words);
        const hasGivenUp = (): boolean => given.aborted && !isTimeout(given.reason);
        const next = (): AbortSignal => (given.aborted && !hasGivenUp() ? deadline() : given);
        return retryWhile(
          (error) => !hasGivenUp() && isLost(error),
          async () => call([...words.slice(0, -1), next()]),
        );
      };
    },
  });
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}
