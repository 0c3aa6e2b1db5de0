import { reasonFlag } from '../../../admin/nodes.ts';
import { parseAmount, findOrganisation, organisationPositional } from '../../../admin/organisations.ts';
import { defineCommand } from '../../../framework/command.ts';
import { printResult } from '../../../framework/output.ts';
import { usdText } from '@millrace/sdk/text';
import { parseTimestamp } from '../../../text/timestamps.ts';

export const command = defineCommand({
  name: 'admin org grant',
  summary: 'Give an organisation credit',
  description: 'The ledger and the audit log record the grant with its reason. Asks for confirmation.',
  positionals: [...organisationPositional, { name: 'amount', describe: 'in USD, such as 25' }],
  flags: {
    ...reasonFlag,
    expires: { type: 'text', value: 'TIME', describe: 'when the unused rest expires: a day or a time' },
    priority: {
      type: 'number',
      integer: true,
      value: 'N',
      describe: 'credit with a lower number is spent first',
    },
  },
  examples: {
    'millrace admin org grant acme 25 --reason "welcome"': 'Without an expiry',
    'millrace admin org grant acme 100 --reason "trial" --expires 2026-12-31 --yes': 'Until a day',
  },
  operations: ['adminGrant'],
  json: 'record',
  failure: 'Could not grant the credit',
  async run(context, { args, flags }) {
    const amountNanoUsd = parseAmount(args.amount);
    const { id, name } = await findOrganisation(context, args.organisation);
    await context.confirm(`Grant ${usdText(amountNanoUsd)} to ${name} (${id})?`);
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
      `Granted ${usdText(amountNanoUsd)} to ${name}. Its balance is ${balance}. (${granted.id})`,
      granted,
    );
  },
});
