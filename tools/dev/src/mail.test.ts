import { expect, it } from 'vitest';
import { emailSummary, emailFileName } from './mail.ts';

const email = {
  from: 'notices@example.com',
  to: ['demo@example.com'],
  headers: { subject: 'Confirm your email: ../../etc' },
  raw: '',
  body: 'Open http://127.0.0.1:8080/console/verify?token=a&x=1\n<a href="http://127.0.0.1:8080/console/verify?token=a&amp;x=1">',
};

it('emailSummary prints the recipient and each link of an email once', () => {
  expect(emailSummary(email)).toBe(
    'mail    | to demo@example.com: Confirm your email: ../../etc\n' +
      'mail    | http://127.0.0.1:8080/console/verify?token=a&x=1\n',
  );
});

it('emailSummary prints nothing about an email without links', () => {
  expect(emailSummary({ ...email, body: 'Invoice INV-00000001: 14.87 USD' })).toBeNull();
});

it('emailFileName contains no path separators', () => {
  const name = emailFileName(email, new Date('2026-01-02T03:04:05.006Z'));
  expect(name).toBe('2026-01-02T030405.006Z-demo@example.com-Confirm-your-email-..-..-etc.eml');
});
