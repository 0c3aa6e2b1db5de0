import { roleNames } from '@millrace/contract';
import { z } from 'zod';
import type { NoticeMessage } from './notice-messages.ts';
import { formatInstant } from './format-values.ts';

/** What is written to somebody who is no member, and may have no account: to a mailbox. Pure. */

export const externalEmailTypes = {
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

export type ExternalEmailType = keyof typeof externalEmailTypes;
type Invited = z.output<(typeof externalEmailTypes)['member.invited']>;

export interface ExternalEmail {
  readonly type: ExternalEmailType;
  /** Lower case. */
  readonly email: string;
  readonly data: Invited;
}

/** Null when it does not say what its type promises, or is of a type that this version does not know. */
export function parseExternalEmail(type: string, data: unknown): Invited | null {
  if (!Object.hasOwn(externalEmailTypes, type)) return null;
  const read = externalEmailTypes[type as ExternalEmailType].safeParse(data);
  return read.success ? read.data : null;
}

/** A name that a mail program could show as a link, or read as an address. */
const linkLike = /[/\\@:]|\.\S/;
const NAME_WITHHELD = 'shown after you sign in';

/**
 * The recipient has not asked for this mail, and any tenant can cause it. So the subject holds no text of a tenant, and the body
 * holds no name that could carry a link.
 */
export function invitationMessage({ organisation, role, inviter, expiresAt }: Invited): NoticeMessage {
  const isPlain = !linkLike.test(organisation);
  return {
    subject: 'You have an invitation to join an organisation',
    lead: `${inviter} invites you to join ${isPlain ? organisation : 'an organisation'} as ${role}.`,
    facts: [
      ['Organisation', isPlain ? organisation : NAME_WITHHELD],
      ['Role', role],
      ['Invited by', inviter],
      ['Open until', formatInstant(expiresAt)],
    ],
    advice: 'Sign in, or sign up, with this mailbox to accept or decline. Nothing happens if you do neither.',
  };
}
