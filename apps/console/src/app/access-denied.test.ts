import { expect, test } from 'vitest';
import { accessDeniedText } from './access-denied.ts';

const page = {
  who: 'This page is for operators.',
  role: 'owner',
  organisation: 'Acme',
  scope: 'admin:read',
};

test('a page of live mode does not report a missing permission in test mode', () => {
  const text = accessDeniedText({ ...page, isTest: true }).join(' ');
  expect(text).toContain('Switch to live mode');
  expect(text).not.toMatch(/permission|operators/);
});

test('a page that the role does not include says which permission is missing, and whose page it is', () => {
  const text = accessDeniedText({ ...page, isTest: false }).join(' ');
  expect(text).toContain('This page is for operators.');
  expect(text).toContain('Missing permission: admin:read');
});
