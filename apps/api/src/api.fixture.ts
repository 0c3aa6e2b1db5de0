import { contract, type PlatformRole, type Role } from '@millrace/contract';
import { eventChannels } from '@millrace/core/events';
import {
  addMember,
  createOrganisation,
  ensureUser,
  grantPlatformRole,
  issueUnrestrictedKey,
  keyChangeSubject,
  markSupplier,
  systemAuditContext,
  type KeyMode,
  type Organisation,
} from '@millrace/core/identity';
import { stripeGatewayOf } from '@millrace/core/payments';
import { consoleSubject } from '@millrace/core/rentals';
import type { OidcProvider } from '@millrace/platform/auth';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLifecycle } from '@millrace/platform/lifecycle';
import { createLimiter } from '@millrace/platform/limiter';
import { createLogger } from '@millrace/platform/log';
import { connectNats } from '@millrace/platform/nats';
import { createSealer } from '@millrace/platform/secrets';
import { connectValkey } from '@millrace/platform/valkey';
import { readEndpoints } from '@millrace/services';
import {
  createTestDatabase,
  startStripeDouble,
  testNames,
  uniqueId,
  type StripeDouble,
  type TestDatabase,
  type TestSmtp,
} from '@millrace/testing';
import { createApi, type Api } from './app.ts';
import { setUserPassword, signInAs, startFixtureSignIn, type SignedIn } from './users.fixture.ts';

/** The control plane in the test's own process, on real engines, with a database of its own. For tests only. */
export interface ApiFixture {
  readonly api: Api;
  readonly database: TestDatabase;
  readonly db: Db;
  readonly channelPrefix: string;
  /** Where payments go: a double, never Stripe. */
  readonly stripe: StripeDouble;
  /** Where letters arrive; null unless the fixture was started with mail. */
  readonly smtp: TestSmtp | null;
  /** Signs a person in, as the console would. */
  signInAs(userId: string): Promise<SignedIn>;
  /** Gives a person a password, and their mailbox as confirmed. */
  givePassword(userId: string, password: string): Promise<void>;
  /** Everything logged so far. */
  readonly logs: () => string;
  call(request: CallRequest): Promise<CallResponse>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface CallRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CallResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  readonly text: string;
  /** The parsed body. Tests say what they expect of it. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads fields of an answer it then asserts on
  readonly json: any;
}

const UNLIMITED_RPM = 1_000_000;

export async function startApiFixture(
  options: {
    readonly organisationRpm?: number;
    readonly fundedRpm?: number;
    readonly openDocuments?: boolean;
    readonly openCatalog?: boolean;
    readonly publicUrl?: string;
    readonly withoutStripe?: boolean;
    /** Letters go to a real SMTP server, and anyone may sign up. */
    readonly withMail?: boolean;
    readonly signUp?: 'open' | 'closed';
    readonly oidc?: readonly OidcProvider[];
  } = {},
): Promise<ApiFixture> {
  const database = await createTestDatabase();
  const { db } = database;
  const clock = systemClock;
  let logged = '';
  const destination = { write: (line: string) => void (logged += line) };
  const log = createLogger({ name: 'api', level: 'debug', destination });
  const { natsUrls, valkeyUrl } = readEndpoints();
  const channelPrefix = testNames().natsPrefix;
  const nats = await connectNats({ servers: natsUrls, name: 'api-fixture', log });
  const valkey = await connectValkey({ url: valkeyUrl, name: 'api-fixture', log, commandTimeoutMs: 10_000 });
  const lifecycle = createLifecycle({ clock, log, drainDeadlineMs: 5_000 });
  const stripe = await startStripeDouble();
  const ids = createIdSource({ clock, cell: 1 });
  const { withMail = false, signUp = withMail ? 'open' : 'closed' } = options;
  const people = await startFixtureSignIn(
    { db, clock, ids, log },
    { withMail, signUp, oidc: options.oidc ?? [] },
  );
  const api = createApi({
    contract,
    cell: 1,
    clock,
    ids,
    signIn: people.signIn,
    log,
    db,
    nats,
    // Long, so that on a busy machine requests are counted all the same.
    limiter: createLimiter({ valkey, log, clock, timeoutMs: 10_000 }),
    lifecycle,
    channels: eventChannels(channelPrefix),
    natsPrefix: channelPrefix,
    sealer: createSealer({ keys: [{ id: 'test', key: new Uint8Array(32).fill(7) }], activeId: 'test' }),
    keyChangeSubject: keyChangeSubject(channelPrefix),
    consoleSubject: consoleSubject(channelPrefix, 1),
    organisationRpm: options.organisationRpm ?? UNLIMITED_RPM,
    fundedRpm: options.fundedRpm ?? UNLIMITED_RPM,
    trustedProxies: ['127.0.0.1'],
    validateResponses: true,
    openDocuments: options.openDocuments ?? false,
    openCatalog: options.openCatalog ?? true,
    publicUrl: options.publicUrl ?? null,
    stripe: options.withoutStripe === true ? null : await stripeGatewayOf(stripe.settings),
    consoleUrl: 'https://console.example.com',
    limits: { anonymousRpm: UNLIMITED_RPM, personRpm: UNLIMITED_RPM, failedAuthRpm: UNLIMITED_RPM },
  });
  lifecycle.started();

  return {
    api,
    database,
    db,
    channelPrefix,
    stripe,
    smtp: people.smtp,
    signInAs: (userId) => signInAs(db, userId),
    givePassword: (userId, password) => setUserPassword(db, userId, password),
    logs: () => logged,
    call: (request) => callInProcess(api, request),
    [Symbol.asyncDispose]: async () => {
      await api.server.close();
      await api.close();
      await Promise.all([nats.close(), valkey.close(), stripe.close(), people.close()]);
      await database.drop();
    },
  };
}

