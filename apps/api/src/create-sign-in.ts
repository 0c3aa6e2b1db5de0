import type { SignIn, SignInDeps } from '@millrace/platform/auth';
import { createSmtpMailer } from '@millrace/platform/mail';
import type { ApiConfig } from './config.ts';

/** The sign-in as the settings want it; null where people do not sign in. */
export async function createSignInFromConfig(
  { auth, http, mail }: Pick<ApiConfig, 'auth' | 'http' | 'mail'>,
  deps: Omit<SignInDeps, 'mailer'>,
): Promise<SignIn | null> {
  const { name, secret, oidc, addressTries } = auth;
  const { publicUrl } = http;
  if (secret === null) return null;
  if (publicUrl === null) {
    deps.log.warn('nobody can sign in: MILLRACE_HTTP_PUBLIC_URL does not say where the console is');
    return null;
  }
  const mailer =
    mail.smtpUrl === null || mail.from === null
      ? null
      : createSmtpMailer({ url: mail.smtpUrl, from: mail.from });
  const signUp = auth.signUp ?? (mailer === null ? 'closed' : 'open');
  // Its libraries are a seventh of all files that the api would load: where nobody signs in, it starts without them.
  const { createSignIn } = await import('@millrace/platform/auth');
  return createSignIn({ name, publicUrl, secret, signUp, oidc, addressTries }, { ...deps, mailer });
}
