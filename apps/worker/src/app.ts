import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { applyDemoSetting, invoiceIssuer } from '@millrace/core/demo';
import { startAuditor } from '@millrace/core/auditor';
import { ensureEventStream, eventChannels, startRelay, type EventChannels } from '@millrace/core/events';
import {
  createApiKeyLifecycle,
  createKeyChangePublisher,
  createKeyExpiry,
  keyChangeSubject,
  type PublishKeyChange,
} from '@millrace/core/identity';
import { readBurnRate } from '@millrace/core/metering';
import { startNotices } from '@millrace/core/notices';
import { Payments, stripeGatewayOf, type StripeGateway } from '@millrace/core/payments';
import { startReliabilityLoops } from '@millrace/core/suppliers';
import { systemClock } from '@millrace/platform/clock';
import { createDb, processRoles, requireSchema, sessionNameOf, watchClock } from '@millrace/platform/db';
import { systemEnvelope } from '@millrace/platform/envelope';
import { createIdSource } from '@millrace/platform/ids';
import {
  createHealthHandler,
  createLifecycle,
  startHealthServer,
  startLoop,
  type Lifecycle,
} from '@millrace/platform/lifecycle';
import { readBuildInfo, releaseNameOf } from '@millrace/platform/release';
import { createLogger, type Logger } from '@millrace/platform/log';
import { createSmtpMailer, type Mailer } from '@millrace/platform/mail';
import { connectNatsInBackground, natsOptionsOf, type BackgroundNatsClient } from '@millrace/platform/nats';
import { createRestateEndpoint, createRestateIngress } from '@millrace/platform/restate';
import { startTelemetry } from '@millrace/platform/telemetry';
import { tlsFilesOf } from '@millrace/platform/tls';
import { startKeyFeed } from './key-feed.ts';
import type { WorkerConfig } from './config.ts';
import type { WorkerDeps } from './worker-deps.ts';
import { startInstallationMetrics } from './installation-metrics.ts';
import { startEnrolments } from './enrolments.ts';
import { openDrivers, startFleet } from './fleet.ts';
import { gateLoops } from './loop-gate.ts';
import { startCaddySync } from './caddy.ts';
import { waitForConnection } from './wait-for-nats.ts';
import { connectLeaseValkey, createCreditRecall, startCreditLeases } from './credit-leases.ts';
import { startRentals } from './rentals.ts';
import { connectRestate, maintainRegistration } from './restate.ts';
import { guardDrivers, createRestoreMonitor } from './database-restore.ts';
import { startSweeps, type SweepOptions } from './sweeps.ts';
import { startUsage } from './usage.ts';
import { startVolumes } from './volumes.ts';
import { startWebhooks } from './webhooks.ts';

