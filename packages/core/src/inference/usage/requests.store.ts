import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, timeOf, toUuid } from '@millrace/platform/ids';
import type { OrgId, RequestId, TransferId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { firstIdAfter, firstIdFrom, hasCause, monthAfter, monthOf } from '../../ledger/index.ts';
import { costOf, type NewRequestRecord, type RequestRecord } from './requests.ts';
import type { UsageAttempt } from './usage-event.ts';
import type { ParsedUsage } from './parse-usage.ts';

function toRow({ used, source, outcome, transferId }: NewRequestRecord) {
  const { event } = used;
  return {
    id: toUuid(used.requestId),
    org_id: toUuid(used.orgId),
    mode: event.mode,
    key_id: toUuid(used.keyId),
    lease_id: used.leaseId === null ? null : toUuid(used.leaseId),
    gateway_id: event.gatewayId,
    model: event.model,
    deployment: event.deployment,
    created_at: new Date(event.createdAtMs),
    streamed: event.streamed,
    cancelled: event.cancelled,
    finish_reason: event.finishReason,
    latency_ms: event.latencyMs,
    ttft_ms: event.ttftMs,
    generation_ms: event.generationMs,
    tokens_prompt: event.tokensPrompt,
    tokens_cached: event.tokensCached,
    tokens_completion: event.tokensCompletion,
    image_pixel_steps: event.imagePixelSteps,
    characters: event.characters,
    reserved_nano_usd: used.reserved.toString(),
    priced_nano_usd: used.priced.toString(),
    cost_nano_usd: costOf({ used, outcome }).toString(),
    price_ids: used.priceIds.map(toUuid),
    attempts: event.attempts,
    source,
    outcome,
    transfer_id: transferId === null ? null : toUuid(transferId),
  };
}

/** Writes each request once: an existing row stays. The batch has requests of many organisations. */
export async function insertRequests(tx: Tx, requests: readonly NewRequestRecord[]): Promise<void> {
  if (requests.length === 0) return;
  // One JSON parameter for the batch, because there are many columns and hundreds of rows.
  await sql`
    insert into inference_requests (
      id, org_id, mode, key_id, lease_id, gateway_id, model, deployment, created_at, streamed, cancelled, finish_reason,
      latency_ms, ttft_ms, generation_ms, tokens_prompt, tokens_cached, tokens_completion, image_pixel_steps, characters,
      reserved_nano_usd, priced_nano_usd, cost_nano_usd, price_ids, attempts, source, outcome, transfer_id, recorded_at)
    select id, org_id, mode, key_id, lease_id, gateway_id, model, deployment, created_at, streamed, cancelled, finish_reason,
           latency_ms, ttft_ms, generation_ms, tokens_prompt, tokens_cached, tokens_completion, image_pixel_steps, characters,
           reserved_nano_usd, priced_nano_usd, cost_nano_usd, price_ids, attempts, source, outcome, transfer_id,
           ${tx.clock.now()}
      from jsonb_to_recordset(${JSON.stringify(requests.map(toRow))}::jsonb) as request (
        id uuid, org_id uuid, mode text, key_id uuid, lease_id uuid, gateway_id text, model text, deployment text,
        created_at timestamptz, streamed boolean, cancelled boolean, finish_reason text, latency_ms bigint, ttft_ms bigint,
        generation_ms bigint, tokens_prompt bigint, tokens_cached bigint, tokens_completion bigint,
        image_pixel_steps bigint, characters bigint, reserved_nano_usd bigint, priced_nano_usd bigint,
        cost_nano_usd bigint, price_ids uuid[], attempts jsonb, source text, outcome text, transfer_id uuid)
     order by id
    on conflict (id) do nothing
  `.execute(tx.kysely);
}

/** Records final events of requests whose checkpoint was already charged. The first one counts. */
export async function recordLateFinals(tx: Tx, finals: readonly ParsedUsage[]): Promise<number> {
  if (finals.length === 0) return 0;
  const { rows } = await sql<{ id: string }>`
    update inference_requests request set late_nano_usd = late.amount, late_at = ${tx.clock.now()}
      from unnest(${finals.map(({ requestId }) => toUuid(requestId))}::uuid[],
                  ${finals.map(({ amount }) => amount.toString())}::bigint[]) as late (id, amount)
     where request.id = late.id and request.source = 'checkpoint' and request.late_at is null
    returning request.id
  `.execute(tx.kysely);
  return rows.length;
}

const isRetained = sql`id >= (select usage_archive_cutoff())`;

/** The costs of this organisation's requests. Foreign, unrecorded and archived requests are left out. */
export async function findCosts(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  ids: readonly RequestId[],
): Promise<ReadonlyMap<RequestId, bigint>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ id: string; cost_nano_usd: bigint }>`
    select id, cost_nano_usd from inference_requests
     where id = any(${ids.map(toUuid)}::uuid[]) and org_id = ${toUuid(orgId)} and mode = ${mode} and ${isRetained}
  `.execute(reader.kysely);
  return new Map(rows.map((row) => [fromUuid('req', row.id), row.cost_nano_usd]));
}

