import { roleNames } from '@millrace/contract';
import { z } from 'zod';
import type { Message } from './letters.ts';
import { instant } from './words.ts';

/** What is written to somebody who is no member, and may have no account: to a mailbox. Pure. */

export const mailboxTypes = {
  'member.invited': z.object({
    invitationId: z.string(),
    organisation: z.string(),
    role: z.enum(roleNames),
    /** The mailbox of whoever invites: names are for everybody to choose. */
    inviter: z.string(),
    expiresAt: z.iso.datetime(),
    /** Where it is answered; null: the installation has not said where it is. */
    link: z.string().nullable(),
    /** Where the mailbox refuses further mail of this kind; null: the installation has not said where it is. */
    refuseLink: z.string().nullable().default(null),
  }),
} as const;

export type MailboxType = keyof typeof mailboxTypes;
type Invited = z.output<(typeof mailboxTypes)['member.invited']>;

export interface MailboxLetter {
  readonly type: MailboxType;
  /** Lower case. */
  readonly email: string;
  readonly data: Invited;
}

/** Null when it does not say what its type promises, or is of a type that this version does not know. */
export function readMailboxLetter(type: string, data: unknown): Invited | null {
  if (!Object.hasOwn(mailboxTypes, type)) return null;
  const read = mailboxTypes[type as MailboxType].safeParse(data);
  return read.success ? read.data : null;
}

/** A name that a mail program could show as a link, or read as an address. */
const linkLike = /[/\\@:]|\.\S/;
const NAME_WITHHELD = 'shown after you sign in';

/**
 * The recipient has not asked for this mail, and any tenant can cause it. So the subject holds no text of a tenant, and the body
 * holds no name that could carry a link.
 */
export function invitationMessage({ organisation, role, inviter, expiresAt }: Invited): Message {
  const isPlain = !linkLike.test(organisation);
  return {
    subject: 'You have an invitation to join an organisation',
    lead: `${inviter} invites you to join ${isPlain ? organisation : 'an organisation'} as ${role}.`,
    facts: [
      ['Organisation', isPlain ? organisation : NAME_WITHHELD],
      ['Role', role],
      ['Invited by', inviter],
      ['Open until', instant(expiresAt)],
    ],
    advice: 'Sign in, or sign up, with this mailbox to accept or decline. Nothing happens if you do neither.',
  };
}
