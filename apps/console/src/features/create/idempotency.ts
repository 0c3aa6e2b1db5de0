/**
 * Pressing twice makes one rental: the same order is sent under the same key however often it is sent, also after a failure of
 * which nobody knows whether it had its effect. Another order is another wish, and has another key.
 */
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

/** A whole number from 0 up to, and not, `below`; from one random 32-bit number. */
export function randomBelowFrom(random32: () => number): (below: number) => number {
  return (below) => random32() % below;
}
