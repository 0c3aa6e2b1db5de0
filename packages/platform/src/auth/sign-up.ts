import { APIError } from 'better-auth/api';

/**
 * What is asked of somebody who signs up. The library asks some of it only once it has found that nobody has the mailbox, so
 * that a name of 201 characters would tell who has an account: here it is asked of everybody, before.
 */

const NAME_MAX = 200;

export function requireName(name: string): void {
  if (name.trim() !== '' && name.length <= NAME_MAX && !hasNul(name)) return;
  throw new APIError('BAD_REQUEST', {
    code: 'INVALID_NAME',
    message: `A name has 1 to ${NAME_MAX} characters.`,
  });
}

export async function requireFitSignUp(
  path: string,
  body: unknown,
  requireMaySignUp: (email: string) => Promise<void>,
): Promise<void> {
  if (path !== '/sign-up/email' || typeof body !== 'object' || body === null) return;
  // What is of another type, the library refuses for everybody.
  const { name, email, image } = body as Record<string, unknown>;
  if (typeof name === 'string') requireName(name);
  if (typeof image === 'string' && hasNul(image)) {
    throw new APIError('BAD_REQUEST', { code: 'INVALID_VALUE', message: 'A value cannot be stored.' });
  }
  if (typeof email === 'string' && !hasNul(email)) await requireMaySignUp(email);
}

export function signUpClosed(): APIError {
  return new APIError('BAD_REQUEST', {
    code: 'SIGN_UP_CLOSED',
    message:
      'Nobody can sign up here by themselves. Ask whoever runs this installation to invite you. Whoever has an account can choose a new password instead.',
  });
}

/** PostgreSQL takes every character in a text but this one. */
function hasNul(text: string): boolean {
  return text.includes('\0');
}
