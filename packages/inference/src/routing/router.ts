import type { DeploymentEntry, ModelEntry } from '@millrace/core/inference';
import type { Clock } from '@millrace/platform/clock';
import type { Logger } from '@millrace/platform/log';
import { candidateOf, chooseDeployment, NO_CAPACITY, NO_DEPLOYMENT } from './choose-deployment.ts';
import { DeploymentState } from './deployment-state.ts';
import { EngineMetrics, recordQueueTime, type QueueOutcome } from './engine-metrics.ts';
import { hashText, mix32 } from './hash.ts';
import { clampRetryAfterMs, routerLimits, type RouterLimits } from './limits.ts';
import { ModelState } from './model-state.ts';
import type { ModelSnapshot, MonitoredDeployment, QueuedRequest } from './model-state.ts';
import { createProber, type Prober } from './prober.ts';
import type {
  DeploymentView,
  NoRoute,
  DeploymentPriceOf,
  Route,
  Router,
  RouteRequest,
} from './router-types.ts';
import { DeploymentCall, type UpstreamCallHost } from './upstream-call.ts';
import { DeploymentMonitor } from './deployment-monitor.ts';

export interface RouterOptions {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Seeds the spread of requests without a prefix, so that gateways do not spread in step. */
  readonly gatewayId: string;
  readonly limits?: Partial<RouterLimits>;
  /** Default: probes over HTTP. */
  readonly prober?: Prober;
}

/** Models and deployments unused for this time are removed. */
const UNUSED_TTL_MS = 600_000;

export function createRouter(options: RouterOptions): Router {
  return new DefaultRouter(options);
}

class DefaultRouter implements Router {
  readonly #clock: Clock;
  readonly #log: RouterOptions['log'];
  readonly #limits: RouterLimits;
  readonly #prober: Prober;
  readonly #host: UpstreamCallHost;
  readonly #placements = new WeakMap<ModelEntry, ModelSnapshot>();
  readonly #models = new Map<string, ModelState>();
  readonly #deployments = new Map<string, Pick<MonitoredDeployment, 'state' | 'watch'>>();
  readonly #withLine = new Set<ModelState>();
  #spread: number;
  #isClosed = false;

