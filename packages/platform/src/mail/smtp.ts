import { getCACertificates } from 'node:tls';
import { createTransport, type NodemailerError, type SMTPTransportOptions } from 'nodemailer';
import { hostOf, isLoopback } from '../net/loopback.ts';
import { explainTlsError } from '../tls/index.ts';
import {
  isSingleAddress,
  classifySmtpFailure,
  oneLine,
  type Email,
  type EmailAddress,
  type Mailer,
  type SendOutcome,
} from './mail.ts';

export interface SmtpOptions {
  /** `smtps://user:password@host:465`, or `smtp://…`, which switches to TLS before login and content. */
  readonly url: string;
  readonly from: EmailAddress;
  /** PEM: authorities in addition to the public ones. */
  readonly ca?: string | null;
  /** The maximum time without a response of the server. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 20_000;
const portOf = { smtp: 587, smtps: 465 } as const;

/** Parses the URL of a server. TLS is optional only on this machine. */
export function smtpSettingsOf(
  text: string,
): Pick<SMTPTransportOptions, 'host' | 'port' | 'secure' | 'requireTLS' | 'auth'> {
  const url = new URL(text);
  const secure = url.protocol === 'smtps:';
  const host = hostOf(url);
  const user = decodeURIComponent(url.username);
  return {
    host,
    port: url.port === '' ? portOf[secure ? 'smtps' : 'smtp'] : Number(url.port),
    secure,
    requireTLS: !secure && !isLoopback(host),
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(url.password) } }),
  };
}

/** Opens a connection per email: emails are rare, and an idle connection might be dead when it is needed. */
export function createSmtpMailer({ url, from, ca = null, timeoutMs = TIMEOUT_MS }: SmtpOptions): Mailer {
  const transport = createTransport({
    ...smtpSettingsOf(url),
    // Node replaces the public authorities by `ca`.
    ...(ca === null ? {} : { tls: { ca: [...getCACertificates('default'), ca] } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // Email content partly comes from tenants, so it must never be treated as a file or URL to load.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    from,
    send: async (email): Promise<SendOutcome> => {
      if (!isSingleAddress(email.to.address))
        return { kind: 'refused', reason: 'The address is not a single email address.' };
      try {
        await transport.sendMail(toSmtpMessage(email, from));
        return { kind: 'sent' };
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        const { responseCode, command }: NodemailerError = error;
        return classifySmtpFailure({ message: reasonOf(error), responseCode, command });
      }
    },
  };
}

const repair = {
  server: 'The SMTP server',
  trust:
    'If a private authority issued it, set MILLRACE_SMTP_CA_FILE; it must contain the host of MILLRACE_SMTP_URL.',
};

/** Adds how to repair a connection or a login. */
function reasonOf(error: NodemailerError): string {
  const { message, code, command } = error;
  if (code === 'ETLS' && command === 'STARTTLS') {
    return `The SMTP server does not offer STARTTLS, without which nothing is sent to another machine. Enable TLS on it, or use smtps:// in MILLRACE_SMTP_URL. (${message})`;
  }
  if (code === 'EAUTH') return `${message}. Check the user and password in MILLRACE_SMTP_URL.`;
  // The library replaces the codes of TLS by its own.
  const original = 'originalCode' in error ? String(error.originalCode) : code;
  return explainTlsError(Object.assign(new Error(message), { code: original }), repair) ?? message;
}

function toSmtpMessage({ messageId, to, subject, text, html, headers }: Email, from: EmailAddress) {
  return {
    messageId: `<${messageId}>`,
    envelope: { from: from.address, to: [to.address] },
    from: toAddressHeader(from),
    to: toAddressHeader(to),
    subject: oneLine(subject),
    text,
    html,
    headers: {
      // Prevents automatic replies.
      'Auto-Submitted': 'auto-generated',
      ...headers,
    },
  };
}

function toAddressHeader({ name, address }: EmailAddress): { name: string; address: string } {
  return { name: name === null ? '' : oneLine(name), address };
}
