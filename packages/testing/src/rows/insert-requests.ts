import { systemClock } from '@millrace/platform/clock';
import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import {
  toUuid,
  type KeyId,
  type LeaseId,
  type OrgId,
  type RequestId,
  type TransferId,
} from '@millrace/platform/ids';
import { testIds } from './builders.ts';

/** An inference request as the usage sink records it, without a gateway. */
export interface RequestRow {
  readonly orgId: OrgId;
  readonly id?: RequestId;
  readonly mode?: Mode;
  readonly keyId?: KeyId;
  readonly leaseId?: LeaseId;
  readonly cost?: bigint;
  /** The cost by default. */
  readonly priced?: bigint;
  readonly reserved?: bigint;
  readonly outcome?: 'charged' | 'late' | 'unknown_lease' | 'overpriced' | 'free';
  readonly transferId?: TransferId | null;
}

/** One nano-USD per character, so that any cost has a price. */
const insertedPriceId = '01900000-0000-7000-8000-00000000c0de';
const model = 'planted';
const attempt = { deployment: 'deployment-one', durationMs: 149, status: 200, error: null };

export async function insertRequest(handle: Reader, request: RequestRow): Promise<RequestId> {
  const { orgId, id = testIds.next('req'), mode = 'live', transferId = null } = request;
  const { outcome = mode === 'live' ? 'charged' : 'free' } = request;
  const { cost = 1_234n, reserved = cost } = request;
  const priced = outcome === 'free' ? 0n : (request.priced ?? cost);
  const now = systemClock.now();
  await handle.kysely
    .insertInto('prices')
    .values({
      id: insertedPriceId,
      subject_kind: 'model',
      model,
      model_unit: 'character',
      unit: 'character',
      price_nano_usd: 1n,
      valid_from: new Date(0),
      created_at: new Date(0),
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await handle.kysely
    .insertInto('inference_requests')
    .values({
      id: toUuid(id),
      org_id: toUuid(orgId),
      mode,
      key_id: toUuid(request.keyId ?? testIds.next('key')),
      lease_id: outcome !== 'free' ? toUuid(request.leaseId ?? testIds.next('lse')) : null,
      gateway_id: 'planted.1',
      model,
      deployment: 'deployment-one',
      created_at: now,
      streamed: true,
      cancelled: false,
      finish_reason: 'stop',
      latency_ms: 150n,
      ttft_ms: 30n,
      generation_ms: 120n,
      tokens_prompt: 12n,
      tokens_cached: 3n,
      tokens_completion: 40n,
      image_pixel_steps: 0n,
      characters: priced,
      reserved_nano_usd: reserved,
      priced_nano_usd: priced,
      cost_nano_usd: outcome === 'charged' ? cost : 0n,
      price_ids: [insertedPriceId],
      attempts: JSON.stringify([{ ...attempt, startedAtMs: now.getTime() }]),
      source: 'final',
      outcome,
      transfer_id: transferId === null ? null : toUuid(transferId),
      recorded_at: now,
    })
    .execute();
  return id;
}
