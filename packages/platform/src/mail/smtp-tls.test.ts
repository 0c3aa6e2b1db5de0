import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { makeAuthority, startSmtpServer, startTcpProxy, type TestSmtp } from '@millrace/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSmtpMailer, type Email, type Mailer } from './index.ts';

// Real SMTP servers. The kernel connects 0.0.0.0 to this machine, and it is not a loopback address, so emails need TLS.

const addresses = ['127.0.0.1', '0.0.0.0'];
const past = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
const authority = await makeAuthority();
const [issued, forOtherHost, expired, another] = await Promise.all([
  authority.issue({ name: 'mail', addresses }),
  authority.issue({ name: 'mail', addresses: ['192.0.2.1'] }),
  authority.issue({ name: 'mail', addresses, notBefore: past(48), notAfter: past(24) }),
  makeAuthority('another'),
]);

const email: Email = {
  messageId: '1.2@example.com',
  to: { name: null, address: 'ada@example.com' },
  subject: 'Your balance',
  text: 'A readable text.\n',
  html: '<p>A readable text.</p>',
};

type ServerOptions = Parameters<typeof startSmtpServer>[0];

async function start(options: ServerOptions): Promise<TestSmtp> {
  const smtp = await startSmtpServer({ withPassword: true, ...options });
  onTestFinished(() => smtp.close());
  return smtp;
}

function mailerTo(url: string, ca: string | null = authority.certificate): Mailer {
  const from = { name: null, address: 'notices@example.com' };
  return createSmtpMailer({ url, from, ca, timeoutMs: 20_000 });
}

const onAnotherMachine = (url: string): string => url.replace('127.0.0.1', '0.0.0.0');
const startTls = { ...issued, afterStartTls: true };

describe('mailer.send to another machine', () => {
  test.each<[string, ServerOptions]>([
    ['TLS from the first byte', { tls: issued }],
    ['STARTTLS', { tls: startTls }],
  ])('delivers with %s and a private authority', async (_title, options) => {
    const smtp = await start(options);
    expect(await mailerTo(onAnotherMachine(smtp.url)).send(email)).toEqual({ kind: 'sent' });
    expect(smtp.emails).toHaveLength(1);
  });

  test('sends neither login nor email to a server without STARTTLS', async () => {
    const smtp = await start({});
    await using proxy = await startTcpProxy(smtp.url, { capture: true });
    const outcome = await mailerTo(onAnotherMachine(proxy.rewrite(smtp.url))).send(email);
    expect(outcome).toEqual({
      kind: 'unavailable',
      reason: expect.stringMatching(/does not offer STARTTLS.*Enable TLS on it, or use smtps:\/\//),
    });
    expect(smtp.emails).toEqual([]);
    expect(proxy.captured()).toContain('STARTTLS');
    expect(proxy.captured()).not.toMatch(/AUTH PLAIN \w|MAIL FROM|A readable text/);
  });

  test('encrypts login and email after STARTTLS', async () => {
    const smtp = await start({ tls: startTls });
    await using proxy = await startTcpProxy(smtp.url, { capture: true });
    expect(await mailerTo(onAnotherMachine(proxy.rewrite(smtp.url))).send(email)).toEqual({ kind: 'sent' });
    expect(proxy.captured()).not.toMatch(/AUTH PLAIN|MAIL FROM|A readable text/);
    // The capture sees all of them without TLS, which is allowed on this machine only.
    const plain = await start({});
    await using readable = await startTcpProxy(plain.url, { capture: true });
    expect(await mailerTo(readable.rewrite(plain.url)).send(email)).toEqual({ kind: 'sent' });
    for (const text of ['AUTH PLAIN', 'MAIL FROM', 'A readable text'])
      expect(readable.captured()).toContain(text);
  });

  test('returns how to repair a server that does not use TLS for smtps://', async () => {
    const smtp = await start({});
    const outcome = await mailerTo(onAnotherMachine(smtp.url).replace('smtp:', 'smtps:')).send(email);
    expect(outcome).toMatchObject({
      kind: 'unavailable',
      reason: expect.stringMatching(/^The SMTP server does not use TLS at this address/),
    });
  });
});

describe.each([
  ['TLS from the first byte', false],
  ['STARTTLS', true],
])('mailer.send with %s', (_title, afterStartTls) => {
  test.each<[string, typeof issued, string | null, RegExp]>([
    ['of another authority', issued, another.certificate, /set MILLRACE_SMTP_CA_FILE/],
    ['of an authority that is not public', issued, null, /set MILLRACE_SMTP_CA_FILE/],
    ['for another host', forOtherHost, authority.certificate, /must contain the host of MILLRACE_SMTP_URL/],
    ['that has expired', expired, authority.certificate, /that has expired \(CERT_HAS_EXPIRED\)\. Replace/],
  ])('refuses a certificate %s and returns how to repair it', async (_what, shown, ca, reason) => {
    const smtp = await start({ tls: { ...shown, afterStartTls } });
    const outcome = await mailerTo(onAnotherMachine(smtp.url), ca).send(email);
    expect(outcome).toEqual({ kind: 'unavailable', reason: expect.stringMatching(reason) });
    expect(JSON.stringify(outcome)).not.toMatch(/open|sesame|BEGIN/);
    expect(smtp.emails).toEqual([]);
  });

  test('returns that the login was refused, without the password', async () => {
    const smtp = await start({ tls: { ...issued, afterStartTls } });
    const url = onAnotherMachine(smtp.url).replace('open', 'closed');
    const outcome = await mailerTo(url).send(email);
    expect(outcome).toEqual({
      kind: 'unavailable',
      reason: expect.stringMatching(/Check the user and password in MILLRACE_SMTP_URL/),
    });
    expect(JSON.stringify(outcome)).not.toMatch(/closed|sesame/);
  });
});

test('createSmtpMailer accepts public authorities in addition to a private one', async () => {
  const publicOnes = getCACertificates('default');
  setDefaultCACertificates([...publicOnes, another.certificate]);
  onTestFinished(() => setDefaultCACertificates(publicOnes));
  for (const issuer of [another, authority]) {
    const smtp = await start({ tls: await issuer.issue({ name: 'mail', addresses }) });
    expect(await mailerTo(onAnotherMachine(smtp.url)).send(email)).toEqual({ kind: 'sent' });
  }
});
