import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { toUuid, type OrgId, type RequestId } from '@millrace/platform/ids';
import { testIds } from './builders.ts';

/** An inference request as the sink would have recorded it, without a gateway or a ledger behind it. */
export async function plantRequest(
  db: Db,
  request: { readonly orgId: OrgId; readonly mode?: Mode; readonly cost?: bigint; readonly model?: string },
): Promise<RequestId> {
  const { orgId, mode = 'live', cost = 1_234n, model = 'planted' } = request;
  const id = testIds.next('req');
  const now = systemClock.now();
  await db.kysely
    .insertInto('inference_requests')
    .values({
      id: toUuid(id),
      org_id: toUuid(orgId),
      mode,
      key_id: toUuid(testIds.next('key')),
      lease_id: mode === 'live' ? toUuid(testIds.next('lse')) : null,
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
      characters: 0n,
      reserved_nano_usd: cost,
      priced_nano_usd: cost,
      cost_nano_usd: mode === 'live' ? cost : 0n,
      price_ids: [],
      attempts: JSON.stringify([
        {
          deployment: 'deployment-one',
          startedAtMs: now.getTime(),
          durationMs: 149,
          status: 200,
          error: null,
        },
      ]),
      source: 'final',
      outcome: mode === 'live' ? 'charged' : 'free',
      recorded_at: now,
    })
    .execute();
  return id;
}
