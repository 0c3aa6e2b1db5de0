import type { Reader, Tx } from '../db/index.ts';
import { fromUuid, toUuid, type UserId } from '../ids/index.ts';

/** The little SQL of the sign-in that the library does not write itself. */

/** Whether an organisation waits for this mailbox. */
export async function isInvited(reader: Reader, email: string, at: Date): Promise<boolean> {
  const row = await reader.kysely
    .selectFrom('invitations')
    .select('id')
    .where('email', '=', email.toLowerCase())
    .where('status', '=', 'pending')
    .where('expires_at', '>', at)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** The person has read a letter to this mailbox. */
export async function markVerified(reader: Reader, userUuid: string): Promise<void> {
  await reader.kysely
    .updateTable('users')
    .set({ email_verified: true })
    .where('id', '=', userUuid)
    .where('email_verified', '=', false)
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
  await tx.kysely.deleteFrom('sessions').where('user_id', '=', user.id).execute();
  await tx.kysely.deleteFrom('two_factors').where('user_id', '=', user.id).execute();
  await tx.kysely.updateTable('users').set({ two_factor_enabled: false }).where('id', '=', user.id).execute();
  return user.id;
}

/** Removes what the clock has ended. The library does so for what somebody asks for again, and leaves the rest. */
export async function forgetExpired(reader: Reader, at: Date): Promise<void> {
  await reader.kysely.deleteFrom('sessions').where('expires_at', '<', at).execute();
  await reader.kysely.deleteFrom('verifications').where('expires_at', '<', at).execute();
  await reader.kysely.deleteFrom('device_codes').where('expires_at', '<', at).execute();
}
