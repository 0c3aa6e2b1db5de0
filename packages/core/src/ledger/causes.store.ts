import { defineStatement, runStatement, type Reader, type Tables } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type TransferId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import type { Selectable } from 'kysely';
import type { MoneyCause, TransferKind, UsageQuantities } from './model/ledger.ts';

/** Reads the transfers and holds of one cause, and the credit granted to leases. */

export interface CauseTransfer {
  readonly id: TransferId;
  readonly kind: TransferKind;
  /** The step of the cause. */
  readonly step: string;
  /** The change of the organisation's money; negative for a charge. */
  readonly amount: NanoUsd;
  readonly usage: UsageQuantities | null;
  readonly occurredAt: Date;
}

type TransferRow = Pick<
  Selectable<Tables['ledger_transfers']>,
  'id' | 'kind' | 'idempotency_key' | 'amount_nano_usd' | 'usage' | 'occurred_at'
>;

/**
 * Selects the keys that start with the cause and a colon, as a range up to `;`, the next character. A range uses the
 * index under a plan shared by all causes; `starts_with` would read every transfer of the organisation. Ids may contain
 * colons, so cause_kind and cause_id decide.
 */
const causeCondition = `org_id = $1 and idempotency_key > $3 || ':' || $4 || ':' and idempotency_key < $3 || ':' || $4 || ';'
   and cause_kind = $3 and cause_id = $4 and mode = $2`;

const transfersStatement = defineStatement(
  'ledger-transfers-of-cause',
  `
  select id, kind, idempotency_key, amount_nano_usd, usage, occurred_at from all_ledger_transfers
   where ${causeCondition} and kind <> 'budget'
   order by id`,
);

export async function listTransfersOf(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  cause: MoneyCause,
): Promise<readonly CauseTransfer[]> {
  const values = [toUuid(orgId), mode, cause.kind, cause.id];
  const rows = await runStatement<TransferRow>(reader, transfersStatement, values);
  const prefix = `${cause.kind}:${cause.id}:`;
  return rows.map((row) => ({
    id: fromUuid('trf', row.id),
    kind: row.kind,
    step: row.idempotency_key.slice(prefix.length),
    amount: nanoUsd(row.amount_nano_usd),
    usage: row.usage as UsageQuantities | null,
    occurredAt: row.occurred_at,
  }));
}

const heldStatement = defineStatement(
  'ledger-held-for-cause',
  `select coalesce(sum(held_nano_usd), 0)::bigint as held from ledger_holds where ${causeCondition}`,
);

export async function readHeldFor(db: Reader, orgId: OrgId, mode: Mode, cause: MoneyCause): Promise<NanoUsd> {
  const values = [toUuid(orgId), mode, cause.kind, cause.id];
  const [row] = await runStatement<{ held: bigint }>(db, heldStatement, values);
  return nanoUsd(row?.held ?? 0n);
}

const leasedCreditStatement = defineStatement(
  'ledger-lent-to-pots',
  `
  select coalesce(sum(part.held_nano_usd), 0)::bigint as held
    from ledger_holds as hold
    join ledger_hold_parts as part on part.hold_id = hold.id
    join ledger_accounts as account on account.id = part.account_id
   where hold.org_id = $1 and hold.mode = $2 and hold.idempotency_key > 'pot:' and hold.idempotency_key < 'pot;'
     and hold.closed_at is null and account.kind in ('credit', 'promo')`,
);

/** Sums the unspent credit of open and closing leases, including reserved credit: the most that can still return. */
export async function readLeasedCredit(reader: Reader, orgId: OrgId, mode: Mode): Promise<NanoUsd> {
  const [row] = await runStatement<{ held: bigint }>(reader, leasedCreditStatement, [toUuid(orgId), mode]);
  return nanoUsd(row?.held ?? 0n);
}
