import { betterAuth } from 'better-auth';
import { APIError } from 'better-auth/api';
import { hashPassword } from 'better-auth/crypto';
import { getAdapter } from 'better-auth/db/adapter';
import type { Timer } from '../clock/index.ts';
import type { Db } from '../db/index.ts';
import { Fault } from '../fault/index.ts';
import type { HttpServer, Sessions } from '../http/index.ts';
import type { IdSource } from '../ids/index.ts';
import type { RefundingLimiter } from '../limiter/index.ts';
import { logFailure, type Logger } from '../log/index.ts';
import type { Mailer } from '../mail/index.ts';
import { createAuthSecrets, type AuthSecrets } from './auth-secrets.ts';
import { createCookieReader } from './cookie.ts';
import { withDeviceOrigin } from './device-origin.ts';
import { recordDatabaseFailure, withRecordedFailure, rethrowDatabaseFailure } from './database-failures.ts';
import { hashSecretsIn } from './hashed-adapter.ts';
import { createInvitationLinks, type InvitationLinks } from './invitation-link.ts';
import { createEmailOptOuts, type EmailOptOuts } from './email-opt-out.ts';
import { createKnownBrowsers } from './known-browser.ts';
import { serveAuthRoutes } from './auth-routes.ts';
import { authOptions, type AuthOptionDeps } from './better-auth-options.ts';
import {
  findOpenInvitation,
  deleteExpiredAuthRows,
  deleteUnconfirmedPassword,
  reencryptSecondFactors,
  secureAccountAfterReset,
} from './users.store.ts';
import { reencryptSecondFactorsIn } from './reencrypting-adapter.ts';
import { createEmailSender } from './email-sender.ts';
import type { SignInSettings } from './settings.ts';

export interface SignInDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly ids: IdSource;
  readonly log: Logger;
  /** Null if the installation sends no email. */
  readonly mailer: Mailer | null;
}

/** Sign-in as the other modules see it. */
export interface SignIn {
  readonly settings: Pick<SignInSettings, 'name' | 'publicUrl' | 'signUp'>;
  readonly oidc: readonly { readonly id: string; readonly name: string }[];
  readonly hasMail: boolean;
  /** The secret of an invitation link. Without email, signing up and responding to the invitation require it. */
  readonly invitationSecretOf: InvitationLinks['secretOf'];
  readonly isInvitationSecret: InvitationLinks['isSecretOf'];
  /** Signs and checks the opt-out links of invitation emails. */
  readonly mailRefusals: EmailOptOuts;
  /** The origin of the console, and the reader of its session cookie. */
  readonly sessions: Pick<Sessions, 'origin' | 'tokenIn'>;
  mount(server: HttpServer, limiter: RefundingLimiter): void;
  /** Deletes one batch of expired rows, and encrypts second factors with the current secret. Call it periodically, and again at once while it returns `more`. */
  sweep(): Promise<'more' | 'done'>;
  /** Resolves when no email is in flight. */
  settled(): Promise<void>;
}

/** The maximum of rows per table in one transaction. */
const SWEEP_BATCH = 1_000;

export async function createSignIn(settings: SignInSettings, deps: SignInDeps): Promise<SignIn> {
  const { db, clock, ids, log, mailer } = deps;
  const post = mailer === null ? null : createEmailSender({ mailer, clock, log });
  const { origin } = new URL(settings.publicUrl);
  const secrets = createAuthSecrets(settings.secret, settings.otherSecrets);
  const links = createInvitationLinks(secrets);
  const isInvited = invitationCheck(db, links);
  const options = authOptions(
    { ...settings, publicUrl: origin },
    {
      ids,
      post,
      onError: (error) => {
        recordDatabaseFailure(error);
        logFailureOf(log, error);
      },
      isInvited: (...invitation) => withRecordedFailure(isInvited(...invitation)),
      takeOver: (userId) =>
        withRecordedFailure(
          db.transaction({ name: 'choose password', isolation: 'read committed' }, (tx) =>
            secureAccountAfterReset(tx, userId),
          ),
        ),
      offerPassword: async (email) => {
        if (post === null) return;
        await deleteUnconfirmedPassword(db, email);
        await auth.api.requestPasswordReset({ body: { email } });
      },
    },
  );
  const database = { db: db.kysely, type: 'postgres', transaction: true } as const;
  const adapter = reencryptSecondFactorsIn(
    hashSecretsIn(await getAdapter({ ...options, database })),
    secrets,
  );
  const auth = betterAuth({
    ...options,
    database: () => adapter,
    logger: {
      level: 'error',
      // Logs the message and the cause without other details, which contain passwords, email addresses and tokens.
      log: (level, message, ...details) => {
        const [cause] = details.flatMap((each) => (each instanceof Error ? [each.message] : []));
        log.warn({ level, said: message, cause }, 'sign-in library reported an error');
      },
    },
  });
  const handle = async (request: Request): Promise<Response> => {
    const response = await rethrowDatabaseFailure(request, (each) => auth.handler(each));
    if (response.status < 500) return withDeviceOrigin(db, request, response);
    // The cause is in the log already. If the database is unavailable now, the ping throws its error.
    await db.ping();
    throw new Fault('INTERNAL', { internal: 'sign-in failed' });
  };
  const { authCookies } = await auth.$context;
  const tokenIn = createCookieReader({ name: authCookies.sessionToken.name, secrets });
  const https = origin.startsWith('https://');
  const browsers = createKnownBrowsers({ secrets, https });
  return {
    settings: { name: settings.name, publicUrl: settings.publicUrl, signUp: settings.signUp },
    oidc: settings.oidc.map(({ id, name }) => ({ id, name })),
    hasMail: post !== null,
    invitationSecretOf: links.secretOf,
    isInvitationSecret: links.isSecretOf,
    mailRefusals: createEmailOptOuts(secrets),
    sessions: { origin, tokenIn },
    mount: (server, limiter) =>
      serveAuthRoutes({
        ...{ server, limiter, origin, secrets, browsers, handle },
        addressTries: settings.addressTries,
      }),
    sweep: () => sweep(db, secrets),
    settled: async () => post?.settled(),
  };
}

/** Second factors are encrypted again only if nothing is left to delete: that pass reads all of them. */
async function sweep(db: Db, secrets: AuthSecrets): Promise<'more' | 'done'> {
  const outcome = await db.transaction(
    { name: 'forget expired sign-ins', isolation: 'read committed' },
    (tx) => deleteExpiredAuthRows(tx, SWEEP_BATCH),
  );
  if (outcome === 'done' && secrets.hasOthers)
    await reencryptSecondFactors(db, secrets.reencrypt, SWEEP_BATCH);
  return outcome;
}

function invitationCheck(db: Db, links: InvitationLinks): AuthOptionDeps['isInvited'] {
  return async (email, secret) => {
    const at = db.clock.now();
    if (secret === null) return (await findOpenInvitation(db, { email, id: null, at })) !== null;
    const id = links.idIn(secret);
    if (id === null) return false;
    const invitation = await findOpenInvitation(db, { email, id, at });
    return invitation !== null && links.isSecretOf(invitation, secret);
  };
}

/** Logs internal errors only. The caller's own mistakes are in the response. */
function logFailureOf(log: Logger, error: unknown): void {
  if (error instanceof APIError && error.statusCode < 500) return;
  logFailure(log, error, 'sign-in failed');
}

/** Hashes a password for demos and tests, which create users without signing up. */
export function passwordHash(password: string): Promise<string> {
  return hashPassword(password);
}
