import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, parseId, toUuid, type OrgId } from '@millrace/platform/ids';
import { addUsd, nanoUsd, subtractUsd } from '@millrace/platform/money';
import { sql, type RawBuilder } from 'kysely';
import { chargesIn } from '../ledger/index.ts';
import {
  productCause,
  type UsageProduct,
  type UsageGrouping,
  type UsagePeriod,
  type UsageSum,
  type UsageUnit,
} from './usage.ts';

/** Sums transfers for usage reports. */

interface SumRow {
  readonly name: string;
  readonly cost: string;
  readonly rentals: string;
  readonly volumes: string;
  readonly instances: string;
  readonly inference: string;
  readonly gpu_ms: string;
  readonly gb_ms: string;
  readonly requests: string;
  readonly prompt_tokens: string;
  readonly completion_tokens: string;
}

/** The group of a transfer; null leaves it out of the report. */
const groupNames: Readonly<Record<UsageGrouping, RawBuilder<string | null>>> = {
  day: sql`to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD')`,
  rental: sql`case when cause_kind = 'rental' then cause_id end`,
  volume: sql`case when cause_kind = 'volume' then cause_id end`,
  model: sql`usage ->> 'model'`,
  key: sql`key_id::text`,
};

export async function sumUsage(
  reader: Reader,
  orgId: OrgId,
  report: UsagePeriod & { readonly mode: Mode; readonly groupBy: UsageGrouping },
  page: { readonly limit: number; readonly after: string | null },
): Promise<readonly UsageSum[]> {
  const { groupBy } = report;
  const newestFirst = groupBy === 'day';
  const beyond = newestFirst ? sql`<` : sql`>`;
  const after =
    page.after === null ? sql`true` : sql`name ${beyond} ${groupNameOf(groupBy, page.after)} collate "C"`;
  const { rows } = await sql<SumRow>`
    select name, (-sum(amount_nano_usd))::text as cost,
           ${costOf('rentals')} as rentals, ${costOf('volumes')} as volumes,
           ${costOf('instances')} as instances, ${costOf('inference')} as inference,
           ${unitTotal('gpuMs')} as gpu_ms, ${unitTotal('gbMs')} as gb_ms, ${unitTotal('requests')} as requests,
           ${unitTotal('promptTokens')} as prompt_tokens, ${unitTotal('completionTokens')} as completion_tokens
      from (select ${groupNames[groupBy]} collate "C" as name, amount_nano_usd, usage, cause_kind,
                   case kind when 'charge' then 1 else -1 end as sign
              from ${chargesIn(orgId, report)} as charged) as used
     where name is not null and ${after}
     group by name
     order by name ${newestFirst ? sql`desc` : sql`asc`}
     limit ${page.limit + 1}
  `.execute(reader.kysely);
  return rows.map((row) => toSum(groupBy, row));
}

/** The group name in the query, where keys are UUIDs. */
function groupNameOf(groupBy: UsageGrouping, group: string): string {
  const keyId = groupBy === 'key' ? parseId('key', group) : null;
  return keyId === null ? group : toUuid(keyId);
}

function unitTotal(unit: UsageUnit): RawBuilder<string> {
  return sql`coalesce(sum(sign * abs((usage ->> ${sql.lit(unit)})::numeric)), 0)::text`;
}

function costOf(product: UsageProduct): RawBuilder<string> {
  const isOfIt = sql`cause_kind = ${sql.lit(productCause[product])}`;
  return sql`coalesce(-sum(amount_nano_usd) filter (where ${isOfIt}), 0)::text`;
}

function productsOf(row: SumRow): UsageSum['products'] {
  const known = {
    rentals: nanoUsd(BigInt(row.rentals)),
    volumes: nanoUsd(BigInt(row.volumes)),
    instances: nanoUsd(BigInt(row.instances)),
    inference: nanoUsd(BigInt(row.inference)),
  };
  return { ...known, other: subtractUsd(nanoUsd(BigInt(row.cost)), addUsd(...Object.values(known))) };
}

function toSum(groupBy: UsageGrouping, row: SumRow): UsageSum {
  return {
    group: groupBy === 'key' ? fromUuid('key', row.name) : row.name,
    cost: nanoUsd(BigInt(row.cost)),
    products: productsOf(row),
    gpuMs: BigInt(row.gpu_ms),
    gbMs: BigInt(row.gb_ms),
    requests: BigInt(row.requests),
    promptTokens: BigInt(row.prompt_tokens),
    completionTokens: BigInt(row.completion_tokens),
  };
}
