import type { Context } from '../framework/context.ts';
import { CancelledError, CliError, lostSecretError, UsageError } from '../framework/errors.ts';
import type { StoredProfile } from '../framework/profiles.ts';
import type { Item, Millrace } from '../sdk.ts';
import { signInWithDeviceCode } from './device-login.ts';

type Membership = Item<'listMyOrganisations'>;

interface SignInRequest {
  readonly apiUrl: string;
  /** Its id or short name; undefined: the only one, or whichever the person says. */
  readonly organisation: string | undefined;
  readonly mode: 'live' | 'test';
}

/** Names of keys are at most this long. */
const MAX_KEY_NAME_LENGTH = 100;
/** Keys that a login makes have names that begin so. */
const KEY_NAME_PREFIX = 'millrace on ';
/** After this time the person logs in again. */
const KEY_DAYS = 90;
const DAY_MS = 86_400_000;

/**
 * Signs the person in, has a key made for this machine, and signs out again: what is kept is the key, which can be seen,
 * limited and revoked, and no session. A key that could not be kept is revoked, so that none is left that nobody holds.
 */
export async function signInAndCreateKey(
  context: Context,
  request: SignInRequest,
  keep: (apiKey: string) => Promise<void>,
): Promise<void> {
  requireInteractiveTerminal(context);
  const token = await signInWithDeviceCode(context, request.apiUrl);
  const person = context.clientFor({
    apiUrl: request.apiUrl,
    inferenceUrl: request.apiUrl,
    session: { token },
  });
  try {
    const { organisation } = await chooseOrganisation(context, person, request.organisation);
    const session = { token, organisation: organisation.id, mode: request.mode };
    const member = context.clientFor({ apiUrl: request.apiUrl, inferenceUrl: request.apiUrl, session });
    await createKey(context, member, request.mode, keep);
  } finally {
    await signOut(context, person);
  }
}

/** A code that nobody is there to enter would be waited for in vain. */
function requireInteractiveTerminal({ io }: Context): void {
  if (io.inIsTty) return;
  throw new UsageError('Nobody can be asked to sign in, for the input is not a terminal.', {
    fix: 'Pipe a key in: millrace login --key-stdin < key.txt',
  });
}

async function createKey(
  context: Context,
  member: Millrace,
  mode: SignInRequest['mode'],
  keep: (apiKey: string) => Promise<void>,
): Promise<void> {
  const { signal } = context;
  const { scopes } = await member.me.get({}, { signal });
  const name = `${KEY_NAME_PREFIX}${context.hostname}`.slice(0, MAX_KEY_NAME_LENGTH);
  const expiresAt = new Date(context.clock.now().getTime() + KEY_DAYS * DAY_MS).toISOString();
  const made = await member.keys.create({ name, mode, scopes, expiresAt }, { signal });
  if (made.key === null) {
    throw lostSecretError(
      `Key "${made.name}" (${made.id}) was created`,
      'Revoke it in the console, and log in again.',
    );
  }
  try {
    await keep(made.key);
  } catch (error) {
    // Also after Ctrl-C, whose signal would stop this call as well.
    await member.keys.revoke({ keyId: made.id }).catch(() => {
      context.note(`Key "${made.name}" (${made.id}) was made and is kept nowhere: revoke it in the console.`);
    });
    throw error;
  }
}

/**
 * Ends the key that a login before has left in the profile and that the new one replaces: no file holds it any more. A key that
 * the person brought themselves may be used elsewhere, so it is only named.
 */
export async function revokeReplacedKey(context: Context, replaced: StoredProfile): Promise<void> {
  const { apiUrl, apiKey } = replaced;
  const client = context.clientFor({ apiUrl, inferenceUrl: apiUrl, apiKey });
  try {
    const { key } = await client.me.get({}, { signal: context.signal });
    if (key === null) return;
    const subject = `Key "${key.name}" (${key.id}), which this profile held before,`;
    if (!key.name.startsWith(KEY_NAME_PREFIX)) {
      context.note(`${subject} stays valid. To end it: millrace key revoke ${key.id}`);
      return;
    }
    await client.keys.revoke({ keyId: key.id }, { signal: context.signal });
    context.note(`${subject} was revoked.`);
  } catch (error) {
    // A key that is refused is at its end already.
    if (error instanceof Error && 'status' in error && error.status === 401) return;
    context.note('The key that this profile held before could not be revoked: see millrace key list.');
  }
}

async function chooseOrganisation(
  context: Context,
  person: Millrace,
  named: string | undefined,
): Promise<Membership> {
  const all = await person.me.listOrganisations({ limit: 200 }, { signal: context.signal }).all();
  const [first, ...others] = all;
  if (first === undefined) {
    throw new CliError('You belong to no organisation yet.', {
      why: 'A key is always of an organisation.',
      fix: 'Create one in the console, or accept an invitation there. Then: millrace login',
    });
  }
  if (named !== undefined) return membershipNamed(all, named);
  if (others.length === 0) return first;
  context.note('You belong to several organisations:');
  for (const { organisation, role } of all)
    context.note(`  ${organisation.slug}  ${organisation.name}, as ${role}`);
  const response = await context.prompt.line(`Which one? [${first.organisation.slug}] `);
  if (response === null) throw new CancelledError('Cancelled. No key was made.');
  return response.trim() === '' ? first : membershipNamed(all, response.trim());
}

function membershipNamed(all: readonly Membership[], name: string): Membership {
  const found = all.find(({ organisation }) => organisation.id === name || organisation.slug === name);
  if (found !== undefined) return found;
  const slugs = all.map(({ organisation }) => organisation.slug).join(', ');
  throw new UsageError(`You belong to no organisation ${JSON.stringify(name)}.`, {
    fix: `Name one of yours: millrace login --organisation NAME, of ${slugs}`,
  });
}

/** A session that could not be ended ends by itself in time; the key is what matters. */
async function signOut(context: Context, person: Millrace): Promise<void> {
  try {
    const { items } = await person.me.listSessions();
    const own = items.find(({ current }) => current);
    if (own !== undefined) await person.me.endSession({ sessionId: own.id });
  } catch {
    context.note('The session of this sign-in could not be ended: see your sessions in the console.');
  }
}
