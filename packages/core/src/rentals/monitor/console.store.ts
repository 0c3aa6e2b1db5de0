import type { Db, Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { toUuid, type OrgId, type RentalId } from '@millrace/platform/ids';
import { sql } from 'kysely';

/** All SQL on stored console output. */

export interface ConsoleKey {
  readonly rentalId: RentalId;
  readonly mode: Mode;
  readonly attempt: number;
  readonly position: number;
}

export interface StoredConsole {
  readonly output: string;
  /** Whether older output was dropped. */
  readonly isCut: boolean;
  /** When the engine was last asked; null if never. */
  readonly readAt: Date | null;
  /** A reader may ask the engine until this time. */
  readonly readingUntil: Date | null;
}

interface Row {
  readonly output: string;
  readonly dropped: boolean;
  readonly read_at: Date | null;
  readonly reading_until: Date | null;
}

export async function findConsole(
  reader: Reader,
  orgId: OrgId,
  { rentalId, attempt, position }: Omit<ConsoleKey, 'mode'>,
): Promise<StoredConsole | null> {
  const { rows } = await sql<Row>`
    select output, dropped, read_at, reading_until from rental_consoles
     where rental_id = ${toUuid(rentalId)} and attempt = ${attempt} and position = ${position}
       and org_id = ${toUuid(orgId)}
  `.execute(reader.kysely);
  const [row] = rows;
  if (row === undefined) return null;
  return { output: row.output, isCut: row.dropped, readAt: row.read_at, readingUntil: row.reading_until };
}

/** Takes the right to ask the engine. False if another reader has it or has just used it. */
export async function takeConsoleReadLock(
  tx: Tx,
  orgId: OrgId,
  { rentalId, mode, attempt, position }: ConsoleKey,
  { until, staleBefore }: { readonly until: Date; readonly staleBefore: Date },
): Promise<boolean> {
  const { rows } = await sql`
    insert into rental_consoles as console (rental_id, attempt, position, org_id, mode, reading_until)
    values (${toUuid(rentalId)}, ${attempt}, ${position}, ${toUuid(orgId)}, ${mode}, ${until})
    on conflict (rental_id, attempt, position) do update set reading_until = excluded.reading_until
     where console.org_id = excluded.org_id
       and (console.reading_until is null or console.reading_until <= ${tx.clock.now()})
       and (console.read_at is null or console.read_at <= ${staleBefore})
    returning 1 as taken
  `.execute(tx.kysely);
  return rows.length === 1;
}

/** Locks the stored output, so that two consecutive readers both append to it. */
export async function lockConsole(
  tx: Tx,
  orgId: OrgId,
  { rentalId, attempt, position }: ConsoleKey,
): Promise<void> {
  await sql`
    select 1 from rental_consoles
     where rental_id = ${toUuid(rentalId)} and attempt = ${attempt} and position = ${position}
       and org_id = ${toUuid(orgId)}
       for update
  `.execute(tx.kysely);
}

/** Stores the output and releases the right to read. */
export async function saveConsole(
  tx: Tx,
  orgId: OrgId,
  { rentalId, attempt, position }: ConsoleKey,
  { output, isCut }: Pick<StoredConsole, 'output' | 'isCut'>,
): Promise<void> {
  await sql`
    update rental_consoles set output = ${output}, dropped = ${isCut}, read_at = ${tx.clock.now()}, reading_until = null
     where rental_id = ${toUuid(rentalId)} and attempt = ${attempt} and position = ${position}
       and org_id = ${toUuid(orgId)}
  `.execute(tx.kysely);
}

export async function releaseConsoleReadLock(
  db: Db,
  orgId: OrgId,
  { rentalId, attempt, position }: ConsoleKey,
): Promise<void> {
  await sql`
    update rental_consoles set reading_until = null
     where rental_id = ${toUuid(rentalId)} and attempt = ${attempt} and position = ${position}
       and org_id = ${toUuid(orgId)}
  `.execute(db.kysely);
}

/** Deletes output of rentals of all organisations that ended before `before`. */
export async function deleteConsoles(
  tx: Tx,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> {
  const { rows } = await sql`
    delete from rental_consoles where ctid = any(array(
      select console.ctid
        from rental_consoles as console join rentals as rental on rental.id = console.rental_id
       where console.read_at < ${before} and rental.ended_at < ${before}
       order by console.read_at limit ${limit} for update of console skip locked))
    returning 1 as forgotten
  `.execute(tx.kysely);
  return rows.length;
}
