import { createHmac } from 'node:crypto';
import { isSameText } from './same-text.ts';

/**
 * Signs the links by which the owner of a mailbox refuses further invitation mail. They do not expire. Links of mail that was written
 * are stored in the data of its notice.
 */
export interface MailRefusals {
  /** `email` in lower case. */
  proofOf(email: string): string;
  isProofOf(email: string, proof: string): boolean;
}

export function createMailRefusals(key: string): MailRefusals {
  const proofOf: MailRefusals['proofOf'] = (email) =>
    createHmac('sha256', key).update(`refuse invitation mail\n${email}`, 'utf8').digest('base64url');
  return {
    proofOf,
    isProofOf: (email, proof) => isSameText(proofOf(email), proof),
  };
}
