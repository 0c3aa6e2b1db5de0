import { roleNames } from '@millrace/contract';
import { z } from 'zod';
import type { NoticeMessage } from './notice-messages.ts';
import { formatInstant } from './format-values.ts';

/** Emails to people who are not members and may have no account. Pure. */

export const externalEmailTypes = {
  'member.invited': z.object({
    invitationId: z.string(),
    organisation: z.string(),
    role: z.enum(roleNames),
    /** The inviter's email address, because anyone can choose any name. */
    inviter: z.string(),
    expiresAt: z.iso.datetime(),
    /** The page to accept or decline; null if the installation has no console URL. */
    link: z.string().nullable(),
    /** The page to opt out of invitation emails; null if the installation has no console URL. */
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

/** Null if the data does not match the type, or if this version does not know the type. */
export function parseExternalEmail(type: string, data: unknown): Invited | null {
  if (!Object.hasOwn(externalEmailTypes, type)) return null;
  const read = externalEmailTypes[type as ExternalEmailType].safeParse(data);
  return read.success ? read.data : null;
}

/** A name that an email program could show as a link or read as an address. */
const linkLike = /[/\\@:]|\.\S/;
const NAME_WITHHELD = 'shown after you sign in';

/** Any tenant can cause this unrequested email, so the subject has no tenant text and the body no link-like name. */
export function invitationMessage({ organisation, role, inviter, expiresAt }: Invited): NoticeMessage {
  const isPlain = !linkLike.test(organisation);
  return {
    subject: 'You have an invitation to join an organisation',
    lead: `${inviter} invites you to join ${isPlain ? organisation : 'an organisation'} as ${role}.`,
    facts: [
      ['Organisation', isPlain ? organisation : NAME_WITHHELD],
      ['Role', role],
      ['Invited by', inviter],
      ['Expires', formatInstant(expiresAt)],
    ],
    advice:
      'Sign in or sign up with this email address to accept or decline. If you do nothing, the invitation expires.',
  };
}
