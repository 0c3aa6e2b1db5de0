/** Retries of the same order reuse its idempotency key, also after failures with an unknown outcome. */
export interface IdempotentAttempt {
  readonly text: string;
  readonly key: string;
}

export function attemptFor(
  last: IdempotentAttempt | null,
  order: unknown,
  newKey: () => string,
): IdempotentAttempt {
  const text = JSON.stringify(order);
  return last !== null && last.text === text ? last : { text, key: newKey() };
}

/** Returns a function that maps a random 32-bit number to 0 … `below` - 1. */
export function randomBelowFrom(random32: () => number): (below: number) => number {
  return (below) => random32() % below;
}
