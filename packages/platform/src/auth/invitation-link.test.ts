import { describe, expect, test } from 'vitest';
import { createIdSource } from '../ids/index.ts';
import { systemClock } from '../clock/index.ts';
import { createInvitationLinks } from './invitation-link.ts';

const links = createInvitationLinks('a key of tests');
const ids = createIdSource({ clock: systemClock, cell: 1 });
const invitation = { id: ids.next('inv'), email: 'ada@example.com', expiresAt: new Date(1_000) };
const secret = links.secretOf(invitation);

describe('the secret of an invitation link', () => {
  test('names its invitation and is valid for it', () => {
    expect(links.idIn(secret)).toBe(invitation.id);
    expect(links.isSecretOf(invitation, secret)).toBe(true);
  });

  test.each([
    ['another invitation', { id: ids.next('inv') }],
    ['another mailbox', { email: 'eve@example.com' }],
    ['another end', { expiresAt: new Date(1_001) }],
  ])('is not valid for %s', (_what, change) => {
    expect(links.isSecretOf({ ...invitation, ...change }, secret)).toBe(false);
  });

  test('is not valid under another key', () => {
    expect(createInvitationLinks('another key').isSecretOf(invitation, secret)).toBe(false);
  });

  test.each(['', '.', 'x', '\u0000', `${invitation.id}`, `${secret}x`, secret.slice(0, -1), 'é'.repeat(40)])(
    'is not %j',
    (text) => {
      expect(links.isSecretOf(invitation, text)).toBe(false);
    },
  );
});
