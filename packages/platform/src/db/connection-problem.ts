import { DatabaseError } from 'pg';
import { isCertificateCode } from '../tls/index.ts';
import { serverName, type PostgresServer } from './servers/server-url.ts';

/** PostgreSQL or this process refused the connection, and the message says what an operator has to change. */
export class ConnectionRefusedError extends Error {
  /** The SQLSTATE, or the code of Node. */
  readonly code: string;

  constructor(message: string, code: string, cause: Error) {
    super(message, { cause });
    this.name = 'ConnectionRefusedError';
    this.code = code;
  }
}

/** Replaces the driver's error if an operator can repair its cause. The messages never contain a password. */
export function explainConnectError(error: Error, server: PostgresServer): Error {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const explanation = explain(error, code, `PostgreSQL at ${serverName(server)}`);
  return explanation === null ? error : new ConnectionRefusedError(explanation, code, error);
}

function explain(error: Error, code: string, postgres: string): string | null {
  if (error instanceof DatabaseError) return explainSqlState(error, code, postgres);
  if (error.message === 'The server does not support SSL connections') {
    return `${postgres} offers no TLS, which sslmode=verify-full in MILLRACE_POSTGRES_URL requires. Set ssl = on on the server.`;
  }
  if (isCertificateCode(code)) {
    return (
      `The certificate of ${postgres} is not accepted (${code}). Check that MILLRACE_ENGINE_CA_FILE has the authority that issued it, ` +
      'that it has not expired, and that it contains the name or address in MILLRACE_POSTGRES_URL.'
    );
  }
  if (/client password must be a (?:non-empty )?string/.test(error.message)) {
    return `${postgres} asks for a password, and MILLRACE_POSTGRES_URL has none.`;
  }
  return null;
}

function explainSqlState(error: DatabaseError, code: string, postgres: string): string | null {
  switch (code) {
    case '28P01':
      return `${postgres} refused the user or the password in MILLRACE_POSTGRES_URL.`;
    case '28000':
      return `${postgres} refused the connection: ${error.message}. Check the user and sslmode=verify-full in MILLRACE_POSTGRES_URL, and pg_hba.conf.`;
    // With these two, PostgreSQL refuses the role that the process asks for.
    case '22023':
      return `${postgres} refused a setting of the connection: ${error.message}. Run millrace-admin migrate first, which creates the roles.`;
    case '42501':
      return `${postgres} refused the role of this process: ${error.message}. Grant the role to the login in MILLRACE_POSTGRES_URL.`;
    default:
      return null;
  }
}
