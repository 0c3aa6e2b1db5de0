import type { KeyEntry, ModelEntry, OrganisationEntry } from '@millrace/core/inference';
import type { CreditLeaseClient, ReserveRejection, Reservation } from '@millrace/credit-leases/client';
import type { RequestLimit } from '@millrace/credit-leases/protocol';
import { Fault } from '@millrace/platform/fault';
import { rateLimitFault } from '@millrace/platform/http/rate-headers';
import type { BudgetId, OrgId, RequestId } from '@millrace/platform/ids';
import { mayUseModel, hasActiveDeployment, type KeyFeed } from '../../key-feed/index.ts';
import type { Router } from '../../routing/index.ts';
import type { UsageReporter } from '../../usage/index.ts';
import type { Caller } from '../http/authenticator.ts';
import type { FundingStatus } from '../http/funding-status.ts';
import { insufficientFundsOptions } from './insufficient-funds.ts';
import type { GatewayRequest } from '../http/server.ts';
import type { PendingSettlements } from './pending-settlements.ts';

/** Admits a request: resolves the model, checks access, counts limits and reserves credit. */

export interface AdmissionDeps {
  readonly keyFeed: KeyFeed;
  readonly funds: FundingStatus;
  readonly leaseClient: CreditLeaseClient;
  readonly router: Router;
  readonly reporter: UsageReporter;
  readonly settlements: PendingSettlements;
}

const minuteMs = 60_000;
const reservationAttributes = { 'db.system.name': 'valkey', 'db.operation.name': 'reserve' } as const;

/** The model by name or alias, if this key may use it. Other callers must not learn that it exists. */
export function requireModel(deps: Pick<AdmissionDeps, 'keyFeed'>, caller: Caller, name: string): ModelEntry {
  const { key } = caller;
  const model = deps.keyFeed.model(name, key.orgId, key.mode);
  if (model === null) {
    throw new Fault('MODEL_NOT_FOUND', {
      message: `There is no model ${JSON.stringify(name.slice(0, 200))}.`,
      issues: [{ path: ['model'], message: 'is not a model that this key can use', code: 'unknown_model' }],
    });
  }
  if (!mayUseModel(key, model)) throw new Fault('MODEL_NOT_ALLOWED');
  return model;
}

/** The model, or its first fallback that suits the request and has a usable deployment. */
export function modelOrFallback(
  { keyFeed, router }: Pick<AdmissionDeps, 'keyFeed' | 'router'>,
  { key }: Caller,
  model: ModelEntry,
  isFit: (other: ModelEntry) => boolean,
): ModelEntry {
  if (model.fallbacks.length === 0 || router.isUp(model)) return model;
  for (const name of model.fallbacks) {
    const other = keyFeed.model(name, key.orgId, key.mode);
    if (other === null || other.modality !== model.modality || !mayUseModel(key, other)) continue;
    if (isFit(other) && router.isUp(other)) return other;
  }
  return model;
}

/** Cached per key and model, so that an unchanged list keeps its identity. */
interface CachedLimits {
  readonly organisation: OrganisationEntry;
  readonly list: readonly RequestLimit[];
}

const limitCache = new WeakMap<KeyEntry, WeakMap<ModelEntry, CachedLimits>>();

export function limitsFor({ key, organisation }: Caller, model: ModelEntry): readonly RequestLimit[] {
  let ofKey = limitCache.get(key);
  if (ofKey === undefined) limitCache.set(key, (ofKey = new WeakMap()));
  const found = ofKey.get(model);
  if (found?.organisation === organisation) return found.list;
  const list = listLimits(key, organisation, model);
  ofKey.set(model, { organisation, list });
  return list;
}

function listLimits(key: KeyEntry, organisation: OrganisationEntry, model: ModelEntry): RequestLimit[] {
  const windowMs = minuteMs;
  const ofOrganisation = { limit: organisation.requestsPerMinute, windowMs, counts: 'requests' } as const;
  const limits: RequestLimit[] = [
    { name: 'organisation', scope: 'organisation', subject: key.orgId, ...ofOrganisation },
  ];
  const ofKey = { scope: 'key', subject: key.keyId, windowMs } as const;
  if (key.requestsPerMinute !== null) {
    limits.push({ ...ofKey, name: 'key', limit: key.requestsPerMinute, counts: 'requests' });
  }
  if (key.tokensPerMinute !== null) {
    limits.push({ ...ofKey, name: 'key-tokens', limit: key.tokensPerMinute, counts: 'tokens' });
  }
  if (model.requestsPerMinute !== null) {
    const limit = model.requestsPerMinute;
    limits.push({ name: 'model', scope: 'model', subject: model.name, limit, windowMs, counts: 'requests' });
  }
  return limits;
}

export interface ReservationAmounts {
  readonly requestId: RequestId;
  readonly mostNanoUsd: bigint;
  /** Below `mostNanoUsd` if a shorter response is acceptable. */
  readonly leastNanoUsd: bigint;
  readonly tokens: number;
}

/** One Valkey call that counts all limits and reserves the worst case, or names the refusal. */
export async function reserveCredit(
  deps: Pick<AdmissionDeps, 'funds' | 'leaseClient' | 'reporter' | 'settlements'>,
  { caller, onRate, trace }: Pick<GatewayRequest, 'caller' | 'onRate' | 'trace'>,
  model: ModelEntry,
  price: ReservationAmounts,
): Promise<Reservation> {
  // Checked first, because a reservation would hold money for a request that cannot be served.
  if (!hasActiveDeployment(model)) throw new Fault('MODEL_NOT_AVAILABLE', { retryAfterSeconds: 30 });
  // Usage that is not stored cannot be charged, so no further request starts.
  if (deps.reporter.isFull()) throw new Fault('LEDGER_UNAVAILABLE', { retryAfterSeconds: 1 });
  const { key } = caller;
  const span = trace?.child('reserve credit', { kind: 'client', attributes: reservationAttributes });
  const reserving = deps.leaseClient.reserve({
    orgId: key.orgId as OrgId,
    mode: key.mode,
    requestId: price.requestId,
    amount: price.mostNanoUsd,
    least: price.leastNanoUsd,
    budgets: key.budgetIds as readonly BudgetId[],
    limits: limitsFor(caller, model),
    tokens: price.tokens,
    nextSettled: () => deps.settlements.next(key.orgId),
  });
  const got = await (span === undefined ? reserving : reserving.finally(() => span.end()));
  // Reported for refusals too: every response shows the limits.
  onRate(got.rate);
  if ('refused' in got) {
    if (got.refused === 'INSUFFICIENT_BALANCE') deps.funds.note(key.orgId, false);
    throw rejectionFault(got);
  }
  if (got.leaseId !== null) deps.funds.note(key.orgId, true);
  return got;
}

function rejectionFault({ refused, rate, funds }: ReserveRejection): Fault {
  if (refused === 'RATE_LIMITED' && rate.refusedBy !== null) return rateLimitFault(rate.refusedBy);
  if (funds !== undefined) return new Fault(refused, insufficientFundsOptions(funds));
  return new Fault(refused, refused === 'LEDGER_UNAVAILABLE' ? { retryAfterSeconds: 1 } : {});
}
