import { eventually, startSmtpServer, startTcpProxy } from '@millrace/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSmtpMailer, type Email } from './index.ts';

const from = { name: 'Example Cloud', address: 'notices@example.com' };
const email: Email = {
  messageId: '1.2@example.com',
  to: { name: 'Ada <ada@elsewhere.test>, "Eve"', address: 'ada@example.com' },
  subject: 'Your balance\r\nBcc: eve@example.com ends — soon',
  text: 'In two hours.\n',
  html: '<p>In two hours.</p>',
  headers: { 'X-Notice': 'balance.low' },
};

async function startServer(options: Parameters<typeof startSmtpServer>[0] = {}) {
  const smtp = await startSmtpServer(options);
  onTestFinished(() => smtp.close());
  return { smtp, mailer: createSmtpMailer({ url: smtp.url, from, timeoutMs: 20_000 }) };
}

describe('mailer.send', () => {
  test('delivers an email to its one recipient, whatever its headers contain', async () => {
    const { smtp, mailer } = await startServer({ withPassword: true });
    expect(await mailer.send(email)).toEqual({ kind: 'sent' });
    expect(smtp.emails).toHaveLength(1);
    const [received] = smtp.emails;
    expect(received).toMatchObject({ from: 'notices@example.com', to: ['ada@example.com'] });
    expect(received?.headers).toMatchObject({
      'message-id': '<1.2@example.com>',
      from: 'Example Cloud <notices@example.com>',
      subject: 'Your balance Bcc: eve@example.com ends — soon',
      'auto-submitted': 'auto-generated',
      'x-notice': 'balance.low',
    });
    expect(received?.headers).not.toHaveProperty('bcc');
    expect(received?.body).toContain('In two hours.');
    expect(received?.body).toContain('<p>In two hours.</p>');
  });

  test('refuses several recipients without contacting the server', async () => {
    const { smtp, mailer } = await startServer();
    const to = { name: null, address: 'ada@example.com,eve@example.com' };
    expect(await mailer.send({ ...email, to })).toMatchObject({ kind: 'refused' });
    expect(smtp.emails).toEqual([]);
  });

  test.each([
    ['RCPT TO', 550, 'refused'],
    ['RCPT TO', 451, 'deferred'],
    ['DATA', 554, 'refused'],
    ['DATA', 452, 'deferred'],
    ['MAIL FROM', 553, 'unavailable'],
  ] as const)(
    'classifies a response at %s with %i as %s and returns the text of the server',
    async (step, code, kind) => {
      const { smtp, mailer } = await startServer();
      smtp.refuse(step, { code, text: 'for a reason' });
      expect(await mailer.send(email)).toEqual({ kind, reason: expect.stringContaining('for a reason') });
    },
  );
});

describe('mailer.send to a faulty server', () => {
  test('sends neither email nor password to a server with an untrusted certificate', async () => {
    const { smtp, mailer } = await startServer({ untrustedTls: true, withPassword: true });
    expect(await mailer.send(email)).toMatchObject({ kind: 'unavailable' });
    expect(smtp.emails).toEqual([]);
  });

  test('returns unavailable if the server rejects the login, is down or does not respond', async () => {
    const { smtp } = await startServer({ withPassword: true });
    const outsider = createSmtpMailer({ url: smtp.url.replace('open', 'closed'), from, timeoutMs: 20_000 });
    expect(await outsider.send(email)).toMatchObject({ kind: 'unavailable' });

    await using proxy = await startTcpProxy(smtp.url);
    const mailer = createSmtpMailer({ url: proxy.rewrite(smtp.url), from, timeoutMs: 1_000 });
    proxy.pause();
    expect(await mailer.send(email)).toMatchObject({ kind: 'unavailable' });
    proxy.cut();
    expect(await mailer.send(email)).toMatchObject({ kind: 'unavailable' });
    proxy.heal();
    await eventually({ what: 'the email to be sent' }, async () => {
      return (await mailer.send(email)).kind === 'sent';
    });
  });
});