  constructor(options: RouterOptions) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#limits = { ...routerLimits, ...options.limits };
    this.#prober = options.prober ?? createProber();
    this.#spread = hashText(options.gatewayId);
    this.#host = { clock: options.clock, onEnd: (model) => this.#serveLine(model) };
  }

  route(entry: ModelEntry, request: RouteRequest, priceOf?: DeploymentPriceOf): Route {
    const nowMs = this.#clock.monotonicMs();
    const placement = this.#placementOf(entry, nowMs);
    const { model } = placement;
    // A retry has already waited in the queue.
    if (request.except.size === 0) {
      model.budget.countRequest(nowMs);
      if (model.line.size > 0) {
        this.#serveLine(model);
        if (model.line.size > 0) return model.full();
      }
    }
    return this.#attempt(placement, this.#keyOf(request), request, priceOf, nowMs);
  }

  waitForTurn(
    entry: ModelEntry,
    request: RouteRequest,
    signal: AbortSignal,
    priceOf?: DeploymentPriceOf,
  ): Promise<Route> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const nowMs = this.#clock.monotonicMs();
      const placement = this.#placementOf(entry, nowMs);
      const { model } = placement;
      const key = this.#keyOf(request);
      if (model.line.size === 0 || this.#isClosed) {
        const route = this.#attempt(placement, key, request, priceOf, nowMs);
        if (route.outcome !== 'full' || this.#isClosed) {
          resolve(route);
          return;
        }
      }
      const before = model.line.placeFor(request.orgId);
      if (before === null || model.waitMs(before) > this.#limits.line.maxWaitMs) {
        resolve(model.full());
        return;
      }
      const leave = (outcome: QueueOutcome): void => {
        recordQueueTime(entry.name, outcome, this.#clock.monotonicMs() - nowMs);
        cancelTimer();
        signal.removeEventListener('abort', onAbort);
        if (model.line.size === 0) this.#withLine.delete(model);
      };
      const settle = (route: Route): void => {
        leave(route.outcome === 'to' ? 'served' : 'refused');
        resolve(route);
      };
      const waiter: QueuedRequest = { orgId: request.orgId, key, request, priceOf, settle };
      const onAbort = (): void => {
        model.line.remove(waiter);
        leave('left');
        reject(signal.reason);
      };
      const cancelTimer = this.#clock.after(this.#limits.line.maxWaitMs, () => {
        model.line.remove(waiter);
        settle(model.full());
      });
      signal.addEventListener('abort', onAbort, { once: true });
      model.line.add(waiter);
      this.#withLine.add(model);
    });
  }

  mayRetry(entry: ModelEntry): boolean {
    const nowMs = this.#clock.monotonicMs();
    return this.#placementOf(entry, nowMs).model.budget.take(nowMs);
  }

  isUp(entry: ModelEntry): boolean {
    const nowMs = this.#clock.monotonicMs();
    const { deployments } = this.#placementOf(entry, nowMs);
    this.#attend(deployments, nowMs);
    for (const { entry: deployment, state } of deployments) {
      if (deployment.weight > 0 && state.health !== 'down' && state.breaker !== 'open') return true;
    }
    return false;
  }

  views(entry: ModelEntry): readonly DeploymentView[] {
    const nowMs = this.#clock.monotonicMs();
    return this.#placementOf(entry, nowMs).deployments.map(({ entry: deployment, state }) => {
      state.refresh(nowMs);
      const { inFlight, others, waiting, isSaturated, health, breaker, isOnTrial } = state;
      const { firstTokenMs, tokensPerSecond } = state;
      return {
        ...{ entry: deployment, inFlight, others, waiting, isSaturated, health, breaker, isOnTrial },
        ...{ firstTokenMs, tokensPerSecond },
      };
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const { watch } of this.#deployments.values()) watch.close();
    for (const model of this.#withLine) {
      model.line.offer((waiter) => {
        waiter.settle(closing);
        return 'served';
      });
    }
    this.#withLine.clear();
    this.#prober.close();
  }

  #attempt(
    placement: ModelSnapshot,
    key: number,
    request: RouteRequest,
    priceOf: DeploymentPriceOf | undefined,
    nowMs: number,
  ): Route {
    const { deployments, model } = placement;
    model.lastUsedMs = nowMs;
    this.#attend(deployments, nowMs);
    const index = chooseDeployment(deployments, key, request, this.#limits.choice, priceOf);
    if (index === NO_CAPACITY) return model.full();
    const deployment = index === NO_DEPLOYMENT ? undefined : deployments[index];
    return deployment === undefined
      ? noDeploymentRoute(deployments, nowMs)
      : new DeploymentCall(this.#host, model, deployment, nowMs);
  }

  /** Marks the deployments as used and starts their probes. */
  #attend(deployments: readonly MonitoredDeployment[], nowMs: number): void {
    for (const { state, watch } of deployments) {
      state.lastUsedMs = nowMs;
      state.refresh(nowMs);
      watch.start();
    }
  }

  #serveLine(model: ModelState): void {
    const placement = model.latest;
    if (model.line.size === 0 || placement === null) return;
    const nowMs = this.#clock.monotonicMs();
    model.line.offer((waiter) => {
      const route = this.#attempt(placement, waiter.key, waiter.request, waiter.priceOf, nowMs);
      // A retry excludes some deployments, so capacity that it cannot use might suit the next request.
      if (route.outcome === 'full') return waiter.request.except.size > 0 ? 'passed' : 'stop';
      waiter.settle(route);
      return 'served';
    });
    if (model.line.size === 0) this.#withLine.delete(model);
  }

  readonly #onNews = (): void => {
    for (const model of this.#withLine) this.#serveLine(model);
  };

  #keyOf(request: RouteRequest): number {
    // Without a prefix there is no cache to hit: a new key each time spreads the requests by weight.
    if (request.prefix === '') return mix32((this.#spread += 1));
    return hashText(request.prefix, this.#limits.prefixChars, hashText(request.orgId));
  }

  #placementOf(entry: ModelEntry, nowMs: number): ModelSnapshot {
    const known = this.#placements.get(entry);
    return known === undefined || isOutdated(known.deployments) ? this.#place(entry, nowMs) : known;
  }

  /** Adds a new version of a model's entry. Memory grows only here, so unused entries are removed here. */
  #place(entry: ModelEntry, nowMs: number): ModelSnapshot {
    this.#remove(nowMs - UNUSED_TTL_MS);
    const name = `${entry.mode} ${entry.name}`;
    const model = this.#models.get(name) ?? new ModelState(this.#limits);
    this.#models.set(name, model);
    model.lastUsedMs = nowMs;
    const deployments = entry.deployments.map((deployment) => this.#entryOf(entry.name, deployment, nowMs));
    const placement = { entry, model, deployments };
    model.latest = placement;
    this.#placements.set(entry, placement);
    return placement;
  }

  #entryOf(model: string, entry: DeploymentEntry, nowMs: number): MonitoredDeployment {
    const metrics = new EngineMetrics(model, entry.engine);
    // Another address is another server: the state of the old one does not apply.
    const name = `${entry.id} ${entry.engine} ${entry.address}`;
    const known = this.#deployments.get(name);
    if (known !== undefined) {
      known.state.lastUsedMs = nowMs;
      known.watch.entry = entry;
      return { ...candidateOf(entry, known.state), ...known, metrics };
    }
    const { breaker, measuresLastMs, probe } = this.#limits;
    const state = new DeploymentState({ breaker, measuresLastMs, readingsLastMs: probe.everyMs * 3 });
    state.lastUsedMs = nowMs;
    const watch = new DeploymentMonitor({
      ...{ entry, state, clock: this.#clock, log: this.#log, probe: this.#prober.probe, limits: probe },
      onNews: this.#onNews,
    });
    if (this.#isClosed) watch.close();
    this.#deployments.set(name, { state, watch });
    return { ...candidateOf(entry, state), state, watch, metrics };
  }

  #remove(beforeMs: number): void {
    for (const [name, { state, watch }] of this.#deployments) {
      if (state.lastUsedMs >= beforeMs || state.inFlight > 0) continue;
      state.isRemoved = true;
      watch.close();
      this.#deployments.delete(name);
    }
    for (const [name, model] of this.#models) {
      if (model.lastUsedMs < beforeMs && model.line.size === 0) this.#models.delete(name);
    }
  }
}

const closing: NoRoute = { outcome: 'none', retryAfterMs: clampRetryAfterMs(0) };

function isOutdated(deployments: readonly MonitoredDeployment[]): boolean {
  for (const { state } of deployments) if (state.isRemoved) return true;
  return false;
}

function noDeploymentRoute(deployments: readonly MonitoredDeployment[], nowMs: number): NoRoute {
  let soonestMs = Number.POSITIVE_INFINITY;
  for (const { state } of deployments) {
    if (state.reopensAtMs !== null) soonestMs = Math.min(soonestMs, state.reopensAtMs - nowMs);
  }
  const retryAfterMs = clampRetryAfterMs(soonestMs === Number.POSITIVE_INFINITY ? 0 : soonestMs);
  return { outcome: 'none', retryAfterMs };
}
