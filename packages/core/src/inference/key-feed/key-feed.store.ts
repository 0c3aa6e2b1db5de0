import type { Reader, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import { isItemAvailable } from '@millrace/platform/loops';
import { sql } from 'kysely';
import {
  keyRecords,
  listOrganisationIds,
  listRecentPublicIds,
  readOrganisationStates,
  type KeyRecordRow,
} from '../../identity/index.ts';
import { enforcedBudgetIds } from '../../ledger/index.ts';
import type { KeyRecord, OrganisationRecord } from './key-feed-entries.ts';
import { writeKeyFeed } from '../loops.ts';

/** All SQL of the key feed. It is a projection of the whole installation, so no read is limited to an organisation. */

export type KeyFeedEntryKind = 'key' | 'organisation' | 'model';

export interface KeyFeedChange {
  readonly id: bigint;
  readonly kind: KeyFeedEntryKind;
  readonly ref: string;
}

export async function listKeyFeedChanges(
  reader: Reader,
  request: { readonly limit: number; readonly waitedMs: number; readonly now: Date },
): Promise<readonly KeyFeedChange[]> {
  const item = sql<string>`book_changes.kind || ' ' || book_changes.ref`;
  const rows = await reader.kysely
    .selectFrom('book_changes')
    .select(['id', 'kind', 'ref'])
    .where(
      'changed_at',
      '<=',
      sql<Date>`clock_timestamp() - make_interval(secs => ${request.waitedMs} * 0.001)`,
    )
    .where(isItemAvailable(writeKeyFeed, item, request.now))
    .orderBy('id')
    .limit(request.limit)
    .execute();
  return rows;
}

export async function deleteKeyFeedChanges(tx: Tx, ids: readonly bigint[]): Promise<void> {
  await tx.kysely
    .deleteFrom('book_changes')
    .where('id', 'in', [...ids])
    .execute();
}

type KeyRow = KeyRecordRow & { budget_ids: string[] };

/**
 * Only enforced budgets of the key. A notifying budget counts when the charge is posted; a budget of the organisation is
 * already covered by the hold of its credit lease, so counting it again would halve it.
 */
export async function readKeyRecords(reader: Reader, publicIds: readonly string[]): Promise<KeyRecord[]> {
  const { rows } = await sql<KeyRow>`
    select key.*, ${enforcedBudgetIds('key')} as budget_ids from ${keyRecords(publicIds)} as key
  `.execute(reader.kysely);
  return rows.map((row) => ({
    keyId: fromUuid('key', row.id),
    publicId: row.public_id,
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    secretSha256: row.secret_sha256,
    scopes: row.scopes,
    limits: row.limits,
    allowedIps: row.allowed_ips,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    revokedReason: row.revoked_reason,
    role: row.role,
    platformRoles: row.platform_roles,
    budgetIds: row.budget_ids.map((id) => fromUuid('bdg', id)),
  }));
}

export async function readOrganisationRecords(
  reader: Reader,
  refs: readonly string[],
): Promise<readonly (OrganisationRecord & { readonly ref: string })[]> {
  const states = await readOrganisationStates(
    reader,
    refs.map((ref) => fromUuid('org', ref)),
  );
  return states.map((state) => ({ ref: toUuid(state.orgId), ...state }));
}

/** All refs of a kind, in pages; of keys only those that gateways may still need. */
export async function listRefs(
  reader: Reader,
  kind: KeyFeedEntryKind,
  page: { readonly after: string | null; readonly limit: number },
): Promise<readonly string[]> {
  switch (kind) {
    case 'key':
      return listRecentPublicIds(reader, page);
    case 'organisation': {
      const after = page.after === null ? null : fromUuid('org', page.after);
      return (await listOrganisationIds(reader, { after, limit: page.limit })).map(toUuid);
    }
    case 'model': {
      const rows = await reader.kysely
        .selectFrom('inference_models')
        .select('name as ref')
        .where('name', '>', page.after ?? '')
        .orderBy('name')
        .limit(page.limit)
        .execute();
      return rows.map(({ ref }) => ref);
    }
  }
}
