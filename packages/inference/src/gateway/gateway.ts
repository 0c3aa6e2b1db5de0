import type { ContractSchemas } from '@millrace/contract';
import type { CreditLeaseClient } from '@millrace/credit-leases/client';
import type { Clock } from '@millrace/platform/clock';
import type { IdSource } from '@millrace/platform/ids';
import { startLoop, type HealthHandler, type Loop } from '@millrace/platform/lifecycle';
import { createBodyBudget } from '@millrace/platform/http/body-budget';
import { createCidrSet } from '@millrace/platform/http/client-ip';
import type { MisroutedFinder } from '@millrace/platform/http/misrouted';
import type { Limiter } from '@millrace/platform/limiter';
import type { Logger } from '@millrace/platform/log';
import { gauge, onScrape } from '@millrace/platform/telemetry';
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
  /** Uses the Valkey of the credit leases, which also counts paid requests. */
  readonly limiter: Limiter;
  /** Refused keys per minute from one address. */
  readonly failedAuthRpm: number;
  readonly trustedProxies: readonly string[];
  /** Origins whose pages may call the gateway from a browser. Default: none. */
  readonly consoleOrigins?: readonly string[];
  /** Marks every response as one of a demo, because its amounts are play money. */
  readonly isDemo?: boolean;
  readonly schemas: Pick<ContractSchemas, 'chatRequest'>;
  readonly limits?: Partial<GatewayLimits>;
  readonly upstreams?: Partial<UpstreamsOptions>;
  /** Allows organisations to reuse their prompts in llama.cpp slots. Default: no reuse. */
  readonly slots?: EngineSlots | null;
  readonly tls?: { readonly cert: string; readonly key: string } | null;
  /** Finds requests for paths of apis. Default: none. */
  readonly misrouted?: MisroutedFinder;
  /** Responds to probes on the public port. Default: none. */
  readonly health?: HealthHandler | null;
  /** Once aborted, responses close their connections, so that clients are elsewhere before the drain. */
  readonly leaving?: AbortSignal;
}

export interface Gateway {
  readonly server: Server;
  /** Requests that have not ended, including their usage reports. */
  inFlight(): number;
  /** Accepts no more requests; resolves when all have ended, or aborts the rest after this time. */
  drain(forMs: number): Promise<void>;
  /** Closes only resources that the gateway created, not those in its options. */
  close(): Promise<void>;
}

const openResponses = gauge('millrace_gateway_open_responses');

const checkIntervalMs = 250;
const drainPollMs = 20;
const leaseMaintenanceMs = 500;
/** Time for the usage reports of requests that the drain aborted. */
const afterDrainMs = 5_000;

class RequestTimeout extends Error {
  constructor() {
    super('The request exceeded the maximum duration.');
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
      // Shorter than the 5 s after which common Python servers close idle connections: a request sent then would fail.
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
    isDraining: () => draining || options.leaving?.aborted === true,
    bodies: createBodyBudget(limits.bodies, limits.bodyBytes),
    open,
    crossOrigin: createCors(options.consoleOrigins ?? []),
    isDemo: options.isDemo ?? false,
    tls: options.tls ?? null,
    health: options.health ?? (() => false),
    misrouted: options.misrouted ?? (() => null),
  });
  const endScrapes = onScrape(() => openResponses.record(open.size));
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

  /** Waits for requests that have not started and for responses that are still being read. */
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
      // Only stop listening: `server.close` would also cut connections whose clients have not read their response yet.
      const closed = new Promise<void>((resolve) => {
        NetServer.prototype.close.call(server, () => resolve());
      });
      if (!(await waitUntilEmpty(forMs))) {
        const left = { left: running.size, open: open.size };
        log.warn(left, 'drain timed out: aborting the remaining requests');
        for (const exchange of running.list()) exchange.abort(new ShuttingDown());
        await waitUntilEmpty(afterDrainMs);
      }
      server.close();
      server.closeAllConnections();
      await closed;
    },
    async close() {
      endScrapes();
      await Promise.all(loops.map((loop) => loop.stop()));
      server.closeAllConnections();
      await upstreams.close();
    },
  };
}

/** Ends requests that took too long or whose key was revoked, and sends checkpoints of long ones. */
function checkInFlight(running: InFlightSet<MeteredRequest>, deps: GatewayDeps): void {
  const { clock, authenticator, limits } = deps;
  const nowMs = clock.monotonicMs();
  for (const exchange of running.list()) {
    if (exchange.isOver) continue;
    const fault = authenticator.recheck(exchange.caller);
    // The engine can still work on a request without access, so the deadline below applies to it too.
    if (fault !== null) exchange.revokeAccess(fault);
    if (nowMs - exchange.startedMs >= limits.longestRequestMs) exchange.abort(new RequestTimeout());
    else if (nowMs - exchange.checkpointedMs >= limits.checkpointMs) exchange.checkpoint();
  }
}
