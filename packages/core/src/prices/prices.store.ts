import type { Reader, Tables, Tx } from '@millrace/platform/db';
import {
  fromUuid,
  toUuid,
  type EntitlementId,
  type OrgId,
  type PriceId,
  type ReserveOptionId,
} from '@millrace/platform/ids';
import { nanoUsd, ppm } from '@millrace/platform/money';
import { sql, type Selectable } from 'kysely';
import type { Entitlement, MachineType, ModelSubject, Price, PriceSubject, ReserveOption } from './prices.ts';

/** All SQL for prices, reserve options and entitlements. */

type PriceRow = Selectable<Tables['prices']>;
type OptionRow = Selectable<Tables['reserve_options']>;
type EntitlementRow = Selectable<Tables['entitlements']>;

interface PageRequest<Position> {
  readonly limit: number;
  readonly after: Position | null;
}

/** Prices with equal values in these columns are versions of each other. */
const subjectColumns = [
  'subject_kind',
  'gpu_type',
  'machine_type',
  'model',
  'model_unit',
  'region',
  'network_type',
  'org_id',
] as const;

function toPrice(row: PriceRow): Price {
  return {
    id: fromUuid('prc', row.id),
    orgId: row.org_id === null ? null : fromUuid('org', row.org_id),
    subject: toSubject(row),
    unit: row.unit,
    price: nanoUsd(row.price_nano_usd),
    validFrom: row.valid_from,
    validUntil: row.valid_until,
    createdAt: row.created_at,
  };
}

/** A constraint ensures that the columns of each kind are set. */
function toSubject(row: PriceRow): PriceSubject {
  const { subject_kind: kind, region } = row;
  switch (kind) {
    case 'gpu':
      return {
        kind,
        gpuType: requireColumn(row.gpu_type, 'gpu_type'),
        machineType: requireColumn(row.machine_type, 'machine_type'),
        region,
        networkType: row.network_type,
      };
    case 'volume':
    case 'disk':
      return { kind, region };
    case 'model':
      return {
        kind,
        model: requireColumn(row.model, 'model'),
        unit: requireColumn(row.model_unit, 'model_unit'),
      };
  }
}

function requireColumn<T>(value: T | null, column: string): T {
  if (value === null) throw new Error(`A price has no ${column}, which violates its constraint.`);
  return value;
}

function subjectRow(subject: PriceSubject) {
  const gpu = subject.kind === 'gpu' ? subject : null;
  const model = subject.kind === 'model' ? subject : null;
  return {
    subject_kind: subject.kind,
    gpu_type: gpu?.gpuType ?? null,
    machine_type: gpu?.machineType ?? null,
    network_type: gpu?.networkType ?? null,
    region: subject.kind === 'model' ? null : subject.region,
    model: model?.model ?? null,
    model_unit: model?.unit ?? null,
  };
}

