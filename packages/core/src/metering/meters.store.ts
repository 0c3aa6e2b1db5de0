import { defineStatement, runStatement, type Reader, type Tables, type Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type MeterId, type OrgId } from '@millrace/platform/ids';
import { isItemAvailable } from '@millrace/platform/loops';
import { nanoUsd, ppm } from '@millrace/platform/money';
import { shardOf } from '@millrace/platform/outbox';
import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { MoneyCause } from '../ledger/index.ts';
import { postMetersLoop } from './loops.ts';
import type { MeterCostInput, Meter, MeterTransition } from './meter.ts';

/** All SQL for meters. */

type MeterRow = Selectable<Tables['meters']>;

type CostRow = Pick<
  MeterRow,
  | 'cause_id'
  | 'rate_nano_usd_per_hour'
  | 'running_since'
  | 'elapsed_before_ms'
  | 'term_ends_at'
  | 'posted_ms'
  | 'posted_nano_usd'
  | 'shortfall_nano_usd'
  | 'rest_of_term_nano_usd'
>;

function toCostInput(row: CostRow): MeterCostInput {
  return {
    ratePerHour: nanoUsd(row.rate_nano_usd_per_hour),
    runningSince: row.running_since,
    elapsedBeforeMs: Number(row.elapsed_before_ms),
    termEndsAt: row.term_ends_at,
    postedMs: Number(row.posted_ms),
    posted: nanoUsd(row.posted_nano_usd),
    shortfall: nanoUsd(row.shortfall_nano_usd),
    restOfTerm: nanoUsd(row.rest_of_term_nano_usd),
  };
}