interface RequestRow {
  id: string;
  org_id: string;
  mode: Mode;
  model: string;
  deployment: string | null;
  created_at: Date;
  streamed: boolean;
  cancelled: boolean;
  finish_reason: string | null;
  latency_ms: bigint;
  ttft_ms: bigint | null;
  generation_ms: bigint | null;
  tokens_prompt: bigint;
  tokens_cached: bigint;
  tokens_completion: bigint;
  image_pixel_steps: bigint;
  characters: bigint;
  cost_nano_usd: bigint;
  attempts: readonly UsageAttempt[];
}

const orNull = (count: bigint | null): number | null => (count === null ? null : Number(count));

function toRequestRecord(row: RequestRow): RequestRecord {
  return {
    id: fromUuid('req', row.id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    model: row.model,
    deployment: row.deployment,
    createdAt: row.created_at,
    streamed: row.streamed,
    cancelled: row.cancelled,
    finishReason: row.finish_reason,
    latencyMs: Number(row.latency_ms),
    ttftMs: orNull(row.ttft_ms),
    generationMs: orNull(row.generation_ms),
    tokensPrompt: Number(row.tokens_prompt),
    tokensCached: Number(row.tokens_cached),
    tokensCompletion: Number(row.tokens_completion),
    imagePixelSteps: Number(row.image_pixel_steps),
    characters: Number(row.characters),
    cost: row.cost_nano_usd,
    attempts: row.attempts.map(({ startedAtMs, ...attempt }) => ({
      ...attempt,
      startedAt: new Date(startedAtMs),
    })),
  };
}

const requestColumns = sql`
  id, org_id, mode, model, deployment, created_at, streamed, cancelled, finish_reason, latency_ms, ttft_ms,
  generation_ms, tokens_prompt, tokens_cached, tokens_completion, image_pixel_steps, characters, cost_nano_usd, attempts`;

export async function findRequest(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  id: RequestId,
): Promise<RequestRecord | null> {
  const { rows } = await sql<RequestRow>`
    select ${requestColumns}
      from inference_requests
     where id = ${toUuid(id)} and org_id = ${toUuid(orgId)} and mode = ${mode} and ${isRetained}
  `.execute(reader.kysely);
  const [row] = rows;
  return row === undefined ? null : toRequestRecord(row);
}

export interface RequestBatch {
  readonly transferId: TransferId;
  readonly first: RequestId;
}

/** The batch whose transfer has this request as its cause. Other requests of the transfer do not identify it. */
export async function findBatch(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  first: RequestId,
): Promise<RequestBatch | null> {
  const { rows } = await sql<{ transfer_id: string }>`
    select request.transfer_id
      from inference_requests request
     where request.id = ${toUuid(first)} and request.org_id = ${toUuid(orgId)} and request.mode = ${mode}
       and ${isRetained} and ${hasCause('request.transfer_id', { kind: 'inference', id: first })}
  `.execute(reader.kysely);
  const [row] = rows;
  return row === undefined ? null : { transferId: fromUuid('trf', row.transfer_id), first };
}

/** Requests of a batch by their ids. All were created in one month, so only the partitions of that month are read. */
export async function listBatch(
  reader: Reader,
  orgId: OrgId,
  { transferId, first }: RequestBatch,
  page: { readonly limit: number; readonly after: RequestId | null },
): Promise<readonly RequestRecord[]> {
  const month = monthOf(new Date(timeOf(first)));
  const after = page.after === null ? sql`true` : sql`id > ${toUuid(page.after)}`;
  const { rows } = await sql<RequestRow>`
    select ${requestColumns}
      from inference_requests
     where transfer_id = ${toUuid(transferId)} and org_id = ${toUuid(orgId)}
       and id >= ${firstIdFrom(month)} and id < ${firstIdAfter(monthAfter(month))} and ${isRetained} and ${after}
     order by id
     limit ${page.limit + 1}
  `.execute(reader.kysely);
  return rows.map(toRequestRecord);
}