export interface Worker {
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  readonly healthPort: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MEBIBYTE = 1_048_576;
const STREAM_CHECK_MS = 60_000;

/** Builds the process: connections, then components, then the health server. */
export async function startWorker(config: WorkerConfig): Promise<Worker> {
  const clock = systemClock;
  const log = createLogger({ name: 'worker', level: config.log.level });
  const lifecycle = createLifecycle({
    clock,
    log,
    drainDeadlineMs: config.worker.drainMs,
    lameDuckMs: config.health.lameDuckMs,
  });
  try {
    await startComponents(config, lifecycle, log);
    const { host, token, commit } = config.health;
    const handle = createHealthHandler({ lifecycle, build: readBuildInfo(commit), token });
    const health = await startHealthServer({ host, port: config.worker.healthPort }, handle);
    lifecycle.onDrain('pools', 'health', () => health.close());
    lifecycle.started();
    log.info({ healthPort: health.port }, 'the worker is running');
    return { lifecycle, log, healthPort: health.port };
  } catch (error) {
    // Resources opened before the failure must neither keep the process alive nor hold leases.
    await lifecycle.shutdown('failed to start');
    throw error;
  }
}

async function startComponents(config: WorkerConfig, lifecycle: Lifecycle, log: Logger): Promise<void> {
  const clock = systemClock;
  const { token, commit } = config.health;
  const build = readBuildInfo(commit);
  const release = releaseNameOf(build);
  const about = { service: 'worker', ...build, cell: config.cell.id, token };
  const telemetry = await startTelemetry({ ...about, ...config.telemetry });
  lifecycle.onDrain('pools', 'telemetry', () => telemetry.shutdown());

  const { db, nats } = await connectEngines(config, release, { lifecycle, log });
  const announce = createKeyChangePublisher(nats, {
    subject: keyChangeSubject(config.nats.prefix),
    envelope: systemEnvelope(config.cell.id, 'worker'),
  });
  const keys = createKeyExpiry({ announce });

  const holder = `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`;
  const valkey = await connectLeaseValkey(config, { lifecycle, log });
  const restore = createRestoreMonitor(config, { db, nats, valkey, lifecycle, log });
  const { guard } = restore;
  const gated = { startLoop: gateLoops(guard) };
  const openedDrivers = openDrivers(config, { db, lifecycle, log });
  const stripe = await stripeGatewayOf(config.stripe);
  await restore.begin({ drivers: openedDrivers, stripe });
  const drivers = guardDrivers(openedDrivers, guard);
  const rentals = startRentals(config, { db, nats, drivers, guard, ...gated, lifecycle, log, holder });
  const endpoint = await createRestateEndpoint({
    services: [createApiKeyLifecycle({ db, keys }), rentals.workflow],
    prefix: config.restate.prefix,
    identityKeys: config.restate.identityKeys,
    tls: tlsFilesOf(config.restate),
    host: config.restate.endpointHost,
    port: config.restate.endpointPort,
    sharePort: config.restate.endpointPort !== 0,
    release,
    log,
  });
  lifecycle.onDrain('requests', 'restate endpoint', () => endpoint.close());
  const connection = await connectRestate(config, { lifecycle, log });
  maintainRegistration(config, { ownUrl: endpoint.url, release, connection }, { db, lifecycle, log });

  const channels = eventChannels(config.nats.prefix);
  maintainStream(config, { nats, channels }, lifecycle, log);
  const relay = await startRelay({
    db,
    clock,
    log,
    holder,
    channels,
    nats,
    restate: createRestateIngress({
      url: config.restate.ingressUrl,
      prefix: config.restate.prefix,
      connection,
    }),
    tuning: { leaseTtlMs: config.worker.relayLeaseMs, pollMs: config.worker.relayPollMs },
    ...gated,
  });
  lifecycle.onDrain('consumers', 'outbox relay', () => relay.stop());
  startKeyFeed(config, { db, nats, lifecycle, log });
  startUsage(config, { db, nats, lifecycle, log, holder });
  startCreditLeases(config, { db, nats, valkey, guard, lifecycle, log });
  const { onMachine } = rentals;
  await startFleet(config, { db, lifecycle, log, holder, drivers, onMachine });
  startEnrolments(config, { db, lifecycle, log, drivers, ...gated });
  await startVolumes(config, { db, ...gated, lifecycle, log });
  startCaddySync(config, { db, lifecycle, log });
  startWebhooks(config, { db, lifecycle, log, holder, ...gated });
  startInstallationMetrics({ db, lifecycle, log });
  startPeriodicWork(config, { db, nats, announce, keys, stripe, gated, lifecycle, log });
}

interface PeriodicWorkDeps extends Pick<WorkerDeps, 'db' | 'nats' | 'lifecycle' | 'log'> {
  readonly gated: Pick<WorkerDeps, 'startLoop'>;
  readonly announce: PublishKeyChange;
  readonly keys: SweepOptions['keys'];
  readonly stripe: StripeGateway | null;
}

function startPeriodicWork(config: WorkerConfig, deps: PeriodicWorkDeps): void {
  const { db, nats, announce, keys, stripe, gated, lifecycle, log } = deps;
  const clock = systemClock;
  for (const loop of startReliabilityLoops({ db, clock, log })) {
    lifecycle.onDrain('consumers', 'trust in suppliers', () => loop.stop());
  }

  const { consoleUrl } = config.stripe;
  for (const loop of startNotices({ db, clock, log, mailer: mailerOf(config), consoleUrl, ...gated })) {
    lifecycle.onDrain('consumers', 'notices', () => loop.stop());
  }
  const payments = new Payments({ db, clock, log, stripe, consoleUrl, burnOf: readBurnRate, announce });
  const auditor = startAuditor({
    db,
    clock,
    log,
    everyMs: config.worker.auditEveryMs,
    fullEveryMs: config.worker.auditFullEveryHours * HOUR_MS,
    statementTimeoutMs: config.worker.auditStatementTimeoutMs,
  });
  lifecycle.onDrain('consumers', 'auditor', () => auditor.stop());

  const { archiveAfterMonths, requestsAfterMonths, auditStatementTimeoutMs } = config.worker;
  const eventRetentionMs = config.worker.eventRetentionDays * DAY_MS;
  const issuer = invoiceIssuer(config.invoices.issuer, config.demo.isDemo);
  const recallMoney = createCreditRecall(config, nats);
  const sweepDeps = {
    db,
    clock,
    log,
    ...gated,
    keys,
    payments,
    recallMoney,
    eventRetentionMs,
    issuer,
    archiveAfterMonths,
    requestsAfterMonths,
    auditStatementTimeoutMs,
  };
  for (const sweep of startSweeps(sweepDeps)) {
    lifecycle.onDrain('consumers', 'sweep', () => sweep.stop());
  }
}

function mailerOf({ mail }: WorkerConfig): Mailer | null {
  return mail.smtpUrl === null || mail.from === null
    ? null
    : createSmtpMailer({ url: mail.smtpUrl, from: mail.from, ca: mail.ca });
}

async function connectEngines(
  config: WorkerConfig,
  release: string,
  { lifecycle, log }: Pick<WorkerDeps, 'lifecycle' | 'log'>,
): Promise<Pick<WorkerDeps, 'db' | 'nats'>> {
  const ids = createIdSource({ clock: systemClock, cell: config.cell.id });
  const role = processRoles.worker;
  const applicationName = sessionNameOf('worker', release);
  const db = createDb({ ...config.postgres, applicationName, role, ids, log });
  lifecycle.onDrain('pools', 'postgres', () => db.close());
  lifecycle.addCheck({ name: 'postgres', required: true, check: () => db.ping() });
  await requireSchema(db);
  await applyDemoSetting(db, config.demo.isDemo);
  watchClock(db, { clock: systemClock, lifecycle, log });

  const nats = connectNatsInBackground({ ...natsOptionsOf(config.nats, 'worker'), log });
  lifecycle.onDrain('pools', 'nats', () => nats.close());
  // Not required: without NATS the relay still stores events in the feed, and publishes them later.
  lifecycle.addCheck({ name: 'nats', required: false, check: () => nats.ping() });
  return { db, nats };
}

/** NATS can be unreachable at start and can lose its disk later. Until the stream exists, events are stored and wait. */
function maintainStream(
  config: WorkerConfig,
  { nats, channels }: { readonly nats: BackgroundNatsClient; readonly channels: EventChannels },
  lifecycle: Lifecycle,
  log: Logger,
): void {
  const loop = startLoop(
    { name: 'keep the event stream', clock: systemClock, log, idleMs: STREAM_CHECK_MS },
    async (signal) => {
      await waitForConnection(nats, signal);
      if (signal.aborted) return 'idle';
      await ensureEventStream(nats, channels, {
        replicas: config.nats.replicas,
        maxAgeMs: config.worker.streamMaxAgeDays * DAY_MS,
        maxBytes: config.worker.streamMaxMebibytes * MEBIBYTE,
      });
      return 'idle';
    },
  );
  lifecycle.onDrain('accept', 'event stream', () => loop.stop());
}
