import { createContract, defaultProviders } from '@millrace/contract';
import { applyDemoSetting, invoiceIssuer } from '@millrace/core/demo';
import { eventChannels } from '@millrace/core/events';
import { keyChangeSubject } from '@millrace/core/identity';
import { createKeyFeedSealer } from '@millrace/core/inference';
import { stripeGatewayOf } from '@millrace/core/payments';
import { consoleSubject } from '@millrace/core/rentals';
import { createRecallRequester } from '@millrace/credit-leases/protocol';
import { systemClock } from '@millrace/platform/clock';
import { ConfigError } from '@millrace/platform/config';
import { createDb, processRoles, requireSchema, sessionNameOf, watchClock } from '@millrace/platform/db';
import { systemEnvelope } from '@millrace/platform/envelope';
import { createIdSource } from '@millrace/platform/ids';
import { createLifecycle, installSignalHandlers } from '@millrace/platform/lifecycle';
import { createLimiter } from '@millrace/platform/limiter';
import { createLogger } from '@millrace/platform/log';
import { secondsToMs } from '@millrace/platform/money';
import { connectNatsInBackground, natsOptionsOf } from '@millrace/platform/nats';
import { readBuildInfo, releaseNameOf, type BuildInfo } from '@millrace/platform/release';
import { tlsFilesOf, watchTlsFiles } from '@millrace/platform/tls';
import { createSealer } from '@millrace/platform/secrets';
import { startTelemetry } from '@millrace/platform/telemetry';
import { connectValkey } from '@millrace/platform/valkey';
import { createApi, type ApiDeps } from './app.ts';
import { loadApiConfig, type ApiConfig } from './config.ts';
import { consoleFolder, type ConsoleOptions } from './console.ts';
import { createSignInFromConfig } from './create-sign-in.ts';

/** Exit codes for supervisors: a restart does not help against wrong settings. */
const EXIT_CONFIG = 78;
const EXIT_UNAVAILABLE = 69;

const SECONDS_PER_HOUR = 3_600;
const HOURS_PER_DAY = 24;
/** A rental request waits for the recall, so it is short. */
const RECALL_TIMEOUT_MS = 2_000;

async function start(config: ApiConfig): Promise<void> {
  const clock = systemClock;
  const cell = config.cell.id;
  const log = createLogger({ name: 'api', level: config.log.level });
  const { token, commit, lameDuckMs } = config.health;
  const build = readBuildInfo(commit);
  const about = { service: 'api', ...build, cell, token };
  const telemetry = await startTelemetry({ ...about, ...config.telemetry });
  const lifecycle = createLifecycle({ clock, log, drainDeadlineMs: config.drain.ms, lameDuckMs });
  installSignalHandlers(lifecycle, log);

  const ids = createIdSource({ clock, cell });
  const role = processRoles.api;
  const applicationName = sessionNameOf('api', releaseNameOf(build));
  const db = createDb({ ...config.postgres, applicationName, role, ids, log });
  await requireSchema(db);
  await applyDemoSetting(db, config.demo.isDemo);
  watchClock(db, { clock, lifecycle, log });
  const valkey = await connectValkey({ ...config.valkey, name: 'millrace-api', log, clock });
  const nats = connectNatsInBackground({ ...natsOptionsOf(config.nats, 'api'), log, clock });

  const api = createApi({
    contract: createContract({
      providers: config.providers.list ?? config.providers.file ?? defaultProviders,
      widePenalties: config.inference.widePenalties,
    }),
    cell,
    clock,
    ids,
    log,
    db,
    nats,
    limiter: createLimiter({ valkey, log, clock }),
    lifecycle,
    channels: eventChannels(config.nats.prefix),
    natsPrefix: config.nats.prefix,
    sealer: createSealer({ keys: config.secrets.sealingKeys, activeId: config.secrets.activeSealingKey }),
    allowPlaintextEngines: config.nats.allowPlaintext,
    feedSealer: createKeyFeedSealer(config.keyFeed.sealingKeys),
    keyChangeSubject: keyChangeSubject(config.nats.prefix),
    consoleSubject: consoleSubject(config.nats.prefix, cell),
    recallMoney: createRecallRequester(nats, {
      prefix: config.nats.prefix,
      homeCell: cell,
      timeoutMs: RECALL_TIMEOUT_MS,
      envelope: systemEnvelope(cell, 'api'),
    }),
    signIn: await createSignInFromConfig(config, { db, clock, ids, log }),
    stripe: await stripeGatewayOf(config.stripe),
    ...apiSettingsOf(config, build),
  });

  lifecycle.addCheck({ name: 'postgres', required: true, check: () => db.ping() });
  // Without these the api only notifies later and counts no requests.
  lifecycle.addCheck({ name: 'valkey', required: false, timeoutMs: 1_000, check: () => valkey.ping() });
  lifecycle.addCheck({ name: 'nats', required: false, timeoutMs: 1_000, check: () => nats.ping() });
  const background = api.run(lifecycle.draining);
  lifecycle.onDrain('requests', 'http', () => api.server.drain());
  lifecycle.onDrain('consumers', 'feed and subscriptions', () => api.close());
  lifecycle.onDrain('consumers', 'background work', () => background);
  lifecycle.onDrain('pools', 'postgres', () => db.close());
  lifecycle.onDrain('pools', 'valkey', () => valkey.close());
  lifecycle.onDrain('pools', 'nats', () => nats.close());
  lifecycle.onDrain('pools', 'telemetry', () => telemetry.shutdown());

  const files = tlsFilesOf(config.http);
  if (files !== null) {
    const watch = watchTlsFiles({ ...files, server: api.server.fastify.server, clock, log });
    lifecycle.onDrain('consumers', 'TLS files', () => watch.stop());
  }
  const bound = await api.server.listen({ host: config.http.host, port: config.http.port });
  lifecycle.started();
  log.info({ ...bound, tls: config.http.tlsCert !== null, cell }, 'listening');
}

