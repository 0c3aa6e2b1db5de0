import { randomBytes } from 'node:crypto';
import type { AddressInfo, Server } from 'node:net';
import { hostname } from 'node:os';
import { createContract, defaultProviders, operationsOf } from '@millrace/contract';
import { createKeyFeedSealer } from '@millrace/core/inference';
import { createCreditLeaseClient } from '@millrace/credit-leases/client';
import { createLeaseRequester, createEpochEndPublisher } from '@millrace/credit-leases/protocol';
import {
  createEngineSlots,
  createGateway,
  createRouter,
  createUsageReporter,
  openKeyFeed,
  type KeyFeed,
} from '@millrace/inference';
import { ClockGuard, RemoteClock, systemClock, type Clock } from '@millrace/platform/clock';
import { systemEnvelope } from '@millrace/platform/envelope';
import { createIdSource } from '@millrace/platform/ids';
import {
  createHealthHandler,
  createLifecycle,
  NotReadyError,
  startHealthServer,
  type Lifecycle,
} from '@millrace/platform/lifecycle';
import { readBuildInfo } from '@millrace/platform/release';
import { createMisroutedFinder } from '@millrace/platform/http/misrouted';
import { createLimiter } from '@millrace/platform/limiter';
import { createLogger, type Logger } from '@millrace/platform/log';
import { connectNats, natsOptionsOf, type NatsClient } from '@millrace/platform/nats';
import { tlsFilesOf, watchTlsFiles } from '@millrace/platform/tls';
import { startTelemetry } from '@millrace/platform/telemetry';
import { connectValkey, type ValkeyClient } from '@millrace/platform/valkey';
import type { GatewayConfig } from './config.ts';

export interface GatewayProcess {
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  readonly port: number;
}

const CHECK_MS = 1_000;
const LEASE_TIMEOUT_MS = 2_000;
/** For usage reports and end markers in progress after the streams have ended. */
const CLOSE_TIMEOUT_MS = 10_000;

/** Builds the process. It needs Valkey and NATS, and never PostgreSQL. */
export async function startGateway(config: GatewayConfig): Promise<GatewayProcess> {
  const log = createLogger({ name: 'gateway', level: config.log.level });
  const drainDeadlineMs = config.gateway.drainMs + CLOSE_TIMEOUT_MS;
  const lifecycle = createLifecycle({
    clock: systemClock,
    log,
    drainDeadlineMs,
    lameDuckMs: config.health.lameDuckMs,
  });
  try {
    const port = await startComponents(config, lifecycle, log);
    lifecycle.started();
    log.info({ port, cell: config.cell.id }, 'listening');
    return { lifecycle, log, port };
  } catch (error) {
    await lifecycle.shutdown('failed to start');
    throw error;
  }
}

