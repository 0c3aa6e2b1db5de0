/**
 * The secret of an invitation's link. This tab keeps it, because the person may have to sign up or sign in between opening the link
 * and accepting the invitation.
 */

const key = 'millrace.invitation';

export function storeInvitationSecret(storage: Pick<Storage, 'setItem'>, secret: string): void {
  storage.setItem(key, secret);
}

/** The secret that was kept, if it is of this invitation: a secret begins with the id. */
export function invitationSecretFor(storage: Pick<Storage, 'getItem'>, invitationId: string): string | null {
  const secret = storage.getItem(key);
  return secret?.startsWith(`${invitationId}.`) === true ? secret : null;
}

export function removeInvitationSecret(storage: Pick<Storage, 'removeItem'>): void {
  storage.removeItem(key);
}
