import type { Contract } from '@millrace/contract';
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
import type { RecallCredit } from '@millrace/core/ledger';
import { createListing, serveInstances, serveListing, type Listing } from '@millrace/core/marketplace';
import { readBurnRate } from '@millrace/core/metering';
import { serveNotices } from '@millrace/core/notices';
import { Payments, servePayments, type StripeGateway } from '@millrace/core/payments';
import { optOutLink, serveEmailOptOut } from './email-opt-out-page.ts';
import { servePeople } from '@millrace/core/people';
import { servePrices } from '@millrace/core/prices';
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
import type { CellId, IdSource } from '@millrace/platform/ids';
import { serveHealth, startLoop, type Lifecycle } from '@millrace/platform/lifecycle';
import type { RefundingLimiter } from '@millrace/platform/limiter';
import type { Logger } from '@millrace/platform/log';
import type { NatsClient, NatsNotifications } from '@millrace/platform/nats';
import { createNetGuard } from '@millrace/platform/net';
import type { Sealer } from '@millrace/platform/secrets';
import { serveConsole, type ConsoleOptions } from './console.ts';
import { serveDocuments } from './documents.ts';
import { serveInstallation, type InstallationInfo } from './installation.ts';

/** Everything the control plane stands on. `main.ts` makes it from settings, tests make it as they need it. */
export interface ApiDeps {
  readonly contract: Contract;
  readonly cell: CellId;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Logger;
  readonly db: Db;
  /** May still be away: it only makes things prompt. What workers alone can answer has to wait for it. */
  readonly nats: NatsNotifications & Pick<NatsClient, 'request' | 'bucket'>;
  /** Keeps the names of installations on one NATS apart. */
  readonly natsPrefix: string;
  /** For the keys of inference engines. */
  readonly sealer: Sealer;
  readonly limiter: RefundingLimiter;
  readonly lifecycle: Lifecycle;
  readonly channels: EventChannels;
  readonly keyChangeSubject: string;
  /** Where workers are asked for consoles. */
  readonly consoleSubject: string;
  /** Asks for money back that gateways were lent; nobody is asked unless said. */
  readonly recallMoney?: RecallCredit;
  /** Requests a minute of an organisation before its first deposits. */
  readonly organisationRpm: number;
  /** Requests a minute afterwards; as before unless said. */
  readonly fundedRpm?: number;
  readonly trustedProxies: readonly string[];
  readonly validateResponses: boolean;
  /** Serve the OpenAPI documents without a key. */
  readonly openDocuments: boolean;
  /** Show offers and prices without signing in; so it is unless said. */
  readonly openCatalog?: boolean;
  /** The address clients use, named in the documents. */
  readonly publicUrl?: string | null;
  /** Null or left out: nobody can sign in, and keys are all there is. */
  readonly signIn?: SignIn | null;
  /** Where clients reach the inference gateway, for people to know. */
  readonly inferenceUrl?: string | null;
  readonly version?: string;
  /** Who issues invoices; `Millrace` unless said. */
  readonly invoiceIssuer?: string;
  /** Null or left out: nobody tops up by card. */
  readonly stripe?: StripeGateway | null;
  /** Where people come back to after paying. */
  readonly consoleUrl?: string | null;
  /** Whether the installation has a credential of this name for the engine of a cluster; it has none unless said. */
  readonly knowsCredential?: HasCredential;
  /** How long before maintenance nothing new is placed on its nodes, where an operator does not say; a day unless said. */
  readonly maintenanceDrainMs?: number;
  /** How long earnings of suppliers wait before they can be asked for; not at all unless given. */
  readonly payoutHoldMs?: number;
  /** The provider that suppliers' machines belong to; `marketplace` unless said. */
  readonly marketplaceProvider?: string;
  /** Where suppliers' machines may be beside the public internet; nowhere unless said. */
  readonly marketplaceNetworks?: readonly string[];
  /** Where receivers of webhooks may be beside the public internet; nowhere unless said. */
  readonly webhookNetworks?: readonly string[];
  /** What suppliers may ask for an hour of one GPU. */
  readonly priceRules?: PriceRules;
  /** What the HTTPS names of ports of instances end with; they have none unless said. */
  readonly marketplaceDomain?: string | null;
  /** Null or left out: there is no console here. */
  readonly console?: ConsoleOptions | null;
  readonly limits?: Partial<HttpLimits>;
  readonly tls?: { readonly cert: string; readonly key: string };
}

