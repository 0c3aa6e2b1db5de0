import { sql } from 'kysely';
import { usageCutoff } from './credit-leases.store.ts';
import type { Probe } from './run-probe.store.ts';

/** Default prices and the size of a priced image. Repeated here so that the check is independent. */
const defaultImage = sql`10000000`;
const defaultCharacter = sql`5000`;
const defaultImagePixels = sql`(1024 * 1024 * 25)`;

/** Checks requests against their charges and the price list. Each price is computed from usage and rounded up once. */
export function requestPriceProbe(basis: {
  /** Rows recorded since; null checks all that are not archived. `firstId` bounds how much older than its row a request can be. */
  readonly recordedSince: { readonly at: Date; readonly firstId: string } | null;
  readonly orgUuid: string | null;
}): Probe {
  const { recordedSince, orgUuid } = basis;
  const ofOwner = orgUuid === null ? sql`true` : sql`r.org_id = ${orgUuid}::uuid`;
  const fresh =
    recordedSince === null
      ? sql`r.id >= ${usageCutoff}`
      : sql`r.recorded_at >= ${recordedSince.at} and r.id >= ${recordedSince.firstId}::uuid`;
  return {
    rows: sql`
      with judged as materialized (select r.* from inference_requests r where ${fresh} and ${ofOwner}),
      books as (
        select named.price_ids,
               max(p.million) filter (where p.model_unit = 'prompt_token') as prompt,
               max(p.million) filter (where p.model_unit = 'cached_prompt_token') as cached,
               max(p.million) filter (where p.model_unit = 'completion_token') as completion,
               max(p.price_nano_usd) filter (where p.model_unit = 'image') as image,
               max(p.price_nano_usd) filter (where p.model_unit = 'character') as character
          from (select distinct price_ids from judged) as named
          left join lateral unnest(named.price_ids) as price (id) on true
          left join (select *, price_nano_usd::numeric * case unit when 'token' then 1000000 else 1 end as million
                       from prices where subject_kind = 'model') as p on p.id = price.id
         group by named.price_ids
      )
      select r.id as subject, r.org_id, r.mode, r.outcome, r.cost_nano_usd as cost, r.priced_nano_usd as priced,
             least(r.priced_nano_usd, r.reserved_nano_usd) as owed,
             case when r.outcome = 'free' then 0 else
               ceil(((r.tokens_prompt - r.tokens_cached) * coalesce(b.prompt, 0)
                     + r.tokens_cached * coalesce(b.cached, b.prompt, 0)
                     + r.tokens_completion * coalesce(b.completion, 0)) / 1000000)
               + ceil(r.image_pixel_steps::numeric * coalesce(b.image, ${defaultImage}) / ${defaultImagePixels})
               + r.characters::numeric * coalesce(b.character, ${defaultCharacter})
             end as derived,
             r.outcome = 'free' or (u.outcome is not distinct from r.outcome
               and (u.org_id, u.mode, u.key_id) is not distinct from (r.org_id, r.mode, r.key_id)
               and u.transfer_id is not distinct from r.transfer_id
               and (r.outcome <> 'charged' or u.amount_nano_usd = r.cost_nano_usd)) as agrees,
             coalesce(u.outcome || ' ' || u.amount_nano_usd, 'nothing') as on_record,
             coalesce(u.borne_nano_usd, 0) as borne
        from judged r
        join books b on b.price_ids = r.price_ids
        left join usage_charges u on u.request_id = r.id`,
    about: 'usage',
    checks: [
      {
        name: 'request_charge',
        wrong: sql`not q.agrees`,
        expected: sql`q.outcome || ' ' || q.cost`,
        actual: sql`q.on_record`,
      },
      { name: 'request_price', expected: sql`q.derived`, actual: sql`q.priced` },
      {
        name: 'request_cost',
        // Less is right if the lease held less and the operator absorbed the rest, which the charge records.
        wrong: sql`case when q.outcome = 'charged' then q.cost > q.owed or q.cost + q.borne < q.owed else q.cost <> 0 end`,
        expected: sql`case when q.outcome = 'charged' then q.owed else 0 end`,
        actual: sql`q.cost`,
      },
      {
        name: 'request_shortfall',
        wrong: sql`q.mode = 'live' and q.priced > q.cost`,
        expected: sql`q.priced`,
        actual: sql`q.cost`,
      },
    ],
  };
}

/** Quarantined usage. It has no organisation, so only audits of all check it. */
export function unreadableUsageProbe(recordedSince: Date | null): Probe {
  const fresh = recordedSince === null ? sql`true` : sql`a.recorded_at >= ${recordedSince}`;
  return {
    rows: sql`
      select a.stream || ' ' || a.seq || ' ' || a.position as subject, null::uuid as org_id, a.problem
        from usage_unreadable a where ${fresh}`,
    about: 'thing',
    checks: [{ name: 'usage_unreadable', wrong: sql`true`, expected: sql`'usage'`, actual: sql`q.problem` }],
  };
}
