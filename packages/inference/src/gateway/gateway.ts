import type { ContractSchemas } from '@millrace/contract';
import type { CreditLeaseClient } from '@millrace/credit-leases/client';
import type { Clock } from '@millrace/platform/clock';
import type { IdSource } from '@millrace/platform/ids';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import { createBodyBudget } from '@millrace/platform/http/body-budget';
import { createCidrSet } from '@millrace/platform/http/client-ip';
import type { Limiter } from '@millrace/platform/limiter';
import type { Logger } from '@millrace/platform/log';
import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { KeyFeed } from '../key-feed/index.ts';
import type { Router } from '../routing/index.ts';
import type { UsageReporter } from '../usage/index.ts';
import { createRequestCounter } from './http/request-counter.ts';
import { createCors } from './http/cors.ts';
import { Authenticator } from './http/authenticator.ts';
import type { EngineSlots } from './upstream/engine-slots.ts';
import type { MeteredRequest } from './requests/metered-request.ts';
import { createFundingStatus } from './http/funding-status.ts';
import { createFailedLookupLimiter } from './http/failed-lookup-limiter.ts';
import { InFlightSet } from './http/in-flight-set.ts';
import { gatewayRoutes } from './gateway-routes.ts';
import { createGatewayServer } from './http/server.ts';
import { createPendingSettlements } from './requests/pending-settlements.ts';
import { createTemplateOverheads } from './requests/template-overheads.ts';
import { createUpstreams, type UpstreamsOptions } from './upstream/upstreams.ts';
import type { GatewayDeps } from './gateway-deps.ts';
import { defaultGatewayLimits, type GatewayLimits } from './http/gateway-limits.ts';

export interface GatewayOptions {
  readonly clock: Clock;
  readonly ids: Pick<IdSource, 'next'>;
  readonly log: Logger;
  readonly keyFeed: KeyFeed;
  readonly leaseClient: CreditLeaseClient;
  readonly router: Router;
  readonly reporter: UsageReporter;
  /** On the Valkey of the pots, where paid requests are counted. */
  readonly limiter: Limiter;
  /** Refused keys a minute from one address. */
  readonly failedAuthRpm: number;
  readonly trustedProxies: readonly string[];
  /** Whose pages may call from a browser; no page may unless said. */
  readonly consoleOrigins?: readonly string[];
  readonly schemas: Pick<ContractSchemas, 'chatRequest'>;
  readonly limits?: Partial<GatewayLimits>;
  readonly upstreams?: Partial<UpstreamsOptions>;
  /** Lets organisations reuse their prompts in slots of llama.cpp; nothing is reused unless given. */
  readonly slots?: EngineSlots | null;
  readonly tls?: { readonly cert: string; readonly key: string } | null;
}

export interface Gateway {
  readonly server: Server;
  /** Requests that have not ended, their reports included. */
  inFlight(): number;
  /** Takes no more; resolves when all have ended, or ends what is left after so long. */
  drain(forMs: number): Promise<void>;
  /** Ends everything that this made. What was handed in is closed by whoever made it. */
  close(): Promise<void>;
}

const checkIntervalMs = 250;
const drainPollMs = 20;
const leaseMaintenanceMs = 500;
/** Reports of requests that were cut at the end of a drain are still waited for. */
const afterDrainMs = 5_000;

class RequestTimeout extends Error {
  constructor() {
    super('The request took longer than any may.');
    this.name = 'TookTooLong';
  }
}

class ShuttingDown extends Error {
  constructor() {
    super('The gateway is shutting down.');
    this.name = 'ShuttingDown';
  }
}

