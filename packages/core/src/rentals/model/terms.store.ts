import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type HoldId, type OrgId, type RentalId } from '@millrace/platform/ids';
import type { Selectable } from 'kysely';
import { parseFrozenPrice } from '../../prices/index.ts';
import type { Rental, RentalTerm } from './rental.ts';

/** All SQL on `rental_terms`. Callers that write hold the rental's lock. */

export type TermRow = Omit<Selectable<Tables['rental_terms']>, 'org_id' | 'mode' | 'created_at'>;

export function toTerm(row: Omit<TermRow, 'rental_id'>): RentalTerm {
  return {
    seq: row.seq,
    termType: row.term_type,
    price: parseFrozenPrice(row.price),
    holdId: row.hold_id === null ? null : fromUuid('hld', row.hold_id),
    meterName: row.meter_name,
    effectiveAt: row.effective_at,
    endsAt: row.ends_at,
  };
}

export async function insertTerm(
  tx: Tx,
  orgId: OrgId,
  rental: Pick<Rental, 'id' | 'mode'>,
  term: RentalTerm,
): Promise<void> {
  await tx.kysely
    .insertInto('rental_terms')
    .values({
      rental_id: toUuid(rental.id),
      seq: term.seq,
      org_id: toUuid(orgId),
      mode: rental.mode,
      term_type: term.termType,
      price: JSON.stringify(term.price),
      hold_id: term.holdId === null ? null : toUuid(term.holdId),
      meter_name: term.meterName,
      effective_at: term.effectiveAt,
      ends_at: term.endsAt,
      created_at: tx.clock.now(),
    })
    .execute();
}

/** In order of `seq`. */
export async function listTerms(reader: Reader, orgId: OrgId, id: RentalId): Promise<readonly RentalTerm[]> {
  const rows = await reader.kysely
    .selectFrom('rental_terms')
    .selectAll()
    .where('rental_id', '=', toUuid(id))
    .where('org_id', '=', toUuid(orgId))
    .orderBy('seq')
    .execute();
  return rows.map(toTerm);
}

export async function saveTerm(
  tx: Tx,
  orgId: OrgId,
  rentalId: RentalId,
  seq: number,
  changes: {
    readonly effectiveAt?: Date;
    readonly endsAt?: Date | null;
    readonly holdId?: HoldId | null;
  },
): Promise<void> {
  const { effectiveAt, endsAt, holdId } = changes;
  await tx.kysely
    .updateTable('rental_terms')
    .set({
      ...(effectiveAt === undefined ? {} : { effective_at: effectiveAt }),
      ...(endsAt === undefined ? {} : { ends_at: endsAt }),
      ...(holdId === undefined ? {} : { hold_id: holdId === null ? null : toUuid(holdId) }),
    })
    .where('rental_id', '=', toUuid(rentalId))
    .where('org_id', '=', toUuid(orgId))
    .where('seq', '=', seq)
    .execute();
}
