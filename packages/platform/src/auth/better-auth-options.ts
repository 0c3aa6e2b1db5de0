import type { BetterAuthOptions } from 'better-auth';
import { toUuid, type IdSource } from '../ids/index.ts';
import {
  recipientOf,
  accountExistsEmail,
  changeAddressEmail,
  choosePasswordEmail,
  confirmAddressEmail,
} from './sign-in-emails.ts';
import { authHooks } from './hooks.ts';
import { authPlugins } from './plugins.ts';
import { createPasswords } from './passwords.ts';
import type { EmailSender } from './email-sender.ts';
import { columns, SESSION_SECONDS, type SignInSettings } from './settings.ts';
import { createSignUpRule } from './sign-up.ts';

export interface AuthOptionDeps {
  readonly ids: IdSource;
  /** Null: there is no mail, so a person with a password has no verified mailbox. */
  readonly post: EmailSender | null;
  /** Whether this mailbox has an open invitation; with a secret: one whose link holds it. */
  readonly isInvited: (email: string, secret: string | null) => Promise<boolean>;
  /** Told of everything that is refused or fails. */
  readonly onError: (error: unknown) => void;
  /** A password was chosen by a letter, so the mailbox, and the account with it, is that person's alone. */
  readonly takeOver: (userId: string) => Promise<void>;
  /** Writes a letter with which an account that was never confirmed gets a password of its owner's choice. */
  readonly offerPassword: (email: string) => Promise<void>;
}

const SECONDS_PER_DAY = 86_400;
const EMAIL_LINK_SECONDS = 3_600;
/** How recently somebody must have signed in to change what they sign in with. */
const RECENT_SIGN_IN_SECONDS = SECONDS_PER_DAY;

/** The library's settings but for the database. See docs/decisions/140-people-sign-in.md for each choice. */
export function authOptions(settings: SignInSettings, deps: AuthOptionDeps) {
  const { name, publicUrl } = settings;
  const console = `${publicUrl}/console`;
  const { post } = deps;
  const isClosed = settings.signUp === 'closed';
  const requireMaySignUp = createSignUpRule({ hasMail: post !== null, isClosed, isInvited: deps.isInvited });
  return {
    appName: name,
    baseURL: publicUrl,
    basePath: '/auth',
    secret: settings.secret,
    trustedOrigins: [new URL(publicUrl).origin],
    telemetry: { enabled: false },
    // Limits are ours, in Valkey, by address and by mailbox: see attempt-limits.ts.
    rateLimit: { enabled: false },
    onAPIError: { throw: false, errorURL: `${console}/sign-in`, onError: deps.onError },
    emailAndPassword: passwordOptions(deps, name, console),
    emailVerification: {
      sendOnSignUp: true,
      sendOnSignIn: true,
      // A link that signs in would sign in whatever program of a mail server follows it first.
      autoSignInAfterVerification: false,
      expiresIn: EMAIL_LINK_SECONDS,
      ...(post === null
        ? {}
        : {
            sendVerificationEmail: async ({ user, url }: { user: EmailRecipient; url: string }) =>
              post.send(recipientOf(user), confirmAddressEmail(name, withLandingPage(url))),
          }),
    },
    session: {
      modelName: 'sessions',
      fields: columns(['expiresAt', 'createdAt', 'updatedAt', 'ipAddress', 'userAgent', 'userId']),
      expiresIn: SESSION_SECONDS,
      updateAge: SECONDS_PER_DAY,
      freshAge: RECENT_SIGN_IN_SECONDS,
      cookieCache: { enabled: false },
    },
    user: {
      modelName: 'users',
      fields: columns(['emailVerified', 'createdAt', 'updatedAt']),
      changeEmail: {
        enabled: post !== null,
        sendChangeEmailConfirmation: async ({ user, newEmail, url }) =>
          post?.send(recipientOf(user), changeAddressEmail(name, newEmail, withLandingPage(url))),
      },
      deleteUser: { enabled: false },
    },
    account: {
      modelName: 'accounts',
      fields: columns([
        ...(['accountId', 'providerId', 'userId', 'accessToken', 'refreshToken', 'idToken'] as const),
        ...(['accessTokenExpiresAt', 'refreshTokenExpiresAt', 'createdAt', 'updatedAt'] as const),
      ]),
      encryptOAuthTokens: true,
      // Without mail, older versions and `millrace-admin user password` marked mailboxes as verified that no letter had reached.
      accountLinking: {
        enabled: true,
        requireLocalEmailVerified: true,
        disableImplicitLinking: post === null,
      },
    },
    verification: {
      modelName: 'verifications',
      fields: columns(['expiresAt', 'createdAt', 'updatedAt']),
      storeIdentifier: 'hashed',
    },
    advanced: {
      cookiePrefix: 'millrace',
      // Said aloud, because the library leaves them out when it takes itself to be under test.
      disableOriginCheck: false,
      disableCSRFCheck: false,
      useSecureCookies: publicUrl.startsWith('https://'),
      // Put there by our own server, which knows its proxies; whatever a client sends under this name is dropped.
      ipAddress: { ipAddressHeaders: [CLIENT_IP_HEADER] },
      database: { generateId: ({ model }) => toUuid(deps.ids.next(idKindOf(model))), validateSchema: false },
    },
    ...authHooks({ requireMaySignUp }),
    plugins: authPlugins(settings),
  } satisfies BetterAuthOptions;
}

function passwordOptions({ post, takeOver, offerPassword }: AuthOptionDeps, name: string, console: string) {
  return {
    enabled: true,
    requireEmailVerification: post !== null,
    autoSignIn: false,
    minPasswordLength: 10,
    maxPasswordLength: 128,
    password: createPasswords(),
    revokeSessionsOnPasswordReset: true,
    resetPasswordTokenExpiresIn: EMAIL_LINK_SECONDS,
    ...(post === null
      ? {}
      : {
          sendResetPassword: async ({ user, token }: { user: EmailRecipient; token: string }) => {
            const link = `${console}/reset-password?token=${token}`;
            return post.send(recipientOf(user), choosePasswordEmail(name, link));
          },
        }),
    onPasswordReset: ({ user }) => takeOver(user.id),
    onExistingUserSignUp: async ({ user }) => {
      // Whoever signed up before may have been somebody else. A link that merely confirms would leave them their password.
      if (!user.emailVerified) await offerPassword(user.email);
      else post?.send(recipientOf(user), accountExistsEmail(name, `${console}/sign-in`));
    },
  } satisfies BetterAuthOptions['emailAndPassword'];
}

export const CLIENT_IP_HEADER = 'x-millrace-client-ip';

interface EmailRecipient {
  readonly email: string;
}

/** Ids are ours: version 7, in order of time. The kind only shows in their text form. */
function idKindOf(model: string): 'usr' | 'ses' | 'acc' | 'ver' {
  if (model === 'user') return 'usr';
  if (model === 'session') return 'ses';
  return model === 'account' ? 'acc' : 'ver';
}

/** Where a link in a letter ends unless whoever asked for it said otherwise. */
function withLandingPage(url: string): string {
  const link = new URL(url);
  const landing = link.searchParams.get('callbackURL');
  if (landing === null || landing === '/' || landing === '')
    link.searchParams.set('callbackURL', '/console/verified');
  return link.href;
}