export interface Api {
  readonly server: HttpServer;
  readonly feed: Feed;
  /** The machines of the marketplace, as of the last look. `run` looks again and again. */
  readonly listing: Listing;
  /** Background work of the process; resolves once the signal has aborted and the last of it is done. */
  run(signal: AbortSignal): Promise<void>;
  /** Stops listening to NATS and ends the event streams. The caller closes what it handed in. */
  close(): Promise<void>;
}

/** Wires the api process. It listens to nothing and starts nothing until it is told to. */
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
  serveRoutes(deps, { server, keys, members, feed, listing, announce, people, keyFeed });

  return {
    server,
    feed,
    listing,
    run: async (signal) => {
      const loops = [keyFeed.start(), listing.start(), ...createExpirySweep(deps)];
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
}

function serveRoutes(deps: ApiDeps, services: RouteServices): void {
  const { contract, db, clock, cell, sealer, recallMoney, marketplaceDomain: domain = null } = deps;
  const { server, keys, members, feed, listing, announce, people, keyFeed } = services;
  const { operations } = contract;
  const base = { server, operations, db };
  serveDocuments(server, contract, { open: deps.openDocuments, publicUrl: deps.publicUrl ?? null });
  serveInstallation(server, operations, installationInfoOf(deps));
  const invalidatePerson = (userId: string) => people?.invalidatePerson(userId);
  serveSessions({ ...base, clock, invalidatePerson });
  deps.signIn?.mount(server, deps.limiter);
  serveIdentity({ ...base, keys, members, announce, work: runningWork, homeCell: cell });
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
  serveCatalog({ ...base, sealer, flushKeyFeed: keyFeed.flush });
  serveRequestUsage(base);
  serveListing({ server, operations, clock, listing });
  servePublicCatalog({ ...base, clock, listing, isOpen: deps.openCatalog ?? true });
  serveInstances({ ...base, clock, cell, recallMoney, domain });
  serveVolumes({ ...base, clock, ordering: createOrderRunner({ db, cell, recallMoney }, 'volume') });
  if (deps.console != null) serveConsole(server, deps.console);
  serveHealth(server.fastify, deps.lifecycle);
}

/** How sessions let people in; none where nobody signs in. */
function createSessions({ db, clock, signIn, organisationRpm, fundedRpm = organisationRpm }: ApiDeps) {
  return signIn == null
    ? null
    : createSessionAuthenticator({ db, clock, signIn: signIn.sessions, organisationRpm, fundedRpm });
}

function installationInfoOf(deps: ApiDeps): InstallationInfo {
  const { signIn = null, publicUrl = null, inferenceUrl = null, version = '0.0.0', stripe = null } = deps;
  const name = signIn?.settings.name ?? 'Millrace';
  return { name, publicUrl, inferenceUrl, version, topUp: stripe !== null, signIn };
}

const SWEEP_EVERY_MS = 3_600_000;

/** Sessions and codes that have run out are refused by the clock; this only tidies up. */
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

/** The console is the api's own, unless the operator says that it is elsewhere. */
function userLinksOf({ consoleUrl = null, publicUrl = null, signIn }: ApiDeps) {
  const own = signIn?.settings.publicUrl ?? publicUrl;
  const url = consoleUrl ?? (own === null ? null : `${own}/console`);
  const base = url?.replace(/(?<!\/)\/+$/, '') ?? null;
  return {
    invitationsUrl: base === null ? null : `${base}/invitations`,
    refuseLinkOf: signIn == null ? null : optOutLink(signIn),
    // Behind the #, where neither a server's log nor a referrer sees the secret.
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
  const { db, nats, natsPrefix: prefix, sealer, clock, log, organisationRpm } = deps;
  const rates = { organisationRpm, fundedRpm: deps.fundedRpm ?? organisationRpm };
  return createKeyFeedSync({ db, nats, prefix, sealer, clock, log, rates });
}

/**
 * This process forgets at once; the others are told, and would find out by themselves within a second. Gateways are told
 * through their book, before the caller is answered.
 */
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
