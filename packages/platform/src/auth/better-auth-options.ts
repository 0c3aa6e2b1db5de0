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
  /** Null if the installation sends no email: users with a password then have no verified email address. */
  readonly post: EmailSender | null;
  /** Whether this email address has an open invitation. With a secret: an invitation whose link contains the secret. */
  readonly isInvited: (email: string, secret: string | null) => Promise<boolean>;
  /** Called for every refused or failed request. */
  readonly onError: (error: unknown) => void;
  /** Called after a user chose a password through an emailed link, which proves that the email address is theirs. */
  readonly takeOver: (userId: string) => Promise<void>;
  /** Emails the owner of a never verified account a link to choose a password. */
  readonly offerPassword: (email: string) => Promise<void>;
}

const SECONDS_PER_DAY = 86_400;
const EMAIL_LINK_SECONDS = 3_600;
/** How recent a sign-in must be to change authenticators. */
const RECENT_SIGN_IN_SECONDS = SECONDS_PER_DAY;

/** All settings of the library except the database. docs/decisions/140-people-sign-in.md explains each choice. */
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
    // attempt-limits.ts limits attempts in Valkey, by client address and by email address.
    rateLimit: { enabled: false },
    onAPIError: { throw: false, errorURL: `${console}/sign-in`, onError: deps.onError },
    emailAndPassword: passwordOptions(deps, name, console),
    emailVerification: {
      sendOnSignUp: true,
      sendOnSignIn: true,
      // Mail servers follow links before the recipient does, so a link must not sign in.
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
      // Older versions and `millrace-admin user password` marked addresses as verified that received no email.
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
      // Set explicitly because the library disables both checks when it detects a test environment.
      disableOriginCheck: false,
      disableCSRFCheck: false,
      useSecureCookies: publicUrl.startsWith('https://'),
      // Our server sets this header, because it knows its proxies, and drops the client's value.
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
      // The earlier sign-up may be another person's; a link that only confirms would keep their password valid.
      if (!user.emailVerified) await offerPassword(user.email);
      else post?.send(recipientOf(user), accountExistsEmail(name, `${console}/sign-in`));
    },
  } satisfies BetterAuthOptions['emailAndPassword'];
}

export const CLIENT_IP_HEADER = 'x-millrace-client-ip';

interface EmailRecipient {
  readonly email: string;
}

/** Ids are UUIDs of version 7, in order of time. The kind is visible only in their text form. */
function idKindOf(model: string): 'usr' | 'ses' | 'acc' | 'ver' {
  if (model === 'user') return 'usr';
  if (model === 'session') return 'ses';
  return model === 'account' ? 'acc' : 'ver';
}

/** Sets the page that an emailed link leads to unless the request named one. */
function withLandingPage(url: string): string {
  const link = new URL(url);
  const landing = link.searchParams.get('callbackURL');
  if (landing === null || landing === '/' || landing === '')
    link.searchParams.set('callbackURL', '/console/verified');
  return link.href;
}
