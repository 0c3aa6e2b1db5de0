import type { Reader, Tx } from '../db/index.ts';
import { fromUuid, toUuid, type InvitationId, type UserId } from '../ids/index.ts';
import type { InvitationLinkClaims } from './invitation-link.ts';

/** SQL of sign-in that the library does not provide. */

/** An open invitation for this email address: the one with this id, or any if null. */
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
 * Secures an account after a password reset by email, which proves who owns the address. All sessions end. If the
 * address was not verified before, other authenticators may be an attacker's, so they are deleted.
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

/** Deletes the password of a never verified account before another email: an older link must not activate it. */
export async function deleteUnconfirmedPassword(reader: Reader, email: string): Promise<void> {
  await reader.kysely
    .deleteFrom('accounts')
    .where('provider_id', '=', 'credential')
    .where('user_id', 'in', (users) =>
      users.selectFrom('users').select('id').where('email', '=', email).where('email_verified', '=', false),
    )
    .execute();
}

/** Deletes sessions, approved device codes, pending email links, unfinished sign-ins and trusted browsers. */
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

/** Sets a password and marks the email address as verified, for users that a demo or an operator creates. */
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

/** Sets a password for an operator, ends all sessions and removes the second factor. Null without such a user. */
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

/** The origin of a device login request. */
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

/** Null if the code is unknown. */
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

/** Deletes expired rows, at most `limit` per table, and skips locked ones. Returns whether more may exist. */
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

/** Encrypts all second factors again whose texts `reencrypt` replaces. Rows that change meanwhile are left alone. */
export async function reencryptSecondFactors(
  reader: Reader,
  reencrypt: (text: string) => Promise<string | null>,
  pageSize: number,
): Promise<void> {
  let after: string | null = null;
  for (;;) {
    const page = await readSecondFactors(reader, after, pageSize);
    for (const row of page) {
      const secret = await reencrypt(row.secret);
      const backupCodes = await reencrypt(row.backup_codes);
      if (secret === null && backupCodes === null) continue;
      await reader.kysely
        .updateTable('two_factors')
        .set({ secret: secret ?? row.secret, backup_codes: backupCodes ?? row.backup_codes })
        .where('id', '=', row.id)
        .where('secret', '=', row.secret)
        .where('backup_codes', '=', row.backup_codes)
        .execute();
    }
    after = page.at(-1)?.id ?? null;
    if (page.length < pageSize) return;
  }
}

function readSecondFactors(reader: Reader, after: string | null, limit: number) {
  const all = reader.kysely
    .selectFrom('two_factors')
    .select(['id', 'secret', 'backup_codes'])
    .orderBy('id')
    .limit(limit);
  return (after === null ? all : all.where('id', '>', after)).execute();
}
