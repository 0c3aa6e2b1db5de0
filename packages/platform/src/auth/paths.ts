/**
 * What of the library is served, below `/auth`. Everything else of it is absent: organisations, members and sessions have
 * operations of ours, and what nobody needs cannot be attacked.
 */

export interface AuthPath {
  /**
   * `password`: tries are counted by mailbox. `letter`: so are letters. `code`: a guess that only the address counts. `request`: each
   * makes a row, so it is counted by address in a counter of its own, also if it succeeds.
   */
  readonly counted?: 'password' | 'letter' | 'code' | 'request';
  /** People come here from other sites: from a letter, or back from an outside provider. */
  readonly isLanding?: true;
  /** Programs get the token of their session in the answer; browsers in a cookie, and nowhere else. */
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

/** Null for what is not served. `path` is without `/auth` and without a query. */
export function findAuthPath(method: string, path: string): AuthPath | null {
  const known = /^\/callback\/[a-z0-9][a-z0-9-]{0,62}$/.test(path) ? '/callback/{provider}' : path;
  return paths[`${method} ${known}`] ?? null;
}
