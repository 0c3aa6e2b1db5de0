import type { Reader, Tx } from '@millrace/platform/db';
import { toUuid, type OrgId } from '@millrace/platform/ids';

/** Stores when an organisation was first funded. Billing decides it; the row belongs to the organisation. */

export async function findFundedAt(reader: Reader, orgId: OrgId): Promise<Date | null> {
  const row = await reader.kysely
    .selectFrom('organisations')
    .select('funded_at')
    .where('id', '=', toUuid(orgId))
    .executeTakeFirst();
  return row?.funded_at ?? null;
}

/** Locks the organisation, so that concurrent deposits are added up one after the other. */
export async function lockFundedAt(tx: Tx, orgId: OrgId): Promise<Date | null> {
  const row = await tx.kysely
    .selectFrom('organisations')
    .select('funded_at')
    .where('id', '=', toUuid(orgId))
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row?.funded_at ?? null;
}

export async function setFundedAt(tx: Tx, orgId: OrgId, at: Date): Promise<void> {
  await tx.kysely
    .updateTable('organisations')
    .set({ funded_at: at })
    .where('id', '=', toUuid(orgId))
    .where('funded_at', 'is', null)
    .execute();
}
