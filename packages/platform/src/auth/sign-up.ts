import { APIError } from 'better-auth/api';

/**
 * What is asked of somebody who signs up. The library asks some of it only once it has found that nobody has the mailbox, so
 * that a name of 201 characters would tell who has an account: here it is asked of everybody, before.
 */

const NAME_MAX = 200;

export function requireName(name: string): void {
  const isPlain = !hasNul(name) && !/\p{Bidi_Control}/u.test(name);
  if (name.trim() !== '' && name.length <= NAME_MAX && isPlain) return;
  throw new APIError('BAD_REQUEST', {
    code: 'INVALID_NAME',
    message: `A name has 1 to ${NAME_MAX} characters, none of which changes the direction of text.`,
  });
}

/** How a person signs up: at an outside provider, or with a password and perhaps the secret of an invitation's link. */
export type SignUpMethod =
  | { readonly by: 'provider' }
  | { readonly by: 'password'; readonly invitationSecret: string | null };

/** Throws unless a person may sign up with this mailbox. */
export type AssertSignUpAllowed = (email: string, way: SignUpMethod) => Promise<void>;

const PASSWORD_PATH = '/sign-up/email';
const SECRET_MAX = 200;

export function signUpMethodOf(path: string | undefined, body: unknown): SignUpMethod {
  if (path !== PASSWORD_PATH) return { by: 'provider' };
  const secret =
    typeof body === 'object' && body !== null && 'invitationSecret' in body ? body.invitationSecret : null;
  const isSecret = typeof secret === 'string' && secret.length <= SECRET_MAX;
  return { by: 'password', invitationSecret: isSecret ? secret : null };
}

/**
 * Decides who may sign up. With mail, a letter proves the mailbox afterwards. Without mail, a closed sign-up needs the secret of an
 * invitation's link. The inviter knows that secret too, so it does not verify the mailbox: the account of an outside provider would
 * be linked to a verified one.
 */
export function createSignUpRule(options: {
  readonly hasMail: boolean;
  readonly isClosed: boolean;
  readonly isInvited: (email: string, secret: string | null) => Promise<boolean>;
}): AssertSignUpAllowed {
  const { hasMail, isClosed, isInvited } = options;
  return async (email, way) => {
    if (!isClosed) return;
    const needsSecret = !hasMail && way.by === 'password';
    const secret = needsSecret ? way.invitationSecret : null;
    const isAllowed = needsSecret && secret === null ? false : await isInvited(email, secret);
    if (!isAllowed) throw signUpClosedError();
  };
}

export async function validateSignUp(
  path: string,
  body: unknown,
  requireMaySignUp: AssertSignUpAllowed,
): Promise<void> {
  if (path !== PASSWORD_PATH || typeof body !== 'object' || body === null) return;
  // What is of another type, the library refuses for everybody.
  const { name, email, image } = body as Record<string, unknown>;
  if (typeof name === 'string') requireName(name);
  if (typeof image === 'string' && hasNul(image)) {
    throw new APIError('BAD_REQUEST', { code: 'INVALID_VALUE', message: 'A value cannot be stored.' });
  }
  if (typeof email === 'string' && !hasNul(email)) await requireMaySignUp(email, signUpMethodOf(path, body));
}

function signUpClosedError(): APIError {
  return new APIError('BAD_REQUEST', {
    code: 'SIGN_UP_CLOSED',
    message:
      'Sign-up needs an invitation here. Open the link of your invitation, or ask an owner of your organisation for a new one. With an account, choose a new password instead.',
  });
}

/** PostgreSQL takes every character in a text but this one. */
function hasNul(text: string): boolean {
  return text.includes('\0');
}
