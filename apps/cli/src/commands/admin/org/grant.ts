import { reasonFlag } from '../../../admin/nodes.ts';
import { parseAmount, findOrganisation, organisationPositional } from '../../../admin/organisations.ts';
import { defineCommand } from '../../../framework/command.ts';
import { printResult } from '../../../framework/output.ts';
import { usdText } from '@millrace/sdk/text';
import { parseTimestamp } from '../../../text/timestamps.ts';

export const command = defineCommand({
  name: 'admin org grant',
  summary: 'Give an organisation credit',
  description: 'The grant and its reason stand in the ledger and in the audit log. It asks before it gives.',
  positionals: [...organisationPositional, { name: 'amount', describe: 'in USD, such as 25' }],
  flags: {
    ...reasonFlag,
    expires: { type: 'text', value: 'TIME', describe: 'the day or moment at which what is left of it ends' },
    priority: {
      type: 'number',
      integer: true,
      value: 'N',
      describe: 'credit with a lower number is spent first',
    },
  },
  examples: {
    'millrace admin org grant acme 25 --reason "welcome"': 'For good',
    'millrace admin org grant acme 100 --reason "trial" --expires 2026-12-31 --yes': 'Until a day',
  },
  operations: ['adminGrant'],
  json: 'record',
  failure: 'Could not give the credit',
  async run(context, { args, flags }) {
    const amountNanoUsd = parseAmount(args.amount);
    const { id, name } = await findOrganisation(context, args.organisation);
    await context.confirm(`Give ${usdText(amountNanoUsd)} to ${name} (${id})?`);
    const granted = await context.client().admin.organisations.grant(
      {
        organisationId: id,
        amountNanoUsd,
        reason: flags.reason,
        ...(flags.expires === undefined ? {} : { expiresAt: parseTimestamp('--expires', flags.expires) }),
        priority: flags.priority,
      },
      { signal: context.signal },
    );
    const balance = usdText(granted.balanceAfterNanoUsd);
    printResult(
      context,
      `Gave ${usdText(amountNanoUsd)} to ${name}; its balance is ${balance}. (${granted.id})`,
      granted,
    );
  },
});
