import { describe, expect, test } from 'vitest';
import { createIdSource } from '../ids/index.ts';
import { systemClock } from '../clock/index.ts';
import { createAuthSecrets } from './auth-secrets.ts';
import { createInvitationLinks } from './invitation-link.ts';

const links = createInvitationLinks(createAuthSecrets('a key of tests'));
const ids = createIdSource({ clock: systemClock, cell: 1 });
const invitation = { id: ids.next('inv'), email: 'ada@example.com', expiresAt: new Date(1_000) };
const secret = links.secretOf(invitation);

describe('InvitationLinks', () => {
  test('returns the invitation id of a secret and accepts the secret for that invitation', () => {
    expect(links.idIn(secret)).toBe(invitation.id);
    expect(links.isSecretOf(invitation, secret)).toBe(true);
  });

  test.each([
    ['another invitation', { id: ids.next('inv') }],
    ['another email address', { email: 'eve@example.com' }],
    ['another expiry', { expiresAt: new Date(1_001) }],
  ])('rejects a secret for %s', (_what, change) => {
    expect(links.isSecretOf({ ...invitation, ...change }, secret)).toBe(false);
  });

  test('rejects a secret signed with another key', () => {
    const other = createInvitationLinks(createAuthSecrets('another key'));
    expect(other.isSecretOf(invitation, secret)).toBe(false);
  });

  test('accepts a secret signed with a key that is being replaced, and signs with the new key', () => {
    const rotated = createInvitationLinks(createAuthSecrets('another key', ['a key of tests']));
    expect(rotated.isSecretOf(invitation, secret)).toBe(true);
    expect(links.isSecretOf(invitation, rotated.secretOf(invitation))).toBe(false);
  });

  test.each(['', '.', 'x', '\u0000', `${invitation.id}`, `${secret}x`, secret.slice(0, -1), 'é'.repeat(40)])(
    'rejects the malformed secret %j',
    (text) => {
      expect(links.isSecretOf(invitation, text)).toBe(false);
    },
  );
});