function createDeps(options: GatewayOptions, running: InFlightSet<MeteredRequest>): GatewayDeps {
  const { clock, ids, log, leaseClient, keyFeed, router, reporter, limiter, failedAuthRpm } = options;
  const limits = { ...defaultGatewayLimits, ...options.limits };
  const trusted = createCidrSet(options.trustedProxies);
  const settlements = createPendingSettlements(clock);
  const lookups = createFailedLookupLimiter({ clock, failedPerMinute: failedAuthRpm });
  return {
    ...{ clock, ids, log, keyFeed, leaseClient, router, reporter, settlements, limits },
    templates: createTemplateOverheads(),
    authenticator: new Authenticator({ keyFeed, clock, trusted, lookups }),
    counting: createRequestCounter({ limiter, trusted, failedAuthRpm }),
    funds: createFundingStatus(clock),
    upstreams: createUpstreams({
      connectMs: 2_000,
      responseMs: limits.longestRequestMs,
      silenceMs: 60_000,
      connectionsPerEngine: 1_024,
      // Shorter than the five seconds after which common Python servers close an idle connection: a request sent into that
      // closing would fail.
      keepAliveMs: 4_000,
      clock,
      ...options.upstreams,
    }),
    slots: options.slots ?? null,
    exchanges: { clock, reporter, running, settler: leaseClient, settlements },
  };
}

export function createGateway(options: GatewayOptions): Gateway {
  const { clock, log, leaseClient } = options;
  const running = new InFlightSet<MeteredRequest>();
  const deps = createDeps(options, running);
  const { limits, upstreams } = deps;
  const open = new InFlightSet<ServerResponse>();
  let draining = false;
  const server = createGatewayServer({
    deps,
    routes: gatewayRoutes(deps, options.schemas),
    isDraining: () => draining,
    bodies: createBodyBudget(limits.bodies, limits.bodyBytes),
    open,
    crossOrigin: createCors(options.consoleOrigins ?? []),
    tls: options.tls ?? null,
  });
  const loops: Loop[] = [
    startLoop({ name: 'gateway deadlines', clock, log, idleMs: checkIntervalMs }, async () => {
      checkInFlight(running, deps);
      upstreams.closeUnused();
      return 'idle';
    }),
    startLoop({ name: 'gateway leases', clock, log, idleMs: leaseMaintenanceMs }, async () => {
      await leaseClient.maintain();
      return 'idle';
    }),
  ];

  /** Some are open and do not run yet, some run no more and are still being read: both are waited for. */
  async function waitUntilEmpty(ms: number): Promise<boolean> {
    const untilMs = clock.monotonicMs() + ms;
    const isEmpty = (): boolean => running.size === 0 && open.size === 0;
    while (!isEmpty() && clock.monotonicMs() < untilMs) await clock.sleep(drainPollMs);
    return isEmpty();
  }

  return {
    server,
    inFlight: () => running.size,
    async drain(forMs) {
      draining = true;
      for (const response of open.list()) response.shouldKeepAlive = false;
      // It stops listening and no more: its own way of closing also cuts the connections of answers that are written,
      // though their clients have not read them yet.
      const closed = new Promise<void>((resolve) => {
        NetServer.prototype.close.call(server, () => resolve());
      });
      if (!(await waitUntilEmpty(forMs))) {
        const left = { left: running.size, open: open.size };
        log.warn(left, 'requests are cut: the drain took as long as it may');
        for (const exchange of running.list()) exchange.abort(new ShuttingDown());
        await waitUntilEmpty(afterDrainMs);
      }
      server.close();
      server.closeAllConnections();
      await closed;
    },
    async close() {
      await Promise.all(loops.map((loop) => loop.stop()));
      server.closeAllConnections();
      await upstreams.close();
    },
  };
}

/** Ends requests that took too long or whose key was revoked, and reports how far the long ones have come. */
function checkInFlight(running: InFlightSet<MeteredRequest>, deps: GatewayDeps): void {
  const { clock, authenticator, limits } = deps;
  const nowMs = clock.monotonicMs();
  for (const exchange of running.list()) {
    if (exchange.isOver) continue;
    const fault = authenticator.recheck(exchange.caller);
    // The engine may still work on a request that is shut out, so the deadline below applies to it too.
    if (fault !== null) exchange.revokeAccess(fault);
    if (nowMs - exchange.startedMs >= limits.longestRequestMs) exchange.abort(new RequestTimeout());
    else if (nowMs - exchange.checkpointedMs >= limits.checkpointMs) exchange.checkpoint();
  }
}
