import type { Tx } from '@millrace/platform/db';
import type { BudgetId, OrgId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { hasActiveKey } from '../identity/index.ts';
import { keysLimitedBy } from '../ledger/index.ts';

/** Whether a key that was created with this budget as its limit is not revoked. */
export async function isLimitOfActiveKey(tx: Tx, orgId: OrgId, id: BudgetId): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select ${hasActiveKey(orgId, keysLimitedBy(orgId, id))} as found`.execute(tx.kysely);
  return rows[0]?.found ?? false;
}
