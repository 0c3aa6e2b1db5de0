import { createHmac } from 'node:crypto';
import { parseId, type InvitationId } from '../ids/index.ts';
import { isEqualConstantTime } from './constant-time-equal.ts';

/** What the secret of an invitation's link is bound to. Inviting again changes the end, so the link before stops working. */
export interface InvitationLinkClaims {
  readonly id: InvitationId;
  /** Lower case. */
  readonly email: string;
  readonly expiresAt: Date;
}

/** Signs and reads the secrets of invitation links. Nothing is stored, so a copy of the database holds no usable link. */
export interface InvitationLinks {
  secretOf(invitation: InvitationLinkClaims): string;
  /** The invitation that a secret names, which must still be looked up and checked; null: it is no such secret. */
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
