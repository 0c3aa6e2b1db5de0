/** Emails and the outcomes of sending them. Pure. */

export interface EmailAddress {
  readonly name: string | null;
  readonly address: string;
}

export interface Email {
  /** Without angle brackets. Stays the same for each attempt, so that receivers recognise a repeated email. */
  readonly messageId: string;
  readonly to: EmailAddress;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Additional headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The outcome of an attempt. `sent`: the server accepted the email. `refused`: it will never accept this email, so do
 * not retry. `deferred`: not now, because of this email or its recipient. `unavailable`: the server accepts no email at
 * the moment, which does not count against the email.
 */
export type SendOutcome =
  | { readonly kind: 'sent' }
  | { readonly kind: 'refused' | 'deferred' | 'unavailable'; readonly reason: string };

/** Sends emails. Must not be used inside a transaction. */
export interface Mailer {
  /** The sender of all emails. */
  readonly from: EmailAddress;
  /** Does not throw for errors of the server. */
  send(email: Email): Promise<SendOutcome>;
}

/** A single address. Stricter than the standard: it cannot be read as two addresses, a comment or a command. */
const plainAddress =
  /^[^\s@<>()[\]",;:\\\u0000-\u001f\u007f]{1,64}@[^\s@<>()[\]",;:\\\u0000-\u001f\u007f]{1,190}$/;

export function isSingleAddress(text: string): boolean {
  return plainAddress.test(text);
}

/** Parses `Example Cloud <notices@example.com>` or a plain address; null for other text. */
export function parseEmailAddress(text: string): EmailAddress | null {
  const [, name = '', bracketed, bare] = /^(?:([^<>"]*)<([^<>]+)>|([^<>\s]+))$/.exec(text.trim()) ?? [];
  const address = bracketed ?? bare;
  if (address === undefined || !isSingleAddress(address)) return null;
  return { name: name.trim() === '' ? null : oneLine(name), address };
}

/** Removes control characters, so that a header value has one line. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ')
    .trim()
    .toWellFormed();
}

export function domainOf({ address }: EmailAddress): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

/** The details of an SMTP error. */
export interface SmtpFailure {
  readonly message: string;
  /** The three-digit code of the server. */
  readonly responseCode?: number | undefined;
  /** The command that failed. `MAIL FROM` and earlier ones concern us; later ones concern the email. */
  readonly command?: string | undefined;
}

const messageErrorCommands: ReadonlySet<string> = new Set(['RCPT TO', 'DATA']);
const REASON_LENGTH = 500;

/**
 * Decides whether the email or the server is the cause. A server that does not respond, rejects our login or our sender
 * would do so for every email; only errors about the recipient or the content count against the email.
 */
export function classifySmtpFailure({
  message,
  responseCode,
  command,
}: SmtpFailure): Exclude<SendOutcome, { kind: 'sent' }> {
  const reason = oneLine(message).slice(0, REASON_LENGTH).toWellFormed();
  const isAboutMessage = command !== undefined && messageErrorCommands.has(command);
  // 421 means that the server is closing, 503 that the command order is wrong. Neither concerns the email.
  if (!isAboutMessage || responseCode === undefined || responseCode === 421 || responseCode === 503) {
    return { kind: 'unavailable', reason };
  }
  return { kind: responseCode >= 500 ? 'refused' : 'deferred', reason };
}
