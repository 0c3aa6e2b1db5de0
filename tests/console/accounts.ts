import type { Db } from '@millrace/platform/db';
import {
  addMember,
  ensureUser,
  grantPlatformRole,
  issueUnrestrictedKey,
  markSupplier,
  systemAuditContext,
  type KeyMode,
} from '@millrace/core/identity';
import { parseId, type OrgId, type UserId } from '@millrace/platform/ids';
import { eventually, uniqueId, type TestSmtp } from '@millrace/testing';
import { randomClientIp, type StorageState } from './browser.ts';

/** Creates accounts over HTTP, as the console does. */

export interface AccountDeps {
  readonly apiUrl: string;
  readonly db: Db;
  readonly smtp: TestSmtp;
}

export interface Person {
  readonly name: string;
  readonly email: string;
  readonly password: string;
  /** For a tab that is already signed in. */
  readonly session: StorageState;
}

export interface Owner extends Person {
  readonly orgId: OrgId;
  readonly userId: UserId;
  /** Creates an API key with all permissions of the owner. */
  key(mode: KeyMode): Promise<string>;
}

const password = 'a mill by the quiet river';

/** Link in the newest email to the address whose path matches. */
export async function emailLink(smtp: TestSmtp, email: string, path: RegExp): Promise<string> {
  return eventually({ what: `an email to ${email}`, timeoutMs: 300_000 }, async () => {
    const emails = smtp.emails.filter(({ to }) => to.includes(email)).toReversed();
    const links = emails.flatMap(({ body }) => body.match(/https?:\/\/[^\s"'<>]+/g) ?? []);
    return links.map((link) => link.replaceAll('&amp;', '&')).find((link) => path.test(link));
  });
}

/** Creates a signed-in user with a verified email address and no organisation. */
export async function createPerson(place: AccountDeps, name = 'Ada Miller'): Promise<Person> {
  const email = `${name.split(' ', 1)[0]?.toLowerCase()}-${uniqueId()}@example.com`;
  await post(place, '/auth/sign-up/email', { name, email, password, callbackURL: '/console/verified' });
  const confirmed = await fetch(await emailLink(place.smtp, email, /verify-email/), { redirect: 'manual' });
  if (confirmed.status >= 400)
    throw new Error(`The email address was not verified: ${await confirmed.text()}`);
  return { name, email, password, session: await signIn(place.apiUrl, { email, password }) };
}

/** Session of a user with a verified email address. */
export async function signIn(
  apiUrl: string,
  credentials: { readonly email: string; readonly password: string },
): Promise<StorageState> {
  const signedIn = await post({ apiUrl }, '/auth/sign-in/email', credentials);
  return toStorageState(apiUrl, signedIn.headers.getSetCookie());
}

export async function createOwner(
  place: AccountDeps,
  options: {
    readonly name?: string;
    readonly organisation?: string;
    readonly isOperator?: boolean;
    readonly supplies?: boolean;
  } = {},
): Promise<Owner> {
  const person = await createPerson(place, options.name);
  const cookie = person.session.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const name = options.organisation ?? 'Quiet River';
  const made = await post(place, '/v2/organisations', { name }, { cookie });
  const { organisation } = (await made.json()) as { readonly organisation: { readonly id: string } };
  const orgId = parseId('org', organisation.id);
  if (orgId === null) throw new Error(`The organisation has no id: ${organisation.id}`);
  const { db } = place;
  const committed = 'read committed' as const;
  const userId = await db.transaction({ name: 'give rights', isolation: committed }, async (tx) => {
    const user = await ensureUser(tx, { email: person.email });
    if (options.isOperator === true) await grantPlatformRole(tx, user.id, 'operator');
    if (options.supplies === true) await markSupplier(tx, orgId);
    return user.id;
  });
  return {
    ...person,
    orgId,
    userId,
    key: (mode) =>
      db.transaction({ name: 'seed key', isolation: committed }, async (tx) => {
        const user = await ensureUser(tx, { email: person.email });
        const cause = systemAuditContext('test', mode);
        const { text } = await issueUnrestrictedKey(tx, cause, { orgId, user, mode, name: 'seeded' });
        return text;
      }),
  };
}

export async function addColleague(place: AccountDeps, owner: Owner, email: string): Promise<void> {
  await place.db.transaction({ name: 'seed member', isolation: 'read committed' }, (tx) =>
    addMember(tx, systemAuditContext('test', 'live'), owner.orgId, { email, role: 'member' }),
  );
}

/** Session whose tabs start in the given mode. */
export function withMode(session: StorageState, url: string, orgId: OrgId, mode: KeyMode): StorageState {
  const value = JSON.stringify({ organisationId: orgId, mode });
  return { ...session, origins: [{ origin: url, localStorage: [{ name: 'millrace.place', value }] }] };
}

async function post(
  place: Pick<AccountDeps, 'apiUrl'>,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const response = await fetch(place.apiUrl + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      origin: place.apiUrl,
      'x-forwarded-for': randomClientIp(),
      ...headers,
    },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return response;
}

function toStorageState(url: string, setCookies: readonly string[]): StorageState {
  const cookies = setCookies.map((line) => {
    const [pair = ''] = line.split(';', 1);
    const at = pair.indexOf('=');
    return {
      name: pair.slice(0, at),
      value: pair.slice(at + 1),
      domain: new URL(url).hostname,
      path: '/',
      expires: -1,
      httpOnly: true,
      secure: false,
      sameSite: 'Lax' as const,
    };
  });
  return { cookies, origins: [] };
}
