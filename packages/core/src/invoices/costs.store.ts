import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { sql } from 'kysely';
import { firstIdAfter, firstIdFrom } from '../ledger/index.ts';
import type { CostKind, CostSum, CostUnit } from './costs.ts';
import type { TimeRange } from './day-ranges.ts';

/** Sums over the ledger's transfers: what was charged and given back. */

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
 * All that a period cost an organisation, each thing, unit and key once, in a fixed order. What was refunded or reversed
 * counts for the thing whose charge it undoes. Ask for a day at a time: a statement then reads one stretch of one index,
 * however much the organisation uses.
 */
export async function sumCosts(
  reader: Reader,
  orgId: OrgId,
  { mode, from, until }: TimeRange & { readonly mode: Mode },
): Promise<readonly CostSum[]> {
  const { rows } = await sql<SumRow>`
    with moved as (
      select -t.amount_nano_usd as cost, t.key_id, source.id is not null as is_undone,
             case t.kind when 'charge' then 1 when 'credit' then -1 else 0 end as sign,
             coalesce(source.cause_kind, t.cause_kind) as cause_kind, coalesce(source.cause_id, t.cause_id) as cause_id,
             coalesce(source.usage, t.usage) as usage,
             coalesce(date_trunc('month', source.occurred_at at time zone 'UTC')
                        < date_trunc('month', t.occurred_at at time zone 'UTC'), false) as is_correction
        from ledger_transfers t
        left join ledger_transfers source on source.id = t.reverses
       where t.mode = ${mode} and t.org_id = ${toUuid(orgId)}
         and t.id >= ${firstIdFrom(from)} and t.id < ${firstIdAfter(until)}
         and t.occurred_at >= ${from} and t.occurred_at < ${until}
         and (t.kind in ('charge', 'credit')
              or t.kind in ('refund', 'reversal') and source.kind in ('charge', 'credit'))
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

/** How people call these rentals, instances and volumes, and where they are; by kind and id. */
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
    select case kind when 'instance' then 'instance' else 'rental' end as kind, wire_id::text as id,
           coalesce(name, label) as name, region
      from rentals
     where org_id = ${toUuid(orgId)} and wire_id = any(${idsOf('rental', 'instance')}::bigint[])
     union all
    select 'volume', wire_id::text, coalesce(name, label), region
      from volumes
     where org_id = ${toUuid(orgId)} and wire_id = any(${idsOf('volume')}::bigint[])
  `.execute(reader.kysely);
  return new Map(rows.map(({ kind, id, name, region }) => [`${kind}/${id}`, { name, region }]));
}
