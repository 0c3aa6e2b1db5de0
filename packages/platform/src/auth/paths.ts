/** The paths served below `/auth`. All others are 404, because unused ones only widen the attack surface. */

export interface AuthPath {
  /**
   * How an attempt is limited. `password`: by email address and client address. `letter`: the same, because it sends an
   * email. `code`: by client address. `request`: each creates a row, so a separate limit per client address counts it
   * even if it succeeds.
   */
  readonly counted?: 'password' | 'letter' | 'code' | 'request';
  /** Reached from other sites: from an email, or on return from an OIDC provider. */
  readonly isLanding?: true;
  /** Programs get the session token in the response body; browsers get it only in a cookie. */
  readonly answersToken?: true;
}

const paths: Readonly<Record<string, AuthPath>> = {
  'POST /sign-up/email': { counted: 'letter' },
  'POST /sign-in/email': { counted: 'password' },
  'POST /sign-in/social': { counted: 'code' },
  'GET /callback/{provider}': { isLanding: true },
  'POST /sign-out': {},
  'GET /get-session': {},
  'GET /verify-email': { isLanding: true },
  'POST /send-verification-email': { counted: 'letter' },
  'POST /request-password-reset': { counted: 'letter' },
  'POST /reset-password': { counted: 'code' },
  'POST /change-password': { counted: 'code' },
  'POST /change-email': { counted: 'code' },
  'POST /update-user': {},
  'GET /list-accounts': {},
  'POST /two-factor/enable': { counted: 'code' },
  'POST /two-factor/disable': { counted: 'code' },
  'POST /two-factor/verify-totp': { counted: 'code' },
  'POST /two-factor/verify-backup-code': { counted: 'code' },
  'POST /two-factor/generate-backup-codes': { counted: 'code' },
  'GET /passkey/generate-register-options': {},
  'POST /passkey/verify-registration': {},
  'GET /passkey/generate-authenticate-options': {},
  'POST /passkey/verify-authentication': { counted: 'code' },
  'GET /passkey/list-user-passkeys': {},
  'POST /passkey/delete-passkey': {},
  'POST /passkey/update-passkey': {},
  'POST /device/code': { counted: 'request' },
  'POST /device/token': { answersToken: true },
  'GET /device': { counted: 'code' },
  'POST /device/approve': { counted: 'code' },
  'POST /device/deny': { counted: 'code' },
};

/** Null if the path is not served. `path` excludes `/auth` and the query. */
export function findAuthPath(method: string, path: string): AuthPath | null {
  const known = /^\/callback\/[a-z0-9][a-z0-9-]{0,62}$/.test(path) ? '/callback/{provider}' : path;
  return paths[`${method} ${known}`] ?? null;
}
