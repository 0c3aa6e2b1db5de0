import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerEnvelope } from 'smtp-server';

export interface ReceivedEmail {
  readonly from: string;
  readonly to: readonly string[];
  /** By lowercase name, unfolded. */
  readonly headers: Readonly<Record<string, string>>;
  /** The raw message. */
  readonly raw: string;
  /** The decoded parts. */
  readonly body: string;
}

/** A response that replaces the normal one. */
interface SmtpReply {
  readonly code: number;
  readonly text: string;
}

type Step = 'MAIL FROM' | 'RCPT TO' | 'DATA';

/** A real SMTP server on loopback that refuses on demand. */
export interface TestSmtp extends AsyncDisposable {
  readonly url: string;
  readonly emails: readonly ReceivedEmail[];
  /** Refuses this step, for one address or for all, until `accept`. */
  refuse(step: Step, reply: SmtpReply, email?: string): void;
  accept(): void;
  /** Called when an email has arrived, before it is acknowledged. */
  onEmail: (email: ReceivedEmail) => void;
  close(): Promise<void>;
}

const credentials = { user: 'millrace', password: 'open sesame' };

export interface SmtpServerOptions {
  readonly withPassword?: boolean;
  /** TLS from the first byte, with an untrusted certificate. */
  readonly untrustedTls?: boolean;
  /** TLS from the first byte with this certificate, or after STARTTLS. */
  readonly tls?: { readonly certificate: string; readonly key: string; readonly afterStartTls?: boolean };
}

export async function startSmtpServer(options: SmtpServerOptions = {}): Promise<TestSmtp> {
  const emails: ReceivedEmail[] = [];
  const refusals: {
    readonly step: Step;
    readonly reply: SmtpReply;
    readonly emailAddress: string | undefined;
  }[] = [];
  const result = (step: Step, mailboxes: readonly string[]): Error | null => {
    const found = refusals.find((each) => {
      return each.step === step && (each.emailAddress === undefined || mailboxes.includes(each.emailAddress));
    });
    if (found === undefined) return null;
    return Object.assign(new Error(found.reply.text), { responseCode: found.reply.code });
  };
  const takeOver = async (
    stream: SMTPServerDataStream,
    envelope: SMTPServerEnvelope,
  ): Promise<Error | null> => {
    const raw = await text(stream);
    const to = envelope.rcptTo.map(({ address }) => address);
    const refused = result('DATA', to);
    if (refused !== null) return refused;
    const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
    const email = { from, to, raw, ...read(raw) };
    emails.push(email);
    smtp.onEmail(email);
    return null;
  };
  const isSecure =
    options.untrustedTls === true || (options.tls !== undefined && options.tls.afterStartTls !== true);
  const server = new SMTPServer({
    secure: isSecure,
    authOptional: options.withPassword !== true,
    allowInsecureAuth: true,
    disabledCommands: options.tls?.afterStartTls === true ? [] : ['STARTTLS'],
    ...(options.tls !== undefined && { cert: options.tls.certificate, key: options.tls.key }),
    logger: false,
    onAuth: ({ username, password }, _session, response) => {
      const isKnown = username === credentials.user && password === credentials.password;
      if (isKnown) response(null, { user: username });
      else response(new Error('Invalid username or password'));
    },
    onMailFrom: ({ address }, _session, response) => response(result('MAIL FROM', [address])),
    onRcptTo: ({ address }, _session, response) => response(result('RCPT TO', [address])),
    onData: (stream, { envelope }, response) => void takeOver(stream, envelope).then(response),
  });
  // Some tests abort connections on purpose.
  server.on('error', () => undefined);
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const address = listening.address();
  if (address === null || typeof address === 'string') throw new Error('The SMTP server has no port.');
  const close = (): Promise<void> => new Promise((resolve) => server.close(resolve));
  const login =
    options.withPassword === true ? `${credentials.user}:${encodeURIComponent(credentials.password)}@` : '';
  const smtp: TestSmtp = {
    url: `${isSecure ? 'smtps' : 'smtp'}://${login}127.0.0.1:${address.port}`,
    emails,
    refuse: (step, reply, emailAddress) => void refusals.push({ step, reply, emailAddress }),
    accept: () => void refusals.splice(0),
    onEmail: () => undefined,
    close,
    [Symbol.asyncDispose]: close,
  };
  return smtp;
}

function read(raw: string): Pick<ReceivedEmail, 'headers' | 'body'> {
  const at = raw.indexOf('\r\n\r\n');
  const lines = raw
    .slice(0, at)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim())] as const;
  });
  return { headers: Object.fromEntries(headers), body: decodeQuoted(raw.slice(at + 4)) };
}

/** Decodes `=?UTF-8?Q?…?=`. */
function decodeWords(line: string): string {
  return line
    .replaceAll(/\?=\s+=\?UTF-8\?Q\?/gi, '')
    .replaceAll(/=\?UTF-8\?Q\?(.*?)\?=/gi, (_all, word: string) => decodeQuoted(word.replaceAll('_', ' ')))
    .replaceAll(/=\?UTF-8\?B\?(.*?)\?=/gi, (_all, word: string) => Buffer.from(word, 'base64').toString());
}

function decodeQuoted(content: string): string {
  const whole = content.replaceAll(/=\r\n/g, '');
  return whole.replaceAll(/(?:=[0-9A-F]{2})+/g, (bytes) => {
    return Buffer.from(bytes.replaceAll('=', ''), 'hex').toString();
  });
}
