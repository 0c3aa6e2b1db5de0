import { operationsOf, type Contract } from '@millrace/contract';
import { serveAuditReports } from '@millrace/core/auditor';
import { createKeyBudget, serveBilling } from '@millrace/core/billing';
import { servePublicCatalog } from '@millrace/core/catalog';
import { createFeed, serveEvents, type EventChannels, type Feed } from '@millrace/core/events';
import { serveFleet, serveOffers, type HasCredential } from '@millrace/core/fleet';
import {
  createKeyFeedSync,
  serveCatalog,
  serveRequestUsage,
  type KeyFeedSync,
} from '@millrace/core/inference';
import {
  createApiKeyService,
  createKeyAuthenticator,
  createKeyChangePublisher,
  createMemberService,
  createSessionAuthenticator,
  KeyUsage,
  subscribeToKeyChanges,
  subscribeToRevocations,
  serveIdentity,
  serveSessions,
  type PublishKeyChange,
} from '@millrace/core/identity';
import { serveInvoices } from '@millrace/core/invoices';
import { readLiveBalances, type RecallCredit } from '@millrace/core/ledger';
import { createListing, serveInstances, serveListing, type Listing } from '@millrace/core/marketplace';
import { readBurnRate } from '@millrace/core/metering';
import { serveNotices } from '@millrace/core/notices';
import {
  createHealthReader,
  serveOperatorHealth,
  type HealthReader,
  type ProcessAddress,
} from '@millrace/core/operator-health';
import { serveOperatorOverview } from '@millrace/core/operator-overview';
import { Payments, servePayments, type StripeGateway } from '@millrace/core/payments';
import { optOutLink, serveEmailOptOut } from './email-opt-out-page.ts';
import { servePeople } from '@millrace/core/people';
import { servePrices } from '@millrace/core/prices';
import { createStatusMonitor, type StatusMonitor } from '@millrace/core/public-status';
import {
  createConsoleRequester,
  createOrderRunner,
  runningWork,
  serveMonitoring,
  serveRentalCreation,
  serveRentalLifecycle,
  serveRentalQueries,
  serveWriteOffs,
} from '@millrace/core/rentals';
import {
  defaultPriceRules,
  serveEnrolments,
  serveSupplierMachines,
  serveSupplierMoney,
  serveSuppliers,
  type PriceRules,
} from '@millrace/core/suppliers';
import { serveVolumes } from '@millrace/core/volumes';
import { serveWebhooks } from '@millrace/core/webhooks';
import type { InvitationLinkClaims, SignIn } from '@millrace/platform/auth';
import type { Clock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { systemEnvelope } from '@millrace/platform/envelope';
import { createHttpServer, type HttpLimits, type HttpServer } from '@millrace/platform/http';
import { createMisroutedFinder, type MisroutedFinder } from '@millrace/platform/http/misrouted';
import type { CellId, IdSource } from '@millrace/platform/ids';
import type { BuildInfo } from '@millrace/platform/release';
import { serveHealth, startLoop, type Lifecycle } from '@millrace/platform/lifecycle';
import type { RefundingLimiter } from '@millrace/platform/limiter';
import type { Logger } from '@millrace/platform/log';
import type { NatsClient, NatsNotifications } from '@millrace/platform/nats';
import { createNetGuard } from '@millrace/platform/net';
import type { Sealer } from '@millrace/platform/secrets';
import { serveConsole, type ConsoleOptions } from './console.ts';
import { serveDocuments } from './documents.ts';
import { serveInstallation, type InstallationInfo } from './installation.ts';
import { serveStatusPage } from './status-page.ts';

/** Dependencies of the control plane: from settings in `main.ts`, chosen by each test otherwise. */
export interface ApiDeps {
  readonly contract: Contract;
  readonly cell: CellId;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Logger;
  readonly db: Db;
  /** May be disconnected: only notifications and requests to workers need it. */
  readonly nats: NatsNotifications & Pick<NatsClient, 'request' | 'bucket'>;
  /** Separates installations on one NATS. */
  readonly natsPrefix: string;
  /** Seals the API keys of inference engines in the database. */
  readonly sealer: Sealer;
  /** Whether inference engines on other machines need no TLS. Default: they need it. */
  readonly allowPlaintextEngines?: boolean;
  /** Seals them in the key feed of gateways. */
  readonly feedSealer: Sealer;
  readonly limiter: RefundingLimiter;
  readonly lifecycle: Lifecycle;
  readonly channels: EventChannels;
  readonly keyChangeSubject: string;
  /** NATS subject for console requests to workers. */
  readonly consoleSubject: string;
  /** Recalls credit from gateways. Default: no recall. */
  readonly recallMoney?: RecallCredit;
  /** Requests per minute of an organisation before its first deposits. */
  readonly organisationRpm: number;
  /** Requests per minute after deposits. Default: as before. */
  readonly fundedRpm?: number;
  readonly trustedProxies: readonly string[];
  readonly validateResponses: boolean;
  /** Simulated machines and play money. Default: false. */
  readonly isDemo?: boolean;
  readonly openDocuments: boolean;
  /** Show offers and prices without sign-in. Default: true. */
  readonly openCatalog?: boolean;
  /** The public address, named in the documents. */
  readonly publicUrl?: string | null;
  /** Null or absent: sign-in is disabled, only keys work. */
  readonly signIn?: SignIn | null;
  /** Public address of gateways. Null or absent: the same as `publicUrl`. */
  readonly inferenceUrl?: string | null;
  /** The running release. Default: unknown. */
  readonly build?: BuildInfo;
  /** The bearer token for details of health. Null or absent: everyone sees them. */
  readonly healthToken?: string | null;
  /** Workers and gateways, for the health page of operators. Default: none. */
  readonly healthProcesses?: readonly ProcessAddress[];
  /** A text of the operator on the public status page. Null or absent: none. */
  readonly statusNoticeFile?: string | null;
  /** Issuer of invoices. Default: `Millrace`. */
  readonly invoiceIssuer?: string;
  /** Null or absent: no top-up by card. */
  readonly stripe?: StripeGateway | null;
  /** Return address after a payment. */
  readonly consoleUrl?: string | null;
  /** Whether a credential of this name is configured for the engine of a cluster. Default: none. */
  readonly knowsCredential?: HasCredential;
  /** How long before maintenance placement stops, unless the operator sets it. Default: a day. */
  readonly maintenanceDrainMs?: number;
  /** Waiting time of supplier earnings before payout. Default: none. */
  readonly payoutHoldMs?: number;
  /** Provider of suppliers' machines. Default: `marketplace`. */
  readonly marketplaceProvider?: string;
  /** Networks of suppliers' machines besides the public internet. Default: none. */
  readonly marketplaceNetworks?: readonly string[];
  /** Networks of webhook receivers besides the public internet. Default: none. */
  readonly webhookNetworks?: readonly string[];
  readonly priceRules?: PriceRules;
  /** Usual fee, shown to applicants. Null or absent: not announced. */
  readonly supplierFeePercentage?: number | null;
  /** Domain of the HTTPS hostnames of instance ports. Default: no hostnames. */
  readonly marketplaceDomain?: string | null;
  /** Null or absent: the console is not served. */
  readonly console?: ConsoleOptions | null;
  readonly limits?: Partial<HttpLimits>;
  readonly tls?: { readonly cert: string; readonly key: string };
}

export interface Api {
  readonly server: HttpServer;
  readonly feed: Feed;
  /** The marketplace listing in memory, refreshed by `run`. */
  readonly listing: Listing;
  /** The public status, checked by `run`. */
  readonly status: StatusMonitor;
  /** Runs the background work until the signal aborts; resolves when all of it has ended. */
  run(signal: AbortSignal): Promise<void>;
  /** Closes subscriptions and event streams. The caller closes the connections it passed in. */
  close(): Promise<void>;
}

/** Creates the api without listening or starting background work. */
export function createApi(deps: ApiDeps): Api {
  const { contract, db, nats, clock, log, channels } = deps;
  const usage = new KeyUsage({ db, clock, log });
  const authenticator = createKeyAuthenticator({
    db,
    clock,
    organisationRpm: deps.organisationRpm,
    ...(deps.fundedRpm === undefined ? {} : { fundedRpm: deps.fundedRpm }),
    onUse: (keyId) => usage.note(keyId),
  });
  const people = createSessions(deps);
  const invalidate: PublishKeyChange = (change) => {
    authenticator.invalidate(change);
    people?.invalidate(change);
  };
  const keyFeed = createKeyFeed(deps);
  const announce = announceToAll(deps, invalidate, keyFeed);
  const subscriptions = [
    subscribeToKeyChanges(nats, deps.keyChangeSubject, invalidate),
    subscribeToRevocations(nats, channels.subjectOfType('key.revoked'), authenticator.invalidate),
  ];
  const server = createHttpServer({
    contract,
    db,
    clock,
    log,
    ids: deps.ids,
    limiter: deps.limiter,
    authenticate: authenticator.authenticate,
    sessions: people?.sessions,
    trustedProxies: deps.trustedProxies,
    validateResponses: deps.validateResponses,
    isDemo: deps.isDemo ?? false,
    leaving: deps.lifecycle.leaving,
    misrouted: misroutedFinderOf(deps),
    ...(deps.limits === undefined ? {} : { limits: deps.limits }),
    ...(deps.tls === undefined ? {} : { tls: deps.tls }),
  });
  const keys = createApiKeyService({
    announce,
    onKeyCreated: async (tx, key) => {
      await createKeyBudget(tx, key);
      tx.afterCommit(keyFeed.flush);
    },
  });
  const members = createMemberService({ announce, keys });
  const feed = createFeed({ db, clock, log, channels, nats });
  const listing = createListing({ db, clock, log });
  const health = createHealthReader(healthDepsOf(deps));
  const { statusNoticeFile: noticeFile = null } = deps;
  const status = createStatusMonitor({ health, db, clock, log, noticeFile });
  serveRoutes(deps, {
    ...{ server, keys, members, feed, listing, announce, people, keyFeed },
    ...{ health, status },
  });

  return {
    server,
    feed,
    listing,
    status,
    run: async (signal) => {
      const loops = [keyFeed.start(), listing.start(), status.start(), ...createExpirySweep(deps)];
      await usage.run(signal);
      await Promise.all(loops.map((loop) => loop.stop()));
    },
    close: async () => {
      await feed.close();
      await deps.signIn?.settled();
      await Promise.all(subscriptions.map((subscription) => subscription.close()));
    },
  };
}

interface RouteServices {
  readonly server: HttpServer;
  readonly keys: ReturnType<typeof createApiKeyService>;
  readonly members: ReturnType<typeof createMemberService>;
  readonly feed: Feed;
  readonly listing: Listing;
  readonly announce: PublishKeyChange;
  readonly people: ReturnType<typeof createSessions>;
  readonly keyFeed: KeyFeedSync;
  readonly health: HealthReader;
  readonly status: StatusMonitor;
}

function serveRoutes(deps: ApiDeps, services: RouteServices): void {
  const { contract, db, clock, cell, sealer, recallMoney, marketplaceDomain: domain = null } = deps;
  const { server, keys, members, feed, listing, announce, people, keyFeed, health, status } = services;
  const { operations } = contract;
  const base = { server, operations, db };
  const { publicUrl = null, inferenceUrl = null } = deps;
  serveDocuments(server, contract, { open: deps.openDocuments, publicUrl, inferenceUrl });
  serveInstallation(server, operations, installationInfoOf(deps));
  const invalidatePerson = (userId: string) => people?.invalidatePerson(userId);
  serveSessions({ ...base, clock, invalidatePerson });
  deps.signIn?.mount(server, deps.limiter);
  serveIdentity({
    ...{ ...base, keys, members, announce, work: runningWork },
    ...{ homeCell: cell, liveBalances: readLiveBalances },
  });
  if (deps.signIn != null) serveEmailOptOut(server, { db, signIn: deps.signIn });
  servePeople({ ...base, clock, homeCell: cell, ...userLinksOf(deps) });
  serveNotices(base);
  serveBilling({ ...base, clock, burnOf: readBurnRate, recallMoney });
  serveInvoices({ ...base, clock, issuer: deps.invoiceIssuer ?? 'Millrace' });
  serveAuditReports(base);
  servePayments({ ...base, payments: paymentsOf(deps, announce) });
  serveEvents(server, feed);
  const { webhookNetworks = [], marketplaceNetworks = [] } = deps;
  serveWebhooks({ ...base, sealer, guard: createNetGuard({ allowedNetworks: webhookNetworks }) });
  servePrices({ ...base, clock });
  serveOffers({ ...base, clock });
  serveFleet({ ...base, ...fleetSettingsOf(deps) });
  serveOperatorOverview({ ...base, clock });
  serveSuppliers({ ...base, announce, providerId: deps.marketplaceProvider ?? 'marketplace' });
  serveSupplierMachines({ ...base, priceRules: deps.priceRules ?? defaultPriceRules });
  serveSupplierMoney({ ...base, payoutHoldMs: deps.payoutHoldMs ?? 0 });
  serveEnrolments({ ...base, sealer, guard: createNetGuard({ allowedNetworks: marketplaceNetworks }) });
  serveRentalCreation({ ...base, clock, cell, recallMoney });
  serveRentalQueries({ ...base, clock, feed });
  serveRentalLifecycle({ server, operations });
  serveWriteOffs({ server, operations });
  const requestConsole = createConsoleRequester(deps.nats, { subject: deps.consoleSubject, cell });
  serveMonitoring({ ...base, clock, requestConsole });
  serveCatalog({
    ...base,
    sealer,
    allowPlaintext: deps.allowPlaintextEngines === true,
    flushKeyFeed: keyFeed.flush,
  });
  serveRequestUsage(base);
  serveListing({ server, operations, clock, listing });
  servePublicCatalog({ ...base, clock, listing, isOpen: deps.openCatalog ?? true });
  serveInstances({ ...base, clock, cell, recallMoney, domain });
  serveVolumes({ ...base, clock, ordering: createOrderRunner({ db, cell, recallMoney }, 'volume') });
  if (deps.console != null) serveConsole(server, deps.console);
  serveOperatorHealth({ server, operations, health });
  serveStatusPage(server, { status, name: installationNameOf(deps), hasConsole: deps.console != null });
  const { lifecycle, build = unknownBuild, healthToken: token = null } = deps;
  serveHealth(server.fastify, { lifecycle, build, token });
}

function healthDepsOf(deps: ApiDeps) {
  const { db, clock, log, lifecycle, build = unknownBuild } = deps;
  const { healthToken: token = null, healthProcesses: processes = [] } = deps;
  return { db, clock, log, lifecycle, build, token, processes };
}

const installationNameOf = ({ signIn }: ApiDeps): string => signIn?.settings.name ?? 'Millrace';

/** Null if sign-in is disabled. */
function createSessions({ db, clock, signIn, organisationRpm, fundedRpm = organisationRpm }: ApiDeps) {
  return signIn == null
    ? null
    : createSessionAuthenticator({ db, clock, signIn: signIn.sessions, organisationRpm, fundedRpm });
}

function misroutedFinderOf({ contract, publicUrl = null, inferenceUrl }: ApiDeps): MisroutedFinder {
  const otherUrl = inferenceUrl ?? publicUrl;
  return createMisroutedFinder({ operations: operationsOf(contract), process: 'api', otherUrl });
}

function installationInfoOf(deps: ApiDeps): InstallationInfo {
  const { signIn = null, publicUrl = null, stripe = null } = deps;
  const inferenceUrl = deps.inferenceUrl ?? publicUrl;
  const { version } = deps.build ?? unknownBuild;
  const { isDemo: demo = false } = deps;
  const name = installationNameOf(deps);
  const { priceRules: { least, most } = defaultPriceRules, supplierFeePercentage = null } = deps;
  const supplierTerms = {
    feePercentage: supplierFeePercentage,
    leastNanoUsdPerGpuHour: least.toString(),
    mostNanoUsdPerGpuHour: most.toString(),
    payoutHoldSeconds: Math.round((deps.payoutHoldMs ?? 0) * 0.001),
  };
  return { name, publicUrl, inferenceUrl, version, topUp: stripe !== null, supplierTerms, demo, signIn };
}

const unknownBuild: BuildInfo = { version: '0.0.0', commit: null };

const SWEEP_EVERY_MS = 3_600_000;

/** Expired sessions and codes are already refused; this only deletes them. */
function createExpirySweep({ signIn, clock, log }: ApiDeps) {
  if (signIn == null) return [];
  return [
    startLoop({ name: 'expired sessions', idleMs: SWEEP_EVERY_MS, clock, log }, async () => {
      return (await signIn.sweep()) === 'more' ? 'busy' : 'idle';
    }),
  ];
}

function fleetSettingsOf({ knowsCredential = () => false, maintenanceDrainMs }: ApiDeps) {
  return {
    knowsCredential,
    ...(maintenanceDrainMs === undefined ? {} : { drainBeforeMs: maintenanceDrainMs }),
  };
}

/** The api serves the console unless the operator configures another address. */
function userLinksOf({ consoleUrl = null, publicUrl = null, signIn }: ApiDeps) {
  const own = signIn?.settings.publicUrl ?? publicUrl;
  const url = consoleUrl ?? (own === null ? null : `${own}/console`);
  const base = url?.replace(/(?<!\/)\/+$/, '') ?? null;
  return {
    invitationsUrl: base === null ? null : `${base}/invitations`,
    refuseLinkOf: signIn == null ? null : optOutLink(signIn),
    // After the #, where server logs and referrers do not contain the secret.
    signUpLinkOf:
      base === null || signIn?.hasMail !== false
        ? null
        : (invitation: InvitationLinkClaims) =>
            `${base}/sign-up#invitation=${signIn.invitationSecretOf(invitation)}`,
    isSecretOf: signIn?.hasMail === false ? signIn.isInvitationSecret : null,
  };
}

function paymentsOf(deps: ApiDeps, announce: PublishKeyChange): Payments {
  const { db, clock, log, stripe = null, consoleUrl = null } = deps;
  return new Payments({ db, clock, log, stripe, consoleUrl, burnOf: readBurnRate, announce });
}

function createKeyFeed(deps: ApiDeps): KeyFeedSync {
  const { db, nats, natsPrefix: prefix, sealer, feedSealer, clock, log, organisationRpm } = deps;
  const rates = { organisationRpm, fundedRpm: deps.fundedRpm ?? organisationRpm };
  return createKeyFeedSync({ db, nats, prefix, sealer, feedSealer, clock, log, rates });
}

/** Invalidates the local cache, notifies other processes, and updates the key feed of gateways before the response. */
function announceToAll(deps: ApiDeps, local: PublishKeyChange, keyFeed: KeyFeedSync): PublishKeyChange {
  const publish = createKeyChangePublisher(deps.nats, {
    subject: deps.keyChangeSubject,
    envelope: systemEnvelope(deps.cell, 'api'),
  });
  return async (change) => {
    await local(change);
    await publish(change);
    await keyFeed.flush();
  };
}
