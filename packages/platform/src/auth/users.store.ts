import type { Reader, Tx } from '../db/index.ts';
import { fromUuid, toUuid, type InvitationId, type UserId } from '../ids/index.ts';
import type { InvitationLinkClaims } from './invitation-link.ts';

/** The little SQL of the sign-in that the library does not write itself. */

/** An open invitation of this mailbox: the one with this id, or any. */
export async function findOpenInvitation(
  reader: Reader,
  filter: { readonly email: string; readonly id: InvitationId | null; readonly at: Date },
): Promise<InvitationLinkClaims | null> {
  let query = reader.kysely
    .selectFrom('invitations')
    .select(['id', 'email', 'expires_at'])
    .where('email', '=', filter.email.toLowerCase())
    .where('status', '=', 'pending')
    .where('expires_at', '>', filter.at)
    .limit(1);
  if (filter.id !== null) query = query.where('id', '=', toUuid(filter.id));
  const row = await query.executeTakeFirst();
  if (row === undefined) return null;
  return { id: fromUuid('inv', row.id), email: row.email, expiresAt: row.expires_at };
}

async function markVerified(tx: Tx, userUuid: string): Promise<void> {
  await tx.kysely
    .updateTable('users')
    .set({ email_verified: true })
    .where('id', '=', userUuid)
    .where('email_verified', '=', false)
    .execute();
}

/**
 * Somebody read a letter to this mailbox and chose a password by it, so it is theirs. Whoever was in, or about to come in,
 * is out; and whatever was set up while nobody had shown that the mailbox is theirs may be a stranger's, and is gone.
 */
export async function secureAccountAfterReset(tx: Tx, userUuid: string): Promise<void> {
  const user = await tx.kysely
    .selectFrom('users')
    .select('email_verified')
    .where('id', '=', userUuid)
    .forUpdate()
    .executeTakeFirst();
  if (user === undefined) return;
  await revokeSessionsAndCodes(tx, userUuid);
  if (user.email_verified) return;
  await tx.kysely
    .deleteFrom('accounts')
    .where('user_id', '=', userUuid)
    .where('provider_id', '<>', 'credential')
    .execute();
  await tx.kysely.deleteFrom('passkeys').where('user_id', '=', userUuid).execute();
  await deleteSecondFactor(tx, userUuid);
  await markVerified(tx, userUuid);
}

/**
 * Somebody signs up with a mailbox that was named before and never confirmed. The password that was chosen then is gone
 * before a further letter goes out: a person who opens the older of two letters must not let a stranger in.
 */
export async function deleteUnconfirmedPassword(reader: Reader, email: string): Promise<void> {
  await reader.kysely
    .deleteFrom('accounts')
    .where('provider_id', '=', 'credential')
    .where('user_id', 'in', (users) =>
      users.selectFrom('users').select('id').where('email', '=', email).where('email_verified', '=', false),
    )
    .execute();
}

/** Sessions, programs that were let in and have not come yet, letters, half-done sign-ins and browsers that were trusted. */
async function revokeSessionsAndCodes(tx: Tx, userUuid: string): Promise<void> {
  await tx.kysely.deleteFrom('sessions').where('user_id', '=', userUuid).execute();
  await tx.kysely.deleteFrom('device_codes').where('user_id', '=', userUuid).execute();
  await tx.kysely.deleteFrom('verifications').where('value', '=', userUuid).execute();
}

async function deleteSecondFactor(tx: Tx, userUuid: string): Promise<void> {
  await tx.kysely.deleteFrom('two_factors').where('user_id', '=', userUuid).execute();
  await tx.kysely
    .updateTable('users')
    .set({ two_factor_enabled: false })
    .where('id', '=', userUuid)
    .execute();
}

/**
 * Gives a person a password and takes their mailbox as confirmed, for whoever makes people without the sign-in: a demo, an
 * operator at the console of the machine.
 */
export async function setPassword(tx: Tx, userId: UserId, hash: string): Promise<void> {
  const id = toUuid(userId);
  const at = tx.clock.now();
  await tx.kysely
    .insertInto('accounts')
    .values({
      id: toUuid(tx.ids.next('acc')),
      user_id: id,
      account_id: id,
      provider_id: 'credential',
      password: hash,
      created_at: at,
      updated_at: at,
    })
    .onConflict((conflict) =>
      conflict.columns(['provider_id', 'account_id']).doUpdateSet({ password: hash, updated_at: at }),
    )
    .execute();
  await markVerified(tx, id);
}

/**
 * A password that an operator gives. Whoever was signed in as this person is signed out, and a second factor that was lost
 * with the password is gone. Null when nobody has the mailbox.
 */
export async function resetPassword(tx: Tx, email: string, hash: string): Promise<string | null> {
  const user = await tx.kysely
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .forUpdate()
    .executeTakeFirst();
  if (user === undefined) return null;
  await setPassword(tx, fromUuid('usr', user.id), hash);
  await revokeSessionsAndCodes(tx, user.id);
  await deleteSecondFactor(tx, user.id);
  return user.id;
}

/** Where a request to sign a program in came from. */
export interface DeviceOrigin {
  readonly ip: string;
  readonly userAgent: string | null;
}

export async function saveDeviceOrigin(
  reader: Reader,
  userCode: string,
  { ip, userAgent }: DeviceOrigin,
): Promise<void> {
  await reader.kysely
    .updateTable('device_codes')
    .set({ requested_ip: ip, requested_agent: userAgent })
    .where('user_code', '=', userCode)
    .execute();
}

/** Null for an unknown code. */
export async function findDeviceOrigin(
  reader: Reader,
  userCode: string,
): Promise<{ readonly ip: string | null; readonly userAgent: string | null; readonly at: Date } | null> {
  const row = await reader.kysely
    .selectFrom('device_codes')
    .select(['requested_ip', 'requested_agent', 'created_at'])
    .where('user_code', '=', userCode)
    .executeTakeFirst();
  return row === undefined
    ? null
    : { ip: row.requested_ip, userAgent: row.requested_agent, at: row.created_at };
}

const expiringTables = ['sessions', 'verifications', 'device_codes'] as const;

/**
 * Removes expired rows, at most so many of each table. The library removes only those that are asked for again. Answers whether there
 * may be more. Rows that another process removes at the same time are passed over.
 */
export async function deleteExpiredAuthRows(tx: Tx, limit: number): Promise<'more' | 'done'> {
  const at = tx.clock.now();
  let more = false;
  for (const table of expiringTables) {
    const { numDeletedRows } = await tx.kysely
      .deleteFrom(table)
      .where('id', 'in', (of) =>
        of
          .selectFrom(table)
          .select('id')
          .where('expires_at', '<', at)
          .orderBy('expires_at')
          .limit(limit)
          .forUpdate()
          .skipLocked(),
      )
      .executeTakeFirst();
    more ||= numDeletedRows >= BigInt(limit);
  }
  return more ? 'more' : 'done';
}
