import { Fault } from '@millrace/platform/fault';
import { toWireModelList, toWireModelPrice } from '../book/index.ts';
import { findModel } from './admission.ts';
import { answerHeaders, sendJson } from './answers.ts';
import type { GatewayParts } from './parts.ts';
import { priceFor } from './pricing.ts';
import type { Ask } from './server.ts';

/** What can be called, and what it costs: read from the book alone. */

export function serveModels({ book }: GatewayParts, { caller, response, requestId, rate }: Ask): void {
  const { key } = caller;
  const list = toWireModelList(book.models(key.orgId, key.mode), key);
  sendJson(response, 200, answerHeaders(requestId, rate()), JSON.stringify(list));
}

export function serveModelPrice(
  parts: GatewayParts,
  { caller, params, response, requestId, rate }: Ask,
): void {
  const [name] = params;
  if (name === undefined) throw new Fault('ROUTE_NOT_FOUND');
  const model = findModel(parts, caller, name);
  const price = priceFor(model, caller.key.orgId, parts.clock.nowMs());
  const body = JSON.stringify(toWireModelPrice(model, price));
  sendJson(response, 200, answerHeaders(requestId, rate()), body);
}
