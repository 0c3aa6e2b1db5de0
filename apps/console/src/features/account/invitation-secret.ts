/** Stores the secret of an invitation link in this tab while the user signs up or signs in before accepting. */

const key = 'millrace.invitation';

export function storeInvitationSecret(storage: Pick<Storage, 'setItem'>, secret: string): void {
  storage.setItem(key, secret);
}

/** Returns the stored secret if it belongs to the invitation: a secret starts with the invitation's id. */
export function invitationSecretFor(storage: Pick<Storage, 'getItem'>, invitationId: string): string | null {
  const secret = storage.getItem(key);
  return secret?.startsWith(`${invitationId}.`) === true ? secret : null;
}

export function removeInvitationSecret(storage: Pick<Storage, 'removeItem'>): void {
  storage.removeItem(key);
}
