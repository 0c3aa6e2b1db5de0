import { APIError } from 'better-auth/api';
import { hashPassword, verifyPassword } from 'better-auth/crypto';

/**
 * Hashing a password takes a processor for a tenth of a second, and anybody may ask for it from as many addresses as they
 * have. So few are hashed at once, and whoever comes when many wait is told to come back: signing in gets slow before
 * anything else does.
 */
const MAX_CONCURRENT = 2;
const MAX_WAITING = 40;

export interface Passwords {
  hash(password: string): Promise<string>;
  verify(input: { readonly hash: string; readonly password: string }): Promise<boolean>;
}

export function createPasswords(work: Passwords = { hash: hashPassword, verify: verifyPassword }): Passwords {
  const inTurn = createConcurrencyLimit(MAX_CONCURRENT, MAX_WAITING);
  return {
    hash: (password) => inTurn(() => work.hash(password)),
    verify: (request) => inTurn(() => work.verify(request)),
  };
}

function createConcurrencyLimit(atOnce: number, waitingMax: number) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= atOnce) {
      if (waiting.length >= waitingMax) throw overloadedError();
      // Whoever ends hands the turn over, so it is counted already.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      running += 1;
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

function overloadedError(): APIError {
  return new APIError('TOO_MANY_REQUESTS', {
    code: 'TOO_BUSY',
    message: 'Too many people sign in at this moment. Try again in a few seconds.',
  });
}
