import type { Context } from '../framework/context.ts';
import { CliError, UsageError } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';
import type { Column } from '../framework/output.ts';
import type { Item } from '../sdk.ts';
import { parseUsd, usdText } from '@millrace/sdk/text';
import { dayText } from '../text/timestamps.ts';

export type Organisation = Item<'adminListOrganisations'>;

export function organisationColumns({ io }: Context): readonly Column<Organisation>[] {
  return [
    { name: 'id', value: ({ id }) => id },
    { name: 'name', value: ({ name }) => name },
    { name: 'slug', value: ({ slug }) => slug },
    {
      name: 'status',
      value: ({ status }) => status,
      paint: (text, { status }) => (status === 'active' ? text : io.paint('red', text)),
    },
    { name: 'balance', align: 'right', value: ({ balanceNanoUsd }) => usdText(balanceNanoUsd) },
    { name: 'created', value: ({ createdAt }) => dayText(createdAt) },
    { name: 'why', value: ({ suspendedReason }) => suspendedReason },
    { name: 'cell', value: ({ homeCell }) => homeCell, extra: true },
  ];
}

export const organisationPositional = [
  { name: 'organisation', describe: 'id or slug of the organisation' },
] as const;

/** Finds an organisation by its id or its slug, which is unique. */
export async function findOrganisation(context: Context, words: string): Promise<Organisation> {
  const client = context.client();
  const { signal } = context;
  if (words.startsWith('org_')) return client.admin.organisations.get({ organisationId: words }, { signal });
  for await (const organisation of client.admin.organisations.list({ limit: 200 }, { signal })) {
    if (organisation.slug === words) return organisation;
  }
  throw new CliError(`There is no organisation ${JSON.stringify(words)}.`, {
    why: 'No organisation has this id or slug.',
    fix: 'millrace admin org list',
    exitCode: exitCodes.notFound,
  });
}

/** Parses a typed amount into nano-USD. */
export function parseAmount(typed: string): string {
  const nano = parseUsd(typed);
  if (nano === null || nano <= 0n) {
    throw new UsageError(`AMOUNT is ${JSON.stringify(typed)}; use an amount in USD such as 25 or 12.50.`);
  }
  return nano.toString();
}