/** Returns null if the subject already has a price with this start. A concurrent insert waits for the first one. */
export async function insertPrice(
  tx: Tx,
  orgId: OrgId | null,
  fields: Pick<Price, 'subject' | 'unit' | 'price' | 'validFrom' | 'validUntil'>,
): Promise<Price | null> {
  const row = await tx.kysely
    .insertInto('prices')
    .values({
      id: toUuid(tx.ids.next('prc')),
      org_id: orgId === null ? null : toUuid(orgId),
      ...subjectRow(fields.subject),
      unit: fields.unit,
      price_nano_usd: fields.price,
      valid_from: fields.validFrom,
      valid_until: fields.validUntil,
      created_at: tx.clock.now(),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toPrice(row);
}

export async function findPrice(reader: Reader, id: PriceId): Promise<Price | null> {
  const row = await reader.kysely
    .selectFrom('prices')
    .selectAll()
    .where('id', '=', toUuid(id))
    .executeTakeFirst();
  return row === undefined ? null : toPrice(row);
}

/** Returns null if the price has already ended by then. A future price ends at its start. */
export async function setPriceEnd(tx: Tx, id: PriceId, at: Date): Promise<Price | null> {
  const row = await tx.kysely
    .updateTable('prices')
    .set({ valid_until: sql<Date>`greatest(valid_from, ${at}::timestamptz)` })
    .where('id', '=', toUuid(id))
    .where((where) =>
      where.or([
        where('valid_until', 'is', null),
        where('valid_until', '>', sql<Date>`greatest(valid_from, ${at}::timestamptz)`),
      ]),
    )
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toPrice(row);
}

/**
 * Newest first; with `at`, only the current version of each subject. `orgId` restricts it to contract prices of one
 * organisation.
 */
export async function listPrices(
  reader: Reader,
  filter: { readonly at: Date | null; readonly orgId: OrgId | null },
  page: PageRequest<PriceId>,
): Promise<readonly Price[]> {
  const { at, orgId } = filter;
  let versions = reader.kysely.selectFrom('prices').selectAll();
  if (orgId !== null) versions = versions.where('org_id', '=', toUuid(orgId));
  if (at !== null) {
    versions = versions
      .distinctOn(subjectColumns)
      .where('valid_from', '<=', at)
      .where((where) => where.or([where('valid_until', 'is', null), where('valid_until', '>', at)]));
    for (const column of subjectColumns) versions = versions.orderBy(column);
    versions = versions.orderBy('valid_from', 'desc').orderBy('created_at', 'desc').orderBy('id', 'desc');
  }
  let query = reader.kysely.selectFrom(versions.as('book')).selectAll();
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute();
  return rows.map(toPrice);
}

/** Current and future prices for a rental of this organisation. */
export async function readRentalPrices(
  reader: Reader,
  orgId: OrgId,
  request: { readonly gpuType: string; readonly machineType: MachineType },
  at: Date,
): Promise<readonly Price[]> {
  const rows = await applicablePrices(reader, orgId, at)
    .where((where) =>
      where.or([
        where.and([
          where('subject_kind', '=', 'gpu'),
          where('gpu_type', '=', request.gpuType),
          where('machine_type', '=', request.machineType),
        ]),
        where('subject_kind', 'in', ['volume', 'disk']),
      ]),
    )
    .execute();
  return rows.map(toPrice);
}

/** Current and future GPU prices of this organisation, to price many rentals at once. */
export async function readGpuPrices(
  reader: Reader,
  orgId: OrgId | null,
  at: Date,
): Promise<readonly Price[]> {
  const rows = await applicablePrices(reader, orgId, at).where('subject_kind', '=', 'gpu').execute();
  return rows.map(toPrice);
}

export async function readStoragePrices(reader: Reader, orgId: OrgId, at: Date): Promise<readonly Price[]> {
  const rows = await applicablePrices(reader, orgId, at)
    .where('subject_kind', 'in', ['volume', 'disk'])
    .execute();
  return rows.map(toPrice);
}

/** Current and future prices of machines and storage of this organisation. */
export async function readResourcePrices(reader: Reader, orgId: OrgId, at: Date): Promise<readonly Price[]> {
  const rows = await applicablePrices(reader, orgId, at)
    .where('subject_kind', 'in', ['gpu', 'volume', 'disk'])
    .execute();
  return rows.map(toPrice);
}

export async function readModelPrices(
  reader: Reader,
  orgId: OrgId,
  model: string,
  at: Date,
): Promise<readonly Price[]> {
  const rows = await applicablePrices(reader, orgId, at)
    .where('subject_kind', '=', 'model')
    .where('model', '=', model)
    .execute();
  return rows.map(toPrice);
}

/** Prices of these models that end after `since`: list prices, and contract prices of these organisations or of all. */
export async function readPricesOfModels(
  reader: Reader,
  models: readonly string[],
  { since, orgIds }: { readonly since: Date; readonly orgIds: readonly OrgId[] | 'all' },
): Promise<readonly (Price & { readonly subject: ModelSubject })[]> {
  let query = reader.kysely
    .selectFrom('prices')
    .selectAll()
    .where('subject_kind', '=', 'model')
    .where('model', 'in', [...models])
    .where((where) => where.or([where('valid_until', 'is', null), where('valid_until', '>', since)]));
  if (orgIds !== 'all') {
    const ids = orgIds.map(toUuid);
    query = query.where((where) =>
      where.or([where('org_id', 'is', null), sql<boolean>`org_id = any(${ids}::uuid[])`]),
    );
  }
  const rows = await query.execute();
  return rows.map(toPrice).filter((price) => price.subject.kind === 'model') as (Price & {
    readonly subject: ModelSubject;
  })[];
}

function applicablePrices(reader: Reader, orgId: OrgId | null, at: Date) {
  return reader.kysely
    .selectFrom('prices')
    .selectAll()
    .where((where) =>
      where.or([
        where('org_id', 'is', null),
        ...(orgId === null ? [] : [where('org_id', '=', toUuid(orgId))]),
      ]),
    )
    .where((where) => where.or([where('valid_until', 'is', null), where('valid_until', '>', at)]));
}

function toOption(row: OptionRow): ReserveOption {
  return {
    id: fromUuid('rso', row.id),
    machineType: row.machine_type,
    gpuType: row.gpu_type,
    region: row.region,
    termPeriodDays: row.term_period_days,
    discount: ppm(row.discount_ppm),
    refund: ppm(row.refund_ppm),
    createdAt: row.created_at,
  };
}

export async function insertReserveOption(
  tx: Tx,
  fields: Omit<ReserveOption, 'id' | 'createdAt'>,
): Promise<ReserveOption> {
  const row = await tx.kysely
    .insertInto('reserve_options')
    .values({
      id: toUuid(tx.ids.next('rso')),
      machine_type: fields.machineType,
      gpu_type: fields.gpuType,
      region: fields.region,
      term_period_days: fields.termPeriodDays,
      discount_ppm: fields.discount,
      refund_ppm: fields.refund,
      created_at: tx.clock.now(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toOption(row);
}

/** The current options: the newest per machine, GPU, region and term. */
export async function listReserveOptions(
  reader: Reader,
  page: PageRequest<ReserveOptionId>,
): Promise<readonly ReserveOption[]> {
  let query = reader.kysely.selectFrom(currentReserveOptions(reader).as('on_offer')).selectAll();
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute();
  return rows.map(toOption);
}

/** Without pages: there is at most one option per machine, GPU, region and term. */
export async function readAllReserveOptions(reader: Reader): Promise<readonly ReserveOption[]> {
  const rows = await currentReserveOptions(reader).execute();
  return rows.map(toOption);
}

export async function readReserveOptions(
  reader: Reader,
  request: { readonly gpuType: string; readonly machineType: MachineType },
): Promise<readonly ReserveOption[]> {
  const rows = await currentReserveOptions(reader)
    .where('machine_type', '=', request.machineType)
    .where('gpu_type', '=', request.gpuType)
    .execute();
  return rows.map(toOption);
}

function currentReserveOptions(reader: Reader) {
  return reader.kysely
    .selectFrom('reserve_options')
    .distinctOn(['machine_type', 'gpu_type', 'region', 'term_period_days'])
    .selectAll()
    .orderBy('machine_type')
    .orderBy('gpu_type')
    .orderBy('region')
    .orderBy('term_period_days')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc');
}

function toEntitlement(row: EntitlementRow): Entitlement {
  return {
    id: fromUuid('ent', row.id),
    orgId: fromUuid('org', row.org_id),
    maxDiscount: ppm(row.max_discount_ppm),
    gpuType: row.gpu_type,
    contractReference: row.contract_reference,
    validFrom: row.valid_from,
    validUntil: row.valid_until,
    revokedAt: row.revoked_at,
    createdAt: row.created_at,
  };
}

export async function insertEntitlement(
  tx: Tx,
  orgId: OrgId,
  fields: Pick<Entitlement, 'maxDiscount' | 'gpuType' | 'contractReference' | 'validFrom' | 'validUntil'>,
): Promise<Entitlement> {
  const row = await tx.kysely
    .insertInto('entitlements')
    .values({
      id: toUuid(tx.ids.next('ent')),
      org_id: toUuid(orgId),
      max_discount_ppm: fields.maxDiscount,
      gpu_type: fields.gpuType,
      contract_reference: fields.contractReference,
      valid_from: fields.validFrom,
      valid_until: fields.validUntil,
      created_at: tx.clock.now(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toEntitlement(row);
}

/** Current and future entitlements, newest first. */
export async function listEntitlements(
  reader: Reader,
  orgId: OrgId,
  at: Date,
  page: PageRequest<EntitlementId> | null = null,
): Promise<readonly Entitlement[]> {
  let query = reader.kysely
    .selectFrom('entitlements')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('valid_until', 'is', null), where('valid_until', '>', at)]))
    .orderBy('id', 'desc');
  if (page !== null) {
    query = query.limit(page.limit + 1);
    if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  }
  return (await query.execute()).map(toEntitlement);
}

export async function findEntitlement(
  reader: Reader,
  orgId: OrgId,
  id: EntitlementId,
): Promise<Entitlement | null> {
  const row = await reader.kysely
    .selectFrom('entitlements')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .executeTakeFirst();
  return row === undefined ? null : toEntitlement(row);
}

/** Returns false if it was already revoked. */
export async function setRevoked(tx: Tx, orgId: OrgId, id: EntitlementId, at: Date): Promise<boolean> {
  const result = await tx.kysely
    .updateTable('entitlements')
    .set({ revoked_at: at })
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}
