import type { Tx } from '@millrace/platform/db';
import { fromUuid, type UserId } from '@millrace/platform/ids';

/** All SQL about removing the personal data of a person. */

export type ErasureOutcome =
  | { readonly kind: 'forgotten'; readonly userId: UserId }
  | { readonly kind: 'absent' }
  /** The person must first leave these organisations: their keys and rentals there need an owner's decision. */
  | { readonly kind: 'member'; readonly organisations: readonly string[] }
  | { readonly kind: 'operator' };

/**
 * Removes what identifies a person and all that they could sign in with. The row of the person stays, without name and mailbox,
 * because rentals, payouts and the audit log name it. Guarded by the locked row: a membership that is added at the same time waits,
 * and finds a person without a mailbox.
 */
export async function erasePersonalData(tx: Tx, email: string): Promise<ErasureOutcome> {
  const user = await tx.kysely
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .forUpdate()
    .executeTakeFirst();
  if (user === undefined) return { kind: 'absent' };
  const memberships = await tx.kysely
    .selectFrom('members')
    .innerJoin('organisations', 'organisations.id', 'members.org_id')
    .select('organisations.slug')
    .where('members.user_id', '=', user.id)
    .orderBy('organisations.slug')
    .execute();
  if (memberships.length > 0) return { kind: 'member', organisations: memberships.map(({ slug }) => slug) };
  const role = await tx.kysely
    .selectFrom('platform_roles')
    .select('user_id')
    .where('user_id', '=', user.id)
    .executeTakeFirst();
  if (role !== undefined) return { kind: 'operator' };
  await tx.kysely.deleteFrom('sessions').where('user_id', '=', user.id).execute();
  await tx.kysely.deleteFrom('device_codes').where('user_id', '=', user.id).execute();
  await tx.kysely.deleteFrom('verifications').where('value', '=', user.id).execute();
  await tx.kysely.deleteFrom('accounts').where('user_id', '=', user.id).execute();
  await tx.kysely.deleteFrom('passkeys').where('user_id', '=', user.id).execute();
  await tx.kysely.deleteFrom('two_factors').where('user_id', '=', user.id).execute();
  await tx.kysely.deleteFrom('ssh_public_keys').where('user_id', '=', user.id).execute();
  await tx.kysely
    .updateTable('users')
    .set({
      name: 'Deleted person',
      // No mailbox can have this name (RFC 2606), and it is this person's alone.
      email: `deleted-${user.id}@deleted.invalid`,
      email_verified: false,
      image: null,
      two_factor_enabled: false,
      updated_at: tx.clock.now(),
    })
    .where('id', '=', user.id)
    .execute();
  return { kind: 'forgotten', userId: fromUuid('usr', user.id) };
}
