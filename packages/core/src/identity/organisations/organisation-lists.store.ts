import type { Reader } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId } from '@millrace/platform/ids';

/** Reads over many organisations, for features that project or check all of them. */

export async function findUnknownOrganisations(reader: Reader, ids: readonly OrgId[]): Promise<OrgId[]> {
  if (ids.length === 0) return [];
  const rows = await reader.kysely
    .selectFrom('organisations')
    .select('id')
    .where('id', 'in', ids.map(toUuid))
    .execute();
  const known = new Set(rows.map(({ id }) => fromUuid('org', id)));
  return ids.filter((id) => !known.has(id));
}

export interface OrganisationState {
  readonly orgId: OrgId;
  readonly isSuspended: boolean;
  /** Whether its first deposits have raised its rate limit. */
  readonly isFunded: boolean;
}

export async function readOrganisationStates(
  reader: Reader,
  ids: readonly OrgId[],
): Promise<readonly OrganisationState[]> {
  const rows = await reader.kysely
    .selectFrom('organisations')
    .select(['id', 'status', 'funded_at'])
    .where('id', 'in', ids.map(toUuid))
    .execute();
  return rows.map(({ id, status, funded_at: fundedAt }) => ({
    orgId: fromUuid('org', id),
    isSuspended: status === 'suspended',
    isFunded: fundedAt !== null,
  }));
}

/** All organisations by id, in pages. */
export async function listOrganisationIds(
  reader: Reader,
  page: { readonly after: OrgId | null; readonly limit: number },
): Promise<readonly OrgId[]> {
  let query = reader.kysely.selectFrom('organisations').select('id').orderBy('id').limit(page.limit);
  if (page.after !== null) query = query.where('id', '>', toUuid(page.after));
  return (await query.execute()).map(({ id }) => fromUuid('org', id));
}
