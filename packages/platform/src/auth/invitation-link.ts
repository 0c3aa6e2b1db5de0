import { createHmac } from 'node:crypto';
import { parseId, type InvitationId } from '../ids/index.ts';
import { isEqualConstantTime } from '../secrets/index.ts';

/** The signed claims of an invitation link. Inviting again changes the expiry, which invalidates the earlier link. */
export interface InvitationLinkClaims {
  readonly id: InvitationId;
  /** Lower case. */
  readonly email: string;
  readonly expiresAt: Date;
}

/** Signs and reads secrets of invitation links. None is stored, so a copy of the database has no usable link. */
export interface InvitationLinks {
  secretOf(invitation: InvitationLinkClaims): string;
  /** The invitation that a secret names, for the caller to look up and check; null if it is malformed. */
  idIn(secret: string): InvitationId | null;
  isSecretOf(invitation: InvitationLinkClaims, secret: string): boolean;
}

export function createInvitationLinks(key: string): InvitationLinks {
  const secretOf: InvitationLinks['secretOf'] = ({ id, email, expiresAt }) => {
    const signed = `invitation\n${id}\n${email}\n${expiresAt.getTime()}`;
    return `${id}.${createHmac('sha256', key).update(signed, 'utf8').digest('base64url')}`;
  };
  return {
    secretOf,
    idIn: (secret) => parseId('inv', secret.split('.', 1)[0] ?? ''),
    isSecretOf: (invitation, secret) => isEqualConstantTime(secretOf(invitation), secret),
  };
}