async function callInProcess(api: Api, request: CallRequest): Promise<CallResponse> {
  const response = await api.server.fastify.inject({
    method: request.method,
    url: request.path,
    headers: {
      ...(request.key === undefined ? {} : { authorization: `Bearer ${request.key}` }),
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
    ...(request.body === undefined ? {} : { payload: JSON.stringify(request.body) }),
  });
  const text = response.body;
  return {
    status: response.statusCode,
    headers: response.headers,
    text,
    json: text === '' || !isJson(response.headers['content-type']) ? undefined : JSON.parse(text),
  };
}

const isJson = (contentType: unknown): boolean => String(contentType).startsWith('application/json');

export interface SeededKey {
  readonly userId: string;
  readonly keyId: string;
  readonly key: string;
}

export interface SeededOrganisation {
  readonly organisation: Organisation;
  readonly owner: SeededKey;
  /** Adds a person with that role and gives them a key with everything it allows. */
  addPerson(role: Role, mode?: KeyMode): Promise<SeededKey>;
  /** Another full key of the owner. */
  ownerKey(mode: KeyMode): Promise<SeededKey>;
}

/** An organisation with an owner and their live key, made as the admin command makes one. */
export async function seedOrganisation(
  db: Db,
  options: {
    readonly platformRole?: PlatformRole;
    /** Its owners and admins act as suppliers, so that its keys have what that takes. */
    readonly supplies?: boolean;
  } = {},
): Promise<SeededOrganisation> {
  const cause = systemAuditContext('test', 'live');
  const id = uniqueId();
  const owner = { email: `owner-${id}@example.com`, name: 'Owner' };
  const readCommitted = 'read committed' as const;

  const issue = (organisation: Organisation, email: string, mode: KeyMode): Promise<SeededKey> =>
    db.transaction({ name: 'seed key', isolation: readCommitted }, async (tx) => {
      const user = await ensureUser(tx, { email });
      const { key, text } = await issueUnrestrictedKey(tx, cause, {
        orgId: organisation.id,
        user,
        mode,
        name: 'seeded',
      });
      return { userId: user.id, keyId: key.id, key: text };
    });

  const organisation = await db.transaction({ name: 'seed', isolation: readCommitted }, async (tx) => {
    const made = await createOrganisation(tx, cause, { name: `Test ${id}`, homeCell: 1, owner });
    if (options.platformRole !== undefined) await grantPlatformRole(tx, made.owner.id, options.platformRole);
    if (options.supplies === true) await markSupplier(tx, made.organisation.id);
    return made.organisation;
  });
  return {
    organisation,
    owner: await issue(organisation, owner.email, 'live'),
    ownerKey: (mode) => issue(organisation, owner.email, mode),
    addPerson: async (role, mode = 'live') => {
      const email = `${role}-${uniqueId()}@example.com`;
      await db.transaction({ name: 'seed member', isolation: readCommitted }, (tx) =>
        addMember(tx, cause, organisation.id, { email, role }),
      );
      return issue(organisation, email, mode);
    },
  };
}
