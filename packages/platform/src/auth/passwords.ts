import { APIError } from 'better-auth/api';
import { hashPassword, verifyPassword } from 'better-auth/crypto';

/** Limits concurrent hashing, which takes 0.1 s of CPU each, so that a flood slows down only sign-in. */
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
      // The finished call passes its slot on, so `running` already counts this call.
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
    message: 'Too many sign-ins at this moment. Try again in a few seconds.',
  });
}
