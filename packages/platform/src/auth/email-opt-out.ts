import { createHmac } from 'node:crypto';
import { isEqualConstantTime } from './constant-time-equal.ts';

/**
 * Signs the links by which the owner of a mailbox refuses further invitation mail. They do not expire. Links of mail that was written
 * are stored in the data of its notice.
 */
export interface EmailOptOuts {
  /** `email` in lower case. */
  proofOf(email: string): string;
  isProofOf(email: string, proof: string): boolean;
}

export function createEmailOptOuts(key: string): EmailOptOuts {
  const proofOf: EmailOptOuts['proofOf'] = (email) =>
    createHmac('sha256', key).update(`refuse invitation mail\n${email}`, 'utf8').digest('base64url');
  return { proofOf, isProofOf: (email, proof) => isEqualConstantTime(proofOf(email), proof) };
}
