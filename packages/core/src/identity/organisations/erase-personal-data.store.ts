import type { Tx } from '@millrace/platform/db';
import { fromUuid, type UserId } from '@millrace/platform/ids';

/** All SQL that erases the personal data of a user. */

export type ErasureOutcome =
  | { readonly kind: 'forgotten'; readonly userId: UserId }
  | { readonly kind: 'absent' }
  /** The user must first leave these organisations: their keys and rentals need an owner's decision. */
  | { readonly kind: 'member'; readonly organisations: readonly string[] }
  | { readonly kind: 'operator' };

/**
 * Removes identifying data and all means of signing in. The user row stays without name and email address, because rentals,
 * payouts and the audit log refer to it. The row is locked: a concurrent new membership waits and finds no email address.
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
      // This domain can never receive email (RFC 2606), and the address is unique.
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
