import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { KeyMode } from '@millrace/core/identity';
import {
  createSignIn,
  passwordHash,
  setPassword,
  type OidcProvider,
  type SignIn,
  type SignInDeps,
} from '@millrace/platform/auth';
import type { Db } from '@millrace/platform/db';
import { createIdSource, parseId, toUuid } from '@millrace/platform/ids';
import { systemClock } from '@millrace/platform/clock';
import { createSmtpMailer } from '@millrace/platform/mail';
import { startSmtpServer, type TestSmtp } from '@millrace/testing';

/** Signed-in users for tests. */

export const fixturePublicUrl = 'https://cloud.example.com';
const fixtureSecret = 'a secret of tests that nothing else is signed with';
const cookieName = '__Secure-millrace.session_token';

export interface FixtureSignIn {
  readonly signIn: SignIn;
  /** Receives emails; null unless requested. */
  readonly smtp: TestSmtp | null;
  close(): Promise<void>;
}

export async function startFixtureSignIn(
  deps: Omit<SignInDeps, 'mailer'>,
  options: {
    readonly withMail: boolean;
    readonly signUp: 'open' | 'closed';
    readonly oidc: readonly OidcProvider[];
  },
): Promise<FixtureSignIn> {
  const smtp = options.withMail ? await startSmtpServer() : null;
  const from = { name: 'Example Cloud', address: 'cloud@example.com' };
  const mailer = smtp === null ? null : createSmtpMailer({ url: smtp.url, from });
  const settings = {
    name: 'Example Cloud',
    publicUrl: fixturePublicUrl,
    secret: fixtureSecret,
    signUp: options.signUp,
    oidc: options.oidc,
    addressTries: 100,
  };
  const signIn = await createSignIn(settings, { ...deps, mailer });
  return { signIn, smtp, close: async () => smtp?.close() };
}

/** A session and the headers of its requests. */
export interface SignedIn {
  readonly sessionId: string;
  readonly token: string;
  /** As the console sends them: the cookie with this organisation, same origin. */
  headers(organisationId?: string, mode?: KeyMode): Record<string, string>;
  /** As the CLI sends them. */
  bearer(organisationId?: string, mode?: KeyMode): Record<string, string>;
}

/** Signs a user in without a password, with the same row as the real sign-in. */
export async function signInAs(
  db: Db,
  userId: string,
  options: { readonly lastsMs?: number } = {},
): Promise<SignedIn> {
  const user = parseId('usr', userId);
  if (user === null) throw new TypeError(`${userId} is not a user id.`);
  const sessionId = createIdSource({ clock: systemClock, cell: 1 }).next('ses');
  const token = randomBytes(16).toString('hex');
  const now = systemClock.now();
  await db.kysely
    .insertInto('sessions')
    .values({
      id: toUuid(sessionId),
      user_id: toUuid(user),
      token: createHash('sha256').update(token).digest('hex'),
      expires_at: new Date(now.getTime() + (options.lastsMs ?? 3_600_000)),
      ip_address: '192.0.2.1',
      user_agent: 'test',
      created_at: now,
      updated_at: now,
    })
    .execute();
  const naming = (organisationId?: string, mode?: KeyMode) => ({
    ...(organisationId === undefined ? {} : { 'millrace-organisation': organisationId }),
    ...(mode === undefined ? {} : { 'millrace-mode': mode }),
  });
  return {
    sessionId,
    token,
    headers: (organisationId, mode) => ({
      cookie: sessionCookie(token),
      'sec-fetch-site': 'same-origin',
      ...naming(organisationId, mode),
    }),
    bearer: (organisationId, mode) => ({ authorization: `Bearer ${token}`, ...naming(organisationId, mode) }),
  };
}

export async function setUserPassword(db: Db, userId: string, password: string): Promise<void> {
  const user = parseId('usr', userId);
  if (user === null) throw new TypeError(`${userId} is not a user id.`);
  const hash = await passwordHash(password);
  await db.transaction({ name: 'give password', isolation: 'read committed' }, (tx) =>
    setPassword(tx, user, hash),
  );
}

export function sessionCookie(token: string): string {
  const signature = createHmac('sha256', fixtureSecret).update(token).digest('base64');
  return `${cookieName}=${encodeURIComponent(`${token}.${signature}`)}`;
}
