import { expect, it } from 'vitest';
import { removeInvitationSecret, invitationSecretFor, storeInvitationSecret } from './invitation-secret.ts';

it('invitationSecretFor returns the stored secret only for its own invitation', () => {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => void stored.set(name, value),
    removeItem: (name: string) => void stored.delete(name),
  };
  expect(invitationSecretFor(storage, 'inv_1')).toBeNull();
  storeInvitationSecret(storage, 'inv_1.abc');
  expect(invitationSecretFor(storage, 'inv_1')).toBe('inv_1.abc');
  expect(invitationSecretFor(storage, 'inv_')).toBeNull();
  expect(invitationSecretFor(storage, 'inv_2')).toBeNull();
  removeInvitationSecret(storage);
  expect(invitationSecretFor(storage, 'inv_1')).toBeNull();
});
