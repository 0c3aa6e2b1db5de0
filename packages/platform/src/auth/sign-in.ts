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
import { createCookieReader } from './cookie.ts';
import { withDeviceOrigin } from './device-origin.ts';
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
  secureAccountAfterReset,
} from './users.store.ts';
import { createEmailSender } from './email-sender.ts';
import type { SignInSettings } from './settings.ts';

export interface SignInDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly ids: IdSource;
  readonly log: Logger;
  /** Null: nobody gets letters. */
  readonly mailer: Mailer | null;
}

/** The sign-in of people, as the rest of the product sees it. */
export interface SignIn {
  readonly settings: Pick<SignInSettings, 'name' | 'publicUrl' | 'signUp'>;
  readonly oidc: readonly { readonly id: string; readonly name: string }[];
  readonly hasMail: boolean;
  /** The secret of an invitation's link. Where there is no mail, signing up and answering the invitation need it. */
  readonly invitationSecretOf: InvitationLinks['secretOf'];
  readonly isInvitationSecret: InvitationLinks['isSecretOf'];
  /** Signs and checks the links by which a mailbox refuses further invitation mail. */
  readonly mailRefusals: EmailOptOuts;
  /** Where the console is, and how its cookie is read. */
  readonly sessions: Pick<Sessions, 'origin' | 'tokenIn'>;
  mount(server: HttpServer, limiter: RefundingLimiter): void;
  /** Removes a batch of what has expired; to be called now and then, and again at once while there is more. */
  sweep(): Promise<'more' | 'done'>;
  /** Resolves when no letter is under way. */
  settled(): Promise<void>;
}

/** Rows of each table in one transaction. */
const SWEEP_BATCH = 1_000;

export async function createSignIn(settings: SignInSettings, deps: SignInDeps): Promise<SignIn> {
  const { db, clock, ids, log, mailer } = deps;
  const post = mailer === null ? null : createEmailSender({ mailer, clock, log });
  const { origin } = new URL(settings.publicUrl);
  const links = createInvitationLinks(settings.secret);
  const options = authOptions(
    { ...settings, publicUrl: origin },
    {
      ids,
      post,
      onError: (error) => logFailureOf(log, error),
      isInvited: invitationCheck(db, links),
      takeOver: (userId) =>
        db.transaction({ name: 'choose password', isolation: 'read committed' }, (tx) =>
          secureAccountAfterReset(tx, userId),
        ),
      offerPassword: async (email) => {
        if (post === null) return;
        await deleteUnconfirmedPassword(db, email);
        await auth.api.requestPasswordReset({ body: { email } });
      },
    },
  );
  const database = { db: db.kysely, type: 'postgres', transaction: true } as const;
  const adapter = hashSecretsIn(await getAdapter({ ...options, database }));
  const auth = betterAuth({
    ...options,
    database: () => adapter,
    logger: {
      level: 'error',
      // What went wrong, and never with which values: those are passwords, mailboxes and tokens.
      log: (level, message, ...details) => {
        const [cause] = details.flatMap((each) => (each instanceof Error ? [each.message] : []));
        log.warn({ level, said: message, cause }, 'the sign-in complains');
      },
    },
  });
  const handle = async (request: Request): Promise<Response> => {
    const response = await auth.handler(request);
    if (response.status < 500) return withDeviceOrigin(db, request, response);
    // What failed was logged. If it was the database, this fails as well, and is answered as on every other path.
    await db.ping();
    throw new Fault('INTERNAL', { internal: 'the sign-in failed' });
  };
  const { authCookies } = await auth.$context;
  const tokenIn = createCookieReader({ name: authCookies.sessionToken.name, secret: settings.secret });
  const https = origin.startsWith('https://');
  const browsers = createKnownBrowsers({ secret: settings.secret, https });
  return {
    settings: { name: settings.name, publicUrl: settings.publicUrl, signUp: settings.signUp },
    oidc: settings.oidc.map(({ id, name }) => ({ id, name })),
    hasMail: post !== null,
    invitationSecretOf: links.secretOf,
    isInvitationSecret: links.isSecretOf,
    mailRefusals: createEmailOptOuts(settings.secret),
    sessions: { origin, tokenIn },
    mount: (server, limiter) =>
      serveAuthRoutes({ server, limiter, origin, addressTries: settings.addressTries, browsers, handle }),
    sweep: () =>
      db.transaction({ name: 'forget expired sign-ins', isolation: 'read committed' }, (tx) =>
        deleteExpiredAuthRows(tx, SWEEP_BATCH),
      ),
    settled: async () => post?.settled(),
  };
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

/** What a person did wrong is theirs to know; what is ours goes to the log, without the values it was about. */
function logFailureOf(log: Logger, error: unknown): void {
  if (error instanceof APIError && error.statusCode < 500) return;
  logFailure(log, error, 'the sign-in failed');
}

/** A password as the sign-in keeps it, for whoever makes people without it: a demo, a test. */
export function passwordHash(password: string): Promise<string> {
  return hashPassword(password);
}
