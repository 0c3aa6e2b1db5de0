import { createTransport, type NodemailerError, type SMTPTransportOptions } from 'nodemailer';
import { isLoopback } from '../net/loopback.ts';
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
  /** `smtps://user:password@host:465`, or `smtp://…`, which is made secure before anything is said. */
  readonly url: string;
  readonly from: EmailAddress;
  /** How long the server may be silent. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 20_000;
const portOf = { smtp: 587, smtps: 465 } as const;

/** What a URL says about a server. Only on this machine may letters and passwords travel in the clear. */
export function smtpSettingsOf(
  text: string,
): Pick<SMTPTransportOptions, 'host' | 'port' | 'secure' | 'requireTLS' | 'auth'> {
  const url = new URL(text);
  const secure = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const user = decodeURIComponent(url.username);
  return {
    host,
    port: url.port === '' ? portOf[secure ? 'smtps' : 'smtp'] : Number(url.port),
    secure,
    requireTLS: !secure && !isLoopback(host),
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(url.password) } }),
  };
}

/** A connection for each letter: notices are few, and one that is kept open is one that is found dead. */
export function createSmtpMailer({ url, from, timeoutMs = TIMEOUT_MS }: SmtpOptions): Mailer {
  const transport = createTransport({
    ...smtpSettingsOf(url),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // What letters say comes from tenants too: nothing in it is ever a file or an address to be fetched.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    from,
    send: async (email): Promise<SendOutcome> => {
      if (!isSingleAddress(email.to.address))
        return { kind: 'refused', reason: 'The address is not one mailbox.' };
      try {
        await transport.sendMail(toSmtpMessage(email, from));
        return { kind: 'sent' };
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        const { message, responseCode, command }: NodemailerError = error;
        return classifySmtpFailure({ message, responseCode, command });
      }
    },
  };
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
      // Tells programs that answer letters by themselves not to answer this one.
      'Auto-Submitted': 'auto-generated',
      ...headers,
    },
  };
}

function toAddressHeader({ name, address }: EmailAddress): { name: string; address: string } {
  return { name: name === null ? '' : oneLine(name), address };
}
