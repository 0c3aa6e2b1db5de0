import type { SignIn, SignInDeps } from '@millrace/platform/auth';
import { createSmtpMailer } from '@millrace/platform/mail';
import type { ApiConfig } from './config.ts';

/** Creates the sign-in from the settings; null if it is disabled. */
export async function createSignInFromConfig(
  { auth, http, mail }: Pick<ApiConfig, 'auth' | 'http' | 'mail'>,
  deps: Omit<SignInDeps, 'mailer'>,
): Promise<SignIn | null> {
  const { name, secret, otherSecrets, oidc, addressTries } = auth;
  const { publicUrl } = http;
  if (secret === null) return null;
  if (publicUrl === null) {
    deps.log.warn('sign-in is disabled: set MILLRACE_HTTP_PUBLIC_URL to the public address of this api');
    return null;
  }
  const mailer =
    mail.smtpUrl === null || mail.from === null
      ? null
      : createSmtpMailer({ url: mail.smtpUrl, from: mail.from, ca: mail.ca });
  const signUp = auth.signUp ?? (mailer === null ? 'closed' : 'open');
  // Imported on demand: the sign-in libraries are a seventh of all files that the api would load.
  const { createSignIn } = await import('@millrace/platform/auth');
  const settings = { name, publicUrl, secret, otherSecrets, signUp, oidc, addressTries };
  return createSignIn(settings, { ...deps, mailer });
}
