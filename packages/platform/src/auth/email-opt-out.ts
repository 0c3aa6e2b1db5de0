import { isEqualConstantTime } from '../secrets/index.ts';
import type { AuthSecrets } from './auth-secrets.ts';

/** Signs the links to opt out of invitation emails. They do not expire; notices store them in their data. */
export interface EmailOptOuts {
  /** `email` must be lower case. */
  proofOf(email: string): string;
  isProofOf(email: string, proof: string): boolean;
}

export function createEmailOptOuts(secrets: AuthSecrets): EmailOptOuts {
  const signaturesOf = (email: string) => secrets.signaturesOf(`refuse invitation mail\n${email}`);
  return {
    proofOf: (email) => signaturesOf(email)[0].toString('base64url'),
    isProofOf: (email, proof) =>
      signaturesOf(email).some((right) => isEqualConstantTime(right.toString('base64url'), proof)),
  };
}
