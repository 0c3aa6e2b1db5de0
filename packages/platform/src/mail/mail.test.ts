import { describe, expect, test } from 'vitest';
import { ConfigError, loadConfig, mailConfig, type Environment } from '../config/index.ts';
import {
  isSingleAddress,
  classifySmtpFailure,
  oneLine,
  parseEmailAddress,
  type SmtpFailure,
} from './mail.ts';
import { smtpSettingsOf } from './smtp.ts';

test.each([
  ['ada@example.com', { name: null, address: 'ada@example.com' }],
  ['Example Cloud <notices@example.com>', { name: 'Example Cloud', address: 'notices@example.com' }],
  ['<notices@example.com>', { name: null, address: 'notices@example.com' }],
  ['notices', null],
  ['Two <a@example.com> <b@example.com>', null],
  ['a@example.com, b@example.com', null],
])('parseEmailAddress parses %s unambiguously or returns null', (text, parsed) => {
  expect(parseEmailAddress(text)).toEqual(parsed);
});

test.each([
  'a@example.com,b@example.com',
  'a@b@example.com',
  'a@example.com\r\nRCPT TO:<b@example.com>',
  '"a b"@example.com',
  'a <b@example.com>',
  '@example.com',
  'a@',
])('isSingleAddress rejects %j', (address) => {
  expect(isSingleAddress(address)).toBe(false);
});

test('oneLine removes line breaks from a header', () => {
  expect(oneLine('ends\r\nBcc: everyone@example.com\u2028')).toBe('ends Bcc: everyone@example.com');
});

describe('classifySmtpFailure', () => {
  test.each<[string, SmtpFailure, string]>([
    ['an unknown recipient', { message: 'no', responseCode: 550, command: 'RCPT TO' }, 'refused'],
    ['rejected content', { message: 'no', responseCode: 554, command: 'DATA' }, 'refused'],
    ['a full mailbox', { message: 'later', responseCode: 452, command: 'RCPT TO' }, 'deferred'],
    ['greylisting', { message: 'later', responseCode: 451, command: 'DATA' }, 'deferred'],
    ['a server that closes', { message: 'bye', responseCode: 421, command: 'RCPT TO' }, 'unavailable'],
    ['a rejected sender', { message: 'no', responseCode: 553, command: 'MAIL FROM' }, 'unavailable'],
    ['a wrong password', { message: 'no', responseCode: 535, command: 'AUTH PLAIN' }, 'unavailable'],
    ['a timeout', { message: 'timeout', command: 'DATA' }, 'unavailable'],
    ['a refused connection', { message: 'connect ECONNREFUSED', command: 'CONN' }, 'unavailable'],
  ])('classifies %s', (_what, failure, kind) => {
    expect(classifySmtpFailure(failure).kind).toBe(kind);
  });
});

describe('smtpSettingsOf', () => {
  test('reads host, port and login, and requires TLS for other machines', () => {
    expect(smtpSettingsOf('smtps://user:p%40ss@smtp.example.com')).toEqual({
      host: 'smtp.example.com',
      port: 465,
      secure: true,
      requireTLS: false,
      auth: { user: 'user', pass: 'p@ss' },
    });
    expect(smtpSettingsOf('smtp://smtp.example.com')).toMatchObject({ port: 587, requireTLS: true });
    expect(smtpSettingsOf('smtp://127.0.0.1:25')).toMatchObject({ port: 25, requireTLS: false });
    expect(smtpSettingsOf('smtp://[::1]')).toMatchObject({ host: '::1', requireTLS: false });
  });
});

describe('mailConfig', () => {
  const read = (env: Environment) => loadConfig([mailConfig], env).mail;

  test('accepts a server and a sender, or neither', () => {
    expect(read({})).toEqual({ smtpUrl: null, from: null, ca: null });
    const env = { MILLRACE_SMTP_URL: 'smtp://127.0.0.1', MILLRACE_MAIL_FROM: 'Cloud <notices@example.com>' };
    expect(read(env).from).toEqual({ name: 'Cloud', address: 'notices@example.com' });
  });

  test('rejects a file of authorities that cannot be read or contains none', () => {
    for (const [file, problem] of [
      ['/does/not/exist', 'the file cannot be read'],
      [import.meta.filename, 'it contains no PEM certificate'],
    ] as const) {
      expect(() => read({ MILLRACE_SMTP_CA_FILE: file })).toThrow(problem);
    }
  });

  test.each<[Environment, string]>([
    [{ MILLRACE_SMTP_URL: 'smtp://u:hunter2@mail' }, 'MILLRACE_MAIL_FROM'],
    [{ MILLRACE_MAIL_FROM: 'notices@example.com' }, 'MILLRACE_SMTP_URL'],
    [{ MILLRACE_SMTP_URL: 'http://u:hunter2@mail', MILLRACE_MAIL_FROM: 'a@b' }, 'MILLRACE_SMTP_URL'],
    [{ MILLRACE_SMTP_URL: 'smtp://u:hunter2@mail', MILLRACE_MAIL_FROM: 'us' }, 'MILLRACE_MAIL_FROM'],
  ])('rejects incomplete settings by name, without the password', (env, name) => {
    const thrown = (() => {
      try {
        return read(env);
      } catch (error) {
        return error;
      }
    })();
    expect(thrown).toBeInstanceOf(ConfigError);
    expect(String(thrown)).toContain(name);
    expect(String(thrown)).not.toContain('hunter2');
  });
});
