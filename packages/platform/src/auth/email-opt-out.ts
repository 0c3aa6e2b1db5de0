import { createHmac } from 'node:crypto';
import { isEqualConstantTime } from '../secrets/index.ts';

/** Signs the links to opt out of invitation emails. They do not expire; notices store them in their data. */
export interface EmailOptOuts {
  /** `email` must be lower case. */
  proofOf(email: string): string;
  isProofOf(email: string, proof: string): boolean;
}

export function createEmailOptOuts(key: string): EmailOptOuts {
  const proofOf: EmailOptOuts['proofOf'] = (email) =>
    createHmac('sha256', key).update(`refuse invitation mail\n${email}`, 'utf8').digest('base64url');
  return { proofOf, isProofOf: (email, proof) => isEqualConstantTime(proofOf(email), proof) };
}
