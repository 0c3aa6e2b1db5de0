import { parseId, type InvitationId } from '../ids/index.ts';
import { isEqualConstantTime } from '../secrets/index.ts';
import type { AuthSecrets } from './auth-secrets.ts';

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

export function createInvitationLinks(secrets: AuthSecrets): InvitationLinks {
  const secretsOf = ({ id, email, expiresAt }: InvitationLinkClaims) => {
    const signed = `invitation\n${id}\n${email}\n${expiresAt.getTime()}`;
    const [newest, ...older] = secrets.signaturesOf(signed);
    const secretWith = (signature: Buffer): string => `${id}.${signature.toString('base64url')}`;
    return { newest: secretWith(newest), older: older.map(secretWith) };
  };
  return {
    secretOf: (invitation) => secretsOf(invitation).newest,
    idIn: (secret) => parseId('inv', secret.split('.', 1)[0] ?? ''),
    isSecretOf: (invitation, secret) => {
      const { newest, older } = secretsOf(invitation);
      return [newest, ...older].some((right) => isEqualConstantTime(right, secret));
    },
  };
}
