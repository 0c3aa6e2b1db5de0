import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { sql } from 'kysely';
import { costsIn } from '../ledger/index.ts';
import { rentalLabels } from '../rental-lookup/index.ts';
import { volumeLabels } from '../volumes/index.ts';
import type { CostKind, CostSum, CostUnit } from './costs.ts';
import type { TimeRange } from './day-ranges.ts';

/** Sums transfers by resource, unit and key for invoices and the cost export. */

interface SumRow {
  kind: CostKind;
  thing_kind: string;
  thing_id: string;
  unit: CostUnit;
  quantity: string;
  cost: string;
  key_id: string | null;
  is_correction: boolean;
}

/**
 * Refunds and reversals count for the resource whose charge they undo. Query one day at a time: a statement then reads
 * one index range, however much the organisation uses.
 */
export async function sumCosts(
  reader: Reader,
  orgId: OrgId,
  period: TimeRange & { readonly mode: Mode },
): Promise<readonly CostSum[]> {
  const { rows } = await sql<SumRow>`
    with moved as (${costsIn(orgId, period)}
    ),
    counted as (
      select moved.*,
             case when usage ->> 'gpuMs' is not null then 'gpu'
                  when usage ->> 'gbMs' is not null then 'gb'
                  when usage ->> 'characters' is not null then 'character'
                  when coalesce(usage ->> 'promptTokens', usage ->> 'completionTokens') is not null then 'token'
                  when usage ->> 'requests' is not null then 'request'
                  else 'none' end as unit
        from moved
    ),
    named as (
      select counted.*,
             case when is_undone then 'refund' when unit = 'none' then 'fee' else 'use' end as kind,
             case when usage ->> 'model' is null then cause_kind else 'model' end collate "C" as thing_kind,
             coalesce(usage ->> 'model', cause_id) collate "C" as thing_id,
             sign * case unit when 'gpu' then (usage ->> 'gpuMs')::numeric
                              when 'gb' then (usage ->> 'gbMs')::numeric
                              when 'character' then (usage ->> 'characters')::numeric
                              when 'token' then coalesce((usage ->> 'promptTokens')::numeric, 0)
                                                + coalesce((usage ->> 'completionTokens')::numeric, 0)
                              when 'request' then (usage ->> 'requests')::numeric
                              else 0 end as quantity
        from counted
    )
    select kind, thing_kind, thing_id, unit, key_id, is_correction,
           sum(cost)::text as cost, trim_scale(sum(quantity))::text as quantity
      from named
     group by kind, thing_kind, thing_id, unit, key_id, is_correction
     order by thing_kind, length(thing_id), thing_id, kind desc, unit, key_id nulls first, is_correction
  `.execute(reader.kysely);
  return rows.map((row) => ({
    kind: row.kind,
    resource: { kind: row.thing_kind, id: row.thing_id },
    unit: row.unit,
    quantity: BigInt(row.quantity),
    cost: nanoUsd(BigInt(row.cost)),
    keyId: row.key_id === null ? null : fromUuid('key', row.key_id),
    isCorrection: row.is_correction,
  }));
}

export interface ResourceInfo {
  readonly name: string | null;
  readonly region: string;
}

/** Names and regions of rentals, instances and volumes, by `kind/id`. */
export async function readResources(
  reader: Reader,
  orgId: OrgId,
  resources: readonly CostSum['resource'][],
): Promise<ReadonlyMap<string, ResourceInfo>> {
  const idsOf = (...kinds: readonly string[]): readonly number[] => [
    ...new Set(
      resources.flatMap(({ kind, id }) =>
        kinds.includes(kind) && /^[1-9][0-9]{0,9}$/.test(id) ? [Number(id)] : [],
      ),
    ),
  ];
  const { rows } = await sql<{ kind: string; id: string; name: string | null; region: string }>`
    select kind, id, name, region from ${rentalLabels(orgId, idsOf('rental', 'instance'))} as rental
     union all
    select kind, id, name, region from ${volumeLabels(orgId, idsOf('volume'))} as volume
  `.execute(reader.kysely);
  return new Map(rows.map(({ kind, id, name, region }) => [`${kind}/${id}`, { name, region }]));
}
