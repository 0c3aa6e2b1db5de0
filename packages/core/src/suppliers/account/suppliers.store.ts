import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId, type SupplierId } from '@millrace/platform/ids';
import { ppm, type Ppm } from '@millrace/platform/money';
import type { Selectable } from 'kysely';
import type { Supplier, SupplierStatus } from './suppliers.ts';

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

export async function findSupplierOf(reader: Reader, orgId: OrgId): Promise<Supplier | null> {
  return found(await supplierOf(reader, orgId).executeTakeFirst());
}

/** With a share lock, so that an approval cannot be withdrawn before the transaction ends. */
export async function shareLockSupplierOf(tx: Tx, orgId: OrgId): Promise<Supplier | null> {
  return found(await supplierOf(tx, orgId).forShare().executeTakeFirst());
}

/** For operators: not limited to one organisation. */
export async function findSupplier(reader: Reader, id: SupplierId): Promise<Supplier | null> {
  const row = await reader.kysely
    .selectFrom('suppliers')
    .selectAll()
    .where('id', '=', toUuid(id))
    .executeTakeFirst();
  return found(row);
}

/** Take this lock after the organisation's and before those of its machines. */
export async function lockSupplierOf(tx: Tx, orgId: OrgId): Promise<Supplier | null> {
  return found(await supplierOf(tx, orgId).forNoKeyUpdate().executeTakeFirst());
}

/** For operators, in order of first application; returns one more than the limit if there are more. */
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

/** The caller holds the lock of the organisation, which prevents a second supplier. */
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

/** The caller holds the lock of the supplier. `feePpm` null keeps the fee. */
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
