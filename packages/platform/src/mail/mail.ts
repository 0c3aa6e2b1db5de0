/** Letters to people, and what becomes of them. Pure. */

/** Somebody with a mailbox. */
export interface EmailAddress {
  readonly name: string | null;
  readonly address: string;
}

export interface Email {
  /** Without angle brackets. The same letter has the same one however often it is sent, so that receivers see a repeat. */
  readonly messageId: string;
  readonly to: EmailAddress;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Beside those that every letter has. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * What became of an attempt. `sent`: the server has taken it over. `refused`: it will never take this letter, so nobody
 * should try again. `deferred`: not now, for reasons of this letter or its mailbox. `unavailable`: the server takes
 * nothing from us at all at the moment, which says nothing about the letter.
 */
export type SendOutcome =
  | { readonly kind: 'sent' }
  | { readonly kind: 'refused' | 'deferred' | 'unavailable'; readonly reason: string };

/** Sends letters. Whoever holds one must not hold a transaction. */
export interface Mailer {
  /** The mailbox that letters come from. */
  readonly from: EmailAddress;
  /** Never throws for what servers do. */
  send(email: Email): Promise<SendOutcome>;
}

/**
 * One plain mailbox. Far fewer than mail allows, on purpose: nothing that could be read as two addresses, as a comment or
 * as another command.
 */
const plainAddress =
  /^[^\s@<>()[\]",;:\\\u0000-\u001f\u007f]{1,64}@[^\s@<>()[\]",;:\\\u0000-\u001f\u007f]{1,190}$/;

export function isSingleAddress(text: string): boolean {
  return plainAddress.test(text);
}

/** `Example Cloud <notices@example.com>`, or the address alone; null for anything else. */
export function parseEmailAddress(text: string): EmailAddress | null {
  const [, name = '', bracketed, bare] = /^(?:([^<>"]*)<([^<>]+)>|([^<>\s]+))$/.exec(text.trim()) ?? [];
  const address = bracketed ?? bare;
  if (address === undefined || !isSingleAddress(address)) return null;
  return { name: name.trim() === '' ? null : oneLine(name), address };
}

/** What stands in a header is one line, whoever wrote it. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ')
    .trim()
    .toWellFormed();
}

export function domainOf({ address }: EmailAddress): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

/** What is known of a failure of the connection to a server. */
export interface SmtpFailure {
  readonly message: string;
  /** Of the three digits that the server answered with. */
  readonly responseCode?: number | undefined;
  /** What it was asked; `MAIL FROM` and what comes before is about us, the rest about the letter. */
  readonly command?: string | undefined;
}

const messageErrorCommands: ReadonlySet<string> = new Set(['RCPT TO', 'DATA']);
const REASON_LENGTH = 500;

/**
 * Whose fault it is. A server that does not answer, does not let us in or does not like the sender would answer so to every
 * letter; only what it says of a mailbox or of the content counts against the letter.
 */
export function classifySmtpFailure({
  message,
  responseCode,
  command,
}: SmtpFailure): Exclude<SendOutcome, { kind: 'sent' }> {
  const reason = oneLine(message).slice(0, REASON_LENGTH).toWellFormed();
  const isAboutMessage = command !== undefined && messageErrorCommands.has(command);
  // 421: it is about to close, and 503: it lost track of the conversation. Neither is about what was asked.
  if (!isAboutMessage || responseCode === undefined || responseCode === 421 || responseCode === 503) {
    return { kind: 'unavailable', reason };
  }
  return { kind: responseCode >= 500 ? 'refused' : 'deferred', reason };
}
