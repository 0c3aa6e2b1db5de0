import type { Context } from '../framework/context.ts';
import { CliError } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';
import type { Column } from '../framework/output.ts';
import type { Item } from '../sdk.ts';
import { dayText } from '../text/timestamps.ts';

export type Member = Item<'listMembers'>;

export const memberColumns: readonly Column<Member>[] = [
  { name: 'user', value: ({ userId }) => userId },
  { name: 'email', value: ({ email }) => email },
  { name: 'name', value: ({ name }) => name },
  { name: 'role', value: ({ role }) => role },
  { name: 'since', value: ({ createdAt }) => dayText(createdAt) },
];

export const orgFlag = {
  org: { type: 'text', value: 'ID', describe: 'the organisation; default: that of your key' },
} as const;

export async function resolveOrganisationId(context: Context, org: string | undefined): Promise<string> {
  return org ?? (await context.client().me.get({}, { signal: context.signal })).organisation.id;
}

export async function findMember(context: Context, organisationId: string, words: string): Promise<Member> {
  const members = context.client().members.list({ organisationId, limit: 200 }, { signal: context.signal });
  for await (const member of members) {
    if (member.userId === words || member.id === words || member.email === words.toLowerCase()) return member;
  }
  throw new CliError(`${JSON.stringify(words)} is not a member of the organisation.`, {
    why: 'No member has this user id or email address.',
    fix: 'millrace member list',
    exitCode: exitCodes.notFound,
  });
}
