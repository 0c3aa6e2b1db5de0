import { contract } from '@millrace/contract';
import { eventChannels } from '@millrace/core/events';
import { keyChangeSubject } from '@millrace/core/identity';
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
  callServer,
  createTestDatabase,
  startStripeDouble,
  testNames,
  type CallRequest,
  type CallResponse,
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
    call: (request) => callServer(api.server, request),
    [Symbol.asyncDispose]: async () => {
      await api.server.close();
      await api.close();
      await Promise.all([nats.close(), valkey.close(), stripe.close(), people.close()]);
      await database.drop();
    },
  };
}
