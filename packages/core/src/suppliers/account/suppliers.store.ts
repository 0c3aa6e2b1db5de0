import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId, type SupplierId } from '@millrace/platform/ids';
import { ppm, type Ppm } from '@millrace/platform/money';
import type { Selectable } from 'kysely';
import type { Supplier, SupplierStatus } from './suppliers.ts';

/** All SQL about suppliers themselves. */

/** Where a page of a list begins, and how much it holds. */
export interface SupplierPageRequest<Position> {
  readonly limit: number;
  readonly after: Position | null;
}

function toSupplier(row: Selectable<Tables['suppliers']>): Supplier {
  return {
    id: fromUuid('sup', row.id),
    orgId: fromUuid('org', row.org_id),
    name: row.name,
    about: row.about,
    status: row.status,
    statusReason: row.status_reason,
    feePpm: ppm(row.fee_ppm),
    appliedAt: row.applied_at,
    approvedAt: row.approved_at,
  };
}

const found = (row: Selectable<Tables['suppliers']> | undefined): Supplier | null =>
  row === undefined ? null : toSupplier(row);

const supplierOf = (reader: Reader, orgId: OrgId) =>
  reader.kysely.selectFrom('suppliers').selectAll().where('org_id', '=', toUuid(orgId));

/** The supplier that an organisation is, whatever its status; null where it never applied. */
export async function findSupplierOf(reader: Reader, orgId: OrgId): Promise<Supplier | null> {
  return found(await supplierOf(reader, orgId).executeTakeFirst());
}

/**
 * The same, which stays as it is until the transaction ends: an approval cannot be withdrawn meanwhile. Many can have
 * it so at once.
 */
export async function shareLockSupplierOf(tx: Tx, orgId: OrgId): Promise<Supplier | null> {
  return found(await supplierOf(tx, orgId).forShare().executeTakeFirst());
}

/** Any supplier by its id. For operators. */
export async function findSupplier(reader: Reader, id: SupplierId): Promise<Supplier | null> {
  const row = await reader.kysely
    .selectFrom('suppliers')
    .selectAll()
    .where('id', '=', toUuid(id))
    .executeTakeFirst();
  return found(row);
}

/** Locks the supplier that an organisation is. After the organisation's own lock, before any of its machines. */
export async function lockSupplierOf(tx: Tx, orgId: OrgId): Promise<Supplier | null> {
  return found(await supplierOf(tx, orgId).forNoKeyUpdate().executeTakeFirst());
}

/** By id, so in the order of their first applications; one more than the limit, if there is one. For operators. */
export async function listSuppliers(
  reader: Reader,
  filter: { readonly status: SupplierStatus | null },
  page: SupplierPageRequest<SupplierId>,
): Promise<readonly Supplier[]> {
  let query = reader.kysely.selectFrom('suppliers').selectAll();
  if (filter.status !== null) query = query.where('status', '=', filter.status);
  if (page.after !== null) query = query.where('id', '>', toUuid(page.after));
  const rows = await query
    .orderBy('id')
    .limit(page.limit + 1)
    .execute();
  return rows.map(toSupplier);
}

export interface SupplierApplication {
  readonly name: string;
  readonly about: string;
}

/** The caller holds the lock of the organisation, so there is no other of it. */
export async function insertSupplier(tx: Tx, orgId: OrgId, fields: SupplierApplication): Promise<Supplier> {
  const now = tx.clock.now();
  const row = await tx.kysely
    .insertInto('suppliers')
    .values({
      id: toUuid(tx.ids.next('sup')),
      org_id: toUuid(orgId),
      name: fields.name,
      about: fields.about,
      status: 'applied',
      applied_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toSupplier(row);
}

/** An application that was rejected, made anew. */
export async function renewApplication(tx: Tx, orgId: OrgId, fields: SupplierApplication): Promise<Supplier> {
  const now = tx.clock.now();
  const row = await tx.kysely
    .updateTable('suppliers')
    .set({
      name: fields.name,
      about: fields.about,
      status: 'applied',
      status_reason: null,
      applied_at: now,
      updated_at: now,
    })
    .where('org_id', '=', toUuid(orgId))
    .where('status', '=', 'rejected')
    .returningAll()
    .executeTakeFirstOrThrow();
  return toSupplier(row);
}

/** The caller holds the lock of the supplier. `feePpm` null leaves the fee as it is. */
export async function setSupplierStatus(
  tx: Tx,
  orgId: OrgId,
  change: {
    readonly status: SupplierStatus;
    readonly reason: string;
    readonly feePpm: Ppm | null;
    readonly approvedAt: Date | null;
  },
): Promise<Supplier> {
  const row = await tx.kysely
    .updateTable('suppliers')
    .set({
      status: change.status,
      status_reason: change.reason,
      approved_at: change.approvedAt,
      updated_at: tx.clock.now(),
      ...(change.feePpm === null ? {} : { fee_ppm: change.feePpm }),
    })
    .where('org_id', '=', toUuid(orgId))
    .returningAll()
    .executeTakeFirstOrThrow();
  return toSupplier(row);
}
