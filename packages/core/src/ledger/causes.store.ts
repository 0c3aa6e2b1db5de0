import { defineStatement, runStatement, type Reader, type Tables } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type TransferId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import type { Selectable } from 'kysely';
import type { MoneyCause, TransferKind, UsageQuantities } from './model/ledger.ts';

/** Reads the charges, refunds and holds of one cause, and the money that is lent for inference. */

export interface CauseTransfer {
  readonly id: TransferId;
  readonly kind: TransferKind;
  /** Which act of the cause it was. */
  readonly step: string;
  /** What the organisation's money changed by: a charge is negative. */
  readonly amount: NanoUsd;
  readonly usage: UsageQuantities | null;
  readonly occurredAt: Date;
}

type TransferRow = Pick<
  Selectable<Tables['ledger_transfers']>,
  'id' | 'kind' | 'idempotency_key' | 'amount_nano_usd' | 'usage' | 'occurred_at'
>;

/**
 * Keys of a cause begin with it and a colon, and `;` follows the colon. Written as a range because one plan is kept for
 * all causes: by `starts_with` it would read all that the organisation was ever charged. Ids may hold a colon, so the
 * cause itself decides.
 */
const causeCondition = `org_id = $1 and idempotency_key > $3 || ':' || $4 || ':' and idempotency_key < $3 || ':' || $4 || ';'
   and cause_kind = $3 and cause_id = $4 and mode = $2`;

const transfersStatement = defineStatement(
  'ledger-transfers-of-cause',
  `
  select id, kind, idempotency_key, amount_nano_usd, usage, occurred_at from ledger_transfers
   where ${causeCondition} and kind <> 'budget'
   order by id`,
);

/** Every transfer of one cause, oldest first. */
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

/** What is set aside for one cause. */
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

/** The money that is lent for inference and not spent yet: the most that can still come back. */
export async function readLeasedCredit(reader: Reader, orgId: OrgId, mode: Mode): Promise<NanoUsd> {
  const [row] = await runStatement<{ held: bigint }>(reader, leasedCreditStatement, [toUuid(orgId), mode]);
  return nanoUsd(row?.held ?? 0n);
}
