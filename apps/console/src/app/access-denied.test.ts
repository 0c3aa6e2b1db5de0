import { expect, test } from 'vitest';
import { accessDeniedText } from './access-denied.ts';

const page = {
  who: 'This page is for operators.',
  role: 'owner',
  organisation: 'Acme',
  scope: 'admin:read',
};

test('accessDeniedText suggests live mode, instead of a missing permission, while in test mode', () => {
  const text = accessDeniedText({ ...page, isTest: true }).join(' ');
  expect(text).toContain('Switch to live mode');
  expect(text).not.toMatch(/permission|operators/);
});

test('accessDeniedText names the missing permission and who the page is for', () => {
  const text = accessDeniedText({ ...page, isTest: false }).join(' ');
  expect(text).toContain('This page is for operators.');
  expect(text).toContain('Missing permission: admin:read');
});
