import { fromUuid, parseId, toUuid, type BatchId, type RequestId } from '@millrace/platform/ids';
import type { MoneyCause } from '../ledger/index.ts';

/**
 * Ledger lines of inference sum several requests and store the first request as their cause. A request is charged once,
 * so the same 128 bits identify the batch. Callers see the batch, because the line is not the cost of one request.
 */

export function batchOf(firstRequest: RequestId): BatchId {
  return fromUuid('bat', toUuid(firstRequest));
}

export function firstRequestOf(batch: BatchId): RequestId {
  return fromUuid('req', toUuid(batch));
}

export function publicCause({ kind, id }: MoneyCause): MoneyCause {
  const request = kind === 'inference' ? parseId('req', id) : null;
  return { kind, id: request === null ? id : batchOf(request) };
}

export function storedCauseId(kind: string, id: string): string {
  const batch = kind === 'inference' ? parseId('bat', id) : null;
  return batch === null ? id : firstRequestOf(batch);
}