function apiSettingsOf(config: ApiConfig, build: BuildInfo) {
  const tls = tlsFilesOf(config.http)?.loaded;
  return {
    organisationRpm: config.rateLimits.defaultRpm,
    fundedRpm: config.rateLimits.fundedRpm,
    trustedProxies: config.http.trustedProxies,
    validateResponses: config.http.validateResponses,
    openDocuments: config.docs.open,
    openCatalog: config.catalog.open,
    publicUrl: config.http.publicUrl,
    inferenceUrl: config.auth.inferenceUrl,
    build,
    healthToken: config.health.token,
    healthProcesses: config.healthProcesses.list,
    statusNoticeFile: config.statusPage.noticeFile,
    isDemo: config.demo.isDemo,
    invoiceIssuer: invoiceIssuer(config.invoices.issuer, config.demo.isDemo),
    consoleUrl: config.stripe.consoleUrl,
    knowsCredential: (name) => Object.hasOwn(config.fleet.credentials, name),
    payoutHoldMs: secondsToMs(config.marketplace.payoutHoldDays * HOURS_PER_DAY * SECONDS_PER_HOUR),
    maintenanceDrainMs: secondsToMs(config.maintenance.drainHours * SECONDS_PER_HOUR),
    marketplaceProvider: config.marketplace.provider,
    marketplaceNetworks: config.marketplace.allowedNetworks,
    webhookNetworks: config.webhooks.allowedNetworks,
    priceRules: config.marketplacePrices,
    supplierFeePercentage: config.marketplacePrices.feePercentage,
    marketplaceDomain: config.names.domain,
    console: config.console.isServed ? consoleOptionsOf(config) : null,
    limits: {
      anonymousRpm: config.rateLimits.anonymousRpm,
      personRpm: config.rateLimits.personRpm,
      failedAuthRpm: config.rateLimits.failedAuthRpm,
    },
    ...(tls === undefined ? {} : { tls }),
  } satisfies Partial<ApiDeps>;
}

function consoleOptionsOf({ http, auth }: ApiConfig): ConsoleOptions {
  const https = http.tlsCert !== null || http.publicUrl?.startsWith('https:') === true;
  return { folder: consoleFolder, inferenceUrl: auth.inferenceUrl, https };
}

try {
  await start(loadApiConfig());
} catch (error) {
  const settings = error instanceof ConfigError;
  process.stderr.write(settings ? error.message : `The api could not start: ${describe(error)}\n`);
  process.exit(settings ? EXIT_CONFIG : EXIT_UNAVAILABLE);
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
