import {
  AuthorizationError,
  PermissionViolationError,
  UserAuthenticationExpiredError,
} from '@nats-io/transport-node';
import { isCertificateCode } from '../tls/index.ts';

const refused =
  'NATS refused the credentials of this process. Check MILLRACE_NATS_CREDENTIALS, or the user and password in MILLRACE_NATS_URLS, ' +
  'and that the server has a user with this key: `millrace-admin nats users` prints them.';

/** Messages of other authentication failures, such as a revoked user. */
const authentication = /authentication|authorization/i;

export function isRefusedCredential(error: unknown): boolean {
  if (error instanceof PermissionViolationError) return false;
  if (error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError) return true;
  return error instanceof Error && error.name === 'ProtocolError' && authentication.test(error.message);
}

/** Explains how to repair a refusal, by the server or by this process; null for any other failure. */
export function explainConnectionError(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if (isRefusedCredential(error)) return refused;
  if (/does not support 'tls'|is not available on this server/.test(error.message)) {
    return 'A NATS server does not offer TLS, which tls:// in MILLRACE_NATS_URLS requires. Enable TLS on the server.';
  }
  const code = 'code' in error ? String(error.code) : '';
  if (isCertificateCode(code)) {
    return (
      `The certificate of a NATS server is not accepted (${code}). Check that MILLRACE_ENGINE_CA_FILE has the authority that issued it, ` +
      'that it has not expired, and that it contains the name or address in MILLRACE_NATS_URLS.'
    );
  }
  return error.cause === undefined ? null : explainConnectionError(error.cause);
}

/** Explains how to repair the refusal of one operation. */
export function explainPermissionError({ operation, subject }: PermissionViolationError): string {
  const action = operation === 'publish' ? 'publish to' : 'subscribe to';
  return `NATS does not allow this process to ${action} ${subject}. Renew the users of the server with \`millrace-admin nats users\` of this release.`;
}
