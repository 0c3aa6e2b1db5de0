import { explainTlsError } from '../tls/index.ts';

const settings = 'MILLRACE_VALKEY_URL or MILLRACE_POT_VALKEY_URL';
const users = 'the server has this user: `millrace-admin valkey users` prints the users';

/** Valkey or this process refused the connection or a command. The message says what an operator has to change. */
export class ValkeyRefusedError extends Error {
  override readonly name = 'ValkeyRefusedError';
}

/** Explains how to repair a refused connection; null for any other failure. Contains no password. */
export function explainConnectionError(error: unknown, usesTls: boolean): string | null {
  if (!(error instanceof Error)) return null;
  if (error.message.startsWith('WRONGPASS')) {
    return `Valkey refused the user or the password in ${settings}. Check them, and that ${users}.`;
  }
  if (error.message.startsWith('NOAUTH')) {
    return `Valkey asks for a user and a password, and ${settings} has none. Add them, and check that ${users}.`;
  }
  if (error.message.startsWith('NOPERM')) return explainPermissionError(error);
  if (!usesTls) {
    // A server that expects TLS answers a command without it with an alert, or only closes the connection.
    return /Socket closed unexpectedly|ECONNRESET|Unknown RESP type/.test(error.message)
      ? `Valkey closed the connection before it answered. If it requires TLS, use rediss:// in ${settings}.`
      : null;
  }
  // A server without TLS waits for the end of a line, which few handshakes contain.
  if (error.message === 'Connection timeout') {
    return `Valkey did not answer the TLS handshake in time. Check the address in ${settings}, and that the server uses TLS there (tls-port).`;
  }
  const trust =
    'Check that MILLRACE_ENGINE_CA_FILE has the authority that issued it, and that it contains ' +
    `the name or address in ${settings}.`;
  return explainTlsError(error, { server: 'Valkey', trust });
}

/** Explains how to repair the refusal of one command; null for any other failure. */
export function explainPermissionError(error: unknown): string | null {
  if (!(error instanceof Error) || !error.message.startsWith('NOPERM')) return null;
  return (
    `Valkey does not allow an operation of this process (${error.message}). ` +
    'Renew the users of the server with `millrace-admin valkey users` of this release.'
  );
}
