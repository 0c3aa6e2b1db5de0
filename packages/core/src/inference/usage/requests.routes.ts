import type { Contract } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import { Fault, isFault } from '@millrace/platform/fault';
import { requirePrincipal, type HttpServer } from '@millrace/platform/http';
import { parseId, toUuid, type RequestId } from '@millrace/platform/ids';
import type { NanoUsd } from '@millrace/platform/money';
import { firstRequestOf } from '../../billing/index.ts';
import { readArchiveCutoff } from '../../credit-leases/index.ts';
import { pageById, positionFromCursor } from '../../identity/index.ts';
import { modelPriceFor, requestCost } from '../../prices/index.ts';
import { findBatch, findCosts, findRequest, listBatch } from './requests.store.ts';
import type { RequestRecord } from './requests.ts';

export interface RequestRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
}

/** Cost and details of single inference requests, only of the caller's organisation in the mode of its key. */
export function serveRequestUsage({ server, operations, db }: RequestRoutes): void {
  server.serve(operations.getRequestCost, async ({ body, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const ids = [...new Set(body.requestIds)].flatMap((text) => parseId('req', text) ?? []);
    const costs = await findCosts(db, orgId, mode, ids);
    const requests = ids.flatMap((requestId) => {
      const cost = costs.get(requestId);
      return cost === undefined ? [] : [{ requestId, costNanoUsd: Number(cost) }];
    });
    return { requests };
  });

  server.serve(operations.getRequestUsage, async ({ params, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const id = parseId('req', params.requestId);
    const found = id === null ? null : await findRequest(db, orgId, mode, id);
    if (found === null) throw await notFound(db, 'REQUEST_NOT_FOUND', id);
    return toWireRequest(found, mode === 'test' ? await readLiveCost(db, found) : null);
  });

  server.serve(operations.listBatchRequests, async ({ params, query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const id = parseId('bat', params.batchId);
    const first = id === null ? null : firstRequestOf(id);
    const batch = first === null ? null : await findBatch(db, orgId, mode, first);
    if (batch === null) throw await notFound(db, 'BATCH_NOT_FOUND', first);
    const { limit, cursor } = query;
    const rows = await listBatch(db, orgId, batch, { limit, after: positionFromCursor('req', cursor) });
    return pageById(rows, limit, (request) => toWireRequest(request, null));
  });
}

/** Says from when details exist if the id is older, for existing, absent and foreign requests alike. */
async function notFound(
  db: Db,
  reason: 'REQUEST_NOT_FOUND' | 'BATCH_NOT_FOUND',
  id: RequestId | null,
): Promise<Fault> {
  const cutoff = await readArchiveCutoff(db);
  if (id === null || toUuid(id) >= cutoff) return new Fault(reason);
  // The cutoff is the smallest id of a millisecond, so it has no version and is no id of a request.
  const detailsSince = new Date(Number.parseInt(cutoff.replaceAll('-', '').slice(0, 12), 16)).toISOString();
  return new Fault(reason, {
    message: `Details of single requests exist since ${detailsSince.slice(0, 10)}; older ones are deleted.`,
    suggestion: 'Use the ledger, usage reports and cost exports, which have the costs of all times.',
    extra: { detailsSince },
  });
}

/** The cost in live mode of a request of test mode, which is free; null if the model has no price. */
async function readLiveCost(db: Db, request: RequestRecord): Promise<NanoUsd | null> {
  const { orgId, model, imagePixelSteps, characters } = request;
  const price = await modelPriceFor(db, orgId, 'live', model, db.clock.now());
  const tokens = {
    prompt: request.tokensPrompt,
    cached: request.tokensCached,
    completion: request.tokensCompletion,
  };
  try {
    return requestCost(price, { tokens, imagePixelSteps, characters });
  } catch (error) {
    if (isFault(error) && error.reason === 'PRICE_NOT_AVAILABLE') return null;
    throw error;
  }
}

/** `liveCost`: null in live mode, or if the model has no price. */
function toWireRequest(request: RequestRecord, liveCost: NanoUsd | null) {
  return {
    id: request.id,
    model: request.model,
    deployment: request.deployment,
    created_at: request.createdAt.toISOString(),
    streamed: request.streamed,
    cancelled: request.cancelled,
    finish_reason: request.finishReason,
    latency_ms: request.latencyMs,
    ttft_ms: request.ttftMs,
    generation_ms: request.generationMs,
    tokens_prompt: request.tokensPrompt,
    tokens_completion: request.tokensCompletion,
    tokens_cached: request.tokensCached,
    cost_nano_usd: Number(request.cost),
    ...(liveCost === null ? {} : { live_cost_nano_usd: Number(liveCost) }),
    attempts: request.attempts.map((attempt) => ({
      deployment: attempt.deployment,
      started_at: attempt.startedAt.toISOString(),
      duration_ms: attempt.durationMs,
      status: attempt.status,
      error: attempt.error,
    })),
  };
}
