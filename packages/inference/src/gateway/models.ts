import { Fault } from '@millrace/platform/fault';
import { runsSomewhere, toWireModelList, toWireModelPrice } from '../book/index.ts';
import { findModel } from './admission.ts';
import { answerHeaders, sendJson } from './answers.ts';
import type { GatewayParts } from './parts.ts';
import { priceFor } from './pricing.ts';
import type { Ask } from './server.ts';

/** What can be called, and what it costs: read from the book alone. */

export function serveModels({ book }: GatewayParts, { caller, response, requestId, rate }: Ask): void {
  const { key } = caller;
  const models = book.models(key.orgId, key.mode);
  // A model is offered once a deployment serves it, or a model that stands in for it.
  const running = new Set(models.filter(runsSomewhere).map(({ name }) => name));
  const offered = models.filter(
    ({ name, fallbacks }) => running.has(name) || fallbacks.some((other) => running.has(other)),
  );
  const list = toWireModelList(offered, key);
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
