import type { FrozenModelPrice } from '@millrace/core/prices';
import { Fault } from '@millrace/platform/fault';
import { hasActiveDeployment, priceOf, toWireModelList, toWireModelPrice } from '../key-feed/index.ts';
import { requireModel } from './requests/admission.ts';
import { responseHeaders, sendJson } from './http/responses.ts';
import type { GatewayDeps } from './gateway-deps.ts';
import { requirePrice } from './requests/pricing.ts';
import type { GatewayRequest } from './http/server.ts';

/** Lists models and prices from the key feed. */

export function serveModels(deps: GatewayDeps, inbound: GatewayRequest): void {
  const { response, requestId, rate } = inbound;
  const { key } = inbound.caller;
  const models = deps.keyFeed.models(key.orgId, key.mode);
  // A model is listed if it or one of its fallbacks has a deployment.
  const running = new Set(models.filter(hasActiveDeployment).map(({ name }) => name));
  const offered = models.filter(
    ({ name, fallbacks }) => running.has(name) || fallbacks.some((other) => running.has(other)),
  );
  const list = toWireModelList(offered, key);
  sendJson(response, 200, responseHeaders(requestId, rate()), JSON.stringify(list));
}

export function serveModelPrice(deps: GatewayDeps, inbound: GatewayRequest): void {
  const { caller, params, response, requestId, rate } = inbound;
  const [name] = params;
  if (name === undefined) throw new Fault('ROUTE_NOT_FOUND');
  const model = requireModel(deps, caller, name);
  const price = requirePrice(model, caller.key.orgId, deps.clock.nowMs());
  const livePrice = caller.key.mode === 'test' ? livePriceOf(deps, caller.key.orgId, model.name) : null;
  const body = JSON.stringify(toWireModelPrice(model, price, livePrice));
  sendJson(response, 200, responseHeaders(requestId, rate()), body);
}

/** Null if live mode does not sell the model, or while parts of its contract prices are missing. */
function livePriceOf(deps: GatewayDeps, orgId: string, name: string): FrozenModelPrice | null {
  const model = deps.keyFeed.model(name, orgId, 'live');
  if (model === null || model.contractParts !== undefined) return null;
  return priceOf(model, orgId, deps.clock.nowMs());
}
