import { contract } from '@millrace/contract';
import { eventChannels } from '@millrace/core/events';
import { keyChangeSubject } from '@millrace/core/identity';
import { createKeyFeedSealer } from '@millrace/core/inference';
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
  type CallRequest,
  type CallResponse,
  callServer,
  createTestDatabase,
  natsAccess,
  startStripeDouble,
  type StripeDouble,
  type TestDatabase,
  testNames,
  type TestSmtp,
  valkeyAccess,
} from '@millrace/testing';
import { createApi, type Api } from './app.ts';
import { setUserPassword, signInAs, startFixtureSignIn, type SignedIn } from './users.fixture.ts';

/** The control plane in the test's process, on real engines with its own database. */
export interface ApiFixture {
  readonly api: Api;
  readonly database: TestDatabase;
  readonly db: Db;
  readonly channelPrefix: string;
  /** A double of Stripe. */
  readonly stripe: StripeDouble;
  /** Receives emails; null unless the fixture was started with mail. */
  readonly smtp: TestSmtp | null;
  signInAs(userId: string): Promise<SignedIn>;
  /** Sets a password and marks the email address as verified. */
  givePassword(userId: string, password: string): Promise<void>;
  readonly logs: () => string;
  call(request: CallRequest): Promise<CallResponse>;
  [Symbol.asyncDispose](): Promise<void>;
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
    /** Sends emails to a real SMTP server and opens sign-up. */
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
  const { natsUrls } = readEndpoints();
  const channelPrefix = testNames().natsPrefix;
  const nats = await connectNats({ ...natsAccess(), servers: natsUrls, name: 'api-fixture', log });
  const valkey = await connectValkey({
    ...valkeyAccess(),
    name: 'api-fixture',
    log,
    commandTimeoutMs: 10_000,
  });
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
    // Long, so that requests are counted on a busy machine too.
    limiter: createLimiter({ valkey, log, clock, timeoutMs: 10_000 }),
    lifecycle,
    channels: eventChannels(channelPrefix),
    natsPrefix: channelPrefix,
    sealer: createSealer({ keys: [{ id: 'test', key: new Uint8Array(32).fill(7) }], activeId: 'test' }),
    feedSealer: createKeyFeedSealer([{ id: 'feed', key: new Uint8Array(32).fill(8) }]),
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
    call: (request) => callServer(api.server, request),
    [Symbol.asyncDispose]: async () => {
      await api.server.close();
      await api.close();
      await Promise.all([nats.close(), valkey.close(), stripe.close(), people.close()]);
      await database.drop();
    },
  };
}
