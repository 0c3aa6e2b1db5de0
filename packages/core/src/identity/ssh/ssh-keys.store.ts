import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId, type SshKeyId, type UserId } from '@millrace/platform/ids';
import type { Selectable } from 'kysely';
import type { KeyMode } from '../model/api-key.ts';
import type { PageRequest, SshKeyRecord } from '../model/identity.ts';
import type { SshPublicKey } from './ssh-public-key.ts';

/** All SQL about SSH public keys. A key belongs to a user in one organisation and one mode. */
export interface SshKeyOwner {
  readonly userId: UserId;
  readonly mode: KeyMode;
}

function toRecord(row: Selectable<Tables['ssh_public_keys']>): SshKeyRecord {
  return {
    id: fromUuid('ssh', row.id),
    name: row.name,
    algorithm: row.algorithm,
    publicKey: row.public_key,
    fingerprint: row.fingerprint,
    createdAt: row.created_at,
  };
}

/** Null if the user already has this key. */
export async function insertSshKey(
  tx: Tx,
  orgId: OrgId,
  owner: SshKeyOwner,
  fields: { readonly name: string; readonly key: SshPublicKey },
): Promise<SshKeyRecord | null> {
  const row = await tx.kysely
    .insertInto('ssh_public_keys')
    .values({
      id: toUuid(tx.ids.next('ssh')),
      org_id: toUuid(orgId),
      user_id: toUuid(owner.userId),
      mode: owner.mode,
      name: fields.name,
      algorithm: fields.key.algorithm,
      bits: fields.key.bits,
      public_key: fields.key.publicKey,
      fingerprint: fields.key.fingerprint,
      created_at: tx.clock.now(),
    })
    .onConflict((conflict) => conflict.constraint('ssh_public_keys_fingerprint_key').doNothing())
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toRecord(row);
}

export async function countSshKeys(reader: Reader, orgId: OrgId, owner: SshKeyOwner): Promise<number> {
  const row = await reader.kysely
    .selectFrom('ssh_public_keys')
    .select((of) => of.fn.countAll<bigint>().as('count'))
    .where('org_id', '=', toUuid(orgId))
    .where('user_id', '=', toUuid(owner.userId))
    .where('mode', '=', owner.mode)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** Newest first. */
export async function listSshKeys(
  reader: Reader,
  orgId: OrgId,
  owner: SshKeyOwner,
  page: PageRequest<SshKeyId>,
): Promise<readonly SshKeyRecord[]> {
  let query = reader.kysely
    .selectFrom('ssh_public_keys')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('user_id', '=', toUuid(owner.userId))
    .where('mode', '=', owner.mode);
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const newest = query.orderBy('id', 'desc').limit(page.limit + 1);
  const rows = await newest.execute();
  return rows.map(toRecord);
}

/** The given keys of a user, or all of them; oldest first. */
export async function findSshKeys(
  reader: Reader,
  orgId: OrgId,
  owner: SshKeyOwner,
  ids: readonly SshKeyId[] | 'all',
): Promise<readonly SshKeyRecord[]> {
  let query = reader.kysely
    .selectFrom('ssh_public_keys')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('user_id', '=', toUuid(owner.userId))
    .where('mode', '=', owner.mode);
  if (ids !== 'all') query = query.where('id', 'in', ids.map(toUuid));
  return (await query.orderBy('id').execute()).map(toRecord);
}

/** The deleted key; null if the user has no such key. */
export async function deleteSshKey(
  tx: Tx,
  orgId: OrgId,
  owner: SshKeyOwner,
  id: SshKeyId,
): Promise<SshKeyRecord | null> {
  const row = await tx.kysely
    .deleteFrom('ssh_public_keys')
    .where('org_id', '=', toUuid(orgId))
    .where('user_id', '=', toUuid(owner.userId))
    .where('mode', '=', owner.mode)
    .where('id', '=', toUuid(id))
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toRecord(row);
}
