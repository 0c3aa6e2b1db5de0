import { APIError } from 'better-auth/api';

/** Validates before the library, which checks some fields only for unused addresses and so reveals accounts. */

const NAME_MAX = 200;

export function requireName(name: string): void {
  const isPlain = !hasNul(name) && !/\p{Bidi_Control}/u.test(name);
  if (name.trim() !== '' && name.length <= NAME_MAX && isPlain) return;
  throw new APIError('BAD_REQUEST', {
    code: 'INVALID_NAME',
    message: `Enter a name of 1 to ${NAME_MAX} characters, without characters that change the text direction.`,
  });
}

/** How a user signs up: at an OIDC provider, or with a password and perhaps the secret of an invitation link. */
export type SignUpMethod =
  | { readonly by: 'provider' }
  | { readonly by: 'password'; readonly invitationSecret: string | null };

/** Throws unless a user may sign up with this email address. */
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
 * Decides who may sign up. With email, a link verifies the address afterwards. Without email, a closed sign-up requires
 * the secret of an invitation link. The inviter knows that secret too, so it must not verify the address: an account of
 * an OIDC provider would be linked to it.
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
  // The library rejects values of other types for every address.
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
      'You need an invitation to sign up. Open the link in your invitation, or ask an owner of your organisation for a new one. If you already have an account, reset your password instead.',
  });
}

/** PostgreSQL text cannot contain NUL. */
function hasNul(text: string): boolean {
  return text.includes('\0');
}
