import type { Context } from '../framework/context.ts';
import { CancelledError, CliError, lostSecretError, UsageError } from '../framework/errors.ts';
import type { StoredProfile } from '../framework/profiles.ts';
import type { Item, Millrace } from '../sdk.ts';
import { signInWithDeviceCode } from './device-login.ts';

type Membership = Item<'listMyOrganisations'>;

interface SignInRequest {
  readonly apiUrl: string;
  /** Its id or slug; undefined: the only one, or the one that the user chooses. */
  readonly organisation: string | undefined;
  readonly mode: 'live' | 'test';
}

const MAX_KEY_NAME_LENGTH = 100;
/** The start of the names of keys that login creates. */
const KEY_NAME_PREFIX = 'millrace on ';
/** Keys of logins expire after this time. */
const KEY_DAYS = 90;
const DAY_MS = 86_400_000;

/**
 * Signs in, creates a key for this machine, and signs out. The key is stored instead of a session, because it
 * can be listed, limited and revoked. A key that cannot be stored is revoked.
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

/** Without a terminal no user could enter the code. */
function requireInteractiveTerminal({ io }: Context): void {
  if (io.inIsTty) return;
  throw new UsageError('Cannot ask you to sign in because the input is not a terminal.', {
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
    // Not with the signal: after Ctrl-C it would abort this call too.
    await member.keys.revoke({ keyId: made.id }).catch(() => {
      context.note(
        `Key "${made.name}" (${made.id}) was created but could not be saved. Revoke it in the console.`,
      );
    });
    throw error;
  }
}

/**
 * Revokes the replaced key of an earlier login. A key that the user brought may be used elsewhere and is only
 * named.
 */
export async function revokeReplacedKey(context: Context, replaced: StoredProfile): Promise<void> {
  const { apiUrl, apiKey } = replaced;
  const client = context.clientFor({ apiUrl, inferenceUrl: apiUrl, apiKey });
  try {
    const { key } = await client.me.get({}, { signal: context.signal });
    if (key === null) return;
    const subject = `The previous key "${key.name}" (${key.id}) of this profile`;
    if (!key.name.startsWith(KEY_NAME_PREFIX)) {
      context.note(`${subject} stays valid. To revoke it: millrace key revoke ${key.id}`);
      return;
    }
    await client.keys.revoke({ keyId: key.id }, { signal: context.signal });
    context.note(`${subject} was revoked.`);
  } catch (error) {
    // 401: the key is already revoked or expired.
    if (error instanceof Error && 'status' in error && error.status === 401) return;
    context.note('The previous key of this profile could not be revoked. See: millrace key list');
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
    throw new CliError('You do not belong to an organisation yet.', {
      why: 'A key always belongs to an organisation.',
      fix: 'Create an organisation or accept an invitation in the console. Then: millrace login',
    });
  }
  if (named !== undefined) return membershipNamed(all, named);
  if (others.length === 0) return first;
  context.note('You belong to several organisations:');
  for (const { organisation, role } of all)
    context.note(`  ${organisation.slug}  ${organisation.name}, as ${role}`);
  const response = await context.prompt.line(`Which one? [${first.organisation.slug}] `);
  if (response === null) throw new CancelledError('Cancelled. No key was created.');
  return response.trim() === '' ? first : membershipNamed(all, response.trim());
}

function membershipNamed(all: readonly Membership[], name: string): Membership {
  const found = all.find(({ organisation }) => organisation.id === name || organisation.slug === name);
  if (found !== undefined) return found;
  const slugs = all.map(({ organisation }) => organisation.slug).join(', ');
  throw new UsageError(`You do not belong to an organisation ${JSON.stringify(name)}.`, {
    fix: `Name one of your organisations: millrace login --organisation NAME, one of ${slugs}`,
  });
}

/** A session that could not be ended expires; only the key matters. */
async function signOut(context: Context, person: Millrace): Promise<void> {
  try {
    const { items } = await person.me.listSessions();
    const own = items.find(({ current }) => current);
    if (own !== undefined) await person.me.endSession({ sessionId: own.id });
  } catch {
    context.note('The session of this sign-in could not be ended. See your sessions in the console.');
  }
}