async function startComponents(config: GatewayConfig, lifecycle: Lifecycle, log: Logger): Promise<number> {
  const reference = new RemoteClock('database', systemClock);
  const clock = databaseClock(reference);
  const cell = config.cell.id;
  const { prefix, allowPlaintext } = config.nats;
  const { token, commit } = config.health;
  const build = readBuildInfo(commit);
  const about = { service: 'gateway', ...build, cell, token };
  const telemetry = await startTelemetry({ ...about, ...config.telemetry });
  const health = createHealthHandler({ lifecycle, build, token });
  const nats = await connectNats({ ...natsOptionsOf(config.nats, 'gateway'), log, clock });
  const { longestRequestMs } = config.gateway;
  const valkey = await connectValkey({ ...config.leaseValkey, name: 'millrace-gateway', log, clock });
  const gatewayId = newGatewayId();
  const envelope = systemEnvelope(cell, 'gateway');
  const sealer = createKeyFeedSealer(config.keyFeed.sealingKeys);
  const keyFeed = await openKeyFeed({ nats, clock, log, prefix, sealer, allowPlaintext });
  const leaseClient = createCreditLeaseClient({
    valkey,
    requestLease: createLeaseRequester(nats, {
      ...{ prefix, envelope, homeCell: cell, timeoutMs: LEASE_TIMEOUT_MS },
      time: { clock, take: (reading) => void reference.take(reading) },
    }),
    publishEnd: createEpochEndPublisher(nats, { prefix, envelope }),
    cell,
    clock,
    log,
    gatewayId,
  });
  const reporter = createUsageReporter({ nats, clock, log, prefix, cell });
  const router = createRouter({ clock, log, gatewayId });
  const slots = config.gateway.llamaSlotCache
    ? createEngineSlots({ valkey, clock, log, longestRequestMs })
    : null;
  const gateway = createGateway({
    clock,
    ids: createIdSource({ clock, cell }),
    log,
    keyFeed,
    leaseClient,
    router,
    reporter,
    limiter: createLimiter({ valkey, log, clock }),
    failedAuthRpm: config.rateLimits.failedAuthRpm,
    trustedProxies: config.http.trustedProxies,
    consoleOrigins: config.gateway.consoleOrigins,
    isDemo: config.demo.isDemo,
    ...contractDepsOf(config),
    limits: { longestRequestMs, bodyBytes: config.gateway.bodyBytes },
    slots,
    upstreams: { silenceMs: config.gateway.silenceMs },
    tls: tlsFilesOf(config.http)?.loaded ?? null,
    health,
    leaving: lifecycle.leaving,
  });

  addChecks(lifecycle, { valkey, nats, keyFeed });
  watchClock(reference, lifecycle, log);
  lifecycle.onDrain('requests', 'streams', () => gateway.drain(config.gateway.drainMs));
  lifecycle.onDrain('consumers', 'usage', () => reporter.close());
  lifecycle.onDrain('consumers', 'leases', () => leaseClient.close());
  lifecycle.onDrain('consumers', 'router', async () => router.close());
  lifecycle.onDrain('pools', 'engines', () => gateway.close());
  lifecycle.onDrain('pools', 'engine slots', async () => slots?.close());
  lifecycle.onDrain('pools', 'book', () => keyFeed.close());
  lifecycle.onDrain('pools', 'valkey', () => valkey.close());
  lifecycle.onDrain('pools', 'nats', () => nats.close());
  lifecycle.onDrain('pools', 'telemetry', () => telemetry.shutdown());

  const healthAt = { host: config.health.host, port: config.gateway.healthPort };
  const healthServer = await startHealthServer(healthAt, health);
  lifecycle.onDrain('pools', 'health', () => healthServer.close());
  const files = tlsFilesOf(config.http);
  if (files !== null) {
    const watch = watchTlsFiles({ ...files, server: gateway.server, clock: systemClock, log });
    lifecycle.onDrain('consumers', 'TLS files', () => watch.stop());
  }
  return listen(gateway.server, config);
}

function contractDepsOf({ inference: { widePenalties }, http: { publicUrl: otherUrl } }: GatewayConfig) {
  const contract = createContract({ providers: defaultProviders, widePenalties });
  const operations = operationsOf(contract);
  const misrouted = createMisroutedFinder({ operations, process: 'gateway', otherUrl });
  return { schemas: contract.schemas, misrouted };
}

function addChecks(
  lifecycle: Lifecycle,
  engines: {
    readonly valkey: Pick<ValkeyClient, 'ping'>;
    readonly nats: Pick<NatsClient, 'ping'>;
    readonly keyFeed: Pick<KeyFeed, 'isStale'>;
  },
): void {
  const { valkey, nats, keyFeed } = engines;
  const timeoutMs = CHECK_MS;
  lifecycle.addCheck({ name: 'valkey', required: true, timeoutMs, check: () => valkey.ping() });
  // Not required: if NATS stays unreachable, the key feed is stale.
  lifecycle.addCheck({ name: 'nats', required: false, timeoutMs, check: () => nats.ping() });
  lifecycle.addCheck({
    name: 'book',
    required: true,
    timeoutMs,
    check: async () => {
      if (keyFeed.isStale()) throw new NotReadyError('The key feed is stale or not filled yet.');
    },
  });
}

/** Several processes may share one port; the kernel distributes connections. */
async function listen(server: Server, { http: { host, port } }: GatewayConfig): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, reusePort: port !== 0 }, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Unique per run, because it identifies the lease holder. */
function newGatewayId(): string {
  const host = hostname().replaceAll(/[^A-Za-z0-9-]/g, '-');
  return `${host.slice(0, 40)}-${process.pid}-${randomBytes(6).toString('hex')}`;
}

/** The database's time once a worker has sent it, otherwise the machine's time. Used for key expiry and prices. */
function databaseClock(reference: RemoteClock): Clock {
  const nowMs = (): number => (reference.isKnown ? reference.nowMs() : systemClock.nowMs());
  return { ...systemClock, nowMs, now: () => new Date(nowMs()) };
}

/** A gateway with a wrong clock is not ready. */
function watchClock(reference: RemoteClock, lifecycle: Lifecycle, log: Logger): void {
  const guard = new ClockGuard({ reference, name: 'database', log });
  lifecycle.addCheck({
    name: 'clock',
    required: true,
    timeoutMs: CHECK_MS,
    check: async () => {
      const problem = guard.problem();
      if (problem !== null) throw new NotReadyError(problem);
    },
  });
}
