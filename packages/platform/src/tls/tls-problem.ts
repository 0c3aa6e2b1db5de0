/** How an operator can repair a connection, as whole sentences. */
export interface TlsRepair {
  /** Begins the explanation: "The storage node". */
  readonly server: string;
  /** For a certificate that is not the expected one. */
  readonly trust: string;
  /** For a client certificate that the server refuses. Without it, a closed connection is not explained. */
  readonly client?: string;
}

/** The code of an error about a trusted certificate that is not a pinned one. */
export const pinMismatch = 'CERT_NOT_PINNED';

const notTls: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
]);

/** A server that refuses a certificate after a TLS 1.3 handshake just closes, and some also send an alert. */
const closed: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Explains a failed TLS connection and its repair, without any content of files; null for any other failure. */
export function explainTlsError(error: unknown, repair: TlsRepair): string | null {
  const { server, trust, client } = repair;
  if (!(error instanceof Error)) return null;
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    const state = code === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not yet valid';
    return `${server} has a certificate that ${state} (${code}). Replace it, or correct the clock.`;
  }
  if (isCertificateCode(code)) return `${server} has a certificate that is not accepted (${code}). ${trust}`;
  if (/ALERT_(?:CERTIFICATE|BAD_CERTIFICATE|UNKNOWN_CA|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)/.test(code)) {
    return `${server} refuses the client certificate (${code}). ${client ?? ''}`.trim();
  }
  if (notTls.has(code)) return `${server} does not use TLS at this address (${code}). Enable TLS on it.`;
  if (client !== undefined && closed.has(code)) return `${server} closed the connection (${code}). ${client}`;
  return error.cause === undefined ? null : explainTlsError(error.cause, repair);
}

/** Whether the certificate of a server was refused. */
export function isCertificateCode(code: string): boolean {
  if (code === pinMismatch || code === 'ERR_TLS_CERT_ALTNAME_INVALID') return true;
  // Codes of alerts are about the certificate of the client.
  return !code.startsWith('ERR_SSL_') && /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)/.test(code);
}