function fromRow(row: MeterRow): Meter {
  return {
    ...toCostInput(row),
    id: fromUuid('mtr', row.id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    cause: { kind: row.cause_kind, id: row.cause_id },
    name: row.name,
    product: row.product,
    keyId: row.key_id === null ? null : fromUuid('key', row.key_id),
    quantity: Number(row.quantity),
    unit: row.unit,
    supplier:
      row.supplier_org_id === null
        ? null
        : {
            orgId: fromUuid('org', row.supplier_org_id),
            ratePerHour: nanoUsd(row.supplier_rate_nano_usd_per_hour ?? 0n),
            posted: nanoUsd(row.supplier_posted_nano_usd),
          },
    funding: row.funding,
    refund: ppm(row.refund_ppm),
    retentionMs: Number(row.retention_ms),
    retentionRatePerHour: nanoUsd(row.kept_nano_usd_per_hour),
    state: row.state,
    holdId: row.hold_id === null ? null : fromUuid('hld', row.hold_id),
    held: nanoUsd(row.held_nano_usd),
    coveredUntil: row.covered_until,
    nextPostAt: row.next_post_at,
    postings: row.postings,
    transitions: row.transitions,
    openedAt: row.opened_at,
    closedAt: row.closed_at,
  };
}

async function selectMeters(reader: Reader, tail: RawBuilder<unknown>): Promise<readonly Meter[]> {
  const { rows } = await sql<MeterRow>`select meter.* from meters meter ${tail}`.execute(reader.kysely);
  return rows.map(fromRow);
}

/** Locks meters by id, so that concurrent changes of several meters cannot deadlock. */
export async function lockMeters(
  tx: Tx,
  orgId: OrgId,
  ids: readonly MeterId[],
): Promise<ReadonlyMap<MeterId, Meter>> {
  const meters = await selectMeters(
    tx,
    sql`where meter.org_id = ${toUuid(orgId)} and meter.id = any(${ids.map(toUuid)}::uuid[])
        order by meter.id for update`,
  );
  return new Map(meters.map((meter) => [meter.id, meter]));
}

export async function listMetersOf(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  cause: MoneyCause,
): Promise<readonly Meter[]> {
  return selectMeters(
    reader,
    sql`where meter.org_id = ${toUuid(orgId)} and meter.mode = ${mode} and meter.cause_kind = ${cause.kind}
          and meter.cause_id = ${cause.id}
        order by meter.id`,
  );
}

const meterCostStatement = defineStatement(
  'metering-cost-parts',
  `
  select meter.cause_id, meter.rate_nano_usd_per_hour, meter.running_since, meter.elapsed_before_ms, meter.term_ends_at,
         meter.posted_ms, meter.posted_nano_usd, meter.shortfall_nano_usd, meter.rest_of_term_nano_usd
    from meters meter
   where meter.org_id = $1 and meter.cause_kind = $3 and meter.cause_id = any ($4::text[]) and meter.mode = $2`,
);

export async function listMeterCostInputs(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  causes: { readonly kind: MoneyCause['kind']; readonly ids: readonly MoneyCause['id'][] },
): Promise<readonly (MeterCostInput & { readonly causeId: string })[]> {
  if (causes.ids.length === 0) return [];
  const values = [toUuid(orgId), mode, causes.kind, causes.ids];
  const rows = await runStatement<CostRow>(reader, meterCostStatement, values);
  return rows.map((row) => ({ causeId: row.cause_id, ...toCostInput(row) }));
}

/** Locks the running meters of a wallet that are paid ahead. */
export async function lockRunningMeters(tx: Tx, orgId: OrgId, mode: Mode): Promise<readonly Meter[]> {
  return selectMeters(
    tx,
    sql`where meter.org_id = ${toUuid(orgId)} and meter.mode = ${mode} and meter.state = 'open'
          and meter.funding = 'ahead' and meter.rate_nano_usd_per_hour > 0
        order by meter.id for update`,
  );
}

/** One statement for all shards, so that an idle installation runs one query. */
export async function listDueMeters(
  reader: Reader,
  request: { readonly shards: readonly number[]; readonly now: Date; readonly limit: number },
): Promise<readonly MeterId[]> {
  const isFree = isItemAvailable(postMetersLoop, sql<string>`meter.id::text`, request.now);
  const { rows } = await sql<{ id: string }>`
    select due.id
      from unnest(${request.shards}::smallint[]) as mine (shard)
     cross join lateral (
       select meter.id from meters meter
        where meter.shard = mine.shard and meter.next_post_at <= ${request.now} and ${isFree}
        order by meter.next_post_at limit ${request.limit}
     ) as due
     limit ${request.limit}
  `.execute(reader.kysely);
  return rows.map(({ id }) => fromUuid('mtr', id));
}

/** Locks the meters that are still due, and skips those that another worker has locked. */
export async function lockDueMeters(tx: Tx, ids: readonly MeterId[], now: Date): Promise<readonly Meter[]> {
  return selectMeters(
    tx,
    sql`where meter.id = any(${ids.map(toUuid)}::uuid[]) and meter.next_post_at <= ${now}
        order by meter.id for update skip locked`,
  );
}

/** Numbers as text, because the driver's array parameters do not support bigint. */
const texts = (values: readonly (bigint | number | null)[]): (string | null)[] =>
  values.map((value) => (value === null ? null : String(value)));

/** The counts of postings and transitions guard each row: a mismatch means that the row lock was missing. */
export async function saveMeters(
  tx: Tx,
  changes: readonly { readonly before: Meter; readonly after: Meter }[],
): Promise<void> {
  if (changes.length === 0) return;
  const after = changes.map((change) => change.after);
  const { numAffectedRows } = await sql`
    update meters meter
       set supplier_posted_nano_usd = made.supplier_posted, state = made.state, running_since = made.running_since,
           elapsed_before_ms = made.elapsed_before_ms, posted_ms = made.posted_ms, posted_nano_usd = made.posted,
           shortfall_nano_usd = made.shortfall, rest_of_term_nano_usd = made.rest_of_term, held_nano_usd = made.held,
           covered_until = made.covered_until, next_post_at = made.next_post_at, postings = made.postings,
           transitions = made.transitions, closed_at = made.closed_at
      from unnest(
             ${after.map((meter) => toUuid(meter.id))}::uuid[],
             ${texts(changes.map(({ before }) => before.postings))}::integer[],
             ${texts(changes.map(({ before }) => before.transitions))}::integer[],
             ${texts(after.map((meter) => meter.supplier?.posted ?? 0n))}::bigint[],
             ${after.map((meter) => meter.state)}::text[],
             ${after.map((meter) => meter.runningSince)}::timestamptz[],
             ${texts(after.map((meter) => meter.elapsedBeforeMs))}::bigint[],
             ${texts(after.map((meter) => meter.postedMs))}::bigint[],
             ${texts(after.map((meter) => meter.posted))}::bigint[],
             ${texts(after.map((meter) => meter.shortfall))}::bigint[],
             ${texts(after.map((meter) => meter.restOfTerm))}::bigint[],
             ${texts(after.map((meter) => meter.held))}::bigint[],
             ${after.map((meter) => meter.coveredUntil)}::timestamptz[],
             ${after.map((meter) => meter.nextPostAt)}::timestamptz[],
             ${texts(after.map((meter) => meter.postings))}::integer[],
             ${texts(after.map((meter) => meter.transitions))}::integer[],
             ${after.map((meter) => meter.closedAt)}::timestamptz[]
           ) as made (id, postings_before, transitions_before, supplier_posted, state, running_since,
                      elapsed_before_ms, posted_ms, posted, shortfall, rest_of_term, held, covered_until,
                      next_post_at, postings, transitions, closed_at)
     where meter.id = made.id and meter.postings = made.postings_before
       and meter.transitions = made.transitions_before
  `.execute(tx.kysely);
  if (Number(numAffectedRows ?? 0n) !== changes.length) {
    throw new Error(
      `Only ${numAffectedRows} of ${changes.length} meters were unchanged since they were read.`,
    );
  }
}

export async function postponeMeters(tx: Tx, ids: readonly MeterId[], until: Date): Promise<void> {
  if (ids.length === 0) return;
  await sql`update meters set next_post_at = ${until} where id = any(${ids.map(toUuid)}::uuid[])`.execute(
    tx.kysely,
  );
}

/** Returns false and writes nothing if a meter of that name already exists. */
export async function insertMeter(tx: Tx, meter: Meter): Promise<boolean> {
  const { numAffectedRows } = await sql`
    insert into meters (id, org_id, mode, shard, cause_kind, cause_id, name, product, key_id, rate_nano_usd_per_hour,
                        quantity, unit, supplier_org_id, supplier_rate_nano_usd_per_hour, funding, term_ends_at,
                        refund_ppm, retention_ms, kept_nano_usd_per_hour, state, running_since, hold_id,
                        held_nano_usd, covered_until, next_post_at, transitions, opened_at)
    values (${toUuid(meter.id)}, ${toUuid(meter.orgId)}, ${meter.mode}, ${shardOf(meter.orgId)}, ${meter.cause.kind},
            ${meter.cause.id}, ${meter.name}, ${meter.product}, ${meter.keyId === null ? null : toUuid(meter.keyId)},
            ${meter.ratePerHour}, ${meter.quantity}, ${meter.unit},
            ${meter.supplier === null ? null : toUuid(meter.supplier.orgId)}, ${meter.supplier?.ratePerHour ?? null},
            ${meter.funding}, ${meter.termEndsAt}, ${meter.refund}, ${meter.retentionMs},
            ${meter.retentionRatePerHour}, ${meter.state}, ${meter.runningSince}, ${meter.holdId === null ? null : toUuid(meter.holdId)}, ${meter.held},
            ${meter.coveredUntil}, ${meter.nextPostAt}, ${meter.transitions}, ${meter.openedAt})
    on conflict (org_id, cause_kind, cause_id, name) do nothing
  `.execute(tx.kysely);
  return numAffectedRows === 1n;
}

export async function insertTransitions(
  tx: Tx,
  rows: readonly { readonly meter: Meter; readonly transition: MeterTransition }[],
): Promise<void> {
  if (rows.length === 0) return;
  const now = tx.clock.now();
  await sql`
    insert into meter_transitions (meter_id, seq, org_id, mode, kind, at, recorded_at)
    select made.*, ${now}::timestamptz
      from unnest(${rows.map(({ meter }) => toUuid(meter.id))}::uuid[],
                  ${texts(rows.map(({ meter }) => meter.transitions))}::integer[],
                  ${rows.map(({ meter }) => toUuid(meter.orgId))}::uuid[],
                  ${rows.map(({ meter }) => meter.mode)}::text[],
                  ${rows.map(({ transition }) => transition.kind)}::text[],
                  ${rows.map(({ transition }) => transition.at)}::timestamptz[]) as made
  `.execute(tx.kysely);
}

export async function listTransitions(
  reader: Reader,
  orgId: OrgId,
  ids: readonly MeterId[],
): Promise<ReadonlyMap<MeterId, readonly MeterTransition[]>> {
  const { rows } = await sql<{ meter_id: string; kind: MeterTransition['kind']; at: Date }>`
    select meter_id, kind, at from meter_transitions
     where org_id = ${toUuid(orgId)} and meter_id = any(${ids.map(toUuid)}::uuid[])
     order by meter_id, seq
  `.execute(reader.kysely);
  const found = Map.groupBy(rows, (row) => fromUuid('mtr', row.meter_id));
  return new Map([...found].map(([id, of]) => [id, of.map(({ kind, at }) => ({ kind, at }))]));
}

/** Claims shards that were not swept recently, oldest first. Only avoids double work; it is not a lock. */
export async function claimMeterShards(
  tx: Tx,
  request: { readonly now: Date; readonly unsweptSince: Date; readonly limit: number },
): Promise<readonly number[]> {
  const { rows } = await sql<{ shard: number }>`
    update meter_shards set swept_at = ${request.now}
     where shard in (select shard from meter_shards where swept_at <= ${request.unsweptSince}
                      order by swept_at, shard limit ${request.limit} for update skip locked)
    returning shard
  `.execute(tx.kysely);
  return rows.map((row) => row.shard);
}

/** Makes shards of a failed sweep due again, unless another worker has claimed them since. */
export async function releaseMeterShards(
  tx: Tx,
  taken: { readonly shards: readonly number[]; readonly at: Date; readonly everyMs: number },
): Promise<void> {
  const before = new Date(taken.at.getTime() - taken.everyMs);
  await sql`update meter_shards set swept_at = ${before}
             where shard = any(${taken.shards}::smallint[]) and swept_at = ${taken.at}`.execute(tx.kysely);
}
